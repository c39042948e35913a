// PostgreSQL's binary form of single values: what a parameter, an element of an array and a field
// of an answer have in common.
#pragma once

#include <millrace/ids.h>
#include <millrace/time.h>
#include <bit>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

namespace millrace::postgres {

// Numbers of types, as every PostgreSQL has them (pg_type.dat).
using Oid = std::uint32_t;

// A bytea, where a std::string_view would be text.
struct Bytes {
  std::string_view value;
  friend bool operator==(const Bytes&, const Bytes&) = default;
};

template <class T>
struct TypeOf;
template <>
struct TypeOf<bool> {
  static constexpr Oid one = 16, array = 1000;
};
template <>
struct TypeOf<std::int16_t> {
  static constexpr Oid one = 21, array = 1005;
};
template <>
struct TypeOf<std::int32_t> {
  static constexpr Oid one = 23, array = 1007;
};
template <>
struct TypeOf<std::int64_t> {
  static constexpr Oid one = 20, array = 1016;
};
template <>
struct TypeOf<double> {
  static constexpr Oid one = 701, array = 1022;
};
template <>
struct TypeOf<std::string_view> {
  static constexpr Oid one = 25, array = 1009;
};
template <>
struct TypeOf<Bytes> {
  static constexpr Oid one = 17, array = 1001;
};
template <>
struct TypeOf<Uuid> {
  static constexpr Oid one = 2950, array = 2951;
};
template <>
struct TypeOf<TimePoint> {
  static constexpr Oid one = 1184, array = 1185;
};

template <class T>
concept Sendable = requires { TypeOf<T>::one; };

// Moments: microseconds since 2000-01-01. `never` is 'infinity', the least moment '-infinity', and
// so are moments outside the years that PostgreSQL can count.
std::int64_t to_postgres_time(TimePoint moment);
TimePoint from_postgres_time(std::int64_t microseconds);

template <std::integral T>
constexpr T big_endian(T value) {
  if constexpr (std::endian::native == std::endian::big || sizeof(T) == 1) {
    return value;
  } else {
    return std::byteswap(value);
  }
}

template <std::integral T>
void append_number(std::string& to, T value) {
  const T turned = big_endian(value);
  to.append(reinterpret_cast<const char*>(&turned), sizeof(turned));
}

template <std::integral T>
T read_number(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return big_endian(value);
}

inline void append_binary(std::string& to, bool value) {
  to.push_back(value ? '\1' : '\0');
}
inline void append_binary(std::string& to, std::int16_t value) {
  append_number(to, value);
}
inline void append_binary(std::string& to, std::int32_t value) {
  append_number(to, value);
}
inline void append_binary(std::string& to, std::int64_t value) {
  append_number(to, value);
}
inline void append_binary(std::string& to, double value) {
  append_number(to, std::bit_cast<std::int64_t>(value));
}
inline void append_binary(std::string& to, std::string_view text) {
  to.append(text);
}
inline void append_binary(std::string& to, Bytes bytes) {
  to.append(bytes.value);
}
inline void append_binary(std::string& to, const Uuid& id) {
  to.append(reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size());
}
inline void append_binary(std::string& to, TimePoint moment) {
  append_number(to, to_postgres_time(moment));
}

}  // namespace millrace::postgres
