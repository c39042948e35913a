// Writing values as bytes and reading them back, for blobs and records.
//
// Integers are little-endian and of fixed width, strings and lists have a 32-bit length in front. A
// ByteReader never runs past its end: it turns bad and gives zeros, and the caller checks once, at
// the end.
#pragma once

#include <millrace/ids.h>
#include <millrace/time.h>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace millrace::embedded {

static_assert(
    std::endian::native == std::endian::little,
    "records are little-endian; this platform needs byte swaps in store/embedded/bytes.h");

// Where bytes go: first into a Sizer, which counts, then into memory of that size.
class Sizer {
 public:
  void raw(const void*, std::size_t size) { size_ += size; }
  std::size_t size() const { return size_; }

 private:
  std::size_t size_ = 0;
};

class Filler {
 public:
  explicit Filler(char* at) : at_(at) {}
  void raw(const void* bytes, std::size_t size) {
    if (size != 0) std::memcpy(at_, bytes, size);
    at_ += size;
  }

 private:
  char* at_;
};

class Appender {
 public:
  explicit Appender(std::string& out) : out_(out) {}
  void raw(const void* bytes, std::size_t size) {
    out_.append(static_cast<const char*>(bytes), size);
  }

 private:
  std::string& out_;
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  std::string_view raw(std::size_t size) {
    if (size > bytes_.size() - at_) {
      good_ = false;
      at_ = bytes_.size();
      return {};
    }
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }
  bool good() const { return good_; }
  void spoil() { good_ = false; }
  std::size_t left() const { return bytes_.size() - at_; }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
  bool good_ = true;
};

template <class T>
concept Number = std::is_arithmetic_v<T> || std::is_enum_v<T>;

template <class Out, Number T>
void write(Out& out, T value) {
  out.raw(&value, sizeof(value));
}
template <Number T>
void read(ByteReader& in, T& value) {
  const auto bytes = in.raw(sizeof(value));
  if (bytes.size() == sizeof(value)) std::memcpy(&value, bytes.data(), sizeof(value));
}

// A bool with a value other than 0 and 1 must not be made.
inline void read(ByteReader& in, bool& value) {
  std::uint8_t byte = 0;
  read(in, byte);
  value = byte != 0;
}

template <class Out>
void write(Out& out, std::string_view text) {
  write(out, static_cast<std::uint32_t>(text.size()));
  out.raw(text.data(), text.size());
}
template <class Out>
void write(Out& out, const std::string& text) {
  write(out, std::string_view(text));
}
inline void read(ByteReader& in, std::string& text) {
  std::uint32_t size = 0;
  read(in, size);
  text = in.raw(size);
}

template <class Out>
void write(Out& out, Duration value) {
  write(out, static_cast<std::int64_t>(value.count()));
}
inline void read(ByteReader& in, Duration& value) {
  std::int64_t count = 0;
  read(in, count);
  value = Duration(count);
}
template <class Out>
void write(Out& out, TimePoint value) {
  write(out, value.time_since_epoch());
}
inline void read(ByteReader& in, TimePoint& value) {
  Duration since{};
  read(in, since);
  value = TimePoint(since);
}

template <class Out>
void write(Out& out, const Uuid& uuid) {
  out.raw(uuid.bytes.data(), uuid.bytes.size());
}
inline void read(ByteReader& in, Uuid& uuid) {
  const auto bytes = in.raw(uuid.bytes.size());
  if (bytes.size() == uuid.bytes.size()) std::memcpy(uuid.bytes.data(), bytes.data(), bytes.size());
}
template <class Out, class Tag, class Rep>
void write(Out& out, const Strong<Tag, Rep>& strong) {
  write(out, strong.value);
}
template <class Tag, class Rep>
void read(ByteReader& in, Strong<Tag, Rep>& strong) {
  read(in, strong.value);
}

template <class Out, class T>
void write(Out& out, const std::optional<T>& value) {
  write(out, value.has_value());
  if (value) write(out, *value);
}
template <class T>
void read(ByteReader& in, std::optional<T>& value) {
  bool given = false;
  read(in, given);
  value.reset();
  if (given) read(in, value.emplace());
}

template <class Out, class T>
void write(Out& out, const std::vector<T>& values) {
  write(out, static_cast<std::uint32_t>(values.size()));
  for (const T& value : values) write(out, value);
}
template <class T>
void read(ByteReader& in, std::vector<T>& values) {
  std::uint32_t size = 0;
  read(in, size);
  if (size > in.left()) return in.spoil();  // every element takes a byte at least
  values.resize(size);
  for (T& value : values) read(in, value);
}

}  // namespace millrace::embedded
