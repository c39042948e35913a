#include "store/embedded/recount.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "core/transition.h"

namespace millrace::embedded {
namespace {

// How many entries each index must have.
struct Tally {
  std::array<std::array<std::uint64_t, priority_count>, state_count> counts{};
  std::array<std::uint64_t, priority_count> order{};
  std::array<std::uint64_t, state_count> by_state{};
  std::uint64_t waiting = 0;
  std::uint64_t running = 0;
  std::uint64_t finished = 0;
  std::uint64_t dead = 0;
};

struct GroupTally {
  std::uint64_t tasks = 0;
  std::uint64_t waiting = 0;
  std::uint64_t ready = 0;
  std::uint64_t running = 0;
};

class Recount {
 public:
  explicit Recount(const State& state) : state_(state) {}

  std::vector<std::string> run() {
    for (std::uint32_t at = 0; at < state_.slot_count(); ++at) {
      if (state_.slot(at).number != 0) count(at);
    }
    state_.each_with_waiting(0, state_.queue_places() + 1,
                             [&](const QueueEntry& queue) { with_waiting_.insert(queue.index); });
    for (const auto& [name, index] : state_.queue_names()) {
      compare(state_.queue_at(index));
      compare_groups(state_.queue_at(index));
    }
    same("tasks", state_.task_count(), tasks_);
    same("leases by their end", state_.leases.size(), leases_);
    same("tasks with a start_by", state_.expiries.size(), expiries_);
    same("tasks to be promoted", state_.promotions.size(), promotions_);
    same("edges to tasks that wait for others", state_.edges.size(), edges_);
    same("tasks to be cancelled because of others", state_.orphans.size(), orphans_);
    same("tasks with a retention of their own", state_.removals.size(), removals_);
    return std::move(differences_);
  }

 private:
  void same(const std::string& what, std::uint64_t stored, std::uint64_t counted) {
    if (stored == counted) return;
    differences_.push_back(fmt::format("{}: {} stored, {} counted", what, stored, counted));
  }

  template <class Set, class Key>
  void expect_in(const Set& set, const Key& key, std::uint32_t at, std::string_view what) {
    const auto found = set.lower_bound(key);
    if (found != set.end() && (*found).first == key && (*found).second == at) return;
    differences_.push_back(
        fmt::format("task number {} is not among the {}", state_.slot(at).number, what));
  }

  void count(std::uint32_t at) {
    const Slot& slot = state_.slot(at);
    ++tasks_;
    if (state_.find(slot.id) != at) {
      differences_.push_back(fmt::format("task number {} is not found by its id", slot.number));
    }
    if (!state_.has_queue_at(slot.queue)) {
      differences_.push_back(fmt::format("task number {} is in no queue", slot.number));
      return;
    }
    const QueueEntry& queue = state_.queue_at(slot.queue);
    Tally& tally = tallies_[slot.queue];
    const auto state = static_cast<std::size_t>(slot.state);
    ++tally.counts[state][slot.priority];
    ++tally.by_state[state];
    expect_in(queue.by_state[state], slot.number, at, "tasks of its state");
    count_group(queue, at);
    if (is_waiting(slot.state)) return count_waiting(queue, tally, at);
    const TimeKey key{slot.moment, slot.number};
    if (slot.state == TaskState::processing) {
      ++tally.running, ++leases_;
      expect_in(state_.leases, key, at, "leases");
    } else if (state_.keep_for(slot, slot.state)) {
      ++removals_;
    } else if (slot.state == TaskState::failed || slot.state == TaskState::dead) {
      ++tally.dead;
      expect_in(queue.dead, key, at, "dead letters");
    } else {
      ++tally.finished;
      expect_in(queue.finished, key, at, "finished tasks");
    }
  }

  void count_waiting(const QueueEntry& queue, Tally& tally, std::uint32_t at) {
    const Slot& slot = state_.slot(at);
    ++tally.waiting;
    if (slot.has_start_by) ++expiries_;
    if (slot.has_waits) count_edges(at);
    const TimeKey key{slot.start, slot.number};
    if (awaits_its_start(slot)) {
      ++promotions_;
      expect_in(state_.promotions, key, at, "tasks to be promoted");
    }
    if (slot.state == TaskState::created) return;
    ++tally.order[slot.priority];
    expect_in(queue.order[slot.priority], key, at, "tasks in order");
  }

  void count_group(const QueueEntry& queue, std::uint32_t at) {
    const Slot& slot = state_.slot(at);
    const std::uint32_t group = state_.marks.group(at);
    const std::string name = group == no_group ? std::string() : state_.groups.at(group).name;
    if (state_.given(slot).group != name) {
      differences_.push_back(
          fmt::format("task number {} is in the group \"{}\", not in its own", slot.number, name));
    }
    GroupTally& tally = groups_[{slot.queue, group}];
    ++tally.tasks;
    if (is_waiting(slot.state)) ++tally.waiting;
    if (slot.state == TaskState::queued) ++tally.ready;
    if (slot.state == TaskState::processing) ++tally.running;
    const bool stands_in_line = state_.marks.where(at) != GroupMarks::Where::nowhere;
    const bool must = queue.line && is_waiting(slot.state) && slot.state != TaskState::created;
    if (must == stands_in_line || slot.state == TaskState::created) return;
    differences_.push_back(
        fmt::format("task number {} is {}in the line of groups", slot.number, must ? "not " : ""));
  }

  void compare_groups(const QueueEntry& queue) {
    const auto compare = [&](const GroupEntry& group, const GroupTally& tally) {
      const std::string what = fmt::format("{}: group \"{}\": ", queue.settings().name, group.name);
      same(what + "waiting", group.waiting, tally.waiting);
      same(what + "ready", group.ready, tally.ready);
      same(what + "running", group.running, tally.running);
    };
    for (const auto& [handle, itself] : state_.groups.of(queue.index)) {
      const GroupTally& tally = groups_[{queue.index, handle}];
      compare(state_.groups.at(handle), tally);
      same(fmt::format("{}: tasks of group \"{}\"", queue.settings().name,
                       state_.groups.at(handle).name),
           state_.groups.at(handle).tasks, tally.tasks);
    }
    if (queue.line) compare(queue.line->ungrouped(), groups_[{queue.index, no_group}]);
  }

  void count_edges(std::uint32_t at) {
    const Slot& slot = state_.slot(at);
    const Waits waits = state_.notes(slot).waits.value_or(Waits{});
    if (waits.ended) {
      ++orphans_;
      return expect_in(state_.orphans, slot.number, at, "tasks to be cancelled because of others");
    }
    const Task given = state_.given(slot);
    for (std::size_t i = 0; given.after && i < given.after->tasks.size(); ++i) {
      if (!waits.is_open(i)) continue;
      ++edges_;
      expect_in(state_.edges, Edge(given.after->tasks[i], slot.number, i), at,
                "tasks that wait for others");
    }
  }

  void compare(const QueueEntry& queue) {
    const Tally& tally = tallies_[queue.index];
    const std::string& name = queue.settings().name;
    for (std::size_t state = 0; state < state_count; ++state) {
      same(fmt::format("{}: tasks of state {}", name, state), queue.by_state[state].size(),
           tally.by_state[state]);
      for (std::size_t priority = 0; priority < priority_count; ++priority) {
        same(fmt::format("{}: counter of state {}, priority {}", name, state, priority),
             queue.counts[state][priority], tally.counts[state][priority]);
      }
    }
    for (std::size_t priority = 0; priority < priority_count; ++priority) {
      same(fmt::format("{}: tasks in order, priority {}", name, priority),
           queue.order[priority].size(), tally.order[priority]);
    }
    same(name + ": waiting", queue.waiting, tally.waiting);
    same(name + ": has tasks waiting", with_waiting_.count(queue.index),
         tally.waiting == 0 ? 0 : 1);
    same(name + ": running", queue.running, tally.running);
    same(name + ": finished", queue.finished.size(), tally.finished);
    same(name + ": dead letters", queue.dead.size(), tally.dead);
  }

  const State& state_;
  std::map<std::uint16_t, Tally> tallies_;
  std::map<std::pair<std::uint16_t, std::uint32_t>, GroupTally> groups_;
  std::set<std::uint16_t> with_waiting_;
  std::uint64_t tasks_ = 0;
  std::uint64_t leases_ = 0;
  std::uint64_t expiries_ = 0;
  std::uint64_t promotions_ = 0;
  std::uint64_t removals_ = 0;
  std::uint64_t edges_ = 0;
  std::uint64_t orphans_ = 0;
  std::vector<std::string> differences_;
};

}  // namespace

std::vector<std::string> recount(const State& state) {
  return Recount(state).run();
}

}  // namespace millrace::embedded
