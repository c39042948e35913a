// Where the bytes of tasks live: what was put, and what came of it. They are in memory; once they
// are older and there is a journal, they are only in its log.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string_view>
#include <vector>

namespace millrace::embedded {

// Where bytes lie in the log. Packed into 63 bits, so that a slot pays nothing for it.
struct Place {
  static constexpr std::uint32_t max_segments = 1U << 20U;  // that exist at a time
  static constexpr std::uint32_t max_offset = 1U << 27U;
  // Sizes are packed into 16 bits, rounded up: by small steps up to 1 MiB, by large ones beyond.
  static constexpr std::uint32_t size_step = 32;
  static constexpr std::uint32_t large_step = 1024;
  static constexpr std::uint32_t most_steps = (1U << 15U) - 1;
  static constexpr std::uint32_t max_size = most_steps * large_step;

  std::uint32_t segment = 0;  // the low 20 bits of its number
  std::uint32_t offset = 0;
  std::uint32_t size = 0;  // at most max_size

  std::uint64_t pack() const {
    const bool large = size > most_steps * size_step;
    const std::uint32_t step = large ? large_step : size_step;
    const std::uint64_t steps = (size + step - 1) / step | (large ? most_steps + 1 : 0U);
    return (std::uint64_t{segment % max_segments} << 43U) | (std::uint64_t{offset} << 16U) | steps;
  }
  static Place unpack(std::uint64_t bits) {
    return {.segment = static_cast<std::uint32_t>(bits >> 43U) % max_segments,
            .offset = static_cast<std::uint32_t>(bits >> 16U) % max_offset,
            .size = static_cast<std::uint32_t>(bits & most_steps) *
                    ((bits & (most_steps + 1)) != 0 ? large_step : size_step)};
  }

  friend bool operator==(const Place&, const Place&) = default;
};

// A handle; default is "no bytes". An address is even, a place is marked by the lowest bit.
struct Blob {
  std::uint64_t bits = 0;

  static Blob in_memory(char* at) { return {std::bit_cast<std::uintptr_t>(at)}; }
  static Blob in_log(const Place& place) { return {(place.pack() << 1U) | 1U}; }

  explicit operator bool() const { return bits != 0; }
  bool is_in_log() const { return (bits & 1U) != 0; }
  char* at() const { return std::bit_cast<char*>(static_cast<std::uintptr_t>(bits)); }
  Place place() const { return Place::unpack(bits >> 1U); }

  friend bool operator==(const Blob&, const Blob&) = default;
};

// Blocks up to 4 KiB come from free lists by size, because a queue allocates and frees the same few
// sizes millions of times; larger ones from the heap. A small block is kept for its own size.
class Blobs {
 public:
  // `with_places`: every block remembers where in the log its bytes lie as well.
  explicit Blobs(bool with_places = false) : trailer_(with_places ? sizeof(Blob) : 0) {}
  Blobs(const Blobs&) = delete;
  Blobs& operator=(const Blobs&) = delete;
  ~Blobs();

  // Uninitialised bytes for the caller to fill.
  Blob add(std::size_t size);
  // "No bytes" and bytes in the log are allowed.
  void remove(Blob blob);

  // REQUIRES: in memory.
  static char* data(Blob blob) { return blob.at() + header; }
  static std::string_view view(Blob blob) {
    return blob ? std::string_view(blob.at() + header, size_of(blob)) : std::string_view();
  }
  static std::uint32_t size_of(Blob blob);

  // The handle of the same bytes in the log; "no bytes" if the log does not have them yet.
  // REQUIRES: with_places.
  Blob logged(Blob blob) const;
  void set_logged(Blob& blob, const Place& place);
  // Forgets the bytes in memory. REQUIRES: in memory, and logged.
  void evict(Blob& blob);

  // Bytes asked for, bytes on top of them (headers, rounding and free blocks), and bytes that are
  // only in the log.
  std::size_t used() const { return used_; }
  std::size_t overhead() const { return reserved_ - used_; }
  std::size_t only_logged() const { return only_logged_; }

 private:
  static constexpr std::size_t header = 4;
  static constexpr std::size_t step = 8;
  static constexpr std::size_t largest = 4096;
  static constexpr std::size_t chunk_size = 32 * 1024;

  // Blocks of one size: freed ones, then the rest of the newest chunk.
  struct SizeClass {
    char* freed = nullptr;  // each holds the address of the next
    char* fresh = nullptr;
    char* fresh_end = nullptr;
  };

  std::size_t block_size(std::size_t size) const {
    return (size + header + trailer_ + step - 1) / step * step;
  }
  char* take_block(std::size_t bytes);

  std::size_t trailer_;
  std::array<SizeClass, largest / step + 1> classes_{};
  std::vector<std::unique_ptr<char[]>> chunks_;
  std::set<char*> large_;
  std::size_t used_ = 0;
  std::size_t reserved_ = 0;
  std::size_t only_logged_ = 0;
};

}  // namespace millrace::embedded
