#include <fmt/format.h>

#include <algorithm>

#include "core/limits.h"
#include "core/own_keep.h"
#include "core/quote.h"
#include "core/transition.h"
#include "core/uuid.h"
#include "core/validate.h"
#include "store/embedded/verbs.h"

namespace millrace::embedded {
namespace {

std::string text_of(const QueueRef& ref) {
  if (const auto* name = std::get_if<std::string>(&ref)) return fmt::format("\"{}\"", *name);
  if (const auto* number = std::get_if<QueueNumber>(&ref)) {
    return fmt::format("number {}", number->value);
  }
  return to_text(std::get<Uuid>(ref));
}

std::unexpected<Error> limited(std::string message, Duration retry_after) {
  return std::unexpected(Error{ErrorCode::limited, std::move(message), retry_after});
}

// Work empties a full queue, not a known time; a second is a fair interval to ask again.
constexpr Duration ask_again = std::chrono::seconds(1);

// Those that have ended tell it so at once.
void wait_for_parents(State& state, std::uint32_t at, const After& after) {
  Slot& slot = state.slot(at);
  const Waits waits = waits_of(state, after, [](const TaskId&) { return true; });
  if (!waits.any_open() && !waits.ended) return;
  state.set_notes(slot, {.waits = waits});
  slot.state = TaskState::created;
  state.link(at);
}

}  // namespace

namespace {

Result<void> check_room_in_group(const State& state, const QueueEntry& queue,
                                 const std::string& name, TimePoint now, std::uint32_t more) {
  if (!queue.line || name.empty()) return {};
  const auto handle = state.groups.find(queue.index, name);
  static const GroupEntry none;
  const GroupEntry& group = handle == no_group ? none : state.groups.at(handle);
  const auto most = queue.line->limits_of_group(group, now).max_depth;
  if (!most || group.waiting + more < *most) return {};
  return limited(fmt::format("group {} of queue \"{}\" is full: {} tasks wait, {} are allowed",
                             in_quotes(name), queue.settings().name, group.waiting + more, *most),
                 ask_again);
}

}  // namespace

Result<void> check_room(const State& state, const QueueEntry& queue, const std::string& group,
                        TimePoint now, const Ahead& ahead) {
  const QueueSettings& settings = queue.settings();
  const std::uint32_t more = ahead.in_queue;
  if (settings.max_depth && queue.waiting + more >= *settings.max_depth) {
    return limited(fmt::format("queue \"{}\" is full: {} tasks wait, {} are allowed", settings.name,
                               queue.waiting + more, *settings.max_depth),
                   ask_again);
  }
  if (auto good = check_room_in_group(state, queue, group, now, ahead.in_group); !good) return good;
  if (settings.put_rate && queue.puts.room(*settings.put_rate, now) <= more) {
    const Rate& rate = *settings.put_rate;
    return limited(fmt::format("queue \"{}\" accepts {} tasks in {} ms", settings.name, rate.max,
                               rate.per.count()),
                   queue.puts.retry_after(rate, now, more + 1));
  }
  return {};
}

Put add_task(State& state, QueueEntry& queue, const NewTask& task, TimePoint now) {
  const auto with_keep = with_keep_of_type(task, queue.settings());
  const auto at = state.add(with_keep ? *with_keep : task, queue, now);
  Slot& slot = state.slot(at);
  slot.start = ready_moment(task, now);
  slot.state = task.held ? TaskState::created : waiting_state(slot.start, now);
  if (task.after) wait_for_parents(state, at, *task.after);
  if (task.unique && task.unique->scope == UniqueScope::window) {
    state.holders.set(queue.index, task.unique->key,
                      {slot.id, {slot.number}, later(now, task.unique->window)});
    state.changes.note({Thing::window, queue.index, task.unique->key});
  }
  state.store(at, now);
  return {.id = slot.id, .number = {slot.number}, .state = slot.state};
}

namespace {

// Whether the put takes the place of the holder of its key: of a task that waits for its first run,
// unless the key is held by a window, in which the first put counts, or the task waits for others.
bool may_replace(const State& state, const NewTask& task, const Put& holder) {
  if (task.unique->on_conflict == OnConflict::keep) return false;
  if (!holder.state || !is_waiting(*holder.state)) return false;
  const Slot& slot = state.slot(state.find(holder.id));
  // One that was retried by an operator has run in an earlier life, and has notes of that.
  if (slot.counters.deliveries != 0 || slot.notes || slot.fixed) return false;
  const Task given = state.given(slot);
  return given.unique && given.unique->scope != UniqueScope::window && !given.after;
}

// When a task that is replaced may be taken. One that is ready, and stays so, keeps its place.
void set_start(Slot& slot, const NewTask& task, TimePoint now) {
  TimePoint start = ready_moment(task, now);
  if (task.unique->on_conflict == OnConflict::postpone && task.unique->max_delay) {
    start = std::max(now, std::min(start, later(slot.created_at(), *task.unique->max_delay)));
  }
  const bool was_ready =
      slot.state == TaskState::queued || (slot.state == TaskState::delayed && slot.start <= now);
  if (task.held) {
    slot.state = TaskState::created;
    slot.start = start;
  } else if (was_ready && start <= now) {
    slot.state = TaskState::queued;
  } else {
    slot.state = waiting_state(start, now);
    slot.start = start;
  }
}

Put replace(State& state, const NewTask& task, const Put& holder, TimePoint now) {
  const auto at = state.find(holder.id);
  Slot& slot = state.slot(at);
  state.unindex(at);
  const auto with_keep = with_keep_of_type(task, state.queue_at(slot.queue).settings());
  state.rewrite(at, with_keep ? *with_keep : task);
  set_start(slot, task, now);
  state.store(at, now);
  Put put = holder;
  put.state = slot.state;
  put.replaced = true;
  return put;
}

}  // namespace

TimePoint ready_moment(const NewTask& task, TimePoint now) {
  if (task.delay) return later(now, *task.delay);
  return std::max(now, task.start.value_or(now));
}

Result<void> check_open(const QueueEntry& queue) {
  const QueueSettings& settings = queue.settings();
  if (queue.queue.removing) {
    return fail(ErrorCode::conflict, fmt::format("queue \"{}\" is being removed", settings.name));
  }
  if (!settings.active) {
    return fail(ErrorCode::conflict,
                fmt::format("queue \"{}\" is not active; activate it first", settings.name));
  }
  if (settings.draining) {
    return fail(ErrorCode::conflict,
                fmt::format("queue \"{}\" is draining and accepts no tasks until it is empty",
                            settings.name));
  }
  return {};
}

Result<void> check_size(const QueueSettings& queue, const What& what, std::size_t bytes) {
  const std::size_t most = queue.max_task_size.value_or(limits::usual_task_size);
  if (bytes <= most) [[likely]]
    return {};
  return fail(ErrorCode::too_large,
              fmt::format("{} has {} bytes; at most {} are allowed in queue \"{}\" (its "
                          "max_task_size, which may be up to {})",
                          what.words, bytes, most, queue.name, limits::max_payload),
              std::string(what.field));
}

QueueEntry* QueueFinder::find(const QueueRef& ref) {
  const auto* name = std::get_if<std::string>(&ref);
  if (last_ != nullptr && name != nullptr && *name == last_->settings().name) return last_;
  last_ = state_.queue(ref);
  return last_;
}

std::unexpected<Error> unknown_queue(const QueueRef& ref) {
  return fail(ErrorCode::not_found, fmt::format("there is no queue {}", text_of(ref)));
}

std::unexpected<Error> unknown_task(const TaskId& id) {
  return fail(
      ErrorCode::not_found,
      fmt::format("there is no task {}; it may have ended and been removed", to_text(id.value)));
}

std::unexpected<Error> unknown_parent(const After& after, std::size_t place) {
  return fail(ErrorCode::not_found,
              fmt::format("there is no task {} to wait for; it may have ended and been removed. "
                          "Keep such tasks for longer, or put all of them in one atomic put",
                          to_text(after.tasks[place].value)),
              fmt::format("after.tasks[{}]", place));
}

std::optional<Put> find_id(const State& state, const TaskId& id) {
  const auto at = state.find(id);
  if (at == no_slot) return std::nullopt;
  const Slot& slot = state.slot(at);
  return Put{.id = id,
             .number = {slot.number},
             .state = slot.state,
             .existing = true,
             .queue = state.queue_at(slot.queue).settings().name};
}

std::optional<Put> find_holder(const State& state, const QueueEntry& queue,
                               const std::optional<UniqueKey>& unique, TimePoint now) {
  if (!unique) return std::nullopt;
  const Holder* holder = state.holders.find(queue.index, unique->key, now);
  if (holder == nullptr) return std::nullopt;
  Put put{.id = holder->id, .number = holder->number, .state = std::nullopt, .existing = true};
  const auto at = state.find(holder->id);
  // The id may have been put again since; the number tells.
  if (at != no_slot && state.slot(at).number == holder->number.value) {
    put.state = state.slot(at).state;
  }
  return put;
}

Result<Put> put(State& state, QueueFinder& queues, const NewTask& task, TimePoint now) {
  if (auto good = validate(task, now); !good) return std::unexpected(std::move(good.error()));
  if (auto existing = find_id(state, task.id)) return *existing;
  QueueEntry* queue = queues.find(task.queue);
  if (queue == nullptr) return unknown_queue(task.queue);
  const auto holder = find_holder(state, *queue, task.unique, now);
  const bool replaces = holder && may_replace(state, task, *holder);
  if (holder && !replaces) return *holder;
  if (auto open = check_open(*queue); !open) return std::unexpected(std::move(open.error()));
  if (auto size = check_size(queue->settings(), "payload", task.payload.size()); !size) {
    return std::unexpected(std::move(size.error()));
  }
  if (replaces) return replace(state, task, *holder, now);
  if (auto room = check_room(state, *queue, task.group, now); !room)
    return std::unexpected(std::move(room.error()));
  if (auto good = check_parents(state, task); !good)
    return std::unexpected(std::move(good.error()));
  if (queue->settings().put_rate) {
    queue->puts.add(*queue->settings().put_rate, now, 1);
    state.changes.note({Thing::queue, queue->index});
  }
  return add_task(state, *queue, task, now);
}

Result<void> check_follow_up(const State& state, const NewTask& task, TimePoint now) {
  if (auto good = validate(task, now); !good) return good;
  if (task.after) {
    return fail(ErrorCode::invalid, "a task that is put by a tick or a settlement cannot wait",
                "after");
  }
  const QueueEntry* queue = state.queue(task.queue);
  if (queue == nullptr) return unknown_queue(task.queue);
  if (queue->queue.removing) return check_open(*queue);
  return {};
}

Result<void> check_follow_ups(const State& state, const std::vector<NewTask>& tasks,
                              TimePoint now) {
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    auto good = check_follow_up(state, tasks[i], now);
    if (good) continue;
    good.error().message = fmt::format("follow-up {}: {}", i + 1, good.error().message);
    return inside(fmt::format("follow_ups[{}]", i), std::move(good));
  }
  return {};
}

Put add_follow_up(State& state, const NewTask& task, TimePoint now) {
  if (auto existing = find_id(state, task.id)) return *existing;
  QueueEntry& queue = *state.queue(task.queue);
  if (auto holder = find_holder(state, queue, task.unique, now)) {
    return may_replace(state, task, *holder) ? replace(state, task, *holder, now) : *holder;
  }
  return add_task(state, queue, task, now);
}

}  // namespace millrace::embedded
