#include "api/wire/input.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/wire/raw.h"
#include "core/quote.h"
#include "payload/text.h"

namespace millrace::wire {
namespace {

// A value as an error shows it: short, and whole only where it is small.
std::string shown(std::string_view raw) {
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
      return raw.size() > 40 ? std::string(raw.substr(0, 40)) + "..." : std::string(raw);
  }
}

std::string named(const Path& at) {
  std::string text = at.text();
  return text.empty() ? "the body" : text;
}

}  // namespace

std::string Path::text() const {
  std::string front = above == nullptr ? "" : above->text();
  if (index) return fmt::format("{}[{}]", front, *index);
  return front.empty() ? std::string(key) : fmt::format("{}.{}", front, key);
}

void unescape(std::string_view text, std::string& to) {
  json::unescape(text, to);
}

char Input::peek() {
  while (at_ != end_ && is_space(*at_)) ++at_;
  return at_ == end_ ? '\0' : *at_;
}

bool Input::null() {
  if (peek() != 'n') return false;
  return raw() == "null";
}

std::optional<std::string_view> Input::string(std::string& scratch) {
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

std::optional<std::string_view> Input::string(std::string& scratch, const Path& at,
                                              std::string_view allowed) {
  auto text = string(scratch);
  if (!text) refuse_next(at, allowed);
  return text;
}

std::optional<std::string_view> Input::raw() {
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

std::optional<std::string_view> Input::raw_with_space() {
  const char* const from = at_;
  if (!raw()) return std::nullopt;
  peek();
  return std::string_view(from, static_cast<std::size_t>(at_ - from));
}

bool Input::open(char bracket, const Path& at) {
  if (!good()) return false;
  if (peek() != bracket) {
    refuse_next(at, bracket == '{' ? "an object" : "a list");
    return false;
  }
  ++at_;
  return true;
}

std::optional<std::string_view> Input::key(std::string& scratch, bool& first) {
  if (!good()) return std::nullopt;
  const char c = peek();
  if (c == '}') {
    ++at_;
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

bool Input::item(bool& first) {
  if (!good()) return false;
  const char c = peek();
  if (c == ']' && first) {
    ++at_;
    return false;
  }
  if (first) {
    first = false;
    return true;
  }
  if (c == ',') {
    ++at_;
    return true;
  }
  if (c == ']') {
    ++at_;
  } else {
    broken(at_);
  }
  return false;
}

void Input::finish() {
  if (!good()) {
    // An error in the JSON itself takes precedence, wherever it is.
    if (error_->malformed) return;
    Refusal found = std::move(*error_);
    back_to(begin_);
    if (raw()) finish();
    if (good()) error_ = std::move(found);
    return;
  }
  if (peek() == '\0' && at_ == end_) return;
  const auto position = at_ - begin_ + 1;
  error_ =
      Refusal{.error = {ErrorCode::invalid,
                        fmt::format("unexpected text after the JSON, at position {}", position)},
              .malformed = true};
}

void Input::refuse_next(const Path& at, std::string_view allowed) {
  if (!good()) return;
  const auto value = raw();
  if (!value) return;  // the value is not JSON, which is the error to report
  refuse(at, fmt::format("{} is {}; allowed is {}", named(at), shown(*value), allowed));
}

void Input::refuse(const Path& at, std::string message) {
  if (!good()) return;
  error_ = Refusal{
      .error = {.code = ErrorCode::invalid, .message = std::move(message), .field = at.text()}};
}

void Input::refuse(const Path& at, const Error& why) {
  if (!good()) return;
  error_ = Refusal{.error = {.code = why.code,
                             .message = fmt::format("{}: {}", named(at), why.message),
                             .field = at.text()}};
}

void Input::miss(const Path& at) {
  refuse(at, fmt::format("{} is missing", named(at)));
}

void Input::too_long(const Path& at, std::size_t most) {
  if (!good()) return;
  refuse(at, fmt::format("{} has more than {} items, the most allowed", named(at), most));
  error_->error.code = ErrorCode::too_large;
}

void Input::twice(const Path& at) {
  refuse(at, fmt::format("{} is given twice; give it once", named(at)));
}

void Input::not_known(const Path& at, std::span<const std::string> known) {
  const std::string front = at.above == nullptr ? "" : at.above->text();
  refuse(at, fmt::format("{}{}{} is not known; known here are {}", front, front.empty() ? "" : ".",
                         in_quotes(at.key), fmt::join(known, ", ")));
}

void Input::broken(const char* where) {
  if (!good()) return;
  const std::string message = where == end_
                                  ? (begin_ == end_ ? "the body is empty; JSON was expected"
                                                    : "the JSON ends in the middle")
                                  : fmt::format("not JSON from position {} on", where - begin_ + 1);
  error_ = Refusal{.error = {ErrorCode::invalid, message}, .malformed = true};
}

}  // namespace millrace::wire
