// Where the bytes of tasks live: what was put, and what came of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string_view>
#include <vector>

namespace millrace::embedded {

// A handle; default is "no bytes".
struct Blob {
  char* at = nullptr;
  explicit operator bool() const { return at != nullptr; }
};

// Blocks up to 4 KiB come from free lists by size, because a queue allocates and frees the same few
// sizes millions of times; larger ones from the heap. A small block is kept for its own size.
class Blobs {
 public:
  Blobs() = default;
  Blobs(const Blobs&) = delete;
  Blobs& operator=(const Blobs&) = delete;
  ~Blobs();

  // Uninitialised bytes for the caller to fill.
  Blob add(std::size_t size);
  // "No bytes" is allowed.
  void remove(Blob blob);

  static char* data(Blob blob) { return blob.at + header; }
  static std::string_view view(Blob blob) {
    return blob ? std::string_view(blob.at + header, size_of(blob)) : std::string_view();
  }

  // Bytes asked for, and bytes on top of them: headers, rounding and free blocks.
  std::size_t used() const { return used_; }
  std::size_t overhead() const { return reserved_ - used_; }

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

  static std::uint32_t size_of(Blob blob);
  char* take_block(std::size_t bytes);

  std::array<SizeClass, largest / step + 1> classes_{};
  std::vector<std::unique_ptr<char[]>> chunks_;
  std::set<char*> large_;
  std::size_t used_ = 0;
  std::size_t reserved_ = 0;
};

}  // namespace millrace::embedded
