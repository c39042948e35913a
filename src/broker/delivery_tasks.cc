#include "broker/delivery_tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "broker/queue_book.h"
#include "core/clip.h"
#include "core/limits.h"
#include "core/transition.h"

namespace millrace {
namespace {

// What a webhook may add to the result: names and error texts.
constexpr std::size_t beside_result = 64 * limits::kib;

std::optional<TaskState> state_after(Event event) {
  if (event == Event::expire) return TaskState::cancelled;
  return next_state(TaskState::processing, event);
}

bool wants(const Callback* callback, TaskState state) {
  if (callback == nullptr) return false;
  const auto on = [&](CallbackOn event) {
    return (callback->events & static_cast<std::uint8_t>(event)) != 0;
  };
  switch (state) {
    case TaskState::completed:
      return on(CallbackOn::completed);
    case TaskState::failed:
      return on(CallbackOn::failed);
    case TaskState::retrying:
      return on(CallbackOn::retrying);
    case TaskState::dead:
      return on(CallbackOn::dead);
    case TaskState::cancelled:
      return on(CallbackOn::cancelled);
    default:
      return false;
  }
}

WebhookEvent webhook_about(const Subject& subject, TaskState state,
                           const std::optional<TaskError>& error) {
  return {.task = subject.id,
          .queue = std::string(subject.queue),
          .type = std::string(subject.type),
          .state = state,
          .error = error,
          .client_id = std::string(subject.client_id),
          .request_id = std::string(subject.request_id)};
}

template <class T>
Subject subject_from(const T& task) {
  return {.id = task.id,
          .queue = task.queue,
          .type = task.type,
          .callback = task.callback ? &*task.callback : nullptr,
          .counters = task.counters,
          .client_id = task.client_id,
          .request_id = task.request_id};
}

}  // namespace

std::string_view message_of(AlertKind kind) {
  switch (kind) {
    case AlertKind::task_dead:
      return "Task failed after maximum retries";
    case AlertKind::task_failed:
      return "Task failed and cannot be retried";
    case AlertKind::key_refused:
      return "API key validation failure";
    default:
      return {};
  }
}

std::string title_of(const std::string& queue, const std::string& type) {
  return fmt::format("Job permanently failed: {}", type.empty() ? queue : type);
}

TaskAlert alert_about(Event event, const std::optional<TaskError>& error) {
  if (event != Event::exhaust && event != Event::fail) return {};
  const bool refused_key =
      error && (error->code == "authentication_error" || error->code == "claude_api_401");
  const AlertKind kind = event == Event::exhaust ? AlertKind::task_dead
                         : refused_key           ? AlertKind::key_refused
                                                 : AlertKind::task_failed;
  return {kind, message_of(kind)};
}

Subject subject_of(const LeaseNote& note) {
  Subject subject{.id = note.id, .queue = note.queue, .type = note.type, .counters = note.counters};
  if (note.extras && note.extras->callback) {
    subject.callback = &*note.extras->callback;
    subject.client_id = note.client_id;
    subject.request_id = note.extras->request_id;
  }
  return subject;
}

Subject subject_of(const Lease& lease) {
  return subject_from(lease);
}

Subject subject_of(const Task& task) {
  return subject_from(task);
}

std::optional<NewTask> DeliveryTasks::alert_of(const Settlement& settlement, const Subject& subject,
                                               TimePoint now) const {
  if (!alerts_ || is_internal(subject.queue)) return std::nullopt;
  const TaskAlert about = alert_about(settlement.event, settlement.error);
  if (about.message.empty()) return std::nullopt;
  AlertEvent event{.message = std::string(about.message),
                   .task = subject.id,
                   .queue = std::string(subject.queue),
                   .type = std::string(subject.type),
                   .error = settlement.error,
                   .retries = subject.counters.retries,
                   .client_id = std::string(subject.client_id),
                   .request_id = std::string(subject.request_id),
                   .at = now};
  const auto held_back = sent_.let_through({about.kind, event.queue, event.type}, now);
  if (!held_back) return std::nullopt;
  event.facts = {
      .kind = about.kind, .title = title_of(event.queue, event.type), .held_back = *held_back};
  return alert(event, now);
}

void DeliveryTasks::add_to(Settlement& settlement, const Subject& subject, TimePoint now) const {
  const auto state = state_after(settlement.event);
  if (!state) return;
  if (auto alert = alert_of(settlement, subject, now)) {
    settlement.follow_ups.push_back(std::move(*alert));
  }
  if (!webhooks_ || !wants(subject.callback, *state)) return;
  WebhookEvent event = webhook_about(subject, *state, settlement.error);
  event.result = settlement.result;
  std::size_t used = 0;
  for (const NewTask& task : settlement.follow_ups) {
    used += task.payload.size() + task.metadata.size();
  }
  const std::size_t room =
      limits::max_follow_up_bytes - std::min(used, limits::max_follow_up_bytes);
  settlement.follow_ups.push_back(webhook(subject, std::move(event), room, now));
}

std::vector<NewTask> DeliveryTasks::of_cancel(const Subject& subject, const std::string& reason,
                                              TimePoint now) const {
  std::vector<NewTask> tasks;
  if (!webhooks_ || !wants(subject.callback, TaskState::cancelled)) return tasks;
  const TaskError error{.code = "cancelled", .message = reason, .failed_at = now};
  tasks.push_back(webhook(subject, webhook_about(subject, TaskState::cancelled, error),
                          limits::max_follow_up_bytes, now));
  return tasks;
}

Result<NewTask> DeliveryTasks::again(const Task& task, TimePoint now) const {
  if (!webhooks_) return fail(ErrorCode::conflict, "nothing here delivers callbacks");
  if (!task.callback) {
    return fail(ErrorCode::conflict,
                "the task has no callback: it was put without one, so there is nothing to deliver");
  }
  if (!is_final(task.state)) {
    return fail(ErrorCode::conflict,
                fmt::format("the task is {}; only the webhook of a task that has ended (completed, "
                            "failed, dead, cancelled) can be delivered again",
                            name_of(task.state)));
  }
  const Subject subject = subject_of(task);
  WebhookEvent event = webhook_about(subject, task.state, task.error);
  event.result = task.result;
  return webhook(subject, std::move(event), limits::max_follow_up_bytes, now);
}

NewTask DeliveryTasks::webhook(const Subject& subject, WebhookEvent event, std::size_t room,
                               TimePoint now) const {
  event.url = subject.callback->url;
  const std::size_t most = std::min(room, limits::usual_task_size);
  std::string payload;
  if (event.result.size() + beside_result <= most) payload = payload_of(event);
  // Written as JSON it may be larger than it was.
  if (payload.empty() || payload.size() > most) {
    event.result_left_out = !event.result.empty();
    event.result.clear();
    payload = payload_of(event);
  }
  RetryRules retry;
  retry.max_retries = std::max<std::uint32_t>(subject.callback->max_attempts, 1) - 1;
  return {.id = {ids_.next(now)},
          .queue = std::string(webhooks_queue),
          .type = "webhook",
          .payload = std::move(payload),
          .retry = retry,
          .client_id = std::string(subject.client_id),
          .request_id = std::string(subject.request_id),
          .parent = subject.id};
}

NewTask DeliveryTasks::alert(const AlertEvent& event, TimePoint now) const {
  return {.id = {ids_.next(now)},
          .queue = std::string(alerts_queue),
          .type = "alert",
          .payload = payload_of(event),
          .client_id = event.client_id,
          .request_id = event.request_id,
          .parent = event.task};
}

}  // namespace millrace
