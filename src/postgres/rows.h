// What a statement answered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "postgres/binary.h"

struct pg_result;

namespace millrace::postgres {

// One field, or one element of an array.
using Field = std::optional<std::string_view>;

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};

// What tables hold is input. A field that does not fit what it is read as (a NULL where none is
// expected, a column of another kind) is noted, for the calling thread, and read as nothing: 0, "".
// The connection sends no more after that, so nothing is stored that follows from it.
void note_misread(const char* what) noexcept;
// The first that was noted, and forgets it; null: all fields fitted.
const char* take_misread() noexcept;

template <class T>
T misread(const char* what) {
  note_misread(what);
  return T();
}

// Of a bigint, integer, smallint or "char"; wider is not read as narrower.
std::int64_t read_integer(std::string_view bytes, std::size_t widest);
double read_double(std::string_view bytes);
Uuid read_uuid(std::string_view bytes);
// The elements of a one-dimensional array; they point into it.
std::vector<Field> read_array(std::string_view bytes);

template <class T>
T read_field(Field field) {
  if constexpr (IsOptional<T>::value) {
    if (!field) return std::nullopt;
    return read_field<typename T::value_type>(field);
  } else {
    if (!field) return misread<T>("a column that must not be NULL is NULL");
    const std::string_view bytes = *field;
    if constexpr (IsVector<T>::value) {
      T read;
      for (const Field element : read_array(bytes)) {
        read.push_back(read_field<typename T::value_type>(element));
      }
      return read;
    } else if constexpr (std::same_as<T, bool>) {
      return !bytes.empty() && bytes[0] != '\0';
    } else if constexpr (std::integral<T>) {
      return static_cast<T>(read_integer(bytes, sizeof(T)));
    } else if constexpr (std::same_as<T, double>) {
      return read_double(bytes);
    } else if constexpr (std::same_as<T, Uuid>) {
      return read_uuid(bytes);
    } else if constexpr (std::same_as<T, TimePoint>) {
      return from_postgres_time(read_integer(bytes, sizeof(std::int64_t)));
    } else if constexpr (std::same_as<T, Bytes>) {
      return Bytes{bytes};
    } else {
      return T(bytes);  // std::string, std::string_view
    }
  }
}

class Rows {
 public:
  Rows() = default;
  // Takes over what libpq gave.
  explicit Rows(pg_result* result);

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::size_t columns() const;
  // How many rows an INSERT, UPDATE, DELETE or SELECT touched.
  std::uint64_t affected() const;

  bool is_null(std::size_t row, std::size_t column) const;
  // bool, integers, double, std::string and std::string_view (text and bytea; a view is valid as
  // long as these Rows), Uuid, TimePoint, std::optional of them, std::vector of any of these
  // (arrays). An integer may be asked for as a wider one.
  template <class T>
  T get(std::size_t row, std::size_t column) const {
    return read_field<T>(field(row, column));
  }
  // Of statements that answer one value, or one in each row; it is in the first column.
  template <class T>
  T value() const {
    return get<T>(0, 0);
  }
  template <class T>
  std::vector<T> values() const {
    std::vector<T> all;
    all.reserve(size_);
    for (std::size_t row = 0; row < size_; ++row) all.push_back(get<T>(row, 0));
    return all;
  }
  Field field(std::size_t row, std::size_t column) const;

 private:
  struct Clear {
    void operator()(pg_result* result) const;
  };
  std::unique_ptr<pg_result, Clear> result_;
  std::size_t size_ = 0;
};

}  // namespace millrace::postgres
