#include "api/wire/text_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <charconv>

#include "api/wire/raw.h"
#include "core/ascii.h"
#include "core/base64.h"
#include "core/quote.h"
#include "core/time_text.h"
#include "core/uuid.h"

namespace millrace::wire {
namespace {

bool starts_number(char c) {
  return c == '-' || ascii::is_digit(c);
}

// A whole number from `least` to `most`; refused, and 0, otherwise.
template <class T>
T whole(Input& in, T least, T most, const Path& at) {
  const auto allowed = [&] { return fmt::format("a whole number from {} to {}", least, most); };
  if (!starts_number(in.peek())) {
    in.refuse_next(at, allowed());
    return 0;
  }
  const auto text = in.raw();
  if (!text) return 0;
  T number = 0;
  const char* const end = text->data() + text->size();
  const auto [rest, error] = std::from_chars(text->data(), end, number);
  if (rest == end && error == std::errc{} && number >= least && number <= most) return number;
  in.refuse(at, fmt::format("{} is {}; allowed is {}", at.text(), text->substr(0, 40), allowed()));
  return 0;
}

// A string that `parse` turns into a value.
template <class T, class Parse>
void parsed(Input& in, T& to, const Path& at, std::string_view allowed, Parse parse) {
  std::string scratch;
  const auto text = in.string(scratch, at, allowed);
  if (!text) return;
  const auto value = parse(*text);
  if (!value) return in.refuse(at, value.error());
  to = *value;
}

}  // namespace

void read(Input& in, bool& to, const Path& at) {
  const char c = in.peek();
  if (c != 't' && c != 'f') return in.refuse_next(at, "true or false");
  to = in.raw() == "true";
}

void read(Input& in, double& to, const Path& at) {
  if (!starts_number(in.peek())) return in.refuse_next(at, "a number");
  const auto text = in.raw();
  if (!text) return;
  const auto [rest, error] = std::from_chars(text->data(), text->data() + text->size(), to);
  if (error != std::errc{}) {
    in.refuse(at, fmt::format("{} is {}; allowed is a number that a double can hold", at.text(),
                              text->substr(0, 40)));
  }
}

void read(Input& in, std::string& to, const Path& at) {
  if (const auto text = in.string(to, at, "a string"); text && text->data() != to.data()) {
    to.assign(*text);
  }
}

void read(Input& in, Duration& to, const Path& at) {
  // The largest whole number of JavaScript; core/validate checks the limits.
  constexpr std::int64_t most = (std::int64_t{1} << 53) - 1;
  to = Duration(whole_number(in, 0, most, at));
}

void read(Input& in, TimePoint& to, const Path& at) {
  constexpr std::string_view allowed =
      "a moment such as \"2026-01-02T03:04:05.678Z\", or \"never\"";
  parsed(in, to, at, allowed, [](std::string_view text) -> Result<TimePoint> {
    return text == "never" ? Result<TimePoint>(never) : parse_time(text);
  });
}

void read(Input& in, Uuid& to, const Path& at) {
  parsed(in, to, at, "a UUID in 36 characters", uuid_from_text);
}

void read(Input& in, TaskId& to, const Path& at) {
  parsed(in, to, at, "a UUID, with or without task- in front", task_id_from_text);
}

void read(Input& in, Token& to, const Path& at) {
  parsed(in, to, at, "a token: a string of 16 hexadecimal digits", token_from_text);
}

void read(Input& in, QueueRef& to, const Path& at) {
  const char c = in.peek();
  if (c == '"') {
    if (!std::holds_alternative<std::string>(to)) to = std::string();
    return read(in, std::get<std::string>(to), at);
  }
  if (starts_number(c)) return read(in, to.emplace<QueueNumber>(), at);
  constexpr std::string_view allowed = "a queue: its name, its number, or {\"id\": its UUID}";
  if (c != '{') return in.refuse_next(at, allowed);
  in.open('{', at);
  std::string scratch;
  bool first = true;
  bool found = false;
  while (const auto key = in.key(scratch, first)) {
    const Path here{.above = &at, .key = *key};
    if (*key != "id") return in.not_known(here, std::array<std::string, 1>{"id"});
    if (found) return in.twice(here);
    found = true;
    read(in, to.emplace<Uuid>(), here);
  }
  if (in.good() && !found) in.miss(Path{.above = &at, .key = "id"});
}

std::int64_t whole_number(Input& in, std::int64_t least, std::int64_t most, const Path& at) {
  return whole(in, least, most, at);
}

std::uint64_t count(Input& in, std::uint64_t most, const Path& at) {
  return whole(in, std::uint64_t{0}, most, at);
}

std::uint32_t count_or_unlimited(Input& in, const Path& at) {
  if (in.peek() == '"') {
    const auto text = in.raw();
    if (text == "\"unlimited\"") return unlimited;
    if (text) {
      in.refuse(at, fmt::format("{} is {}; allowed is a whole number or \"unlimited\"", at.text(),
                                in_quotes(text->substr(1, text->size() - 2))));
    }
    return 0;
  }
  return static_cast<std::uint32_t>(count(in, unlimited - 1, at));
}

std::size_t index_of(Input& in, std::span<const std::string_view> all, const Path& at) {
  std::string scratch;
  if (in.peek() != '"') {
    in.refuse_next(at, fmt::format("one of {}", fmt::join(all, ", ")));
    return 0;
  }
  const auto name = in.string(scratch);
  if (!name) return 0;
  const auto found = std::ranges::find(all, *name);
  if (found != all.end()) return static_cast<std::size_t>(found - all.begin());
  in.refuse(at, fmt::format("{} is {}; allowed is one of {}", at.text(), in_quotes(*name),
                            fmt::join(all, ", ")));
  return 0;
}

std::uint8_t event_bits(Input& in, const Path& at) {
  static constexpr auto all = [] {
    std::array<std::string_view, callback_events.size()> names{};
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = callback_events[i].first;
    return names;
  }();
  unsigned bits = 0;
  if (!in.open('[', at)) return 0;
  bool first = true;
  for (std::size_t i = 0; in.item(first); ++i) {
    const std::size_t found = index_of(in, all, Path{.above = &at, .index = i});
    bits |= static_cast<unsigned>(callback_events.at(found).second);
  }
  return static_cast<std::uint8_t>(bits);
}

// ---- Embedded values ----

Form form_of(std::string_view key, std::string_view name) {
  key.remove_prefix(name.size());
  if (key.empty()) return Form::json;
  if (key == "_text") return Form::text;
  return key == "_base64" ? Form::base64 : Form::none;
}

std::string_view type_of(Form form) {
  if (form == Form::text) return "text/plain; charset=utf-8";
  return form == Form::base64 ? "application/octet-stream" : "";
}

void read_base64(Input& in, std::string& bytes, const Path& at) {
  std::string scratch;
  const auto text = in.string(scratch, at, "a string of base64");
  if (!text) return;
  auto decoded = base64_decode(*text);
  if (!decoded) return in.refuse(at, decoded.error());
  bytes = std::move(*decoded);
}

bool read_embedded(Input& in, Form form, std::string& bytes, bool object, const Path& at) {
  if (in.is_archive() && form != Form::text) {
    if (in.null() || !in.good()) return false;
    form == Form::json ? read(in, bytes, at) : read_base64(in, bytes, at);
    return in.good();
  }
  if (in.is_answer() && form == Form::json) {
    const auto text = in.raw_with_space();
    if (text) bytes.assign(*text);
    return text.has_value();
  }
  if (in.null() || !in.good()) return false;
  if (form == Form::json) {
    if (object && in.peek() != '{') {
      in.refuse_next(at, "an object");
      return false;
    }
    const auto text = in.raw();
    if (text) bytes.assign(*text);
    return text.has_value();
  }
  if (object) {
    in.refuse(at, fmt::format("{} is not known; allowed is a JSON object under the name without "
                              "an ending",
                              at.text()));
    return false;
  }
  form == Form::text ? read(in, bytes, at) : read_base64(in, bytes, at);
  return in.good();
}

void KeyReader::again(std::string_view name) {
  in_.refuse(
      at_, fmt::format("{0} is one too many; only one of {1}, {1}_text and {1}_base64 may be given",
                       at_.text(), name));
}

}  // namespace millrace::wire
