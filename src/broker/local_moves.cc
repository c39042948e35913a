// What LocalBroker does with tasks that move to another queue.
#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

#include "broker/local_broker.h"
#include "broker/local_parts.h"
#include "broker/local_records.h"
#include "store/store.h"

namespace millrace {

// Tasks of internal queues stay there. A queue that does not exist is created only for a task that
// does.
Result<Broker::States> LocalBroker::move_now(Store& store, const Ask& ask,
                                             std::vector<TaskUpdate> updates,
                                             const std::vector<Result<Task>>& tasks,
                                             const std::vector<QueueRef>& unknown,
                                             std::vector<Changed>& changed, TimePoint now) {
  std::vector<std::optional<Error>> refused(updates.size());
  for (std::size_t i = 0; i < updates.size(); ++i) {
    const auto& task = tasks[i];
    if (!task) continue;  // the store will say so
    refused[i] = refusal(ask, BulkAction::move, task->id, task->queue);
    if (refused[i]) continue;
    if (auto change = change_of(i, updates[i], *task)) changed.push_back(std::move(*change));
    const auto& queue = updates[i].queue;
    if (queue && std::ranges::find(unknown, *queue) != unknown.end()) {
      auto good = books_.need_queue(store, *queue, ask, now);
      if (!good && good.error().code == ErrorCode::unavailable) {
        return std::unexpected(std::move(good.error()));
      }
      if (!good) refused[i] = std::move(good.error());
    }
  }
  drop_refused(updates, refused);
  auto states =
      in_batches(updates, books_.traits.batch, [&](auto part) { return store.update(part, now); });
  if (!states) return states;
  return with_refused(std::move(*states), std::move(refused));
}

void LocalBroker::move(Ask ask, std::vector<TaskUpdate> updates, Completion<States> done) {
  std::vector<std::optional<Error>> refused;
  std::vector<QueueRef> unknown;
  {
    const QueueBook::Reading book(books_.queues);
    for (std::size_t i = 0; i < updates.size(); ++i) {
      if (!updates[i].queue) continue;
      auto good = check_queue(ask, book, *updates[i].queue, unknown);
      if (good) continue;
      refused.resize(updates.size());
      refused[i] = std::move(good.error());
    }
  }
  drop_refused(updates, refused);
  std::vector<QueueRef> queues;
  for (const TaskUpdate& update : updates) queues.push_back(update.queue.value_or(QueueRef{}));
  std::vector<TaskId> ids;
  for (const TaskUpdate& update : updates) ids.push_back(update.id);
  const auto changed = std::make_shared<std::vector<Changed>>();
  call_with_tasks<States>(
      ask, std::move(ids),
      [this, ask, changed, updates = std::move(updates), unknown = std::move(unknown)](
          Store& store, const FoundTasks& found, TimePoint now) mutable {
        return move_now(store, ask, std::move(updates), found, unknown, *changed, now);
      },
      [this, changed, queues = std::move(queues), refused = std::move(refused),
       done = std::move(done)](Result<States> states) mutable {
        if (!states) return done(std::move(states));
        moved(*states, queues, *changed);
        done(with_refused(std::move(*states), std::move(refused)));
      });
}

// A queue that became empty may have been draining, and the new queue may keep tasks for less long.
void LocalBroker::moved(const States& states, const std::vector<QueueRef>& queues,
                        std::vector<Changed>& changed) {
  for (Changed& task : changed) {
    if (task.what != EventKind::moved) continue;
    if (const auto queue = books_.queues.find(queues[task.place])) {
      task.task.queue = queue->settings.name;
    }
  }
  record_changed(books_, changed, states, clock_.now());
  for (const Changed& task : changed) {
    const auto& state = states[task.place];
    if (state || state.error().code != ErrorCode::not_found) continue;
    // The task was there, so the queue was not: another process removed it. The next request for
    // the queue will find out.
    const auto* name = std::get_if<std::string>(&queues[task.place]);
    if (name != nullptr && !name->empty()) books_.queues.forget(*name);
  }
  runner_.wake_at(sweeper_, TimePoint::min());
}

}  // namespace millrace
