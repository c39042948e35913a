#include "core/bulk.h"

#include <algorithm>
#include <variant>

#include "core/error_group.h"
#include "core/task_text.h"
#include "core/transition.h"

namespace millrace {
namespace {

bool is_named(const std::optional<QueueRef>& queue, const std::string& name) {
  const auto* text = queue ? std::get_if<std::string>(&*queue) : nullptr;
  return text != nullptr && *text == name;
}

bool looks_at(const BulkRequest& request, TaskState state) {
  const auto states = states_of(request);
  return std::ranges::find(states, state) != states.end();
}

bool is_as_wanted(const BulkRequest& request, const Task& task) {
  if (request.action == BulkAction::move) return is_named(request.to, task.queue);
  return request.action == BulkAction::priority && request.priority == task.priority;
}

}  // namespace

bool applies(BulkAction action, TaskState state) {
  switch (action) {
    case BulkAction::cancel:
      return !is_final(state);
    case BulkAction::retry:
      return next_state(state, Event::revive).has_value();
    case BulkAction::remove:
      return state != TaskState::processing;
    case BulkAction::priority:
      return is_waiting(state);
    case BulkAction::move:
      return state != TaskState::processing && state != TaskState::completed;
  }
  return false;
}

std::vector<TaskState> states_of(const BulkRequest& request) {
  if (!request.filter.states.empty()) return request.filter.states;
  if (request.action == BulkAction::retry) return {TaskState::failed, TaskState::dead};
  std::vector<TaskState> states;
  for (std::size_t i = 0; i < state_count; ++i) {
    const auto state = static_cast<TaskState>(i);
    if (applies(request.action, state)) states.push_back(state);
  }
  return states;
}

bool may_touch(BulkAction action, std::string_view queue) {
  if (!queue.starts_with('$')) return true;
  const bool restores = action == BulkAction::retry || action == BulkAction::remove;
  return restores && (queue == "$webhooks" || queue == "$alerts");
}

bool fits(const BulkRequest& request, const Task& task) {
  const BulkFilter& filter = request.filter;
  if (filter.queue ? !is_named(filter.queue, task.queue) : task.queue.starts_with('$'))
    return false;
  if (!looks_at(request, task.state)) return false;
  if (filter.type && *filter.type != task.type) return false;
  if (filter.client_id && *filter.client_id != task.client_id) return false;
  if (filter.group && *filter.group != task.group) return false;
  if (filter.tag && std::ranges::find(task.tags, *filter.tag) == task.tags.end()) return false;
  if (filter.priority && *filter.priority != task.priority) return false;
  if (filter.created_from && task.created_at < *filter.created_from) return false;
  if (filter.created_until && task.created_at >= *filter.created_until) return false;
  if (filter.error_code && (!task.error || *filter.error_code != task.error->code)) return false;
  // Checked last, because these filters read the most.
  if (filter.error_group && *filter.error_group != error_group_name(error_group_of(task)))
    return false;
  if (is_as_wanted(request, task)) return false;
  return !filter.text || TaskText(*filter.text).in(task);
}

}  // namespace millrace
