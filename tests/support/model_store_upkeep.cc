// Advance: promotion, pauses, drains, windows, memos, retention, removal of queues.
#include <algorithm>

#include "core/limits.h"
#include "core/own_keep.h"
#include "core/transition.h"
#include "tests/support/model_store.h"

namespace millrace::test {

namespace {

bool is_unfinished(TaskState state) {
  return !is_final(state);
}

bool is_any(TaskState /*state*/) {
  return true;
}

}  // namespace

Result<Advanced> ModelStore::advance(TimePoint now, std::size_t limit) {
  if (limit < 1 || limit > limits::max_advance) {
    return fail(ErrorCode::invalid, "limit must be 1 to 10,000");
  }
  Advanced result;
  promote(now, limit, result);
  for (const auto number : outlived(now)) {
    if (result.promoted + result.removed == limit) break;
    drop(number, now);
    ++result.removed;
  }
  lift(now, result);
  end_windows(now);
  result.more = result.promoted + result.removed == limit;
  result.next = next_moment(now);
  return result;
}

void ModelStore::promote(TimePoint now, std::size_t limit, Advanced& result) {
  for (auto& [number, record] : records_) {
    auto& task = record.task;
    const bool released = is_parked(task) && task.start <= now;
    if (!released && (task.state == TaskState::queued || !is_ready(task, now))) continue;
    if (line_of(record).queue.removing) continue;
    if (result.promoted + result.removed == limit) return;
    task.state = *next_state(task.state, released ? Event::release : Event::become_due);
    touch(record, now);
    ++result.promoted;
  }
}

// Pauses that ended, drains of queues with nothing left to do, removed queues that are empty.
void ModelStore::lift(TimePoint now, Advanced& result) {
  for (auto entry = queues_.begin(); entry != queues_.end();) {
    auto& queue = entry->second.queue;
    auto& settings = queue.settings;
    if (queue.removing && count(settings.name, is_any) == 0) {
      std::erase_if(orphans_, [&](const Orphan& orphan) { return orphan.queue == settings.name; });
      entry = queues_.erase(entry);
      continue;
    }
    const bool unpause = settings.paused_until && *settings.paused_until <= now;
    const bool drained = settings.draining && count(settings.name, is_unfinished) == 0;
    if (unpause) settings.paused_until.reset();
    if (drained) settings.draining = false;
    if (unpause || drained) moved_on(queue.updated_at, now);
    result.lifted += std::size_t{unpause} + std::size_t{drained};
    ++entry;
  }
}

void ModelStore::end_windows(TimePoint now) {
  for (auto& [number, record] : records_) {
    const auto& task = record.task;
    if (!record.holds_key || task.unique->scope != UniqueScope::window) continue;
    if (now < later(task.created_at, task.unique->window)) continue;
    record.holds_key = false;
  }
  std::erase_if(orphans_, [&](const Orphan& orphan) { return orphan.until <= now; });
  std::erase_if(memos_, [&](const auto& entry) {
    return entry.second.expires && *entry.second.expires <= now;
  });
}

// When the task's age ends its retention, if it does.
std::optional<TimePoint> ModelStore::leaves_at(const Task& task) const {
  if (!is_final(task.state)) return std::nullopt;
  const auto& keep = keep_of(task.state, queues_.at(task.queue).queue.settings);
  const auto own = own_keep(task, task.state);
  const auto keep_for = own ? own : keep.for_time;
  if (!keep_for) return std::nullopt;
  return later(*task.finished_at, *keep_for);
}

// Numbers of the tasks that have to go: by age, by count, with their queue.
std::vector<std::uint64_t> ModelStore::outlived(TimePoint now) const {
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, record] : records_) {
    const auto leaves = leaves_at(record.task);
    if (queues_.at(record.task.queue).queue.removing || (leaves && *leaves <= now)) {
      numbers.push_back(number);
    }
  }
  for (const auto& [name, line] : queues_) {
    const auto& settings = line.queue.settings;
    for (const bool completed : {true, false}) {
      const auto& keep = completed ? settings.keep_completed : settings.keep_dead;
      if (!keep.last) continue;
      for (const auto number : one_too_many(line, completed, *keep.last)) {
        if (std::ranges::find(numbers, number) == numbers.end()) numbers.push_back(number);
      }
    }
  }
  // A queue that is being removed loses its waiting tasks first.
  std::ranges::stable_sort(numbers, {}, [&](std::uint64_t number) {
    const Task& task = records_.at(number).task;
    const bool removing = queues_.at(task.queue).queue.removing;
    return std::pair(removing ? task.queue : std::string(), removing && !is_waiting(task.state));
  });
  return numbers;
}

// All but the last `keep` finished tasks. Those with a retention of their own do not count.
std::vector<std::uint64_t> ModelStore::one_too_many(const Line& line, bool completed,
                                                    std::size_t keep) const {
  std::vector<std::pair<TimePoint, std::uint64_t>> finished;
  for (const auto& [number, record] : records_) {
    const auto& task = record.task;
    if (task.queue != line.queue.settings.name || !is_final(task.state)) continue;
    if (own_keep(task, task.state)) continue;
    if (is_dead_letter(task.state) == completed) continue;
    finished.emplace_back(*task.finished_at, number);
  }
  std::ranges::sort(finished);
  std::vector<std::uint64_t> numbers;
  for (std::size_t i = 0; i + keep < finished.size(); ++i) numbers.push_back(finished[i].second);
  return numbers;
}

// The next moment at which advance() or due() will find something new.
std::optional<TimePoint> ModelStore::next_moment(TimePoint now) const {
  std::optional<TimePoint> next;
  auto consider = [&](std::optional<TimePoint> moment) {
    if (moment && *moment > now && *moment != never) next = std::min(next.value_or(never), *moment);
  };
  for (const auto& [number, record] : records_) {
    const auto& task = record.task;
    if (task.state == TaskState::delayed || task.state == TaskState::retrying || is_parked(task)) {
      consider(task.start);
    }
    if (record.holds_key && task.unique->scope == UniqueScope::window) {
      consider(later(task.created_at, task.unique->window));
    }
    consider(leaves_at(task));
    consider(task.lease_until);
    if (is_waiting(task.state)) consider(task.start_by);
  }
  for (const auto& orphan : orphans_) consider(orphan.until);
  for (const auto& [name, line] : queues_) consider(line.queue.settings.paused_until);
  for (const auto& [key, memo] : memos_) consider(memo.expires);
  return next;
}

}  // namespace millrace::test
