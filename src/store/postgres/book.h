// What one call works on: the tasks and keys that it has read and locked, inside of the same state
// machine that the embedded stores are. The verbs of store/embedded decide; the book knows what was
// there before and so what has to be written.
#pragma once

#include <millrace/task.h>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "postgres/connection.h"
#include "store/embedded/state.h"
#include "store/postgres/row.h"

namespace millrace::store_postgres {

// Where a queue's finished tasks go: -1 nowhere, 0 row by row, n with the table of their day after
// n days, `for_ever`.
inline constexpr std::int16_t kept_nowhere = -1;
inline constexpr std::int16_t for_ever = 32767;
std::int16_t class_of(const Keep& keep);

// Statements with their parameters, in the order in which they are to be sent.
class Batch {
 public:
  // Good until the next add().
  postgres::Params& add(const postgres::Sql& sql);
  std::vector<postgres::Statement> statements() const;
  std::size_t size() const { return parts_.size(); }
  void clear() { parts_.clear(); }

 private:
  struct Part {
    const postgres::Sql* sql;
    postgres::Params params;
  };
  std::deque<Part> parts_;
};

// Finished tasks with a rule of their own are counted beside their states.
inline constexpr std::int16_t own_finished = 9;
inline constexpr std::int16_t own_dead = 10;

// How many tasks came into a state and left it.
class Tally {
 public:
  void enter(std::uint16_t queue, TaskState state, std::uint8_t priority, bool keeps_itself) {
    add(queue, state, priority, keeps_itself, 1);
  }
  void leave(std::uint16_t queue, TaskState state, std::uint8_t priority, bool keeps_itself) {
    add(queue, state, priority, keeps_itself, -1);
  }
  void write(Batch& batch) const;

 private:
  void add(std::uint16_t queue, TaskState state, std::uint8_t priority, bool keeps_itself,
           std::int64_t change);

  struct Key {
    std::uint16_t queue;
    std::int16_t state;
    std::uint8_t priority;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  std::map<Key, std::int64_t> changes_;
};

class Book {
 public:
  using Key = std::pair<std::uint16_t, std::string>;  // a queue and a unique key

  Book();

  // All queues, always; tasks, keys, schedules and memos only while a call works on them.
  embedded::State& state() { return state_; }

  void enter(const Row& row);
  void enter(const Key& key, const embedded::Holder& holder);
  void looked_at(const Key& key) { keys_.insert(key); }
  bool has(const TaskId& id) const { return state_.find(id) != embedded::no_slot; }
  // The same keys as the tasks have, in another queue.
  void look_for_keys_in(std::uint16_t queue);
  const std::set<Key>& keys() const { return keys_; }
  // How many wait and run in a queue, here and elsewhere.
  void use_counts(std::uint16_t queue, std::uint64_t waiting, std::uint64_t running);
  void use_number(std::uint64_t number) { numbers_.push_back(number); }

  // What the verbs have changed.
  void write_tasks(Batch& batch);
  void write_keys(Batch& batch);
  // Waiting tasks that changed: where a take may have to look again.
  struct Place {
    std::uint16_t queue;
    std::uint8_t priority;
    TimePoint start;
    std::uint64_t number;
  };
  const std::vector<Place>& ready_again() const { return ready_again_; }

  // Final tasks that did not end just now: where pruning may have to look again.
  struct Ended {
    std::uint16_t queue;
    bool dead;
    TimePoint at;
  };
  const std::vector<Ended>& ended_before() const { return ended_before_; }

  // Forgets everything but the queues.
  void close();

 private:
  struct Before {
    TaskId id;
    std::uint16_t queue;
    TaskState state;
    std::uint8_t priority;
    bool keeps_itself;
  };
  struct Columns;

  Keeping keeping_of(const embedded::Slot& slot, const NewTask& given, bool ends_now) const;
  void write_change(const embedded::Slot& slot, const Before* before, Columns& columns);
  void write_gone(const Before& before, Columns& columns);

  embedded::State state_;
  std::deque<std::uint64_t> numbers_;
  std::map<std::uint64_t, Before> before_;  // by number
  std::map<Key, embedded::Holder> holders_before_;
  std::set<Key> keys_;
  std::set<std::uint16_t> counted_;
  std::vector<Place> ready_again_;
  std::vector<Ended> ended_before_;
};

}  // namespace millrace::store_postgres
