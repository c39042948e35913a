#include "api/wire/reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <cmath>

#include "core/base64.h"
#include "core/quote.h"
#include "core/time_text.h"
#include "core/uuid.h"

namespace millrace::wire {
namespace {

// A value as an error shows it: short, and whole only where it is small.
std::string shown(const boost::json::value& value) {
  switch (value.kind()) {
    case boost::json::kind::object:
      return "an object";
    case boost::json::kind::array:
      return "a list";
    case boost::json::kind::string:
      return in_quotes(std::string_view(value.get_string()));
    default:
      return to_text(value);
  }
}

}  // namespace

void Reading::refuse(const Path& at, const boost::json::value& found, std::string_view allowed) {
  if (error_) return;
  error_ = Error{ErrorCode::invalid,
                 fmt::format("{} is {}; allowed is {}", at.text(), shown(found), allowed)};
}

void Reading::refuse(const Path& at, const Error& why) {
  if (error_) return;
  error_ = Error{why.code, fmt::format("{}: {}", at.text(), why.message)};
}

void Reading::miss(const Path& at) {
  if (error_) return;
  error_ = Error{ErrorCode::invalid, fmt::format("{} is missing", at.text())};
}

void Reading::not_known(const Path& at, const std::vector<std::string_view>& known) {
  if (error_) return;
  const std::string shown_path =
      fmt::format("{}.{}", at.above == nullptr ? "" : at.above->text(), in_quotes(at.key));
  error_ = Error{ErrorCode::invalid, fmt::format("{} is not known; known here are {}", shown_path,
                                                 fmt::join(known, ", "))};
}

// ---- Single values -----------------------------------------------------------------------------

void read(const boost::json::value& from, bool& to, const Path& at, Reading& reading) {
  if (!from.is_bool()) return reading.refuse(at, from, "true or false");
  to = from.get_bool();
}

void read(const boost::json::value& from, double& to, const Path& at, Reading& reading) {
  if (!from.is_number()) return reading.refuse(at, from, "a number");
  to = from.to_number<double>();
  // Boost reads 1e999 as infinity, which JSON cannot say again.
  if (!std::isfinite(to)) reading.refuse(at, from, "a number that a double can hold");
}

void read(const boost::json::value& from, std::string& to, const Path& at, Reading& reading) {
  if (!from.is_string()) return reading.refuse(at, from, "a string");
  to = std::string_view(from.get_string());
}

void read(const boost::json::value& from, Duration& to, const Path& at, Reading& reading) {
  std::int64_t count = 0;
  read(from, count, at, reading);
  to = Duration(count);
}

void read(const boost::json::value& from, TimePoint& to, const Path& at, Reading& reading) {
  const auto* text = from.if_string();
  if (text == nullptr) {
    return reading.refuse(at, from, "a moment such as \"2026-01-02T03:04:05.678Z\", or \"never\"");
  }
  if (*text == "never") {
    to = never;
    return;
  }
  const auto moment = parse_time(std::string_view(*text));
  if (!moment) return reading.refuse(at, moment.error());
  to = *moment;
}

void read(const boost::json::value& from, Uuid& to, const Path& at, Reading& reading) {
  const auto* text = from.if_string();
  if (text == nullptr) return reading.refuse(at, from, "a UUID in 36 characters");
  const auto id = uuid_from_text(std::string_view(*text));
  if (!id) return reading.refuse(at, id.error());
  to = *id;
}

void read(const boost::json::value& from, TaskId& to, const Path& at, Reading& reading) {
  const auto* text = from.if_string();
  if (text == nullptr) return reading.refuse(at, from, "a UUID, with or without task- in front");
  const auto id = task_id_from_text(std::string_view(*text));
  if (!id) return reading.refuse(at, id.error());
  to = *id;
}

void read(const boost::json::value& from, QueueRef& to, const Path& at, Reading& reading) {
  if (const auto* name = from.if_string()) {
    to = std::string(std::string_view(*name));
  } else if (from.is_int64() || from.is_uint64()) {
    read(from, to.emplace<QueueNumber>(), at, reading);
  } else if (from.is_object() && from.get_object().size() == 1 &&
             from.get_object().contains("id")) {
    read(from.get_object().at("id"), to.emplace<Uuid>(), Path{.above = &at, .key = "id"}, reading);
  } else {
    reading.refuse(at, from, "a queue: its name, its number, or {\"id\": its UUID}");
  }
}

std::optional<std::int64_t> whole_number(const boost::json::value& from, std::int64_t least,
                                         std::int64_t most, const Path& at, Reading& reading) {
  const auto* number = from.if_int64();
  if (number != nullptr && *number >= least && *number <= most) return *number;
  reading.refuse(at, from, fmt::format("a whole number from {} to {}", least, most));
  return std::nullopt;
}

std::optional<std::uint64_t> count(const boost::json::value& from, std::uint64_t most,
                                   const Path& at, Reading& reading) {
  std::optional<std::uint64_t> number;
  if (const auto* small = from.if_int64(); small != nullptr && *small >= 0) {
    number = static_cast<std::uint64_t>(*small);
  } else if (const auto* large = from.if_uint64()) {
    number = *large;
  }
  if (number && *number <= most) return number;
  reading.refuse(at, from, fmt::format("a whole number from 0 to {}", most));
  return std::nullopt;
}

std::optional<std::size_t> index_of(const boost::json::value& from,
                                    std::span<const std::string_view> all, const Path& at,
                                    Reading& reading) {
  if (const auto* name = from.if_string()) {
    const auto found = std::ranges::find(all, std::string_view(*name));
    if (found != all.end()) return static_cast<std::size_t>(found - all.begin());
  }
  reading.refuse(at, from, fmt::format("one of {}", fmt::join(all, ", ")));
  return std::nullopt;
}

std::uint8_t event_bits(const boost::json::value& from, const Path& at, Reading& reading) {
  std::vector<std::string_view> all;
  for (const auto& [name, bit] : callback_events) all.push_back(name);
  const auto* array = from.if_array();
  if (array == nullptr) {
    reading.refuse(at, from, fmt::format("a list of {}", fmt::join(all, ", ")));
    return 0;
  }
  unsigned bits = 0;
  for (std::size_t i = 0; i < array->size(); ++i) {
    const auto found = index_of((*array)[i], all, Path{.above = &at, .index = i}, reading);
    if (!found) return 0;
    bits |= static_cast<unsigned>(callback_events.at(*found).second);
  }
  return static_cast<std::uint8_t>(bits);
}

// ---- Fields ------------------------------------------------------------------------------------

const boost::json::value* Reader::find(std::string_view key) {
  asked_.push_back(key);
  if (!reading_.good()) return nullptr;
  const auto* value = from_.if_contains(key);
  if (value == nullptr) return nullptr;
  ++found_;
  return value->is_null() ? nullptr : value;
}

void Reader::miss(std::string_view key) {
  reading_.miss(Path{.above = &at_, .key = key});
}

bool Reader::operator()(std::string_view key, std::string& field) {
  if (const auto* value = find(key)) {
    read(*value, field, Path{.above = &at_, .key = key}, reading_);
    return true;
  }
  const std::string encoded = std::string(key) + "_base64";
  const auto* value = from_.if_contains(encoded);
  if (value == nullptr || !reading_.good()) return false;
  ++found_;
  const Path path{.above = &at_, .key = encoded};
  std::string text;
  read(*value, text, path, reading_);
  auto bytes = base64_decode(text);
  if (bytes) {
    field = std::move(*bytes);
  } else {
    reading_.refuse(path, bytes.error());
  }
  return true;
}

bool Reader::operator()(std::string_view key, std::optional<std::uint32_t>& field) {
  const auto* value = find(key);
  if (value == nullptr) return false;
  if (value->is_string() && value->get_string() == "unlimited") {
    field = unlimited;
  } else {
    read(*value, field.emplace(), Path{.above = &at_, .key = key}, reading_);
  }
  return true;
}

void Reader::finish() {
  if (!reading_.good() || found_ == from_.size()) return;
  if (reading_.unknown() == UnknownKeys::ignore) return;
  for (const auto& [key, value] : from_) {
    std::string_view name = key;
    if (name.ends_with("_base64")) name.remove_suffix(std::string_view("_base64").size());
    if (std::ranges::find(asked_, std::string_view(key)) != asked_.end()) continue;
    if (std::ranges::find(asked_, name) != asked_.end()) {
      // Text and bytes for the same field, or bytes for a field that is no text.
      const auto why = Error{ErrorCode::invalid,
                             fmt::format("{} is given twice or is no text; give it once", name)};
      return reading_.refuse(Path{.above = &at_, .key = key}, why);
    }
    return reading_.not_known(Path{.above = &at_, .key = key}, asked_);
  }
}

}  // namespace millrace::wire
