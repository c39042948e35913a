// The few file operations that a durable store needs, in one directory.
//
// The journal writes through this class, so that tests/sim can put a disk behind it that tears,
// loses, reorders, flips and refuses. A caller may rely only on what a careless disk still
// promises:
//
//   * Bytes written are durable only after sync() of that file returned without an error. Before,
//     any part of them may survive a crash, in any order.
//   * A name that was created, renamed or removed is so for good only after sync_directory().
//   * After a failed sync() nothing is known about the bytes written since the last good one: a
//     later sync() that succeeds says nothing about them.
//   * read() gives what was written, also before it is durable.
//
// Errors are `limited` when the disk is full, `conflict` when another process holds the lock,
// `not_found` for an unknown name, and `unavailable` for everything else; messages name the path
// and the system's reason.
//
// Different files may be used from different threads at once; so may one file, except for close().
#pragma once

#include <millrace/result.h>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

class Disk {
 public:
  // An open file; meaningless after close().
  enum class File : int {};

  enum class Access : std::uint8_t {
    read,    // an existing file
    write,   // an existing file, to read and write
    create,  // a new file, to read and write; `conflict` if the name is taken
  };

  struct Entry {
    std::string name;
    std::uint64_t size = 0;
  };

  virtual ~Disk() = default;

  // Where this disk is, for messages.
  virtual std::string path() const = 0;

  // Keeps other processes out of the directory until this object is destroyed; `conflict` if
  // another process has the lock. Shared holders only read, and keep writers out.
  virtual Result<void> lock(bool shared) = 0;

  // Every file of the directory, in no particular order.
  virtual Result<std::vector<Entry>> list() = 0;

  virtual Result<File> open(std::string_view name, Access access) = 0;
  virtual void close(File file) = 0;

  // Makes sure that writes below `size` find space: no other write is safe from `limited`.
  virtual Result<void> allocate(File file, std::uint64_t size) = 0;

  // Writes all of the bytes, or returns an error after any part of them.
  virtual Result<void> write(File file, std::uint64_t offset, std::string_view bytes) = 0;

  // Reads into the front of `into` and returns how many bytes; it may be any number, but 0 only at
  // the end of the file. Most callers want read_all().
  virtual Result<std::size_t> read(File file, std::uint64_t offset, std::span<char> into) = 0;

  virtual Result<void> sync(File file) = 0;
  // Starts to write data back to the disk, without waiting. Promises nothing.
  virtual void begin_sync(File) {}
  virtual Result<void> sync_directory() = 0;

  // Replaces `to` if it exists; open files stay open.
  virtual Result<void> rename(std::string_view from, std::string_view to) = 0;
  virtual Result<void> remove(std::string_view name) = 0;
};

// Reads until `into` is full or the file ends; returns how many bytes.
Result<std::size_t> read_all(Disk& disk, Disk::File file, std::uint64_t offset,
                             std::span<char> into);

}  // namespace millrace
