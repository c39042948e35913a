// One-dimensional arrays as parameters: the columns of many rows in one statement.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include "postgres/binary.h"

namespace millrace::postgres {

// T: bool, std::int16_t, std::int32_t, std::int64_t, double, Uuid, TimePoint, std::string_view
// (text) or Bytes. One buffer, which grows and is kept by clear().
template <Sendable T>
class Array {
 public:
  void push(const T& value) {
    const std::size_t at = begin();
    append_binary(buffer_, value);
    const auto length = big_endian(static_cast<std::int32_t>(buffer_.size() - at - 4));
    std::memcpy(buffer_.data() + at, &length, sizeof(length));
    ++values_;
  }
  void push_null() {
    append_number(buffer_, std::int32_t{-1});
    ++size_;
  }
  // A template, so that a type that converts to T, as std::string does to text, is not ambiguous.
  template <std::same_as<std::optional<T>> U>
  void push(const U& value) {
    if (value) {
      push(*value);
    } else {
      push_null();
    }
  }

  void reserve(std::size_t elements, std::size_t bytes_each) {
    buffer_.reserve(head_size + elements * (bytes_each + 4));
  }
  void clear() {
    buffer_.resize(head_size);
    size_ = values_ = 0;
  }

  std::size_t size() const { return size_; }
  // True also for an empty array.
  bool all_null() const { return values_ == 0; }

  // Appends the array as the server reads it.
  void write(std::string& to) const {
    if (size_ == 0) {  // no dimension at all
      append_number(to, std::int32_t{0});
      append_number(to, std::int32_t{0});
      append_number(to, static_cast<std::int32_t>(TypeOf<T>::one));
      return;
    }
    const std::size_t head = to.size();
    to.append(buffer_);
    std::string numbers;
    append_number(numbers, std::int32_t{1});  // dimensions
    append_number(numbers, static_cast<std::int32_t>(values_ != size_));
    append_number(numbers, static_cast<std::int32_t>(TypeOf<T>::one));
    append_number(numbers, static_cast<std::int32_t>(size_));
    append_number(numbers, std::int32_t{1});  // the first is number 1
    std::memcpy(to.data() + head, numbers.data(), head_size);
  }

 private:
  static constexpr std::size_t head_size = 20;

  std::size_t begin() {
    const std::size_t at = buffer_.size();
    buffer_.append(4, '\0');  // room for the length
    ++size_;
    return at;
  }

  std::string buffer_ = std::string(head_size, '\0');
  std::size_t size_ = 0;
  std::size_t values_ = 0;  // that are not NULL
};

}  // namespace millrace::postgres
