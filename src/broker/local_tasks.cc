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
#include "core/check.h"
#include "core/limits.h"
#include "core/transition.h"

namespace millrace {
namespace {

using States = Broker::States;

constexpr std::size_t round_step = 1000;

// Reads which tasks they are, before they are changed.
Result<RecordedTasks> look_up(Store& store, std::span<const TaskId> ids, std::size_t batch) {
  auto found = find_all(store, ids, head_only, batch);
  if (!found) return std::unexpected(std::move(found.error()));
  RecordedTasks tasks;
  tasks.reserve(ids.size());
  for (const auto& task : *found) {
    tasks.push_back(task ? std::optional(recorded_task(*task)) : std::nullopt);
  }
  return tasks;
}

}  // namespace

void LocalBroker::finished(const TaskId& id) {
  if (books_.waiters.finished(id)) runner_.wake_at(books_.waiters, TimePoint::min());
}

void LocalBroker::list(Ask ask, ListRequest request, Completion<TaskPage> done) {
  read<TaskPage>(
      ask,
      [request = std::move(request)](Reader& reader, TimePoint) { return reader.list(request); },
      std::move(done));
}

void LocalBroker::heads(Ask ask, std::vector<TaskId> tasks,
                        Completion<std::vector<Result<Task>>> done) {
  read<std::vector<Result<Task>>>(
      ask,
      [this, tasks = std::move(tasks)](Reader& reader, TimePoint) {
        return find_all(reader, tasks, head_only, books_.traits.batch);
      },
      std::move(done));
}

void LocalBroker::search(Ask ask, ListRequest request, TaskSearch search,
                         Completion<TaskPage> done) {
  if (!search.any()) return list(ask, std::move(request), std::move(done));
  read<TaskPage>(
      ask,
      [request = std::move(request), search = std::move(search)](Reader& reader, TimePoint) {
        return search_tasks(reader, request, search);
      },
      std::move(done));
}

void LocalBroker::family(Ask ask, TaskRef task, MaySee may_see, Completion<Family> done) {
  read<Family>(
      ask,
      [task, may_see = std::move(may_see)](Reader& reader, TimePoint) {
        return find_family(reader, task, may_see);
      },
      std::move(done));
}

// Looks at the task once, and again after its waiter is registered: it may end in between.
void LocalBroker::await(Ask ask, TaskRef task, Duration wait, Completion<Task> done) {
  const TimePoint until = later(clock_.now(), wait);
  read<Task>(
      ask, [task](Reader& reader, TimePoint) { return find_task(reader, task); },
      [this, until, caller = ask.caller, done = std::move(done)](Result<Task> found) mutable {
        if (!found || is_final(found->state) || until <= clock_.now()) {
          return done(std::move(found));
        }
        auto next = books_.waiters.add(found->id, caller, until, done);
        if (!next) return done(std::unexpected(std::move(next.error())));
        runner_.wake_at(books_.waiters, *next);
        finished(found->id);
      });
}

void LocalBroker::explain(Ask ask, TaskRef task, Completion<Explanation> done) {
  read<Explanation>(
      ask,
      [this, task](Reader& reader, TimePoint now) -> Result<Explanation> {
        const auto found = find_task(reader, task);
        if (!found) return std::unexpected(found.error());
        const auto queues = reader.queues(found->queue);
        if (!queues) return std::unexpected(queues.error());
        const auto counts = reader.counts(found->queue, now);
        if (!counts) return std::unexpected(counts.error());
        return millrace::explain({.task = *found,
                                  .queue = queues->front(),
                                  .counts = counts->front(),
                                  .stats = books_.metrics.of(found->queue, now),
                                  .takes = books_.metrics.window(found->queue),
                                  .now = now});
      },
      std::move(done));
}

Result<Broker::States> LocalBroker::cancel_now(Store& store, const std::vector<TaskId>& ids,
                                               const std::string& reason,
                                               std::vector<Cancelled>& cancelled, TimePoint now) {
  const auto tasks = find_all(store, ids, head_only, books_.traits.batch);
  if (!tasks) return std::unexpected(tasks.error());
  std::vector<CancelRequest> requests;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto& task = (*tasks)[i];
    CancelRequest& request = requests.emplace_back(CancelRequest{.id = ids[i], .reason = reason});
    Cancelled& recorded = cancelled.emplace_back();
    if (task) recorded.task = recorded_task(*task);
    // If it is running, another process may give it back before it is cancelled.
    if (task && !is_final(task->state)) {
      request.follow_ups = books_.deliveries.of_cancel(subject_of(*task), reason, now);
      recorded.follow_ups = RecordedPuts(request.follow_ups, books_.queues, now);
    }
  }
  return in_batches(requests, books_.traits.batch,
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
  const auto ids = std::make_shared<const std::vector<TaskId>>(std::move(tasks));
  const auto cancelled = std::make_shared<std::vector<Cancelled>>();
  call<States>(
      ask,
      [this, ids, cancelled, reason = std::move(reason)](Store& store, TimePoint now) {
        return cancel_now(store, *ids, reason, *cancelled, now);
      },
      [this, ids, cancelled, done = std::move(done)](Result<States> states) mutable {
        if (states) record_cancelled(books_, *cancelled, *states, clock_.now());
        for (std::size_t i = 0; states && i < states->size(); ++i) {
          if ((*states)[i] && is_final(*(*states)[i])) finished((*ids)[i]);
        }
        done(std::move(states));
      });
}

void LocalBroker::retry(Ask ask, std::vector<TaskId> tasks, Completion<States> done) {
  if (auto good = check::count("tasks", tasks.size(), limits::max_batch); !good) {
    return done(std::unexpected(std::move(good.error())));
  }
  const auto recorded = std::make_shared<RecordedTasks>();
  call<States>(
      ask,
      [this, recorded, tasks = std::move(tasks)](Store& store, TimePoint now) -> Result<States> {
        auto found = look_up(store, tasks, books_.traits.batch);
        if (!found) return std::unexpected(std::move(found.error()));
        *recorded = std::move(*found);
        return in_batches(tasks, books_.traits.batch,
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
  const auto ids = std::make_shared<const std::vector<TaskId>>(std::move(tasks));
  const auto recorded = std::make_shared<RecordedTasks>();
  call<States>(
      ask,
      [this, ids, recorded](Store& store, TimePoint now) -> Result<States> {
        auto found = look_up(store, *ids, books_.traits.batch);
        if (!found) return std::unexpected(std::move(found.error()));
        *recorded = std::move(*found);
        return in_batches(*ids, books_.traits.batch,
                          [&](auto part) { return store.remove(part, now); });
      },
      [this, ids, recorded, done = std::move(done)](Result<States> states) mutable {
        if (states) record(books_, *recorded, *states, EventKind::removed, clock_.now());
        for (std::size_t i = 0; states && i < states->size(); ++i) {
          if ((*states)[i]) finished((*ids)[i]);
        }
        done(std::move(states));
      });
}

// What the updates change, for the events.
Result<void> LocalBroker::look_up_changes(Store& store, const std::vector<TaskUpdate>& updates,
                                          std::vector<Changed>& changed) const {
  std::vector<TaskId> ids;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < updates.size(); ++i) {
    // A delivery attempt is not an event.
    if (!updates[i].release && !updates[i].priority && !updates[i].start) continue;
    ids.push_back(updates[i].id);
    places.push_back(i);
  }
  const auto tasks = find_all(store, ids, head_only, books_.traits.batch);
  if (!tasks) return std::unexpected(tasks.error());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (!(*tasks)[i]) continue;
    if (auto change = change_of(places[i], updates[places[i]], *(*tasks)[i])) {
      changed.push_back(std::move(*change));
    }
  }
  return {};
}

void LocalBroker::update(Ask ask, std::vector<TaskUpdate> updates, Completion<States> done) {
  if (auto good = check::count("updates", updates.size(), limits::max_batch); !good) {
    return done(std::unexpected(std::move(good.error())));
  }
  TimePoint first_start = never;
  bool moves = false;
  for (const TaskUpdate& update : updates) {
    if (update.start) first_start = std::min(first_start, *update.start);
    moves = moves || update.queue;
  }
  if (moves) return move(ask, std::move(updates), std::move(done));
  const auto changed = std::make_shared<std::vector<Changed>>();
  call<States>(
      ask,
      [this, changed, updates = std::move(updates)](Store& store, TimePoint now) -> Result<States> {
        if (auto good = look_up_changes(store, updates, *changed); !good) {
          return std::unexpected(std::move(good.error()));
        }
        return in_batches(updates, books_.traits.batch,
                          [&](auto part) { return store.update(part, now); });
      },
      [this, first_start, changed, done = std::move(done)](Result<States> states) mutable {
        if (states) record_changed(books_, *changed, *states, clock_.now());
        if (states && first_start != never) runner_.wake_at(sweeper_, first_start);
        done(std::move(states));
      });
}

// ---- Many tasks, a bounded piece at a time ------------------------------------------------------

struct LocalBroker::Rounds {
  Ask ask = {};
  Completion<Handled> handled = {};
  Completion<std::uint64_t> cleared = {};
  ListRequest list = {};
  QueueRef queue = {};
  Handled sum = {};
  std::vector<TaskId> ids = {};  // of the last piece
  RecordedTasks recorded = {};   // of the same piece
  bool more = true;
};

void LocalBroker::handle_dead(Ask ask, DeadLetters which, DeadAction action,
                              Completion<Handled> done) {
  if (auto good = check::count("tasks", which.ids.size(), limits::max_batch); !good) {
    return done(std::unexpected(std::move(good.error())));
  }
  const auto rounds = std::make_shared<Rounds>(Rounds{.ask = ask, .handled = std::move(done)});
  rounds->ids = std::move(which.ids);
  rounds->more = rounds->ids.empty();
  rounds->list = {
      .queue = std::move(which.queue),
      .states = {TaskState::failed, TaskState::dead},
      .type = std::move(which.type),
      .limit = static_cast<std::uint32_t>(std::min<std::size_t>(round_step, limits::max_page))};
  next_dead(rounds, action);
}

// Only dead letters: a cancelled task, even if it is named, is not one.
Result<void> LocalBroker::pick_dead(Store& store, Rounds& rounds) {
  if (!rounds.more) {
    std::vector<TaskId> dead;
    rounds.recorded.clear();
    const auto tasks = find_all(store, rounds.ids, head_only, books_.traits.batch);
    if (!tasks) return std::unexpected(tasks.error());
    for (const auto& task : *tasks) {
      const bool is_dead =
          task && (task->state == TaskState::failed || task->state == TaskState::dead);
      if (is_dead) dead.push_back(task->id);
      if (is_dead) rounds.recorded.emplace_back(recorded_task(*task));
      rounds.sum.refused += is_dead ? 0 : 1;
    }
    rounds.ids = std::move(dead);
    return {};
  }
  const auto page = store.list(rounds.list);
  if (!page) return std::unexpected(page.error());
  rounds.ids.clear();
  rounds.recorded.clear();
  for (const Task& task : page->tasks) {
    rounds.ids.push_back(task.id);
    rounds.recorded.emplace_back(recorded_task(task));
  }
  rounds.list.before = page->next;
  rounds.more = page->next.has_value();
  return {};
}

void LocalBroker::next_dead(const std::shared_ptr<Rounds>& rounds, DeadAction action) {
  const bool retry = action == DeadAction::retry;
  call<States>(
      rounds->ask,
      [this, rounds, retry](Store& store, TimePoint now) -> Result<States> {
        if (auto good = pick_dead(store, *rounds); !good) return std::unexpected(good.error());
        return in_batches(rounds->ids, books_.traits.batch, [&](auto part) {
          return retry ? store.retry(part, now) : store.remove(part, now);
        });
      },
      [this, rounds, action, retry](Result<States> states) {
        if (!states) return rounds->handled(std::unexpected(std::move(states.error())));
        record(books_, rounds->recorded, *states, retry ? EventKind::retried : EventKind::removed,
               clock_.now());
        for (std::size_t i = 0; i < states->size(); ++i) {
          ++((*states)[i] ? rounds->sum.done : rounds->sum.refused);
        }
        if (!rounds->more) return rounds->handled(rounds->sum);
        rounds->ask.deadline = never;  // it has begun
        next_dead(rounds, action);
      });
}

// No events: the store does not say which tasks it removed.
void LocalBroker::clear(Ask ask, QueueRef queue, Completion<std::uint64_t> done) {
  next_clear(std::make_shared<Rounds>(
      Rounds{.ask = ask, .cleared = std::move(done), .queue = std::move(queue)}));
}

void LocalBroker::next_clear(const std::shared_ptr<Rounds>& rounds) {
  call<std::size_t>(
      rounds->ask,
      [rounds](Store& store, TimePoint now) { return store.clear(rounds->queue, round_step, now); },
      [this, rounds](Result<std::size_t> removed) {
        if (!removed) return rounds->cleared(std::unexpected(std::move(removed.error())));
        rounds->sum.done += *removed;
        if (*removed == round_step) {
          rounds->ask.deadline = never;
          return next_clear(rounds);
        }
        if (books_.waiters.look_at_all()) runner_.wake_at(books_.waiters, TimePoint::min());
        rounds->cleared(rounds->sum.done);
      });
}

}  // namespace millrace
