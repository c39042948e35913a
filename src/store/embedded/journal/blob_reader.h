// Reads blobs back from the log. Used by the applier alone.
#pragma once

#include <millrace/result.h>
#include <cstdint>
#include <string>
#include <string_view>

#include "store/embedded/blobs.h"
#include "store/embedded/journal/format.h"
#include "store/embedded/journal/segments.h"

namespace millrace::embedded {

// Thrown out of the middle of whatever the state machine was doing, because nothing it could do
// without the bytes would be right. Caught at the entry of the journal: a read is answered with it,
// and a change that was under way has failed the store.
struct Unreadable {
  Error error;
};

// `unavailable`, whatever the disk said: a file that is missing is no task that is missing.
Unreadable unreadable(const Position& at, const Error& cause);
// `corrupt`.
Unreadable damaged(const Position& at, std::uint64_t number);

// A place has only the low bits of its segment's number. The segment is either an old one or one of
// the few whose groups wait to be written.
std::uint64_t full_number(std::uint32_t segment, const Position& written);

class BlobReader {
 public:
  explicit BlobReader(Segments& segments) : segments_(segments) {}

  // The bytes of a task's blob, good until the next call. Throws Unreadable.
  std::string_view read(Blob blob, std::uint64_t number);

  // Nothing at or after this position may be read.
  void set_written(const Position& written) { written_ = written; }

  bool is_written(const Place& place) const;
  const Position& written() const { return written_; }

 private:
  Result<std::string_view> window(const Position& at, std::size_t size);

  Segments& segments_;
  Position written_ = {};
  // Tasks that are taken one after the other mostly lie one after the other in the log.
  Position window_at_ = {};
  std::string window_;
};

}  // namespace millrace::embedded
