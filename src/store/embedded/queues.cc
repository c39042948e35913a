#include <fmt/format.h>

#include <algorithm>

#include "core/limits.h"
#include "core/uuid.h"
#include "core/validate.h"
#include "store/embedded/verbs.h"

namespace millrace::embedded {
namespace {

// A name, number or id that another queue has.
Result<void> check_identity(const State& state, const QueueSettings& settings,
                            const QueueEntry* own) {
  const auto taken_by_other = [&](const QueueRef& ref) {
    const QueueEntry* found = state.queue(ref);
    return found != nullptr && found != own;
  };
  if (settings.number && taken_by_other(*settings.number)) {
    return fail(ErrorCode::conflict,
                fmt::format("another queue has the number {}", settings.number->value));
  }
  if (!settings.id.is_nil() && taken_by_other(settings.id)) {
    return fail(ErrorCode::conflict,
                fmt::format("another queue has the id {}", to_text(settings.id)));
  }
  return {};
}

// The queue that dead letters go to is there, and none of them comes back by the next ones.
Result<void> check_dead_letters(const State& state, const QueueSettings& settings) {
  constexpr const char* field = "dead_letter_queue";
  if (settings.dead_letter_queue.empty()) return {};
  const QueueEntry* to = state.queue(settings.dead_letter_queue);
  if (to == nullptr) {
    return fail(
        ErrorCode::not_found,
        fmt::format("there is no queue \"{}\" for the dead letters of \"{}\"; create it first",
                    settings.dead_letter_queue, settings.name),
        field);
  }
  if (to->queue.removing) {
    return fail(ErrorCode::conflict,
                fmt::format("queue \"{}\" is being removed and can get no dead letters",
                            settings.dead_letter_queue),
                field);
  }
  std::string path = settings.name;
  // What is stored has no cycle, so that the way ends.
  for (; to != nullptr; to = state.queue(to->settings().dead_letter_queue)) {
    path += fmt::format(" -> {}", to->settings().name);
    if (to->settings().name == settings.name) {
      return fail(
          ErrorCode::conflict,
          fmt::format("dead letters of \"{}\" would come back to it: {}", settings.name, path),
          field);
    }
    if (to->settings().dead_letter_queue.empty()) break;
  }
  return {};
}

Result<void> check_new(const State& state, const QueueSettings& settings) {
  if (settings.id.is_nil()) {
    return fail(ErrorCode::invalid,
                fmt::format("queue \"{}\" is new and needs an id", settings.name));
  }
  if (state.queue_names().size() >= limits::max_queues) {
    return fail(ErrorCode::conflict,
                fmt::format("there are {} queues, the most a store keeps; remove some first",
                            limits::max_queues));
  }
  return {};
}

}  // namespace

Result<void> check_gets_none(const State& state, const QueueEntry& queue) {
  for (const auto& [name, index] : state.queue_names()) {
    if (state.queue_at(index).settings().dead_letter_queue != queue.settings().name) continue;
    return fail(ErrorCode::conflict,
                fmt::format("queue \"{}\" is the dead_letter_queue of \"{}\"; change that first",
                            queue.settings().name, name));
  }
  return {};
}

Result<Queue> put_queue(State& state, const QueueSettings& settings, PutQueue mode, TimePoint now) {
  if (auto good = validate(settings); !good) return std::unexpected(std::move(good.error()));
  QueueEntry* entry = state.queue(settings.name);
  if (entry != nullptr && !mode.replaces) return entry->queue;
  if (mode.seen && (entry == nullptr || PutQueue::changed(entry->queue) != mode)) {
    return fail(ErrorCode::conflict, fmt::format("queue \"{}\" has changed since", settings.name));
  }
  if (entry != nullptr && entry->queue.removing) {
    return fail(ErrorCode::conflict, fmt::format("queue \"{}\" is being removed", settings.name));
  }
  if (auto good = check_identity(state, settings, entry); !good) {
    return std::unexpected(std::move(good.error()));
  }
  if (auto good = check_dead_letters(state, settings); !good) {
    return std::unexpected(std::move(good.error()));
  }
  if (entry == nullptr) {
    if (auto good = check_new(state, settings); !good) {
      return std::unexpected(std::move(good.error()));
    }
    return state.add_queue({.settings = settings, .created_at = now, .updated_at = now}).queue;
  }
  Queue changed{.settings = settings,
                .created_at = entry->queue.created_at,
                .updated_at = written_after(entry->queue.updated_at, now)};
  if (settings.id.is_nil()) changed.settings.id = entry->settings().id;
  state.set_queue(*entry, std::move(changed));
  return entry->queue;
}

Result<void> remove_queue(State& state, const QueueRef& ref, bool force, TimePoint now) {
  QueueEntry* entry = state.queue(ref);
  if (entry == nullptr) return unknown_queue(ref);
  if (auto good = check_gets_none(state, *entry); !good) return good;
  const auto tasks = entry->total();
  if (tasks == 0) {
    state.erase_queue(*entry);
    return {};
  }
  if (!force) {
    return fail(ErrorCode::conflict,
                fmt::format("queue \"{}\" has {} tasks; empty it, or force the removal",
                            entry->settings().name, tasks));
  }
  Queue marked = entry->queue;
  marked.removing = true;
  marked.updated_at = written_after(marked.updated_at, now);
  state.set_queue(*entry, std::move(marked));
  return {};
}

std::size_t remove_tasks(State& state, QueueEntry& queue, bool waiting_only, std::size_t limit,
                         TimePoint now) {
  constexpr std::array waiting = {TaskState::created, TaskState::queued, TaskState::delayed,
                                  TaskState::retrying};
  constexpr std::array others = {TaskState::processing, TaskState::completed, TaskState::failed,
                                 TaskState::dead, TaskState::cancelled};
  std::size_t removed = 0;
  const auto oldest = [&](std::span<const TaskState> states) -> std::optional<std::uint32_t> {
    std::optional<ByNumber::Entry> first;
    for (const TaskState of : states) {
      const ByNumber& tasks = queue.by_state[static_cast<std::size_t>(of)];
      if (!tasks.empty() && (!first || tasks.front() < *first)) first = tasks.front();
    }
    return first ? std::optional(first->second) : std::nullopt;
  };
  while (removed < limit) {
    auto at = oldest(waiting);
    if (!at && !waiting_only) at = oldest(others);
    if (!at) break;
    if (!drop(state, *at, now) && !waiting_only) break;
    ++removed;
  }
  return removed;
}

Result<std::size_t> clear(State& state, const QueueRef& ref, std::size_t limit, TimePoint now) {
  if (limit < 1 || limit > limits::max_advance) {
    return fail(ErrorCode::invalid,
                fmt::format("limit is {}; 1 to {} are allowed", limit, limits::max_advance));
  }
  QueueEntry* entry = state.queue(ref);
  if (entry == nullptr) return unknown_queue(ref);
  return remove_tasks(state, *entry, true, limit, now);
}

}  // namespace millrace::embedded
