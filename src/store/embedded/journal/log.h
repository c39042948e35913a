// The writing end of the log: commits go in on one side, flush() brings them to the disk.
//
// Two threads share it: the applier appends (append, room), and the flusher writes. Everything that
// both touch is guarded by mutex_, which is never held during a disk operation.
#pragma once

#include <millrace/result.h>
#include <millrace/time.h>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/mutex.h"
#include "disk/disk.h"
#include "store/embedded/journal/format.h"
#include "store/embedded/journal/journal.h"
#include "store/embedded/journal/segments.h"
#include "store/embedded/journal/spares.h"
#include "store/embedded/records.h"
#include "store/embedded/state.h"

namespace millrace::embedded {

class Log {
 public:
  struct Segment {
    std::uint64_t size = 0;  // of the file
    std::uint64_t end = 0;   // of its last group
  };

  // Where an opened journal stands.
  struct Start {
    Position end = {};                               // of what was replayed
    std::uint64_t sequence = 0;                      // of the last group
    std::uint32_t epoch = 1;                         // of this process
    std::uint64_t first = 1;                         // the first segment that is needed
    std::uint64_t next = 1;                          // the number of the segment to begin
    std::map<std::uint64_t, Segment> segments = {};  // that are there
  };

  Log(Segments& segments, Spares& spares, const JournalOptions& options);
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  ~Log();

  // Begins a segment and makes it durable: after this the epoch cannot be given again. If there is
  // no space for another one, the last is begun again, with what it holds. That takes no more space
  // than before, however often it is done.
  Result<void> start(const State& state, const Start& start);

  // ---- For the applier -------------------------------------------------------------------------

  // Appends one commit and tells its blobs where they now lie. `cleaned`: the segments below this
  // one are no longer needed once the commit is durable.
  void append(State& state, const Records& commit, std::optional<std::uint64_t> cleaned);

  // Bytes that can be appended before the disk is asked for more space.
  std::uint64_t room() const;
  // Asks the disk for more, now.
  Result<void> make_room() { return spares_.make(); }

  Position end() const { return end_; }
  std::uint64_t first() const { return first_; }  // the oldest segment that is needed
  // The oldest segment and the end of its last group; nullopt: it is not written to its end yet.
  std::optional<Position> oldest() const;
  std::uint64_t size() const { return size_; }  // bytes of all segments
  std::size_t unwritten() const;                // bytes appended and not flushed yet
  Position written() const;                     // what is before it can be read

  // ---- For any thread --------------------------------------------------------------------------

  // Writes what was appended before this call and makes it durable as far as the mode says; what
  // lacks space for a segment waits for the next flush (`limited`). Without `now`, which is for the
  // mode `interval`, it is synced in any case.
  Result<void> flush(std::optional<TimePoint> now);

  // Notes in the file `last` where the log ends. REQUIRES: everything is flushed, and nothing will
  // be appended.
  Result<void> note_end();

  // Why the last flush had to leave something for the next one; nullopt: it did not.
  std::optional<Error> lacks_space() const;

  // The log can no longer be trusted: every call answers this from now on.
  std::optional<Error> failure() const;
  Error fail_for_good(const Error& cause);

 private:
  struct GroupStart {
    std::size_t at = 0;  // in the chunk
    bool more = false;
  };
  // Bytes of one segment that are to be written in one go.
  struct Chunk {
    Position at = {};
    std::string bytes;
    std::vector<GroupStart> groups;
    std::uint64_t last_sequence = 0;
    std::optional<std::uint64_t> cleaned;
  };

  bool must_renew(const Start& start) const;
  Result<Chunk> copy_of_last(const Start& start);
  Result<void> write_renewed(Chunk& chunk) REQUIRES(flushing_);
  void enter_segment() REQUIRES(mutex_);
  void begin_segment(const State& state, Position after) REQUIRES(mutex_);
  void begin_with(Chunk chunk) REQUIRES(mutex_);
  Chunk& open_chunk() REQUIRES(mutex_);
  void add_group(std::string_view records, bool more) REQUIRES(mutex_);
  std::size_t fitting(std::string_view records) const REQUIRES(mutex_);

  Result<void> write(std::vector<Chunk>& chunks) REQUIRES(flushing_);
  Result<void> write_chunk(Chunk& chunk) REQUIRES(flushing_);
  bool must_sync(std::optional<TimePoint> now) const REQUIRES(flushing_);
  Result<void> begin_file(const Chunk& chunk, std::string_view bytes = {}) REQUIRES(flushing_);
  Result<void> ready_spare() REQUIRES(flushing_);
  Result<void> may_wait(Result<void> done) REQUIRES(flushing_);
  Result<void> sync() REQUIRES(flushing_);
  Result<void> note_last(std::uint64_t segment, std::uint64_t end) REQUIRES(flushing_);
  Result<void> note_begun() REQUIRES(flushing_);
  Result<void> free_segments() REQUIRES(flushing_);
  void put_back(std::vector<Chunk>& chunks) REQUIRES(flushing_);
  void seal(Chunk& chunk) const REQUIRES(flushing_);

  Segments& segments_;
  Disk& disk_;
  Spares& spares_;
  const JournalOptions& options_;

  // The applier's.
  Position end_ = {};
  std::uint64_t sequence_ = 0;
  std::uint32_t epoch_ = 0;
  std::uint64_t first_ = 1;
  std::uint64_t size_ = 0;

  // The flusher holds this during the whole flush.
  Mutex flushing_{LockRank::store_flush};
  std::optional<Disk::File> file_ GUARDED_BY(flushing_);
  std::uint64_t file_segment_ GUARDED_BY(flushing_) = 0;  // whose file that is
  std::size_t kept_spares_ GUARDED_BY(flushing_) = 0;     // that no segment of this process gets
  std::uint64_t noted_ GUARDED_BY(flushing_) = 0;         // the segment that the file `last` names
  bool unsynced_ GUARDED_BY(flushing_) = false;           // bytes of file_
  bool unsynced_names_ GUARDED_BY(flushing_) = false;     // the directory
  std::uint64_t written_sequence_ GUARDED_BY(flushing_) = 0;
  std::uint64_t durable_sequence_ GUARDED_BY(flushing_) = 0;
  // Segments below may go once this is durable.
  std::uint64_t cleaned_written_ GUARDED_BY(flushing_) = 0;
  std::uint64_t freed_ GUARDED_BY(flushing_) = 0;  // segments below are gone
  std::optional<TimePoint> last_sync_ GUARDED_BY(flushing_);
  std::uint64_t fill_owed_ GUARDED_BY(flushing_) = 0;
  // The write that failed only lacked space.
  bool no_space_ GUARDED_BY(flushing_) = false;

  mutable Mutex mutex_{LockRank::store_pending};
  std::vector<Chunk> pending_ GUARDED_BY(mutex_);
  std::string buffer_ GUARDED_BY(mutex_);  // of a chunk that was written, to be used again
  // Of segments not written to their end yet.
  std::map<std::uint64_t, std::uint32_t> salts_ GUARDED_BY(mutex_);
  std::map<std::uint64_t, Segment> every_ GUARDED_BY(mutex_);  // segment that is there
  std::size_t unwritten_ GUARDED_BY(mutex_) = 0;
  std::size_t begun_ GUARDED_BY(mutex_) = 0;  // segments in pending_ that will need a spare
  Position written_ GUARDED_BY(mutex_) = {};
  std::optional<Error> lacks_space_ GUARDED_BY(mutex_);
  std::optional<Error> failure_ GUARDED_BY(mutex_);
};

}  // namespace millrace::embedded
