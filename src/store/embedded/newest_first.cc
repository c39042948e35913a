#include "store/embedded/newest_first.h"

#include <algorithm>

#include "core/ensure.h"

namespace millrace::embedded {

NewestFirst::NewestFirst(const std::vector<TaskState>& states, std::optional<TaskNumber> before,
                         TaskNumber from)
    : from_(from.value) {
  if (before) before_ = std::min(before_, before->value);
  if (states.empty()) wanted_.fill(true);
  for (const TaskState state : states) wanted_[static_cast<std::size_t>(state)] = true;
}

void NewestFirst::only(std::uint16_t queue) {
  only_ = queue;
  first_queue_ = queue;
}

bool NewestFirst::begin_turn(const State& state) {
  work_ = 0;
  cursors_.fill(std::nullopt);
  return gather(state) && heed_entered();
}

bool NewestFirst::gather(const State& state) {
  if (gathered_all_) return true;
  const std::size_t end = only_ ? *only_ + std::size_t{1} : state.queue_places();
  if (gathered_ == 0) {
    bounds_.reserve((end - first_queue_) * state_count);
    heap_.reserve(end - first_queue_);
  }
  for (std::size_t at = first_queue_ + gathered_; at < end; ++at, ++gathered_) {
    if (tired()) return false;
    ++work_;
    make_room((gathered_ + 1) * state_count);
    const auto index = static_cast<std::uint16_t>(at);
    if (!state.has_queue_at(index)) continue;
    const QueueEntry& queue = state.queue_at(index);
    for (std::size_t of_state = 0; of_state < state_count; ++of_state) {
      const ByNumber& tasks = queue.by_state[of_state];
      if (!wanted_[of_state] || tasks.empty()) continue;
      work_ += lookup;
      auto newest = tasks.lower_bound(before_);
      if (newest == tasks.begin()) continue;
      push((*--newest).first, set_of(index, of_state));
    }
  }
  gathered_all_ = true;
  return true;
}

void NewestFirst::entered(const Slot& slot) {
  const auto of_state = static_cast<std::size_t>(slot.state);
  if (slot.number >= before_ || slot.number < from_ || !wanted_[of_state]) return;
  if (only_ ? slot.queue != *only_ : !gathered_all_ && slot.queue >= gathered_) return;
  const std::uint32_t set = set_of(slot.queue, of_state);
  make_room(set + 1);
  if (slot.number <= bounds_[set]) return;
  bounds_[set] = slot.number;
  if (is_raised_[set]) return;
  is_raised_[set] = true;
  raised_.push_back(set);
}

bool NewestFirst::heed_entered() {
  for (; !raised_.empty(); raised_.pop_back()) {
    if (tired()) return false;
    ++work_;
    const std::uint32_t set = raised_.back();
    is_raised_[set] = false;
    push(bounds_[set], set);
  }
  return true;
}

const ByNumber* NewestFirst::tasks_of(const State& state, std::uint32_t set) const {
  const auto index = static_cast<std::uint16_t>(first_queue_ + set / state_count);
  if (!state.has_queue_at(index)) return nullptr;
  return &state.queue_at(index).by_state[set % state_count];
}

const NewestFirst::Cursor* NewestFirst::locate(const State& state, const Entry& entry) {
  auto& cursor = cursors_[entry.set % cursors_.size()];
  if (cursor && cursor->set == entry.set) return &*cursor;
  const ByNumber* tasks = tasks_of(state, entry.set);
  if (tasks == nullptr) return nullptr;
  work_ += lookup;
  auto at = tasks->lower_bound(entry.number + 1);
  if (at == tasks->begin()) return nullptr;
  --at;
  return &cursor.emplace(Cursor{.set = entry.set, .tasks = tasks, .at = at});
}

NewestFirst::Next NewestFirst::peek(const State& state) {
  while (!heap_.empty()) {
    const Entry top = heap_.front();
    if (tired()) return {.kind = Next::Kind::later, .number = top.number};
    if (bounds_[top.set] != top.number) {
      ++work_;
      drop_top();
      continue;
    }
    if (top.number < from_) break;  // all others are older
    const Cursor* cursor = locate(state, top);
    const auto [number, slot] = cursor == nullptr ? ByNumber::Entry{0, no_slot} : *cursor->at;
    if (number == top.number) {
      return {.kind = Next::Kind::task, .number = number, .slot = slot};
    }
    lower_top(number);
  }
  return {};
}

void NewestFirst::pop() {
  const Entry top = heap_.front();
  auto& cursor = cursors_[top.set % cursors_.size()];
  ensure(cursor && cursor->set == top.set, "a merge goes on from where it has not looked");
  before_ = top.number;
  if (cursor->at == cursor->tasks->begin()) return lower_top(0);
  lower_top((*--cursor->at).first);
}

void NewestFirst::lower_top(std::uint64_t number) {
  ++work_;
  const std::uint32_t set = heap_.front().set;
  bounds_[set] = number;
  drop_top();
  if (number != 0) push(number, set);
}

void NewestFirst::push(std::uint64_t number, std::uint32_t set) {
  bounds_[set] = number;
  heap_.push_back({number, set});
  std::ranges::push_heap(heap_, {}, &Entry::number);
}

void NewestFirst::drop_top() {
  std::ranges::pop_heap(heap_, {}, &Entry::number);
  heap_.pop_back();
}

void NewestFirst::make_room(std::size_t sets) {
  if (bounds_.size() >= sets) return;
  bounds_.resize(sets);
  is_raised_.resize(sets);
}

}  // namespace millrace::embedded
