#include "store/embedded/state_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/limits.h"
#include "core/uuid.h"
#include "core/validate.h"
#include "store/embedded/fields.h"
#include "store/embedded/list.h"
#include "store/embedded/number_search.h"
#include "store/embedded/verbs.h"

namespace millrace::embedded {
namespace {

Result<void> check_batch(std::size_t size) {
  if (size <= limits::max_batch) return {};
  return fail(ErrorCode::invalid, fmt::format("the batch has {} items; at most {} are allowed",
                                              size, limits::max_batch));
}

constexpr std::size_t look_ahead = 12;  // items

// Does one thing to each item of a batch.
template <class Item, class Verb>
auto each(const State& state, std::span<const Item> items, const Verb& verb)
    -> Result<std::vector<decltype(verb(items.front()))>> {
  if (auto good = check_batch(items.size()); !good) {
    return std::unexpected(std::move(good.error()));
  }
  std::vector<decltype(verb(items.front()))> results;
  results.reserve(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    if constexpr (requires { items[i].id; }) {
      if (i + look_ahead < items.size()) state.expect(items[i + look_ahead].id);
    }
    results.push_back(verb(items[i]));
  }
  return results;
}

QueueCounts counts_of(const QueueEntry& queue, TimePoint now) {
  return {.queue = queue.settings().name,
          .number = queue.settings().number,
          .by = queue.counts,
          .oldest = oldest_ready(queue, now)};
}

// How many queues, schedules or tasks one turn looks at, and how many bytes it copies.
constexpr std::size_t named_per_turn = 256;
constexpr std::size_t tasks_per_turn = 100;
constexpr std::size_t bytes_per_turn = 1U << 20U;

template <class T>
std::size_t bytes_in(const T& value) {
  if constexpr (HasFields<const T>) {
    Sizer size;
    write(size, value);
    return size.size();
  } else {
    return sizeof(value);
  }
}

// Calls `read` on the values of a map from names, in their order, a few per turn.
auto read_in_turns(Turns& turns, const auto& map, const auto& read) {
  std::vector<decltype(read(map.begin()->second))> found;
  std::optional<std::string> last;
  for (;;) {
    const Turns::Step turn(turns);
    auto at = last ? map.upper_bound(*last) : map.begin();
    std::size_t bytes = 0;
    for (std::size_t left = named_per_turn; left != 0 && at != map.end(); --left, ++at) {
      if (bytes >= bytes_per_turn) break;
      bytes += bytes_in(found.emplace_back(read(at->second)));
      last = at->first;
    }
    if (at == map.end()) return found;
  }
}

// Calls `read` on one queue, or on all in the order of their names.
template <class Read>
auto read_queues(Turns& turns, const State& state, const std::optional<QueueRef>& only,
                 const Read& read)
    -> Result<std::vector<decltype(read(std::declval<const QueueEntry&>()))>> {
  if (!only) {
    return read_in_turns(turns, state.queue_names(),
                         [&](std::uint16_t index) { return read(state.queue_at(index)); });
  }
  const Turns::Step turn(turns);
  const QueueEntry* queue = state.queue(*only);
  if (queue == nullptr) return unknown_queue(*only);
  std::vector<decltype(read(*queue))> found;
  found.push_back(read(*queue));
  return found;
}

std::unexpected<Error> damaged(std::uint64_t number) {
  return fail(ErrorCode::corrupt, fmt::format("the bytes of task number {} are damaged", number));
}

std::unexpected<Error> unknown(const TaskRef& task) {
  if (const auto* id = std::get_if<TaskId>(&task)) return unknown_task(*id);
  return fail(ErrorCode::not_found,
              fmt::format("there is no task number {}", std::get<TaskNumber>(task).value));
}

// Has a read learn of changes between its turns, for as long as this lives.
class Watching {
 public:
  Watching(Turns& turns, State& state, TaskWatch& watch)
      : turns_(turns), state_(state), watch_(watch) {}
  Watching(const Watching&) = delete;
  Watching& operator=(const Watching&) = delete;
  ~Watching() {
    if (!begun_) return;
    const Turns::Step turn(turns_);
    state_.unwatch(watch_);
  }

  // REQUIRES: a turn.
  void begin() {
    if (!std::exchange(begun_, true)) state_.watch(watch_);
  }

 private:
  Turns& turns_;
  State& state_;
  TaskWatch& watch_;
  bool begun_ = false;
};

// A turn of a change, which may tell so many tasks how those ended that they wait for. At its end
// groups of tasks get their new places.
class Telling {
 public:
  Telling(Turns& turns, State& state) : turn_(turns), state_(state) {
    state.tell_budget = limits::max_told_by_call;
  }
  Telling(const Telling&) = delete;
  Telling& operator=(const Telling&) = delete;
  ~Telling() { state_.place_groups(); }

 private:
  const Turns::Change turn_;
  State& state_;
};

bool is_number(const TaskRef& task) {
  return std::holds_alternative<TaskNumber>(task);
}

}  // namespace

Result<std::vector<Result<Put>>> StateMachine::put(std::span<const NewTask> tasks, TimePoint now) {
  const Telling turn(turns_, state_);
  QueueFinder queues(state_);
  return each(state_, tasks,
              [&](const NewTask& task) { return embedded::put(state_, queues, task, now); });
}

Result<std::vector<Put>> StateMachine::put_all(std::span<const NewTask> tasks, TimePoint now) {
  const Telling turn(turns_, state_);
  return embedded::put_all(state_, tasks, now);
}

Result<WorkResult> StateMachine::work(std::span<const Settlement> settlements,
                                      std::span<const Extension> extensions,
                                      std::span<const TakeRequest> takes, TimePoint now) {
  const Telling turn(turns_, state_);
  for (const auto size : {settlements.size(), extensions.size(), takes.size()}) {
    if (auto good = check_batch(size); !good) return std::unexpected(std::move(good.error()));
  }
  WorkResult done;
  done.settled =
      *each(state_, settlements, [&](const Settlement& s) { return settle(state_, s, now); });
  done.extended =
      *each(state_, extensions, [&](const Extension& e) { return extend(state_, e, now); });
  done.taken = *each(state_, takes, [&](const TakeRequest& t) { return take(state_, t, now); });
  done.more = !state_.untold.empty() || !state_.orphans.empty();
  return done;
}

Result<std::vector<Overdue>> StateMachine::due(TimePoint now, const DueRequest& request) {
  const Telling turn(turns_, state_);
  return embedded::due(state_, now, request);
}

Result<Advanced> StateMachine::advance(TimePoint now, std::size_t limit) {
  const Telling turn(turns_, state_);
  return embedded::advance(state_, now, limit);
}

LoadFromLog StateMachine::open_log() {
  if (state_.options().open_log) return state_.options().open_log();
  return [](std::span<TaskCopy>) { return ReadCost{}; };
}

std::vector<Result<Task>> StateMachine::tasks_of(std::vector<TaskCopy> copies, LoadFromLog load) {
  load(copies);
  std::vector<Result<Task>> tasks;
  tasks.reserve(copies.size());
  for (TaskCopy& copy : copies) {
    const std::uint64_t number = copy.slot.number;
    if (auto task = task_of(std::move(copy))) {
      tasks.emplace_back(std::move(*task));
    } else {
      tasks.emplace_back(damaged(number));
    }
  }
  return tasks;
}

// Refs of the same tasks, by id; a number that no task has stays as it is.
std::vector<TaskRef> StateMachine::by_ids(std::span<const TaskRef> tasks) {
  NumberSearch search(tasks);
  {
    Watching watching(turns_, state_, search);
    while (!search.ended()) {
      const Turns::Step turn(turns_);
      search.step(state_);
      if (!search.ended()) watching.begin();
    }
  }
  std::vector<TaskRef> refs(tasks.begin(), tasks.end());
  for (TaskRef& ref : refs) {
    const auto* number = std::get_if<TaskNumber>(&ref);
    if (number == nullptr) continue;
    if (const auto id = search.found(*number)) ref = *id;
  }
  return refs;
}

Result<std::vector<Result<Task>>> StateMachine::find(std::span<const TaskRef> tasks, Parts parts) {
  if (auto good = check_batch(tasks.size()); !good) {
    return std::unexpected(std::move(good.error()));
  }
  std::vector<TaskRef> ids;
  if (std::ranges::any_of(tasks, is_number)) ids = by_ids(tasks);
  const std::span<const TaskRef> refs = ids.empty() ? tasks : std::span<const TaskRef>(ids);
  std::vector<Result<Task>> found;
  found.reserve(tasks.size());
  while (found.size() < tasks.size()) {
    std::vector<TaskCopy> copies;
    std::vector<bool> there;  // by the refs of this turn
    LoadFromLog load;
    {
      const Turns::Step turn(turns_);
      load = open_log();
      std::size_t bytes = 0;
      for (const TaskRef& ref : refs.subspan(found.size())) {
        if (there.size() == tasks_per_turn || bytes >= bytes_per_turn) break;
        const auto* id = std::get_if<TaskId>(&ref);
        const auto at = id == nullptr ? no_slot : state_.find(*id);
        there.push_back(at != no_slot);
        if (at == no_slot) continue;
        copies.push_back(copy_task(state_, state_.slot(at), Wanted::of(parts)));
        bytes += cost_of(copies.back()).bytes;
      }
    }
    auto loaded = tasks_of(std::move(copies), std::move(load));
    auto next = loaded.begin();
    for (const bool is_there : there) {
      found.push_back(is_there ? std::move(*next++) : unknown(tasks[found.size()]));
    }
  }
  return found;
}

Result<TaskPage> StateMachine::list(const ListRequest& request) {
  if (auto good = check_list(request); !good) return std::unexpected(std::move(good.error()));
  ListWalk walk(request);
  Watching watching(turns_, state_, walk.tasks());
  while (!walk.ended()) {
    LoadFromLog load;
    std::vector<TaskCopy> copies;
    {
      const Turns::Step turn(turns_);
      load = open_log();
      auto next = walk.step(state_);
      if (!next) return std::unexpected(std::move(next.error()));
      copies = std::move(*next);
      if (!walk.ended()) watching.begin();
    }
    walk.loaded(load(copies));
    for (TaskCopy& copy : copies) {
      const std::uint64_t number = copy.slot.number;
      auto task = task_of(std::move(copy));
      if (!task) return damaged(number);
      if (!walk.add(std::move(*task))) break;
    }
  }
  return walk.page();
}

Result<std::vector<QueueCounts>> StateMachine::counts(const std::optional<QueueRef>& queue,
                                                      TimePoint now) {
  return read_queues(turns_, state_, queue, [&](const QueueEntry& q) { return counts_of(q, now); });
}

Result<std::vector<Result<TaskState>>> StateMachine::cancel(std::span<const CancelRequest> requests,
                                                            TimePoint now) {
  const Telling turn(turns_, state_);
  return each(state_, requests,
              [&](const CancelRequest& r) { return embedded::cancel(state_, r, now); });
}

Result<std::vector<Result<TaskState>>> StateMachine::retry(std::span<const TaskId> tasks,
                                                           TimePoint now) {
  const Telling turn(turns_, state_);
  return each(state_, tasks, [&](const TaskId& id) { return revive(state_, id, now); });
}

Result<std::vector<Result<TaskState>>> StateMachine::remove(std::span<const TaskId> tasks,
                                                            TimePoint now) {
  const Telling turn(turns_, state_);
  return each(state_, tasks, [&](const TaskId& id) { return embedded::remove(state_, id, now); });
}

Result<std::vector<Result<TaskState>>> StateMachine::update(std::span<const TaskUpdate> updates,
                                                            TimePoint now) {
  const Telling turn(turns_, state_);
  return each(state_, updates,
              [&](const TaskUpdate& u) { return embedded::update(state_, u, now); });
}

Result<std::vector<Result<Put>>> StateMachine::restore(std::span<const Task> tasks, TimePoint now) {
  const Telling turn(turns_, state_);
  QueueFinder queues(state_);
  return each(state_, tasks,
              [&](const Task& task) { return embedded::restore(state_, queues, task, now); });
}

Result<Queue> StateMachine::put_queue(const QueueSettings& settings, PutQueue mode, TimePoint now) {
  const Telling turn(turns_, state_);
  return embedded::put_queue(state_, settings, mode, now);
}

Result<std::vector<Queue>> StateMachine::queues(const std::optional<QueueRef>& queue) {
  return read_queues(turns_, state_, queue, [](const QueueEntry& q) { return q.queue; });
}

Result<void> StateMachine::remove_queue(const QueueRef& queue, bool force, TimePoint now) {
  const Telling turn(turns_, state_);
  return embedded::remove_queue(state_, queue, force, now);
}

Result<std::size_t> StateMachine::clear(const QueueRef& queue, std::size_t limit, TimePoint now) {
  const Telling turn(turns_, state_);
  return embedded::clear(state_, queue, limit, now);
}

Result<millrace::Group> StateMachine::put_group(const PutGroup& change, TimePoint now) {
  const Telling turn(turns_, state_);
  return embedded::put_group(state_, change, now);
}

Result<GroupPage> StateMachine::groups(const GroupsRequest& request, TimePoint now) {
  if (auto good = validate(request); !good) return std::unexpected(std::move(good.error()));
  const Turns::Step turn(turns_);
  return embedded::groups(state_, request, now);
}

Result<Schedule> StateMachine::put_schedule(const Schedule& schedule, PutSchedule mode,
                                            TimePoint now) {
  const Telling turn(turns_, state_);
  return embedded::put_schedule(state_, schedule, mode, now);
}

Result<void> StateMachine::remove_schedule(std::string_view name, TimePoint) {
  const Telling turn(turns_, state_);
  return embedded::remove_schedule(state_, name);
}

Result<std::vector<Schedule>> StateMachine::schedules(const std::optional<std::string>& name) {
  if (!name) {
    return read_in_turns(turns_, state_.schedules,
                         [](const Schedule& schedule) { return schedule; });
  }
  const Turns::Step turn(turns_);
  const auto found = state_.schedules.find(*name);
  if (found == state_.schedules.end()) {
    return fail(ErrorCode::not_found, fmt::format("there is no schedule \"{}\"", *name));
  }
  return std::vector{found->second};
}

Result<Fired> StateMachine::fire(const Fire& tick, TimePoint now) {
  const Telling turn(turns_, state_);
  return embedded::fire(state_, tick, now);
}

Result<Memo> StateMachine::remember(const Remember& request, TimePoint now) {
  const Telling turn(turns_, state_);
  auto memo = state_.memos.remember(request, now);
  if (memo) state_.changes.note({Thing::memo, 0, request.key});
  return memo;
}

Result<std::vector<Memo>> StateMachine::recall(const Recall& request, TimePoint now) {
  if (auto good = check_recall(request); !good) return std::unexpected(std::move(good.error()));
  std::vector<Memo> found;
  for (Recall rest = request;;) {
    const Turns::Step turn(turns_);
    const auto last = state_.memos.recall(rest, now, {named_per_turn, bytes_per_turn}, found);
    if (!last || found.size() == request.limit) return found;
    rest.after = *last;
    rest.limit = request.limit - static_cast<std::uint32_t>(found.size());
  }
}

Traits StateMachine::traits() const {
  return {.name = "memory",
          .durability = Durability::none,
          .loss_window = Duration::max(),
          .batch = limits::max_batch,
          .task_size = limits::max_payload,
          .follow_ups = limits::max_follow_ups,
          .groups = true,
          .graphs = true};
}

Result<std::vector<std::string>> StateMachine::ready(TimePoint now) {
  std::vector<std::string> found;
  for (std::size_t next = 0;;) {
    const Turns::Step turn(turns_);
    next = state_.each_with_waiting(next, named_per_turn, [&](const QueueEntry& queue) {
      if (gives_tasks(queue, now) && may_have_ready(queue, now)) {
        found.push_back(queue.settings().name);
      }
    });
    if (next == 0) return found;
  }
}

}  // namespace millrace::embedded
