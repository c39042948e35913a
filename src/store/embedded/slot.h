// What memory holds for every task: a fixed 136 bytes. Everything else is in two blobs.
#pragma once

#include <millrace/ids.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "store/embedded/blobs.h"

namespace millrace::embedded {

inline constexpr std::uint32_t no_slot = 0xFFFF'FFFF;

// "Not yet", for moments inside a slot.
inline constexpr TimePoint no_moment = TimePoint::min();

// What lists filter by and heartbeats need from a body, which may be in the log only. Names are
// kept as hashes: a list compares the names themselves once it has loaded what may match.
struct BodyFacts {
  std::uint32_t type = 0;
  std::uint16_t client = 0;
  std::uint16_t group = 0;
  std::uint32_t timeout = 0;  // milliseconds plus one; 0: none
  TimePoint created_at{};

  // A timeout this long, or longer, is read from the body.
  static constexpr std::uint32_t long_timeout = 0xFFFF'FFFF;

  friend bool operator==(const BodyFacts&, const BodyFacts&) = default;
};

struct Slot {
  TaskId id;
  std::uint64_t number = 0;  // 0: free
  TimePoint start{};
  TimePoint previous_start = no_moment;
  TimePoint started_at = no_moment;
  TimePoint updated_at{};
  TimePoint moment = no_moment;  // processing: the lease's end; final: finished at
  std::uint64_t token = 0;       // of the lease; after a settlement, the token that settled
  Blob body;                     // what was put (codec.h)
  Blob notes;                    // result, error, progress, log, history (codec.h)
  Counters counters;
  std::uint32_t version = 0;
  std::uint32_t worker = 0;
  // The facts of the body; created_at in 48 bits, so that it costs six bytes.
  std::uint32_t type = 0;
  std::uint32_t timeout = 0;
  std::int32_t created_high = 0;
  std::uint16_t created_low = 0;
  std::uint16_t client = 0;
  std::uint16_t group = 0;
  std::uint16_t queue = 0;
  TaskState state = TaskState::created;
  std::uint8_t priority = default_priority;
  // Copied from the body, so that the common case does not need it.
  bool has_unique : 1 = false;
  bool keeps_itself : 1 = false;  // by one of its own rules, perhaps of another end than this
  bool has_start_by : 1 = false;  // the body's start_by counts; false after the first run
  bool cancel_requested : 1 = false;
  bool has_steps : 1 = false;  // the notes have a checkpoint or an answer
  bool recorded : 1 = false;   // already in the list of changes of this round
  bool moved : 1 = false;      // to another queue: its next record must be a whole one
  bool unindexed : 1 = false;  // in a replay: enters the indexes at its end
  bool rewritten : 1 = false;  // a put has replaced its body: its next record must be a whole one
  bool fixed : 1 = false;      // in a book: a part of it cannot be read, nor be written over
  bool has_waits : 1 = false;  // it waits for other tasks; the notes have which
  bool orphaned : 1 = false;   // it is to be cancelled because of how one of them ended
  bool linked : 1 = false;     // the edges to those that it waits for are in the index

  TimePoint created_at() const {
    return TimePoint(Duration((std::int64_t{created_high} << 16) | created_low));
  }
  BodyFacts facts() const { return {type, client, group, timeout, created_at()}; }
  void set_facts(const BodyFacts& facts) {
    const std::int64_t created = facts.created_at.time_since_epoch().count();
    type = facts.type;
    client = facts.client;
    group = facts.group;
    timeout = facts.timeout;
    created_high = static_cast<std::int32_t>(created >> 16);
    created_low = static_cast<std::uint16_t>(created);
  }
};
static_assert(sizeof(Slot) == 136);

// A task that has run and waits for a release; `start` is when it is released at the latest.
inline bool is_parked(const Slot& slot) {
  return slot.state == TaskState::created && slot.counters.deliveries != 0;
}

// Whether the task enters the order of its queue by itself, at its start.
inline bool awaits_its_start(const Slot& slot) {
  if (is_parked(slot)) return slot.start != never;
  return slot.state == TaskState::delayed || slot.state == TaskState::retrying;
}

// Slots by number, in blocks that never move; freed ones are used again, the latest first, while
// they are still in the processor's cache.
class SlotPool {
 public:
  Slot& operator[](std::uint32_t index) { return blocks_[index / block][index % block]; }
  const Slot& operator[](std::uint32_t index) const {
    return blocks_[index / block][index % block];
  }

  std::uint32_t add() {
    if (free_ != no_slot) {
      const auto index = free_;
      Slot& slot = (*this)[index];
      free_ = static_cast<std::uint32_t>(slot.token);
      slot.token = 0;
      return index;
    }
    if (size_ == blocks_.size() * block) blocks_.push_back(std::make_unique<Slot[]>(block));
    return size_++;
  }

  void remove(std::uint32_t index) {
    Slot& slot = (*this)[index];
    slot = Slot{};
    slot.token = free_;  // the list of free slots runs through the slots themselves
    free_ = index;
  }

  // One past the highest index ever used.
  std::uint32_t size() const { return size_; }

  std::size_t memory() const { return blocks_.size() * block * sizeof(Slot); }

 private:
  static constexpr std::uint32_t block = 1024;
  std::vector<std::unique_ptr<Slot[]>> blocks_;
  std::uint32_t free_ = no_slot;
  std::uint32_t size_ = 0;
};

}  // namespace millrace::embedded
