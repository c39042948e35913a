// The part of <millrace/fields.h> that does not depend on the user's types.
#include <millrace/fields.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

#include "core/base64.h"
#include "core/nearest.h"
#include "core/quote.h"
#include "core/time_text.h"
#include "core/uuid.h"
#include "payload/raw.h"
#include "payload/reader.h"
#include "payload/text.h"

namespace millrace::json {
namespace {

// Fields mostly come in the order in which they are listed, so the next one is tried first.
std::size_t find(std::span<const Field> fields, std::string_view key, std::size_t next) {
  if (next < fields.size() && fields[next].name == key) return next;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name == key) return i;
  }
  return fields.size();
}

void refuse_unknown(Reader& in, const Place& at, std::span<const Field> fields) {
  std::vector<std::string_view> known;
  for (const Field& field : fields) known.push_back(field.name);
  if (known.empty()) {
    return in.refuse(fmt::format("{} is not known; no field is allowed here", words(at)));
  }
  if (const std::string_view meant = near_enough(at.key, known); !meant.empty()) {
    return in.refuse(fmt::format("{} is not known; did you mean {}?", words(at), meant));
  }
  in.refuse(fmt::format("{} is not known; known here are {}", words(at), fmt::join(known, ", ")));
}

template <class T>
bool read_number(std::string_view digits, T& to) {
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), to);
  return error == std::errc{} && end == digits.data() + digits.size();
}

template <class T>
void read_real(Reader& in, T& to, const Place& at, std::string_view allowed) {
  const auto digits = in.number();
  if (!digits) return in.refuse_next(at, "a number");
  if (!read_number(*digits, to)) in.refuse_value(at, allowed, *digits);
}

template <class T>
T read_whole(Reader& in, T least, T most, const Place& at) {
  T number{};
  const auto digits = in.number();
  if (digits && read_number(*digits, number) && number >= least && number <= most) return number;
  const std::string allowed = fmt::format("a whole number from {} to {}", least, most);
  if (digits) {
    in.refuse_value(at, allowed, *digits);
  } else {
    in.refuse_next(at, allowed);
  }
  return T{};
}

// Reads a value that is written as text, such as a time.
template <class T, class Parse>
void read_meaning(Reader& in, T& to, const Place& at, std::string_view allowed, Parse parse) {
  std::string scratch;
  const auto text = in.string(scratch);
  if (!text) return in.refuse_next(at, allowed);
  auto meaning = parse(*text);
  if (meaning) {
    to = std::move(*meaning);
  } else {
    in.refuse(fmt::format("{} must be {}, but is {}", words(at), allowed, in_quotes(*text)));
  }
}

}  // namespace

// ---- Writing -----------------------------------------------------------------------------------

void write(std::string& out, bool value) {
  out += value ? "true" : "false";
}

void write(std::string& out, std::int64_t value) {
  append_number(out, value);
}

void write(std::string& out, std::uint64_t value) {
  append_number(out, value);
}

void write(std::string& out, double value) {
  append_number(out, value);
}

void write(std::string& out, float value) {
  append_number(out, value);
}

void write(std::string& out, std::string_view text) {
  append_text(out, text);
}

void write(std::string& out, std::span<const std::uint8_t> bytes) {
  out += '"';
  out += base64_encode({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  out += '"';
}

void write(std::string& out, TimePoint moment) {
  append_time(out, moment);
}

void write(std::string& out, const Uuid& id) {
  out += '"';
  out += to_text(id);
  out += '"';
}

void write_fields(std::string& out, const void* object, std::span<const Field> fields) {
  char before = '{';
  for (const Field& field : fields) {
    if (field.is_there != nullptr && !field.is_there(object)) continue;
    out += before;
    out += '"';
    out += field.name;
    out += "\":";
    field.write(out, object);
    before = ',';
  }
  if (before == '{') out += '{';
  out += '}';
}

// ---- Reading -----------------------------------------------------------------------------------

void read(Reader& in, bool& to, const Place& at) {
  const char c = in.peek();
  if (c != 't' && c != 'f') return in.refuse_next(at, "true or false");
  to = in.raw() == "true";
}

void read(Reader& in, double& to, const Place& at) {
  read_real(in, to, at, "a number that a double can hold");
}

void read(Reader& in, float& to, const Place& at) {
  read_real(in, to, at, "a number that a float can hold");
}

void read(Reader& in, std::string& to, const Place& at) {
  std::string scratch;
  const auto text = in.string(scratch);
  if (!text) return in.refuse_next(at, "text");
  to = scratch.empty() ? std::string(*text) : std::move(scratch);
}

void read(Reader& in, std::vector<std::uint8_t>& to, const Place& at) {
  std::string bytes;
  read_meaning(in, bytes, at, "base64 text", base64_decode);
  to.assign(bytes.begin(), bytes.end());
}

void read(Reader& in, TimePoint& to, const Place& at) {
  if (const auto digits = in.number()) {
    std::int64_t ms = 0;
    if (read_number(*digits, ms) && ms >= first_time.time_since_epoch().count() &&
        ms <= last_time.time_since_epoch().count()) {
      to = TimePoint(Duration(ms));
    } else {
      in.refuse_value(at, "whole milliseconds since 1970, within the years 0 to 9999", *digits);
    }
    return;
  }
  read_meaning(in, to, at, "a time such as 2026-01-02T03:04:05Z or milliseconds since 1970",
               [](std::string_view text) -> Result<TimePoint> {
                 if (text == "never") return never;
                 return parse_time(text);
               });
}

void read(Reader& in, Duration& to, const Place& at) {
  if (const auto digits = in.number()) {
    std::int64_t ms = 0;
    if (!read_number(*digits, ms)) in.refuse_value(at, "whole milliseconds", *digits);
    to = Duration(ms);
    return;
  }
  read_meaning(in, to, at, "milliseconds or a time span such as 1h30m", parse_duration);
}

void read(Reader& in, Uuid& to, const Place& at) {
  read_meaning(in, to, at, "a UUID", uuid_from_text);
}

std::int64_t read_signed(Reader& in, std::int64_t least, std::int64_t most, const Place& at) {
  return read_whole(in, least, most, at);
}

std::uint64_t read_unsigned(Reader& in, std::uint64_t most, const Place& at) {
  return read_whole(in, std::uint64_t{0}, most, at);
}

std::size_t read_name(Reader& in, std::span<const std::string_view> names, const Place& at) {
  const auto allowed = [&] {
    const std::string_view last = names.back();
    const auto others = names.first(names.size() - 1);
    return others.empty() ? std::string(last)
                          : fmt::format("{} or {}", fmt::join(others, ", "), last);
  };
  std::string scratch;
  const auto text = in.string(scratch);
  if (!text) {
    in.refuse_next(at, allowed());
    return 0;
  }
  const auto found = std::ranges::find(names, *text);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  in.refuse(fmt::format("{} must be {}, but is {}", words(at), allowed(), in_quotes(*text)));
  return 0;
}

void read_fields(Reader& in, void* object, std::span<const Field> fields, const Place& at) {
  if (!in.open('{', at)) return;
  std::string scratch;
  std::uint64_t seen = 0;
  std::size_t next = 0;
  bool first = true;
  while (const auto key = in.key(scratch, first)) {
    const std::size_t which = find(fields, *key, next);
    const Place here{.kind = Place::Kind::member, .above = &at, .key = *key};
    if (which == fields.size()) return refuse_unknown(in, here, fields);
    const std::uint64_t bit = std::uint64_t{1} << which;
    if ((seen & bit) != 0) return refuse_second(in, here);
    seen |= bit;
    next = which + 1;
    fields[which].read(in, object, here);
  }
  if (!in.good()) return;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if ((seen >> i & 1U) != 0 || fields[i].optional) continue;
    return in.refuse(
        fmt::format("{} is missing",
                    words({.kind = Place::Kind::member, .above = &at, .key = fields[i].name})));
  }
}

bool read_null(Reader& in) {
  return in.null();
}

bool open_list(Reader& in, const Place& at) {
  return in.open('[', at);
}

bool open_object(Reader& in, const Place& at) {
  return in.open('{', at);
}

bool next_item(Reader& in, bool& first) {
  return in.item(first);
}

std::optional<std::string_view> next_key(Reader& in, std::string& scratch, bool& first) {
  return in.key(scratch, first);
}

void refuse_second(Reader& in, const Place& at) {
  in.refuse(fmt::format("{} is given twice", words(at)));
}

Result<void> read_payload(std::string_view payload, std::string_view content_type, void* to,
                          void (*read)(Reader& in, void* to, const Place& at)) {
  constexpr std::string_view what = "payload";
  if (!is_json_type(content_type)) {
    return fail(ErrorCode::invalid, fmt::format("{} is {}; only application/json can be read here",
                                                what, in_quotes(content_type)));
  }
  Reader in(payload);
  read(in, to, Place{.key = what});
  if (auto error = in.finish(what)) return std::unexpected(std::move(*error));
  return {};
}

}  // namespace millrace::json
