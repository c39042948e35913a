#include "store/embedded/state.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/ensure.h"
#include "core/limits.h"
#include "core/own_keep.h"
#include "core/transition.h"

namespace millrace::embedded {
namespace {

TokenCipher::Key token_key(std::uint64_t secret) {
  const auto low = static_cast<std::uint32_t>(secret);
  const auto high = static_cast<std::uint32_t>(secret >> 32U);
  return {low, high, ~low, ~high};
}

}  // namespace

std::uint64_t QueueEntry::total() const {
  std::uint64_t sum = 0;
  for (const ByNumber& tasks : by_state) sum += tasks.size();
  return sum;
}

State::State(Options options)
    : blobs(options.read_log != nullptr),
      cache(options.cache_size),
      options_(std::move(options)),
      token_cipher_(token_key(options_.hash_seed)) {
  changes.on = options_.record;
}

// ---- Tasks ------------------------------------------------------------------------------------

std::uint32_t State::find(const TaskId& id) const {
  return ids_.find(hash(id), [&](std::uint32_t at) { return slots_[at].id == id; });
}

std::uint32_t State::find(TaskNumber number) const {
  for (const auto& [name, index] : names_) {
    for (const ByNumber& tasks : queues_[index]->by_state) {
      const auto found = tasks.lower_bound(number.value);
      if (found != tasks.end() && (*found).first == number.value) return (*found).second;
    }
  }
  return no_slot;
}

std::uint32_t State::add(const NewTask& task, QueueEntry& queue, TimePoint now) {
  const auto at = slots_.add();
  Slot& slot = slots_[at];
  slot.id = task.id;
  slot.number = options_.next_number ? options_.next_number() : ++number_;
  slot.queue = queue.index;
  set_body(slot, task, now);
  join_group(at, task.group);
  ids_.insert(hash(slot.id), at);
  ++tasks_;
  return at;
}

void State::set_body(Slot& slot, const NewTask& task, TimePoint created_at) {
  slot.priority = task.priority;
  slot.body = encode_body(blobs, task, created_at);
  slot.has_unique = task.unique.has_value();
  slot.has_start_by = task.start_by.has_value();
  slot.keeps_itself = has_own_keep(task);
  slot.set_facts(facts_of(task, created_at));
}

void State::rewrite(std::uint32_t at, const NewTask& task) {
  Slot& slot = slots_[at];
  const Blob old = slot.body;
  set_body(slot, task, slot.created_at());
  const std::uint32_t group = marks.group(at);
  const bool same = group == no_group ? task.group.empty() : groups.at(group).name == task.group;
  if (!same) {
    leave_group(at);
    join_group(at, task.group);
  }
  blobs.remove(old);
  slot.rewritten = changes.on;
}

std::uint32_t State::adopt(const Slot& slot) {
  const auto at = slots_.add();
  slots_[at] = slot;
  ids_.insert(hash(slot.id), at);
  ++tasks_;
  return at;
}

void State::index_waiting(QueueEntry& queue, const Slot& slot, std::uint32_t at) {
  if (queue.waiting++ == 0) flip_waiting(queue);
  if (slot.has_start_by) expiries.insert({start_by(slot), slot.number}, at);
  if (slot.orphaned) orphans.insert(slot.number, at);
  if (awaits_its_start(slot)) promotions.insert({slot.start, slot.number}, at);
  if (queue.line) queue.line->enter(at);
  if (slot.state == TaskState::created) return;
  queue.order[slot.priority].insert({slot.start, slot.number}, at);
}

void State::unindex_waiting(QueueEntry& queue, const Slot& slot, std::uint32_t at) {
  if (--queue.waiting == 0) flip_waiting(queue);
  if (slot.has_start_by) expiries.erase({start_by(slot), slot.number});
  if (slot.orphaned) orphans.erase(slot.number);
  if (awaits_its_start(slot)) promotions.erase({slot.start, slot.number});
  if (queue.line) queue.line->leave(at);
  if (slot.state == TaskState::created) return;
  queue.order[slot.priority].erase({slot.start, slot.number});
}

// A body that the indexes have to look into is loaded into memory, once for all of them.
void State::warm(Slot& slot, std::uint32_t at) {
  if (!slot.body.is_in_log()) return;
  if (!slot.has_unique && !slot.has_start_by && !slot.keeps_itself) return;
  const std::string_view bytes = body(slot);
  Blob warm = blobs.add(bytes.size());
  if (!bytes.empty()) std::memcpy(Blobs::data(warm), bytes.data(), bytes.size());
  blobs.set_logged(warm, slot.body.place());
  blobs.remove(slot.body);
  slot.body = warm;
  cache.add(at, warm);
}

void State::index(std::uint32_t at) {
  Slot& slot = slots_[at];
  warm(slot, at);
  QueueEntry& queue = ensured(queues_[slot.queue], "a task is in a queue that is gone");
  const auto state = static_cast<std::size_t>(slot.state);
  ++queue.counts[state][slot.priority];
  queue.by_state[state].insert(slot.number, at);
  for (TaskWatch* watch : watches_) watch->entered(slot);
  if (slot.has_unique) hold_key(slot);
  count_in_group(slot, at, 1);
  if (is_waiting(slot.state)) return index_waiting(queue, slot, at);
  const TimeKey key{slot.moment, slot.number};
  if (slot.state == TaskState::processing) {
    ++queue.running;
    leases.insert(key, at);
  } else if (const auto own = keep_for(slot, slot.state)) {
    removals.insert({later(slot.moment, *own), slot.number}, at);
  } else if (slot.state == TaskState::failed || slot.state == TaskState::dead) {
    queue.dead.insert(key, at);
  } else {
    queue.finished.insert(key, at);
  }
}

void State::unindex(std::uint32_t at) {
  Slot& slot = slots_[at];
  warm(slot, at);
  QueueEntry& queue = ensured(queues_[slot.queue], "a task is in a queue that is gone");
  const auto state = static_cast<std::size_t>(slot.state);
  ensure(queue.counts[state][slot.priority] != 0, "a task was not counted where it leaves");
  --queue.counts[state][slot.priority];
  queue.by_state[state].erase(slot.number);
  if (slot.has_unique) free_key(slot);
  count_in_group(slot, at, ~std::uint32_t{0});  // one less
  if (is_waiting(slot.state)) return unindex_waiting(queue, slot, at);
  const TimeKey key{slot.moment, slot.number};
  if (slot.state == TaskState::processing) {
    --queue.running;
    leases.erase(key);
  } else if (const auto own = keep_for(slot, slot.state)) {
    removals.erase({later(slot.moment, *own), slot.number});
  } else if (slot.state == TaskState::failed || slot.state == TaskState::dead) {
    queue.dead.erase(key);
  } else {
    queue.finished.erase(key);
  }
}

void State::store(std::uint32_t at, TimePoint now) {
  Slot& slot = slots_[at];
  ensure(slot.number != 0, "a free slot is stored as a task");
  ++slot.version;
  slot.updated_at = now;
  ++changes.revision;
  if (changes.on && !slot.recorded) {
    slot.recorded = true;
    const auto kind = slot.version == 1 ? RecordKind::task : RecordKind::change;
    changes.tasks.push_back({.kind = kind, .slot = at, .number = slot.number});
  }
  index(at);
  if (GroupLine* line = queues_[slot.queue]->line.get()) line->begin_or_end(marks.group(at), now);
}

void State::erase(std::uint32_t at) {
  Slot& slot = slots_[at];
  ensure(slot.number != 0 && tasks_ != 0, "a task is erased that is not there");
  if (slot.linked) unlink(at);
  ++changes.revision;
  if (changes.on) {
    changes.tasks.push_back(
        {.kind = RecordKind::gone, .number = slot.number, .version = slot.version + 1});
  }
  ids_.erase(hash(slot.id), at);
  leave_group(at);
  blobs.remove(slot.body);
  blobs.remove(slot.notes);
  workers.release(slot.worker);
  slots_.remove(at);
  --tasks_;
}

void State::set_notes(Slot& slot, const Notes& notes) {
  const Blob old = slot.notes;
  slot.notes = encode_notes(blobs, notes);
  slot.has_steps = notes.has_steps();
  slot.has_waits = notes.waits.has_value();
  slot.orphaned = notes.waits && notes.waits->ended;
  blobs.remove(old);
}

// ---- Unique keys ------------------------------------------------------------------------------

// Scopes that end with the task are read off its state, so that no record of them is needed.
bool State::holds_key(const Slot& slot, const UniqueKey& unique) const {
  if (unique.scope == UniqueScope::until_finished) return !is_final(slot.state);
  if (unique.scope == UniqueScope::until_started) {
    return is_waiting(slot.state) && slot.counters.deliveries == 0;
  }
  return false;
}

bool State::holds_key(const Slot& slot, const UniqueKey& unique, TimePoint now) const {
  const Holder* holder = holders.find(slot.queue, unique.key, now);
  return holder != nullptr && holder->number.value == slot.number;
}

// A window that is over does not move along: it no longer counts, even if time should go back.
void State::move(std::uint32_t at, const QueueEntry& to, TimePoint now) {
  Slot& slot = slots_[at];
  if (slot.has_unique) {
    const std::string key = unique(slot).key;
    const Holder* window = holders.window(slot.queue, key);
    if (window != nullptr && window->number.value == slot.number) {
      const Holder holder = *window;
      holders.erase_window(slot.queue, key);
      changes.note({Thing::window, slot.queue, key});
      if (holder.until > now) {
        holders.set(to.index, key, holder);
        changes.note({Thing::window, to.index, key});
      }
    }
  }
  const std::uint32_t group = marks.group(at);
  const std::string name = group == no_group ? std::string() : groups.at(group).name;
  leave_group(at);
  slot.queue = to.index;
  join_group(at, name);
  slot.moved = changes.on;
}

void State::hold_key(const Slot& slot) {
  const UniqueKey key = unique(slot);
  if (!holds_key(slot, key)) return;
  if (holders.set(slot.queue, key.key, {.id = slot.id, .number = {slot.number}})) {
    changes.note({Thing::window, slot.queue, key.key});
  }
}

void State::free_key(const Slot& slot) {
  const UniqueKey key = unique(slot);
  if (holds_key(slot, key)) holders.erase(slot.queue, key.key, {slot.number});
}

// ---- Views ------------------------------------------------------------------------------------

Task State::given(const Slot& slot) const {
  Task task;
  decode_body(body(slot), task, false);
  return task;
}

TimePoint State::start_by(const Slot& slot) const {
  return given(slot).start_by.value_or(never);
}
UniqueKey State::unique(const Slot& slot) const {
  return given(slot).unique.value_or(UniqueKey{});
}
std::optional<Duration> State::keep_for(const Slot& slot, TaskState final_state) const {
  if (!slot.keeps_itself) return std::nullopt;
  return own_keep(given(slot), final_state);
}

bool State::is_kept(const Slot& slot, TaskState final_state) const {
  if (const auto own = keep_for(slot, final_state)) return *own > Duration::zero();
  const QueueSettings& settings = queues_[slot.queue]->settings();
  const bool dead = final_state == TaskState::failed || final_state == TaskState::dead;
  const Keep& keep = dead ? settings.keep_dead : settings.keep_completed;
  return keep.for_time != Duration::zero() && keep.last != 0U;
}

void State::fill_lease(const Slot& slot, Lease& lease) const {
  lease.id = slot.id;
  lease.number = {slot.number};
  lease.queue = queues_[slot.queue]->settings().name;
  lease.priority = slot.priority;
  lease.counters = slot.counters;
  lease.start = slot.start;
  if (slot.previous_start != no_moment) lease.previous_start = slot.previous_start;
  if (slot.state == TaskState::processing) {
    lease.token = {slot.token};
    lease.until = slot.moment;
  }
  if (slot.started_at != no_moment) lease.started_at = slot.started_at;
  decode_body(body(slot), lease);
  if (!slot.has_start_by) lease.start_by.reset();
  if (!slot.has_steps) return;
  Notes steps = notes(slot);
  lease.checkpoint = std::move(steps.checkpoint);
  lease.answer = std::move(steps.answer);
}

Lease State::lease(const Slot& slot) const {
  Lease lease;
  fill_lease(slot, lease);
  return lease;
}

// ---- Queues -----------------------------------------------------------------------------------

QueueEntry* State::queue(const QueueRef& ref) const {
  const auto look_up = [&](const auto& map, const auto& key) -> QueueEntry* {
    const auto found = map.find(key);
    return found == map.end() ? nullptr : queues_[found->second].get();
  };
  if (const auto* name = std::get_if<std::string>(&ref)) return look_up(names_, *name);
  if (const auto* number = std::get_if<QueueNumber>(&ref)) return look_up(numbers_, *number);
  return look_up(uuids_, std::get<Uuid>(ref));
}

QueueEntry& State::add_queue(Queue queue) {
  while (has_queue_at(next_queue_)) ++next_queue_;
  const auto index = next_queue_;
  put_queue_at(index, std::move(queue));
  return *queues_[index];
}

void State::put_queue_at(std::uint16_t index, Queue queue) {
  if (queues_.size() <= index) queues_.resize(std::size_t{index} + 1);
  if (!queues_[index]) {
    queues_[index] = std::make_unique<QueueEntry>();
    queues_[index]->index = index;
    next_queue_ = static_cast<std::uint16_t>(index + 1);
  }
  set_queue(*queues_[index], std::move(queue));
}

void State::set_queue(QueueEntry& entry, Queue queue) {
  if (!entry.settings().name.empty()) forget_names(entry);
  const QueueSettings before = std::exchange(entry.queue, std::move(queue)).settings;
  names_.insert_or_assign(entry.settings().name, entry.index);
  uuids_.insert_or_assign(entry.settings().id, entry.index);
  if (entry.settings().number) numbers_.insert_or_assign(*entry.settings().number, entry.index);
  changes.note({Thing::queue, entry.index});
  set_group_rules(entry, before);
}

void State::erase_queue(QueueEntry& entry) {
  const auto index = entry.index;
  forget_names(entry);
  erase_groups(entry);
  holders.erase_queue(index);
  queues_[index].reset();
  changes.note({Thing::queue, index});
}

// In a replay a number or id may be given to one queue before it is taken from the other.
void State::forget_names(const QueueEntry& entry) {
  const auto forget = [&](auto& map, const auto& key) {
    const auto found = map.find(key);
    if (found != map.end() && found->second == entry.index) map.erase(found);
  };
  forget(names_, entry.settings().name);
  forget(uuids_, entry.settings().id);
  if (entry.settings().number) forget(numbers_, *entry.settings().number);
}

// ---- The rest ---------------------------------------------------------------------------------

void State::resume(std::uint64_t number, std::uint64_t token, std::uint64_t memo_version) {
  number_ = std::max(number_, number);
  token_ = std::max(token_, token);
  memos.resume(std::max(memos.versions_given(), memo_version));
}

void State::go_on(std::uint32_t epoch) {
  options_.epoch = epoch;
  changes = {};
  changes.on = true;
}

std::size_t State::index_memory() const {
  std::size_t bytes = slots_.memory() + ids_.memory() + blobs.overhead();
  bytes += leases.memory() + expiries.memory() + promotions.memory() + removals.memory();
  bytes += edges.memory() + orphans.memory() + groups.memory() + marks.memory();
  for (const auto& queue : queues_) {
    if (!queue) continue;
    bytes += sizeof(QueueEntry) + queue->finished.memory() + queue->dead.memory();
    if (queue->line) bytes += queue->line->memory();
    for (const auto& set : queue->order) bytes += set.memory();
    for (const auto& set : queue->by_state) bytes += set.memory();
  }
  return bytes;
}

}  // namespace millrace::embedded
