// What an operator does to single tasks: cancel, retry, remove, update.
#include <algorithm>
#include <utility>

#include "core/limits.h"
#include "core/transition.h"
#include "tests/support/model_store.h"

namespace millrace::test {

namespace {

template <class Item, class Call>
Result<std::vector<Result<TaskState>>> each(std::span<const Item> items, std::size_t most,
                                            Call call) {
  if (items.size() > most) return fail(ErrorCode::invalid, "the batch is too large");
  std::vector<Result<TaskState>> results;
  for (const auto& item : items) results.push_back(call(item));
  return results;
}

}  // namespace

Result<std::vector<Result<TaskState>>> ModelStore::cancel(std::span<const CancelRequest> requests,
                                                          TimePoint now) {
  return each(requests, traits().batch,
              [&](const CancelRequest& request) { return cancel_one(request, now); });
}

Result<TaskState> ModelStore::cancel_one(const CancelRequest& request, TimePoint now) {
  if (request.reason.size() > limits::max_error_text) {
    return fail(ErrorCode::too_large, "the reason is too long");
  }
  auto* record = record_of(request.id);
  if (record == nullptr) return fail(ErrorCode::not_found, "no such task");
  auto& task = record->task;
  if (is_final(task.state)) return fail(ErrorCode::conflict, "the task is finished");
  if (request.follow_ups.size() > limits::max_follow_ups) {
    return fail(ErrorCode::too_large, "too many follow-ups");
  }
  if (auto valid = check_follow_ups(request.follow_ups, now); !valid) {
    return std::unexpected(valid.error());
  }
  if (task.state == TaskState::processing) {
    if (!task.cancel_requested) {
      task.cancel_requested = true;
      touch(*record, now);
    }
    return task.state;
  }
  touch(*record, now);
  task.error.emplace();
  task.error->code = "cancelled";
  task.error->message = request.reason;
  task.error->failed_at = now;
  const auto state = *next_state(task.state, Event::cancel);
  finish(*record, state, now);
  for (const auto& follow_up : request.follow_ups) put_unlimited(follow_up, now);
  return state;
}

Result<std::vector<Result<TaskState>>> ModelStore::retry(std::span<const TaskId> tasks,
                                                         TimePoint now) {
  return each(tasks, traits().batch, [&](const TaskId& id) { return retry_one(id, now); });
}

Result<TaskState> ModelStore::retry_one(const TaskId& id, TimePoint now) {
  auto* record = record_of(id);
  if (record == nullptr) return fail(ErrorCode::not_found, "no such task");
  auto& task = record->task;
  const auto state = next_state(task.state, Event::revive);
  if (!state) return fail(ErrorCode::conflict, "only failed, dead and cancelled tasks");
  if (task.unique) {
    if (holder(task.queue, task.unique->key, now, record)) {
      return fail(ErrorCode::conflict, "the unique key is held by another task");
    }
    // A window is not opened again; the other scopes need their key back.
    if (task.unique->scope != UniqueScope::window) hold_key(*record);
  }
  task.start_by.reset();
  task.history.push_back({.started_at = *task.finished_at,
                          .ended_at = now,
                          .event = Event::revive,
                          .error_code = task.error ? task.error->code : "",
                          .error_message = task.error ? task.error->message : ""});
  if (task.history.size() > limits::max_history) task.history.erase(task.history.begin());
  task.state = *state;
  task.counters = {};
  task.start = now;
  task.previous_start.reset();
  task.started_at.reset();
  task.finished_at.reset();
  task.cancel_requested = false;
  task.error.reset();
  task.delivery.reset();
  task.progress = 0;
  regroup(task.queue, task.group, now);
  touch(*record, now);
  return *state;
}

Result<std::vector<Result<TaskState>>> ModelStore::remove(std::span<const TaskId> tasks,
                                                          TimePoint now) {
  return each(tasks, traits().batch, [&](const TaskId& id) { return remove_one(id, now); });
}

Result<TaskState> ModelStore::remove_one(const TaskId& id, TimePoint now) {
  const auto* record = record_of(id);
  if (record == nullptr) return fail(ErrorCode::not_found, "no such task");
  const auto state = record->task.state;
  if (state == TaskState::processing) return fail(ErrorCode::conflict, "the task is running");
  drop(record->task.number.value, now);
  return state;
}

Result<std::vector<Result<TaskState>>> ModelStore::update(std::span<const TaskUpdate> updates,
                                                          TimePoint now) {
  return each(updates, traits().batch,
              [&](const TaskUpdate& update) { return update_one(update, now); });
}

Result<TaskState> ModelStore::update_one(const TaskUpdate& update, TimePoint now) {
  auto* record = record_of(update.id);
  if (record == nullptr) return fail(ErrorCode::not_found, "no such task");
  if (update.priority && *update.priority > limits::max_priority) {
    return fail(ErrorCode::invalid, "priority must be 0 to 9");
  }
  if (update.start && *update.start > later(now, limits::max_delay)) {
    return fail(ErrorCode::invalid, "start must be within ten years");
  }
  if (update.delivery_attempt && update.delivery_attempt->size() > limits::max_error_text) {
    return fail(ErrorCode::too_large, "the delivery status");
  }
  auto& task = record->task;
  if (update.expect_version && update.expect_version != task.version) {
    return fail(ErrorCode::conflict, "the task has changed");
  }
  if ((update.priority || update.start) && !is_waiting(task.state)) {
    return fail(ErrorCode::conflict, "the task does not wait");
  }
  if (update.release && task.state != TaskState::created) {
    return fail(ErrorCode::conflict, "the task is not held");
  }
  if (update.answer && !update.release) return fail(ErrorCode::invalid, "data and no release");
  if (update.answer && update.answer->size() > limits::max_answer) {
    return fail(ErrorCode::too_large, "the data");
  }
  if (update.queue) {
    if (auto moved = move(*record, *update.queue, now); !moved) {
      return std::unexpected(moved.error());
    }
  }
  if (update.priority) task.priority = *update.priority;
  if (update.start) {
    task.start = std::max(now, *update.start);
    if (task.state == TaskState::queued || task.state == TaskState::delayed) {
      task.state = waiting_state(task.start, now);
    }
  }
  if (update.release) {
    task.start = is_parked(task) && !update.start ? now : std::max(now, task.start);
    if (update.answer) task.answer = update.answer;
    stop_waiting(*record);
    task.state = waiting_state(task.start, now);
  }
  if (update.delivery_attempt) {
    const std::uint32_t before = task.delivery ? task.delivery->attempts : 0;
    task.delivery = DeliveryNote{.attempts = before + 1, .last_status = *update.delivery_attempt};
  }
  touch(*record, now);
  return task.state;
}

// Changes nothing if the update is refused.
Result<void> ModelStore::move(Record& record, const QueueRef& queue, TimePoint now) {
  auto& task = record.task;
  if (task.state == TaskState::processing || task.state == TaskState::completed) {
    return fail(ErrorCode::conflict, "the task runs or is completed");
  }
  const auto* line = line_of(queue);
  if (line == nullptr) return fail(ErrorCode::not_found, "no such queue");
  const auto& settings = line->queue.settings;
  if (settings.name == task.queue) return {};
  if (!settings.active || settings.draining || line->queue.removing) {
    return fail(ErrorCode::conflict, "the queue accepts no tasks");
  }
  if (record.holds_key && task.unique->scope == UniqueScope::window &&
      now >= later(task.created_at, task.unique->window)) {
    record.holds_key = false;
  }
  if (record.holds_key && holder(settings.name, task.unique->key, now)) {
    return fail(ErrorCode::conflict, "the unique key is held by another task");
  }
  const std::string from = std::exchange(task.queue, settings.name);
  regroup(from, task.group, now);
  regroup(task.queue, task.group, now);
  if (record.holds_key) hold_key(record);
  return {};
}

Result<std::size_t> ModelStore::clear(const QueueRef& queue, std::size_t limit, TimePoint now) {
  if (limit < 1 || limit > limits::max_advance) {
    return fail(ErrorCode::invalid, "limit must be 1 to 10,000");
  }
  const auto* line = line_of(queue);
  if (line == nullptr) return fail(ErrorCode::not_found, "no such queue");
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, record] : records_) {
    if (numbers.size() == limit) break;
    if (record.task.queue == line->queue.settings.name && is_waiting(record.task.state)) {
      numbers.push_back(number);
    }
  }
  for (const auto number : numbers) drop(number, now);
  return numbers.size();
}

}  // namespace millrace::test
