#include "payload/reader.h"

#include <fmt/format.h>
#include <algorithm>

#include "core/ascii.h"
#include "core/quote.h"
#include "payload/raw.h"
#include "payload/text.h"

namespace millrace::json {
namespace {

// A value as an error shows it: short, and whole only where it is small.
std::string shown(std::string_view raw) {
  constexpr std::size_t most = 40;
  switch (raw.front()) {
    case '{':
      return "an object";
    case '[':
      return "a list";
    case '"': {
      std::string text;
      unescape(raw.substr(1, raw.size() - 2), text);
      return in_quotes(text);
    }
    default:
      return raw.size() > most ? fmt::format("{}...", raw.substr(0, most)) : std::string(raw);
  }
}

bool is_word(std::string_view key) {
  const auto letter = [](char c) { return ascii::is_letter_or_digit(c) || c == '_' || c == '-'; };
  return !key.empty() && key.size() <= 80 && std::ranges::all_of(key, letter);
}

void append_words(std::string& out, const Place& at) {
  if (at.above != nullptr) append_words(out, *at.above);
  if (at.kind == Place::Kind::root) {
    out += at.key;
  } else if (at.kind == Place::Kind::item) {
    out += fmt::format("[{}]", at.index);
  } else if (is_word(at.key)) {
    out += '.';
    out += at.key;
  } else {
    out += fmt::format("[{}]", in_quotes(at.key));
  }
}

}  // namespace

std::string words(const Place& at) {
  std::string out;
  append_words(out, at);
  // Five hundred levels would not be readable.
  constexpr std::size_t most = 400;
  constexpr std::size_t kept = 180;
  if (out.size() > most) {
    out = fmt::format("{}...{}", out.substr(0, kept), out.substr(out.size() - kept));
  }
  return out;
}

char Reader::peek() {
  while (at_ != end_ && is_space(*at_)) ++at_;
  return at_ == end_ ? '\0' : *at_;
}

bool Reader::null() {
  if (!good() || peek() != 'n') return false;
  return raw() == "null";
}

std::optional<std::string_view> Reader::raw() {
  if (!good()) return std::nullopt;
  peek();
  const char* wrong = nullptr;
  const char* const behind = skip_value(at_, end_, wrong);
  if (behind == nullptr) {
    broken(wrong);
    return std::nullopt;
  }
  const std::string_view text(at_, static_cast<std::size_t>(behind - at_));
  at_ = behind;
  return text;
}

std::optional<std::string_view> Reader::string(std::string& scratch) {
  if (!good() || peek() != '"') return std::nullopt;
  bool escaped = false;
  const char* wrong = nullptr;
  const char* const from = at_ + 1;
  const char* const behind = skip_string(from, end_, escaped, wrong);
  if (behind == nullptr) {
    broken(wrong);
    return std::nullopt;
  }
  at_ = behind;
  const std::string_view text(from, static_cast<std::size_t>(behind - 1 - from));
  if (!escaped) return text;
  unescape(text, scratch);
  return scratch;
}

std::optional<std::string_view> Reader::number() {
  if (!good()) return std::nullopt;
  const char c = peek();
  if (c != '-' && (c < '0' || c > '9')) return std::nullopt;
  return raw();
}

bool Reader::open(char bracket, const Place& at) {
  if (!good()) return false;
  if (peek() != bracket) {
    refuse_next(at, bracket == '{' ? "an object" : "a list");
    return false;
  }
  if (++depth_ > max_depth) {
    malformed_ = true;
    refuse(fmt::format("{} is nested too deeply: more than {} levels of lists and objects",
                       words(at), max_depth));
    return false;
  }
  ++at_;
  return true;
}

bool Reader::item(bool& first) {
  if (!good()) return false;
  const char c = peek();
  if (c == ']') {
    ++at_;
    --depth_;
    return false;
  }
  if (first) {
    first = false;
    return true;
  }
  if (c != ',') {
    broken(at_);
    return false;
  }
  ++at_;
  return true;
}

std::optional<std::string_view> Reader::key(std::string& scratch, bool& first) {
  if (!good()) return std::nullopt;
  const char c = peek();
  if (c == '}') {
    ++at_;
    --depth_;
    return std::nullopt;
  }
  if (!first) {
    if (c != ',') {
      broken(at_);
      return std::nullopt;
    }
    ++at_;
  }
  first = false;
  const auto name = string(scratch);
  if (!name || peek() != ':') {
    broken(at_);
    return std::nullopt;
  }
  ++at_;
  return name;
}

void Reader::refuse_next(const Place& at, std::string_view allowed) {
  const auto value = raw();
  if (value) refuse_value(at, allowed, *value);
}

void Reader::refuse_value(const Place& at, std::string_view allowed, std::string_view raw) {
  refuse(fmt::format("{} must be {}, but is {}", words(at), allowed, shown(raw)));
}

void Reader::refuse(std::string message) {
  if (good()) error_ = Error{.code = ErrorCode::invalid, .message = std::move(message)};
}

void Reader::broken(const char* where) {
  if (!good()) return;
  malformed_ = true;
  if (where != end_) {
    return refuse(fmt::format(" is not JSON from position {} on", where - begin_ + 1));
  }
  refuse(begin_ == end_ ? " is empty; JSON was expected" : " ends in the middle of the JSON");
}

std::optional<Error> Reader::finish(std::string_view what) {
  if (good()) {
    if (peek() == '\0' && at_ == end_) return std::nullopt;
    return Error{.code = ErrorCode::invalid,
                 .message = fmt::format("{} continues after the end of its JSON, at position {}",
                                        what, at_ - begin_ + 1)};
  }
  if (!malformed_) {
    Reader whole({begin_, static_cast<std::size_t>(end_ - begin_)});
    whole.raw();
    if (auto error = whole.finish(what)) return error;
    return error_;
  }
  if (error_->message.starts_with(' ')) error_->message.insert(0, what);
  return error_;
}

}  // namespace millrace::json
