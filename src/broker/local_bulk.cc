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

namespace millrace {
namespace {

// So that no round waits long for one that acts: a move writes whole tasks again.
constexpr std::size_t most_bytes = 4 * limits::mib;
// Tasks that are read together; one by one if whole tasks will be written again.
constexpr std::size_t looked_at_once = 100;

std::size_t bytes_of(const Task& task) {
  return task.payload.size() + task.result.size();
}

Error changed(const Task& task) {
  return {ErrorCode::conflict, fmt::format("task {} has changed since it was looked at, and is {}",
                                           to_text(task.id.value), name_of(task.state))};
}

}  // namespace

// A batch in progress.
struct LocalBroker::Acting {
  const BulkBatch batch;
  const std::optional<QueueRef> new_queue;  // to be created if there is anything for it
  RecordedTasks recorded = {};              // those that are acted on, by place
  std::vector<Cancelled> cancelled = {};    // the same, of a cancel
};

Result<Broker::States> LocalBroker::act_on(Store& store, Acting& acting,
                                           const std::vector<TaskId>& ids, TimePoint now) {
  const BulkRequest& request = acting.batch.request;
  switch (request.action) {
    case BulkAction::cancel:
      return cancel_now(store, ids, request.reason, acting.cancelled, now);
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

// Which of these tasks are to be acted on. A task that changed since it was seen must still match,
// and checking that may need the whole task; for the others the head is enough, unless whole tasks
// will be written again.
Result<LocalBroker::Looked> LocalBroker::look_at(Store& store, Acting& acting,
                                                 std::span<const BulkSeen> tasks,
                                                 std::vector<std::optional<Error>>& refused) {
  const BulkBatch& batch = acting.batch;
  const bool moves = batch.request.action == BulkAction::move;
  std::vector<TaskId> ids;
  for (const BulkSeen& seen : tasks) ids.push_back(seen.id);
  auto found = find_all(store, ids, moves ? Parts{} : head_only, books_.traits.batch);
  if (!found) return std::unexpected(std::move(found.error()));
  Looked looked;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    auto& task = (*found)[i];
    if (task && task->version != tasks[i].version && !moves) {
      task = find_task(store, tasks[i].id);
      if (!task && task.error().code != ErrorCode::not_found) {
        return std::unexpected(std::move(task.error()));
      }
    }
    std::optional<Error>& error = refused.emplace_back();
    std::optional<RecordedTask>& recorded = acting.recorded.emplace_back();
    if (task) looked.bytes += bytes_of(*task);  // reading costs as well
    if (!task) {
      error = task.error();
    } else if (task->version != tasks[i].version &&
               ((batch.not_twice && task->finished_at != tasks[i].finished_at) ||
                !fits(batch.request, *task))) {
      error = changed(*task);
    } else {
      looked.ids.push_back(tasks[i].id);
      recorded = recorded_task(*task);
    }
  }
  return looked;
}

// Reads and acts in one step, so that nothing comes between.
Result<Broker::States> LocalBroker::act_now(Store& store, Acting& acting, TimePoint now) {
  std::vector<std::optional<Error>> refused;
  std::vector<TaskId> ids;
  std::size_t bytes = 0;
  const bool moves = acting.batch.request.action == BulkAction::move;
  const std::size_t at_once = moves ? 1 : looked_at_once;
  std::span<const BulkSeen> rest = acting.batch.tasks;
  while (!rest.empty() && bytes < most_bytes) {
    const auto part = rest.first(std::min(rest.size(), at_once));
    rest = rest.subspan(part.size());
    auto looked = look_at(store, acting, part, refused);
    if (!looked) return std::unexpected(std::move(looked.error()));
    bytes += looked->bytes;
    std::ranges::move(looked->ids, std::back_inserter(ids));
  }
  if (acting.new_queue && !ids.empty()) {
    auto good = books_.need_queue(store, *acting.new_queue, now);
    if (!good) return std::unexpected(std::move(good.error()));
  }
  auto states = act_on(store, acting, ids, now);
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
  const auto acting = std::make_shared<Acting>(std::move(batch), std::move(new_queue));
  call<States>(
      ask, [this, acting](Store& store, TimePoint now) { return act_now(store, *acting, now); },
      [this, acting, done = std::move(done)](Result<States> states) mutable {
        if (states) acted(*acting, *states);
        done(std::move(states));
      });
}

}  // namespace millrace
