#include "store/embedded/number_search.h"

#include <variant>

namespace millrace::embedded {

NumberSearch::NumberSearch(std::span<const TaskRef> tasks) {
  for (const TaskRef& each : tasks) {
    if (const auto* number = std::get_if<TaskNumber>(&each)) wanted_[number->value];
  }
  missing_ = wanted_.size();
}

void NumberSearch::step(const State& state) {
  lookups_ = 0;
  for (; next_queue_ < state.queue_places(); ++next_queue_) {
    if (missing_ == 0 || lookups_ >= lookups_per_turn) return;
    ++lookups_;
    const auto index = static_cast<std::uint16_t>(next_queue_);
    if (state.has_queue_at(index)) look_at(state, state.queue_at(index));
  }
  looked_at_all_ = true;
}

void NumberSearch::look_at(const State& state, const QueueEntry& queue) {
  for (const ByNumber& tasks : queue.by_state) {
    if (tasks.empty()) continue;
    for (auto& [number, id] : wanted_) {
      if (id) continue;
      ++lookups_;
      const auto at = tasks.lower_bound(number);
      if (at == tasks.end()) break;  // and those that follow are greater
      if ((*at).first == number) note(id, state.slot((*at).second).id);
    }
  }
}

void NumberSearch::note(std::optional<TaskId>& into, const TaskId& id) {
  if (into) return;
  into = id;
  --missing_;
}

void NumberSearch::entered(const Slot& slot) {
  const auto found = wanted_.find(slot.number);
  if (found != wanted_.end()) note(found->second, slot.id);
}

std::optional<TaskId> NumberSearch::found(TaskNumber number) const {
  const auto found = wanted_.find(number.value);
  return found == wanted_.end() ? std::nullopt : found->second;
}

}  // namespace millrace::embedded
