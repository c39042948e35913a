// Values to JSON, along the lists of fields.h.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "api/wire/fields.h"
#include "api/wire/names.h"
#include "core/base64.h"
#include "core/time_text.h"
#include "core/utf8.h"
#include "core/uuid.h"

namespace millrace::wire {

template <HasFields T>
boost::json::object written(const T& value);

// ---- Single values -----------------------------------------------------------------------------

template <class T>
  requires std::is_arithmetic_v<T>
boost::json::value written(T value) {
  return value;
}
template <class T>
  requires std::is_enum_v<T>
boost::json::value written(T value) {
  const auto all = names(value);
  const auto number = static_cast<std::size_t>(value);
  return boost::json::string(number < all.size() ? all[number] : "unknown");
}
inline boost::json::value written(Duration value) {
  return static_cast<std::int64_t>(value.count());
}
inline boost::json::value written(TimePoint value) {
  return boost::json::string(value == never ? "never" : format_time(value));
}
inline boost::json::value written(const Uuid& value) {
  return boost::json::string(to_text(value));
}
inline boost::json::value written(const TaskId& value) {
  return written(value.value);
}
template <class Tag, class Rep>
  requires std::is_arithmetic_v<Rep>
boost::json::value written(const Strong<Tag, Rep>& value) {
  return value.value;
}
inline boost::json::value written(const std::string& value) {
  return boost::json::string(value);
}
// A name is a string, a number a number; a UUID could be a name and says that it is none.
inline boost::json::value written(const QueueRef& value) {
  if (const auto* name = std::get_if<std::string>(&value)) return written(*name);
  if (const auto* number = std::get_if<QueueNumber>(&value)) return written(*number);
  return boost::json::object{{"id", written(std::get<Uuid>(value))}};
}
template <class T>
boost::json::value written(const std::vector<T>& values) {
  boost::json::array array;
  array.reserve(values.size());
  for (const T& value : values) array.push_back(written(value));
  return array;
}
template <class T>
boost::json::value written(const EventNames<T>& events) {
  boost::json::array array;
  for (const auto& [name, bit] : callback_events) {
    if ((events.bits & static_cast<unsigned>(bit)) != 0) array.emplace_back(name);
  }
  return array;
}

// ---- Fields ------------------------------------------------------------------------------------

class Writer {
 public:
  explicit Writer(boost::json::object& to) : to_(to) {}

  template <class T>
  void operator()(std::string_view key, const T& field) {
    if (!is_empty(field)) write(key, field);
  }
  template <class T>
  void operator()(std::string_view key, const std::optional<T>& field) {
    if (field) write(key, *field);
  }
  // "No limit" has a name, so that nobody has to know its number.
  void operator()(std::string_view key, const std::optional<std::uint32_t>& field) {
    if (!field) return;
    to_[key] = *field == unlimited ? boost::json::value("unlimited") : written(*field);
  }
  template <class T>
  void operator()(std::string_view key, const Always<T>& always) {
    write(key, always.field);
  }
  template <class T>
  void operator()(std::string_view key, const Required<T>& required) {
    write(key, required.field);
  }
  template <class T>
  void operator()(std::string_view key, const Embedded<T>& embedded) {
    (*this)(key, embedded.bytes);
  }

 private:
  template <class T>
  void write(std::string_view key, const T& field) {
    to_[key] = written(field);
  }
  // JSON holds text only; other bytes come under a name that says how they are written.
  void write(std::string_view key, const std::string& bytes) {
    if (is_utf8(bytes)) {
      to_[key] = written(bytes);
    } else {
      to_[std::string(key) + "_base64"] = base64_encode(bytes);
    }
  }

  boost::json::object& to_;
};

template <HasFields T>
boost::json::object written(const T& value) {
  boost::json::object object;
  Writer writer(object);
  fields(value, writer);
  return object;
}

}  // namespace millrace::wire
