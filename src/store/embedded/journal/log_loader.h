// Loads from the log what copies of tasks lack: in the order of the files, a window at a time, on
// the reader's own thread.
#pragma once

#include <millrace/result.h>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "store/embedded/journal/format.h"
#include "store/embedded/journal/segments.h"
#include "store/embedded/task_copy.h"

namespace millrace::embedded {

class LogLoader {
 public:
  // What has been written ends at `written`; no segment before `first` is named by a copy.
  LogLoader(Segments& segments, std::uint64_t first, const Position& written)
      : pin_(std::make_unique<Segments::Pin>(segments, first)),
        segments_(segments),
        written_(written) {}

  // Says what it read. Throws Unreadable.
  ReadCost load(std::span<TaskCopy> copies);

 private:
  // A body or the notes of one copy.
  struct Lack {
    Position at = {};
    std::uint32_t size = 0;  // of the blob with its head, rounded up
    TaskCopy* copy = nullptr;
    bool is_body = false;
    bool in_part = false;  // without the payload, or the result
  };

  std::vector<Lack> lacks_of(std::span<TaskCopy> copies) const;
  Lack lack_of(const Blob& blob, TaskCopy& copy) const;
  void load_whole(const Lack& lack, std::size_t following);
  void load_without_payload(const Lack& lack);
  void load_without_result(const Lack& lack);
  // The first bytes of a blob, without its head, and the size of all of them.
  struct Begin {
    std::string bytes;
    std::uint32_t size = 0;
  };
  Begin read_begin(const Lack& lack, std::size_t most);
  std::string_view window(const Position& at, std::size_t size, std::size_t following);
  std::string read(const Position& at, std::size_t size);
  Result<std::string> try_read(const Position& at, std::size_t size);

  std::unique_ptr<Segments::Pin> pin_;
  Segments& segments_;
  Position written_ = {};
  Position window_at_ = {};
  std::string window_ = {};
  ReadCost read_ = {};
};

}  // namespace millrace::embedded
