// The state as records: results, not commands, so that replaying them decides nothing.
//
// A record is its kind (one byte, changes.h), the length of the rest (four bytes) and the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/embedded/bytes.h"
#include "store/embedded/state.h"

namespace millrace::embedded {

// Where a record keeps the bytes of a task's blobs, so that they can be found there again.
struct Written {
  static constexpr std::size_t nowhere = ~std::size_t{0};

  std::uint32_t slot = 0;
  std::size_t body = nowhere;  // offsets into the bytes
  std::size_t notes = nowhere;
};

struct Records {
  std::string bytes;
  std::vector<Written> written;
};

// Appends the records of everything that changed since the last call. REQUIRES: Options::record.
void take_records(State& state, Records& out);

// Appends the whole state as records, in an order that depends on nothing but the state: two
// states are equal if and only if these bytes are.
void write_state(const State& state, std::string& out);

// Appends single records of the state as it is now.
void write_task(const State& state, std::uint32_t slot, Records& out);
void write_numbers(const State& state, std::string& out);
// False: it is gone, and nothing was written.
bool write_thing(const State& state, const SmallChange& thing, std::string& out);

// ---- Taking records apart ----------------------------------------------------------------------

struct RecordView {
  RecordKind kind = RecordKind::task;
  std::string_view whole;    // with kind and length
  std::string_view payload;  // without
};

// Cuts the first record off; nullopt: the bytes do not begin with a whole one.
std::optional<RecordView> next_record(std::string_view& bytes);

// What a record of the small state is about; nullopt for other records, and for those of things
// that are gone.
std::optional<SmallChange> thing_of(const RecordView& record);

// The front of a `task` record.
struct TaskHead {
  std::uint64_t number = 0;
  std::uint32_t version = 0;
  TaskId id = {};
  std::uint16_t queue = 0;
  std::size_t body = 0;  // offset of the body in the record
};
std::optional<TaskHead> task_head(const RecordView& record);

// ---- Blobs inside records ----------------------------------------------------------------------

// A blob in a record is its length, checksum and bytes, so that it can be read back alone. The
// task's number goes into the checksum, so that the bytes of another task are not taken for these.
// nullopt: they are damaged.
std::optional<std::string_view> read_blob(ByteReader& in, std::uint64_t number);
inline constexpr std::uint32_t blob_head = 8;  // bytes before the bytes

}  // namespace millrace::embedded
