// What LocalBroker does to the tasks that an operation by filter has found.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "broker/local_broker.h"
#include "broker/local_parts.h"
#include "broker/local_records.h"
#include "core/check.h"
#include "core/limits.h"
#include "core/transition.h"
#include "core/uuid.h"
#include "store/store.h"

namespace millrace {
namespace {

// So that no round waits long for one that acts: a move writes whole tasks again.
constexpr std::size_t most_bytes = 4 * limits::mib;
// Tasks that are read together; fewer if whole tasks will be written again.
constexpr std::size_t looked_at_once = 100;
constexpr std::size_t moved_at_once = 8;

std::size_t bytes_of(const Task& task) {
  return task.payload.size() + task.result.size();
}

Error changed(const Task& task) {
  return {ErrorCode::conflict, fmt::format("task {} has changed since it was looked at, and is {}",
                                           to_text(task.id.value), name_of(task.state))};
}

// Reads tasks of a batch as far as deciding needs them. A task that changed since it was seen must
// still match, and checking that may need the whole task; for the others the head is enough, unless
// whole tasks will be written again.
Result<FoundTasks> look_at(Reader& reader, std::span<const BulkSeen> tasks, bool moves,
                           std::size_t batch) {
  std::vector<TaskId> ids;
  for (const BulkSeen& seen : tasks) ids.push_back(seen.id);
  auto found = find_all(reader, ids, moves ? Parts{} : head_only, batch);
  if (!found || moves) return found;
  std::vector<TaskId> changed;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const auto& task = (*found)[i];
    if (!task || task->version == tasks[i].version) continue;
    changed.push_back(ids[i]);
    places.push_back(i);
  }
  auto whole = find_all(reader, changed, Parts{}, batch);
  if (!whole) return whole;
  for (std::size_t i = 0; i < places.size(); ++i) (*found)[places[i]] = std::move((*whole)[i]);
  return found;
}

// The first tasks of a batch, as many as one round may act on.
Result<FoundTasks> look_at_first(Reader& reader, const BulkBatch& batch, std::size_t store_batch) {
  const bool moves = batch.request.action == BulkAction::move;
  FoundTasks all;
  std::size_t bytes = 0;
  std::span<const BulkSeen> rest = batch.tasks;
  while (!rest.empty() && bytes < most_bytes) {
    const auto part = rest.first(std::min(rest.size(), moves ? moved_at_once : looked_at_once));
    rest = rest.subspan(part.size());
    auto found = look_at(reader, part, moves, store_batch);
    if (!found) return found;
    for (auto& task : *found) {
      if (bytes >= most_bytes) break;
      if (task) bytes += bytes_of(*task);
      all.push_back(std::move(task));
    }
  }
  return all;
}

}  // namespace

// A batch in progress.
struct LocalBroker::Acting {
  const BulkBatch batch;
  const std::optional<QueueRef> new_queue;  // to be created if there is anything for it
  const Ask ask;
  FoundTasks tasks = {};                  // the first of the batch, as they were read
  RecordedTasks recorded = {};            // those that are acted on, by place
  std::vector<TaskId> ids = {};           // the same, without gaps
  FoundTasks acted_on = {};               // the same tasks
  std::vector<Cancelled> cancelled = {};  // the same, of a cancel
};

Result<Broker::States> LocalBroker::act_on(Store& store, Acting& acting, TimePoint now) {
  const BulkRequest& request = acting.batch.request;
  const std::vector<TaskId>& ids = acting.ids;
  switch (request.action) {
    case BulkAction::cancel:
      return cancel_now(store, ids, acting.acted_on, request.reason, acting.cancelled, now);
    case BulkAction::retry:
      return in_batches(ids, books_.traits.batch,
                        [&](auto part) { return store.retry(part, now); });
    case BulkAction::remove:
      return in_batches(ids, books_.traits.batch,
                        [&](auto part) { return store.remove(part, now); });
    default:
      break;
  }
  std::vector<TaskUpdate> updates;
  for (const TaskId& id : ids) {
    TaskUpdate& update = updates.emplace_back();
    update.id = id;
    if (request.action == BulkAction::priority) update.priority = request.priority;
    if (request.action == BulkAction::move) update.queue = request.to;
  }
  return in_batches(updates, books_.traits.batch,
                    [&](auto part) { return store.update(part, now); });
}

// Checks and acts in one step, so that nothing comes between.
Result<Broker::States> LocalBroker::act_now(Store& store, Acting& acting, TimePoint now) {
  const BulkBatch& batch = acting.batch;
  std::vector<TaskId> looked_at;
  for (std::size_t i = 0; i < acting.tasks.size(); ++i) looked_at.push_back(batch.tasks[i].id);
  auto good = bring_up_to_date(store, looked_at, acting.tasks, Parts{}, books_.traits.batch);
  if (!good) return std::unexpected(std::move(good.error()));
  std::vector<std::optional<Error>> refused;
  for (std::size_t i = 0; i < acting.tasks.size(); ++i) {
    auto& task = acting.tasks[i];
    const BulkSeen& seen = batch.tasks[i];
    std::optional<Error>& error = refused.emplace_back();
    std::optional<RecordedTask>& recorded = acting.recorded.emplace_back();
    if (!task) {
      error = task.error();
    } else if (task->version != seen.version &&
               ((batch.not_twice && task->finished_at != seen.finished_at) ||
                !fits(batch.request, *task))) {
      error = changed(*task);
    } else {
      recorded = recorded_task(*task);
      acting.ids.push_back(seen.id);
      acting.acted_on.push_back(std::move(task));
    }
  }
  if (acting.new_queue && !acting.ids.empty()) {
    auto made = books_.need_queue(store, *acting.new_queue, acting.ask, now);
    if (!made) return std::unexpected(std::move(made.error()));
  }
  auto states = act_on(store, acting, now);
  if (!states) return states;
  return with_refused(std::move(*states), std::move(refused));
}

// Reports to clients that watch or wait.
void LocalBroker::acted(Acting& acting, const States& states) {
  const BulkRequest& request = acting.batch.request;
  const TimePoint now = clock_.now();
  switch (request.action) {
    case BulkAction::cancel: {
      std::vector<Cancelled> all(states.size());
      for (std::size_t i = 0, at = 0; i < states.size() && at < acting.cancelled.size(); ++i) {
        if (acting.recorded[i]) all[i] = std::move(acting.cancelled[at++]);
      }
      record_cancelled(books_, all, states, now);
      break;
    }
    case BulkAction::move: {
      std::vector<Changed> changed;
      for (std::size_t i = 0; i < states.size(); ++i) {
        if (acting.recorded[i])
          changed.push_back({i, std::move(*acting.recorded[i]), EventKind::moved});
      }
      moved(states, std::vector<QueueRef>(states.size(), *request.to), changed);
      return;
    }
    default:
      record(books_, acting.recorded, states,
             request.action == BulkAction::retry    ? EventKind::retried
             : request.action == BulkAction::remove ? EventKind::removed
                                                    : EventKind::changed,
             now);
  }
  const bool removes = request.action == BulkAction::remove;
  if (!removes && request.action != BulkAction::cancel) return;
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (states[i] && (removes || is_final(*states[i]))) finished(acting.batch.tasks[i].id);
  }
}

void LocalBroker::act(Ask ask, BulkBatch batch, Completion<States> done) {
  if (auto good = check::count("tasks", batch.tasks.size(), limits::max_batch); !good) {
    return done(std::unexpected(std::move(good.error())));
  }
  std::vector<QueueRef> unknown;
  Result<void> good;
  if (batch.request.action == BulkAction::move) {
    const QueueBook::Reading book(books_.queues);
    good = check_queue(ask, book, batch.request.to.value_or(QueueRef{}), unknown);
  }
  // Not under the book's lock: the completion may make the next request.
  if (!good) return done(std::unexpected(std::move(good.error())));
  std::optional<QueueRef> new_queue;
  if (!unknown.empty()) new_queue = std::move(unknown.front());
  const auto acting = std::make_shared<Acting>(std::move(batch), std::move(new_queue), ask);
  read<FoundTasks>(
      ask,
      [this, acting](Reader& reader, TimePoint) {
        return look_at_first(reader, acting->batch, books_.traits.batch);
      },
      [this, ask, acting, done = std::move(done)](Result<FoundTasks> found) mutable {
        if (!found) return done(std::unexpected(std::move(found.error())));
        acting->tasks = std::move(*found);
        call<States>(
            ask,
            [this, acting](Store& store, TimePoint now) { return act_now(store, *acting, now); },
            [this, acting, done = std::move(done)](Result<States> states) mutable {
              if (states) acted(*acting, *states);
              done(std::move(states));
            });
      },
      ReadCost::walk);
}

}  // namespace millrace
