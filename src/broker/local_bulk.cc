// What LocalBroker does to the tasks that an operation by filter has found.
#include <fmt/format.h>

#include <utility>

#include "broker/local_broker.h"
#include "broker/local_parts.h"
#include "core/check.h"
#include "core/limits.h"
#include "core/transition.h"
#include "core/uuid.h"

namespace millrace {
namespace {

// So that no round has to wait long for the one that acts: a move writes all of it again.
constexpr std::size_t most_bytes = 4 * limits::mib;

std::size_t bytes_of(const Task& task) {
  return task.payload.size() + task.result.size();
}

Error changed(const Task& task) {
  return {ErrorCode::conflict, fmt::format("task {} has changed since it was looked at, and is {}",
                                           to_text(task.id.value), name_of(task.state))};
}

}  // namespace

Result<Broker::States> LocalBroker::act_on(Store& store, const BulkRequest& request,
                                           const std::vector<TaskId>& ids, TimePoint now) {
  switch (request.action) {
    case BulkAction::cancel:
      return cancel_now(store, ids, request.reason, now);
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

// Looks and acts in one step, so that nothing comes between.
Result<Broker::States> LocalBroker::act_now(Store& store, const BulkBatch& batch,
                                            const std::optional<QueueRef>& new_queue,
                                            TimePoint now) {
  std::vector<std::optional<Error>> refused;
  std::vector<TaskId> ids;
  std::size_t bytes = 0;
  for (const BulkSeen& seen : batch.tasks) {
    if (bytes >= most_bytes) break;
    const auto task = store.find(seen.id);
    if (!task && task.error().code != ErrorCode::not_found) return std::unexpected(task.error());
    std::optional<Error>& error = refused.emplace_back();
    if (!task) {
      error = task.error();
    } else if (task->version != seen.version &&
               (batch.unchanged_only || !fits(batch.request, *task))) {
      error = changed(*task);
    } else {
      ids.push_back(seen.id);
      bytes += bytes_of(*task);
    }
  }
  if (new_queue && !ids.empty()) {
    auto good = books_.need_queue(store, *new_queue, now);
    if (!good) return std::unexpected(std::move(good.error()));
  }
  auto states = act_on(store, batch.request, ids, now);
  if (!states) return states;
  return with_refused(std::move(*states), std::move(refused));
}

void LocalBroker::act(Ask ask, BulkBatch batch, Completion<States> done) {
  if (auto good = check::count("tasks", batch.tasks.size(), limits::max_batch); !good) {
    return done(std::unexpected(std::move(good.error())));
  }
  const bool moves = batch.request.action == BulkAction::move && batch.request.to;
  std::vector<QueueRef> unknown;
  if (moves) {
    const QueueBook::Reading book(books_.queues);
    if (auto good = check_queue(ask, book, *batch.request.to, unknown); !good) {
      return done(std::unexpected(std::move(good.error())));
    }
  }
  std::optional<QueueRef> new_queue;
  if (!unknown.empty()) new_queue = std::move(unknown.front());
  const auto shared = std::make_shared<const BulkBatch>(std::move(batch));
  call<States>(
      ask,
      [this, shared, new_queue = std::move(new_queue)](Store& store, TimePoint now) {
        return act_now(store, *shared, new_queue, now);
      },
      [this, shared, moves, done = std::move(done)](Result<States> states) mutable {
        if (!states) return done(std::move(states));
        if (moves) {
          moved(*states, std::vector<QueueRef>(states->size(), *shared->request.to));
        }
        const BulkAction action = shared->request.action;
        const bool ends = action == BulkAction::cancel || action == BulkAction::remove;
        for (std::size_t i = 0; ends && i < states->size(); ++i) {
          const auto& state = (*states)[i];
          if (state && (action == BulkAction::remove || is_final(*state))) {
            finished(shared->tasks[i].id);
          }
        }
        done(std::move(states));
      });
}

}  // namespace millrace
