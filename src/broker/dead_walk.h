// One walk through the dead letters, newest first, that counts them by what they died of.
//
// The store lists them without their errors, which for the embedded stores is a walk through
// memory. The error of a dead letter is read when a walk meets it for the first time; later walks
// know the group, for as long as the version of the task stays as it was.
#pragma once

#include <millrace/result.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "broker/found_groups.h"
#include "core/values.h"
#include "store/fwd.h"

namespace millrace {

// The groups of dead letters that were met. One walk uses them at a time.
class KnownDead {
 public:
  struct Entry {
    Version version = {};
    std::uint64_t group = 0;
    std::size_t type = 0;  // a hash
    TimePoint failed_at{};
    std::uint64_t walk = 0;  // the last one that met it
  };

  // nullptr: it is not known, or has changed.
  Entry* find(TaskNumber number, Version version);
  void add(const Task& task);
  void begin_walk() { ++walk_; }
  void met(Entry& entry) const { entry.walk = walk_; }
  // If there are too many, those that the last walk did not meet are forgotten.
  void end_walk();
  std::size_t size() const { return entries_.size(); }

  static constexpr std::size_t most = 50'000;

 private:
  std::unordered_map<std::uint64_t, Entry> entries_;  // by number
  std::uint64_t walk_ = 0;
};

class DeadWalk {
 public:
  // nullopt: all queues but the internal ones, which must be named; any type. `known` must outlive
  // this.
  DeadWalk(KnownDead& known, std::optional<QueueRef> queue, std::optional<std::string> type);
  DeadWalk(const DeadWalk&) = delete;
  DeadWalk& operator=(const DeadWalk&) = delete;

  // Goes on by a bounded piece; true if it is over.
  Result<bool> step(Reader& reader);
  // REQUIRES: it is over.
  FoundGroups& found() { return found_; }

  static constexpr std::uint64_t most_looked_at = 20'000;
  static constexpr std::size_t most_groups = 100;
  static constexpr std::size_t most_samples = 3;
  static constexpr std::size_t most_message = 500;

 private:
  struct Tally {
    std::uint64_t group = 0;
    std::uint64_t count = 0;
    TimePoint first_at{};
    TimePoint last_at{};
    std::vector<TaskId> samples = {};  // the newest
  };

  Result<void> list(Reader& reader);
  Result<void> read_unknown(Reader& reader);
  void count(const Task& task);
  void end_count();
  Result<void> read_groups(Reader& reader);
  std::optional<DeadGroup> group_of(const Tally& tally, std::vector<Result<Task>> samples) const;

  KnownDead& known_;
  const std::optional<QueueRef> queue_;
  const std::optional<std::string> type_;
  const std::size_t type_hash_;

  std::optional<TaskNumber> before_;
  std::vector<Task> page_;        // listed and not counted yet
  std::vector<TaskRef> unknown_;  // of the page, to be read
  bool listed_all_ = false;
  std::unordered_map<std::uint64_t, Tally> tallies_;  // by group
  std::vector<Tally> largest_;                        // groups to be read, the largest last
  FoundGroups found_;
};

}  // namespace millrace
