// The parameters of one statement, in order, in binary; text format is never used.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "postgres/array.h"
#include "postgres/binary.h"

namespace millrace::postgres {

// The server is told the type of each, so that a statement that wants a bigint takes an int32, too,
// and one that wants an interval or jsonb takes text with a cast: `$1::interval`. Copies what it is
// given.
//
// A std::string_view is text: UTF-8, without zero bytes, or the server refuses it. Anything else is
// for add_bytes().
class Params {
 public:
  template <Sendable T>
  void add(const T& value) {
    begin(TypeOf<T>::one);
    append_binary(buffer_, value);
    end();
  }
  void add(const std::string& text) { add(std::string_view(text)); }
  void add(const char* text) { add(std::string_view(text)); }
  void add_bytes(std::string_view bytes) { add(Bytes{bytes}); }
  template <class T>
  void add(const std::optional<T>& value) {
    if (value) {
      add(*value);
    } else {
      add_typed_null(type_of<T>());
    }
  }
  // A value whose type the server must be able to find out.
  void add_null() { add_typed_null(0); }

  // An array of NULLs only, or of nothing, is sent as NULL: unnest($1, $2, ...) gives the same rows
  // as long as any of the arrays is complete, and an unused column costs nothing.
  template <class T>
  void add(const Array<T>& array) {
    if (array.all_null()) {
      add_typed_null(TypeOf<T>::array);
    } else {
      add_whole(array);
    }
  }
  // The same, but sent as it is: for a value that is to be stored.
  template <class T>
  void add_whole(const Array<T>& array) {
    begin(TypeOf<T>::array);
    array.write(buffer_);
    end();
  }

  void clear();
  std::size_t size() const { return slots_.size(); }
  std::span<const Oid> types() const { return types_; }
  bool is_null(std::size_t index) const { return slots_[index].size == null; }
  // Valid until the next change.
  std::string_view value(std::size_t index) const {
    return std::string_view(buffer_).substr(slots_[index].at, slots_[index].size);
  }

 private:
  static constexpr std::size_t null = std::numeric_limits<std::size_t>::max();
  struct Slot {
    std::size_t at = 0;
    std::size_t size = null;
  };

  template <class T>
  static constexpr Oid type_of() {
    if constexpr (std::same_as<T, std::string>) {
      return TypeOf<std::string_view>::one;
    } else {
      return TypeOf<T>::one;
    }
  }

  void begin(Oid type);
  void end();
  void add_typed_null(Oid type);

  std::string buffer_;
  std::vector<Slot> slots_;
  std::vector<Oid> types_;
};

}  // namespace millrace::postgres
