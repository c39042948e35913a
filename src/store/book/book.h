// What one call works on: the tasks and keys that it has read, inside the same state machine that
// the embedded stores are. The verbs of store/embedded decide; the book knows what was there
// before, and so what has to be written.
#pragma once

#include <millrace/result.h>
#include <millrace/task.h>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "store/book/row.h"
#include "store/book/tally.h"
#include "store/embedded/state.h"

namespace millrace::book {

using Key = std::pair<std::uint16_t, std::string>;  // a queue and a unique key

// A task as it was when the call began.
struct Before {
  TaskId id;
  std::uint16_t queue;
  TaskState state;
  std::uint8_t priority;
  bool keeps_itself;
};

struct TaskChange {
  std::optional<Before> before;         // nullopt: it is new
  const embedded::Slot* now = nullptr;  // null: it is gone; good until the book is closed
  bool rewritten = false;               // a put has replaced what was put before
};

struct KeyChange {
  Key key;
  bool was_held = false;
  std::optional<embedded::Holder> now;  // nullopt: it is held no longer
};

// From a task to one that waits for it.
struct NewEdge {
  embedded::Edge edge;
  TaskId child;
};

// A task that has ended, and where to go on with those that it has to tell so.
struct UntoldChange {
  TaskId id;
  std::optional<std::uint64_t> next;  // nullopt: it has told all
};

// What the verbs of one call have changed.
struct Changes {
  std::vector<TaskChange> tasks;
  std::vector<KeyChange> keys;
  std::vector<NewEdge> new_edges;
  std::vector<embedded::Edge> old_edges;  // that are there no longer
  std::vector<UntoldChange> untold;
  Tally tally;
};

class Book {
 public:
  Book();

  // Holds all queues, always; tasks, keys, schedules and memos only while a call works on them.
  embedded::State& state() { return state_; }
  const embedded::State& state() const { return state_; }

  void enter(const Row& row);
  void enter(const Key& key, const embedded::Holder& holder);
  void looked_at(const Key& key) { keys_.insert(key); }
  // Of a task that may end: an edge to one that waits for it, which is entered if it is there, ...
  void enter(const embedded::Edge& edge) { edges_before_.insert(edge); }
  // ... and the first one that the call leaves to a later one.
  void cut(const embedded::Edge& edge) { state_.cut.insert({edge.parent, edge.child}); }
  // A task that has not told all, and where to go on.
  void enter_untold(const TaskId& id, std::uint64_t next);
  // Leaves that to another program.
  void leave_untold(const TaskId& id) { state_.untold.erase(id), untold_before_.erase(id); }
  // This task must not end, since one that waits for it cannot be read, and not be told.
  void hold_back(const TaskId& id, const std::string& reason) { held_back_.insert({id, reason}); }
  bool has(const TaskId& id) const { return state_.find(id) != embedded::no_slot; }
  // `corrupt` if a part of this task cannot be read (Row::unreadable): a verb that changes it would
  // write over that part; and if it is held back. Removals, and puts that the task stands in the
  // way of, need not ask.
  Result<void> check_readable(const TaskId& id) const;
  // `corrupt` if it cannot be removed, since those that wait for it cannot be told.
  Result<void> check_removable(const TaskId& id) const;
  // The same keys that the tasks have, in another queue.
  void look_for_keys_in(std::uint16_t queue);
  // The keys of the tasks that were entered, and those that were looked at.
  const std::set<Key>& keys() const { return keys_; }
  // How many wait and run in a queue, here and elsewhere.
  void use_counts(std::uint16_t queue, std::uint64_t waiting, std::uint64_t running);
  // For a task that is added.
  void use_number(std::uint64_t number) { numbers_.push_back(number); }

  Changes changes();
  // A task of the book as a row.
  Row row_of(const embedded::Slot& slot, bool with_payload) const;

  // Forgets everything but the queues.
  void close();

 private:
  bool goes_by_own_rule(const embedded::Slot& slot) const;
  // REQUIRES: what the row waits for makes sense.
  void link(std::uint32_t at, const Row& row);
  void add_task_changes(Changes& changes) const;
  void add_key_changes(Changes& changes);
  void add_graph_changes(Changes& changes) const;

  embedded::State state_;
  std::deque<std::uint64_t> numbers_;
  std::map<std::uint64_t, Before> before_;  // by number
  std::map<Key, embedded::Holder> holders_before_;
  std::set<Key> keys_;
  std::set<embedded::Edge> edges_before_;
  std::map<TaskId, std::uint64_t> untold_before_;
  std::set<std::uint16_t> counted_;
  std::map<TaskId, std::string> unreadable_;  // with the reason
  std::map<TaskId, std::string> held_back_;
};

}  // namespace millrace::book
