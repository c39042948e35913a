// What LocalBroker does with tasks besides working on them.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

#include "broker/explain.h"
#include "broker/local_broker.h"
#include "broker/local_parts.h"
#include "broker/local_records.h"
#include "broker/recorder.h"
#include "broker/seen.h"
#include "core/check.h"
#include "core/limits.h"
#include "core/transition.h"
#include "store/store.h"

namespace millrace {
namespace {

using States = Broker::States;

// How many tasks are read together for callers that waited for them: each may have 32 MiB.
constexpr std::size_t read_together = 16;

// A delivery attempt is not an event, so nothing has to be known of its task.
bool is_an_event(const TaskUpdate& update) {
  return update.release || update.priority || update.start || update.queue;
}

// Which tasks these are, for their events.
RecordedTasks recorded_of(const FoundTasks& found) {
  RecordedTasks tasks;
  tasks.reserve(found.size());
  for (const auto& task : found) {
    tasks.push_back(task ? std::optional(recorded_task(*task)) : std::nullopt);
  }
  return tasks;
}

using ParentStates = std::vector<std::pair<TaskId, std::optional<TaskState>>>;

// The first of those that a task waits for.
Result<ParentStates> parents_of(Reader& reader, const Task& task, const Ask& ask) {
  ParentStates parents;
  std::vector<TaskRef> refs;
  for (const TaskId& id : task.waits_for) {
    if (refs.size() < named_parents) refs.emplace_back(id);
  }
  if (refs.empty()) return parents;
  const auto found = reader.find(refs, state_only);
  if (!found) return std::unexpected(found.error());
  for (std::size_t i = 0; i < refs.size(); ++i) {
    const auto& parent = (*found)[i];
    const bool seen = parent && ask.sees(parent->queue);
    parents.emplace_back(task.waits_for[i], seen ? std::optional(parent->state) : std::nullopt);
  }
  return parents;
}

// nullopt: it is in none that has rules.
Result<std::optional<Group>> group_of(Reader& reader, const Task& task, const Queue& queue,
                                      TimePoint now) {
  if (task.group.empty() || !queue.settings.groups) return std::optional<Group>();
  auto page = reader.groups({.queue = task.queue, .name = task.group}, now);
  if (!page) return std::unexpected(std::move(page.error()));
  if (page->groups.empty()) return std::optional<Group>();
  return std::optional(std::move(page->groups.front()));
}

}  // namespace

void LocalBroker::finished(const TaskId& id) {
  if (books_.waiters.finished(id)) runner_.wake_at(books_.waiters, TimePoint::min());
}

void LocalBroker::list(Ask ask, ListRequest request, Completion<TaskPage> done) {
  read<TaskPage>(
      ask,
      [request = std::move(request)](Reader& reader, TimePoint) { return reader.list(request); },
      std::move(done), ReadCost::walk);
}

void LocalBroker::search(Ask ask, ListRequest request, TaskSearch search,
                         Completion<TaskPage> done) {
  if (!search.any()) return list(ask, std::move(request), std::move(done));
  read<TaskPage>(
      ask,
      [request = std::move(request), search = std::move(search)](Reader& reader, TimePoint) {
        return search_tasks(reader, request, search);
      },
      std::move(done), ReadCost::walk);
}

void LocalBroker::family(Ask ask, TaskRef task, Completion<Family> done) {
  read<Family>(
      ask, [ask, task](Reader& reader, TimePoint) { return find_family(reader, task, ask); },
      std::move(done), ReadCost::walk);
}

void LocalBroker::graph(Ask ask, TaskRef task, std::uint32_t limit, Completion<TaskGraph> done) {
  if (auto good = check::number("limit", limit, 1, limits::max_drawn); !good) {
    return done(std::unexpected(std::move(good.error())));
  }
  read<TaskGraph>(
      ask,
      [ask, task, limit](Reader& reader, TimePoint) {
        return find_graph(reader, task, ask, limit);
      },
      std::move(done), ReadCost::walk);
}

// Looks at the task once, and again after its waiter is registered: it may end in between, and be
// moved to where the caller may not see it.
void LocalBroker::await(Ask ask, TaskRef task, Duration wait, Completion<Task> done) {
  const TimePoint until = later(clock_.now(), wait);
  read<Task>(
      ask,
      [ask, task](Reader& reader, TimePoint) {
        return seen_by(ask, task, find_task(reader, task));
      },
      [this, until, ask, task, done = std::move(done)](Result<Task> found) mutable {
        if (!found || is_final(found->state) || until <= clock_.now()) {
          return done(std::move(found));
        }
        Completion<Task> last = [ask, task, done = std::move(done)](Result<Task> ended) mutable {
          done(seen_by(ask, task, std::move(ended)));
        };
        auto next = books_.waiters.add(found->id, ask.caller, until, last);
        if (!next) return last(std::unexpected(std::move(next.error())));
        runner_.wake_at(books_.waiters, *next);
        finished(found->id);
      });
}

void LocalBroker::answer_waiters(std::vector<Waiters::Over> over) {
  const auto next = [this](std::vector<Waiters::Over> part) {
    std::vector<TaskId> ids;
    for (const Waiters::Over& each : part) ids.push_back(each.id);
    read<FoundTasks>(
        {.caller = self_},
        [ids = std::move(ids)](Reader& reader, TimePoint) {
          return reader.find(std::vector<TaskRef>(ids.begin(), ids.end()), {});
        },
        [part = std::move(part)](Result<FoundTasks> found) mutable {
          for (std::size_t i = 0; i < part.size(); ++i) {
            for (auto& done : part[i].done) {
              done(found ? (*found)[i] : Result<Task>(std::unexpected(found.error())));
            }
          }
        });
  };
  std::vector<Waiters::Over> part;
  for (Waiters::Over& each : over) {
    part.push_back(std::move(each));
    if (part.size() == read_together) next(std::exchange(part, {}));
  }
  if (!part.empty()) next(std::move(part));
}

void LocalBroker::explain(Ask ask, TaskRef task, Completion<Explanation> done) {
  read<Explanation>(
      ask,
      [this, ask, task](Reader& reader, TimePoint now) -> Result<Explanation> {
        const auto found = seen_by(ask, task, find_task(reader, task));
        if (!found) return std::unexpected(found.error());
        const auto queues = reader.queues(found->queue);
        if (!queues) return std::unexpected(queues.error());
        const auto counts = reader.counts(found->queue, now);
        if (!counts) return std::unexpected(counts.error());
        auto group = group_of(reader, *found, queues->front(), now);
        if (!group) return std::unexpected(std::move(group.error()));
        auto parents = parents_of(reader, *found, ask);
        if (!parents) return std::unexpected(std::move(parents.error()));
        return millrace::explain({.task = *found,
                                  .queue = queues->front(),
                                  .counts = counts->front(),
                                  .stats = books_.metrics.of(found->queue, now),
                                  .takes = books_.metrics.window(found->queue),
                                  .now = now,
                                  .parents = std::move(*parents),
                                  .group = std::move(*group)});
      },
      std::move(done));
}

Result<Broker::States> LocalBroker::cancel_now(Store& store, std::span<const TaskId> ids,
                                               std::span<const Result<Task>> tasks,
                                               const std::string& reason,
                                               std::vector<Cancelled>& cancelled, TimePoint now,
                                               std::vector<std::optional<Error>> refused) {
  std::vector<CancelRequest> requests;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto& task = tasks[i];
    CancelRequest& request = requests.emplace_back(CancelRequest{.id = ids[i], .reason = reason});
    Cancelled& recorded = cancelled.emplace_back();
    if (task) recorded.task = recorded_task(*task);
    // If it is running, another process may give it back before it is cancelled.
    const bool acts = refused.empty() || !refused[i];
    if (acts && task && !is_final(task->state)) {
      request.follow_ups = books_.deliveries.of_cancel(subject_of(*task), reason, now);
      recorded.follow_ups = RecordedPuts(request.follow_ups, books_.queues, now);
    }
  }
  return in_batches(std::move(requests), std::move(refused), books_.traits.batch,
                    [&](auto part) { return store.cancel(part, now); });
}

void LocalBroker::cancel(Ask ask, std::vector<TaskId> tasks, std::string reason,
                         Completion<States> done) {
  if (auto good = check::count("tasks", tasks.size(), limits::max_batch); !good) {
    return done(std::unexpected(std::move(good.error())));
  }
  if (auto good = check::size("reason", reason.size(), limits::max_error_text); !good) {
    return done(std::unexpected(std::move(good.error())));
  }
  const auto ids = std::make_shared<const std::vector<TaskId>>(tasks);
  const auto cancelled = std::make_shared<std::vector<Cancelled>>();
  call_with_tasks<States>(
      ask, std::move(tasks),
      [this, ask, ids, cancelled, reason = std::move(reason)](Store& store, const FoundTasks& found,
                                                              TimePoint now) {
        return cancel_now(store, *ids, found, reason, *cancelled, now,
                          refusals(ask, BulkAction::cancel, found));
      },
      [this, ids, cancelled, done = std::move(done)](Result<States> states) mutable {
        if (states) record_cancelled(books_, *cancelled, *states, clock_.now());
        for (std::size_t i = 0; states && i < states->size(); ++i) {
          if ((*states)[i] && is_final(*(*states)[i])) finished((*ids)[i]);
        }
        tell_children();
        done(std::move(states));
      });
}

void LocalBroker::retry(Ask ask, std::vector<TaskId> tasks, Completion<States> done) {
  if (auto good = check::count("tasks", tasks.size(), limits::max_batch); !good) {
    return done(std::unexpected(std::move(good.error())));
  }
  const auto recorded = std::make_shared<RecordedTasks>();
  auto ids = tasks;
  call_with_tasks<States>(
      ask, std::move(ids),
      [this, ask, recorded, tasks = std::move(tasks)](Store& store, const FoundTasks& found,
                                                      TimePoint now) {
        *recorded = recorded_of(found);
        return in_batches(tasks, refusals(ask, BulkAction::retry, found), books_.traits.batch,
                          [&](auto part) { return store.retry(part, now); });
      },
      [this, recorded, done = std::move(done)](Result<States> states) mutable {
        if (states) record(books_, *recorded, *states, EventKind::retried, clock_.now());
        done(std::move(states));
      });
}

void LocalBroker::remove(Ask ask, std::vector<TaskId> tasks, Completion<States> done) {
  if (auto good = check::count("tasks", tasks.size(), limits::max_batch); !good) {
    return done(std::unexpected(std::move(good.error())));
  }
  const auto ids = std::make_shared<const std::vector<TaskId>>(tasks);
  const auto recorded = std::make_shared<RecordedTasks>();
  call_with_tasks<States>(
      ask, std::move(tasks),
      [this, ask, ids, recorded](Store& store, const FoundTasks& found, TimePoint now) {
        *recorded = recorded_of(found);
        return in_batches(*ids, refusals(ask, BulkAction::remove, found), books_.traits.batch,
                          [&](auto part) { return store.remove(part, now); });
      },
      [this, ids, recorded, done = std::move(done)](Result<States> states) mutable {
        if (states) record(books_, *recorded, *states, EventKind::removed, clock_.now());
        for (std::size_t i = 0; states && i < states->size(); ++i) {
          if ((*states)[i]) finished((*ids)[i]);
        }
        tell_children();
        done(std::move(states));
      });
}

void LocalBroker::update(Ask ask, std::vector<TaskUpdate> updates, Completion<States> done) {
  if (auto good = check::count({"updates", ""}, updates.size(), limits::max_batch); !good) {
    return done(std::unexpected(std::move(good.error())));
  }
  TimePoint first_start = never;
  bool moves = false;
  std::vector<TaskId> ids;  // whose changes are events
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < updates.size(); ++i) {
    if (updates[i].start) first_start = std::min(first_start, *updates[i].start);
    moves = moves || updates[i].queue;
    if (!is_an_event(updates[i])) continue;
    ids.push_back(updates[i].id);
    places.push_back(i);
  }
  if (moves) return move(ask, std::move(updates), std::move(done));
  const auto changed = std::make_shared<std::vector<Changed>>();
  auto act = [this, ask, changed, places = std::move(places), updates = std::move(updates)](
                 Store& store, const FoundTasks& found, TimePoint now) {
    std::vector<std::optional<Error>> refused;
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (!found[i]) continue;
      if (auto error = refusal(ask, BulkAction::priority, found[i]->id, found[i]->queue)) {
        refused.resize(updates.size());
        refused[places[i]] = std::move(error);
        continue;
      }
      if (auto change = change_of(places[i], updates[places[i]], *found[i])) {
        changed->push_back(std::move(*change));
      }
    }
    return in_batches(updates, std::move(refused), books_.traits.batch,
                      [&](auto part) { return store.update(part, now); });
  };
  auto then = [this, first_start, changed, done = std::move(done)](Result<States> states) mutable {
    if (states) record_changed(books_, *changed, *states, clock_.now());
    if (states && first_start != never) runner_.wake_at(sweeper_, first_start);
    done(std::move(states));
  };
  if (!ids.empty()) {
    return call_with_tasks<States>(ask, std::move(ids), std::move(act), std::move(then));
  }
  call<States>(
      ask,
      [act = std::move(act)](Store& store, TimePoint now) mutable { return act(store, {}, now); },
      std::move(then));
}

}  // namespace millrace
