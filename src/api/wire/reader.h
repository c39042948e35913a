// JSON to values, along the lists of fields.h.
#pragma once

#include <millrace/result.h>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "api/wire/fields.h"
#include "api/wire/names.h"
#include "api/wire/path.h"
#include "api/wire/wire.h"

namespace millrace::wire {

// One reading of one document. The first error stays, and nothing is read after it.
class Reading {
 public:
  explicit Reading(UnknownKeys unknown) : unknown_(unknown) {}

  bool good() const { return !error_; }
  Error& error() { return *error_; }
  UnknownKeys unknown() const { return unknown_; }

  // "task.priority is "high"; allowed is a whole number".
  void refuse(const Path& at, const boost::json::value& found, std::string_view allowed);
  void refuse(const Path& at, const Error& why);
  void miss(const Path& at);
  void not_known(const Path& at, const std::vector<std::string_view>& known);

 private:
  UnknownKeys unknown_;
  std::optional<Error> error_;
};

// ---- Single values -----------------------------------------------------------------------------

void read(const boost::json::value& from, bool& to, const Path& at, Reading& reading);
void read(const boost::json::value& from, double& to, const Path& at, Reading& reading);
void read(const boost::json::value& from, std::string& to, const Path& at, Reading& reading);
void read(const boost::json::value& from, Duration& to, const Path& at, Reading& reading);
void read(const boost::json::value& from, TimePoint& to, const Path& at, Reading& reading);
void read(const boost::json::value& from, Uuid& to, const Path& at, Reading& reading);
void read(const boost::json::value& from, TaskId& to, const Path& at, Reading& reading);
void read(const boost::json::value& from, QueueRef& to, const Path& at, Reading& reading);

// Whole numbers from `least` to `most`; nullopt, and refused, otherwise.
std::optional<std::int64_t> whole_number(const boost::json::value& from, std::int64_t least,
                                         std::int64_t most, const Path& at, Reading& reading);
std::optional<std::uint64_t> count(const boost::json::value& from, std::uint64_t most,
                                   const Path& at, Reading& reading);
// The number of the name among `all`.
std::optional<std::size_t> index_of(const boost::json::value& from,
                                    std::span<const std::string_view> all, const Path& at,
                                    Reading& reading);
// Bits of CallbackOn.
std::uint8_t event_bits(const boost::json::value& from, const Path& at, Reading& reading);

template <std::integral T>
void read(const boost::json::value& from, T& to, const Path& at, Reading& reading) {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_signed_v<T>) {
    const auto number = whole_number(from, Limits::min(), Limits::max(), at, reading);
    to = static_cast<T>(number.value_or(0));
  } else {
    to = static_cast<T>(count(from, Limits::max(), at, reading).value_or(0));
  }
}
template <class T>
  requires std::is_enum_v<T>
void read(const boost::json::value& from, T& to, const Path& at, Reading& reading) {
  static constexpr auto all = names(T{});
  to = static_cast<T>(index_of(from, all, at, reading).value_or(0));
}
template <class Tag, class Rep>
  requires std::is_arithmetic_v<Rep>
void read(const boost::json::value& from, Strong<Tag, Rep>& to, const Path& at, Reading& reading) {
  read(from, to.value, at, reading);
}

template <HasFields T>
void read(const boost::json::value& from, T& to, const Path& at, Reading& reading);

template <class T>
void read(const boost::json::value& from, std::vector<T>& to, const Path& at, Reading& reading) {
  to.clear();
  const auto* array = from.if_array();
  if (array == nullptr) return reading.refuse(at, from, "a list");
  for (std::size_t i = 0; i < array->size() && reading.good(); ++i) {
    read((*array)[i], to.emplace_back(), Path{.above = &at, .index = i}, reading);
  }
}

// ---- Fields ------------------------------------------------------------------------------------

class Reader {
 public:
  Reader(const boost::json::object& from, const Path& at, Reading& reading)
      : from_(from), at_(at), reading_(reading) {}

  // True: the field was there.
  template <class T>
  bool operator()(std::string_view key, T& field) {
    const auto* value = find(key);
    if (value != nullptr) read(*value, field, Path{.above = &at_, .key = key}, reading_);
    return value != nullptr;
  }
  bool operator()(std::string_view key, std::string& field);
  bool operator()(std::string_view key, std::optional<std::uint32_t>& field);
  template <class T>
  bool operator()(std::string_view key, std::optional<T>& field) {
    const auto* value = find(key);
    if (value == nullptr) return false;
    read(*value, field.emplace(), Path{.above = &at_, .key = key}, reading_);
    return true;
  }
  template <class T>
  void operator()(std::string_view key, Always<T>&& always) {
    (*this)(key, always.field);
  }
  template <class T>
  void operator()(std::string_view key, Required<T>&& required) {
    if (!(*this)(key, required.field)) miss(key);
  }
  template <class T>
  void operator()(std::string_view key, EventNames<T>&& events) {
    const auto* value = find(key);
    if (value == nullptr) return;
    events.bits = event_bits(*value, Path{.above = &at_, .key = key}, reading_);
  }

  template <class T>
  void operator()(std::string_view key, Embedded<T>&& embedded) {
    (*this)(key, embedded.bytes);
  }

  // Complains about keys that no field has asked for.
  void finish();

 private:
  // nullptr: not there, or null, which says the same; or something was wrong before.
  const boost::json::value* find(std::string_view key);
  void miss(std::string_view key);

  const boost::json::object& from_;
  const Path& at_;
  Reading& reading_;
  std::vector<std::string_view> asked_;
  std::size_t found_ = 0;
};

template <HasFields T>
void read(const boost::json::value& from, T& to, const Path& at, Reading& reading) {
  to = T{};
  const auto* object = from.if_object();
  if (object == nullptr) return reading.refuse(at, from, "an object");
  Reader reader(*object, at, reading);
  fields(to, reader);
  reader.finish();
}

}  // namespace millrace::wire
