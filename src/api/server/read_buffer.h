// Bytes that were read and not yet used, in one piece. An empty one can be made small, so that ten
// thousand idle connections cost little.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

namespace millrace::api {

class ReadBuffer {
 public:
  std::string_view filled() const { return {data_.get() + begin_, end_ - begin_}; }
  bool empty() const { return begin_ == end_; }
  bool full() const { return end_ - begin_ == capacity_; }

  // Where the next bytes may be written; commit() says how many were. Nothing else may be called
  // in between but filled() and consume().
  std::span<char> room() { return {data_.get() + end_, capacity_ - end_}; }
  void commit(std::size_t bytes) { end_ += bytes; }
  void consume(std::size_t bytes) { begin_ += bytes; }

  // Grows the buffer to `wanted`, or shrinks it to that if it is empty.
  void prepare(std::size_t wanted) {
    const std::size_t kept = end_ - begin_;
    if (capacity_ < wanted || (kept == 0 && capacity_ > wanted)) {
      std::unique_ptr<char[]> fresh(new char[wanted]);  // not cleared, unlike make_unique's
      if (kept > 0) std::memcpy(fresh.get(), data_.get() + begin_, kept);
      data_ = std::move(fresh);
      capacity_ = wanted;
    } else if (begin_ > 0 && kept > 0) {
      std::memmove(data_.get(), data_.get() + begin_, kept);
    }
    begin_ = 0;
    end_ = kept;
  }

 private:
  std::unique_ptr<char[]> data_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace millrace::api
