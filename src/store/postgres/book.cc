#include "store/postgres/book.h"

#include <algorithm>

#include "core/as_put.h"
#include "core/ensure.h"
#include "core/transition.h"
#include "store/postgres/sql.h"

namespace millrace::store_postgres {

using embedded::Holder;
using embedded::no_slot;
using embedded::RecordKind;
using embedded::Slot;
using embedded::TaskChange;

namespace {

constexpr Duration a_day = std::chrono::days(1);

bool is_dead_letter(TaskState state) {
  return state == TaskState::failed || state == TaskState::dead;
}

}  // namespace

std::int16_t class_of(const Keep& keep) {
  if (keep.last == 0U || keep.for_time == Duration::zero()) return kept_nowhere;
  if (!keep.for_time) return for_ever;
  if (*keep.for_time < a_day) return 0;
  const auto days = (*keep.for_time + a_day - Duration(1)) / a_day;
  return static_cast<std::int16_t>(std::min<Duration::rep>(days, for_ever - 1));
}

// ---- Batch, Tally
// --------------------------------------------------------------------------------

postgres::Params& Batch::add(const postgres::Sql& sql) {
  return parts_.emplace_back(Part{.sql = &sql, .params = {}}).params;
}

std::vector<postgres::Statement> Batch::statements() const {
  std::vector<postgres::Statement> all;
  all.reserve(parts_.size());
  for (const Part& part : parts_) all.push_back({.sql = part.sql, .params = &part.params});
  return all;
}

void Tally::add(std::uint16_t queue, TaskState state, std::uint8_t priority, bool keeps_itself,
                std::int64_t change) {
  changes_[{queue, static_cast<std::int16_t>(state), priority}] += change;
  if (!keeps_itself || !is_final(state)) return;
  changes_[{queue, is_dead_letter(state) ? own_dead : own_finished, 0}] += change;
}

void Tally::write(Batch& batch) const {
  postgres::Array<std::int32_t> queues;
  postgres::Array<std::int16_t> states;
  postgres::Array<std::int16_t> priorities;
  postgres::Array<std::int64_t> changes;
  for (const auto& [key, change] : changes_) {
    if (change == 0) continue;
    queues.push(key.queue);
    states.push(key.state);
    priorities.push(key.priority);
    changes.push(change);
  }
  if (queues.size() == 0) return;
  postgres::Params& params = batch.add(sql::count);
  params.add(queues), params.add(states), params.add(priorities), params.add(changes);
}

// ---- Book
// ----------------------------------------------------------------------------------------

Book::Book()
    : state_({.record = true, .next_number = [this] {
                ensure(!numbers_.empty(), "more tasks are put than numbers were drawn");
                const std::uint64_t number = numbers_.front();
                numbers_.pop_front();
                return number;
              }}) {}

void Book::enter(const Row& row) {
  Slot slot = row.slot;
  slot.body = embedded::encode_body(state_.blobs, row.given, row.created_at);
  slot.notes = embedded::encode_notes(state_.blobs, row.notes);
  slot.set_facts(embedded::facts_of(row.given, row.created_at));
  slot.worker = state_.workers.hold(row.worker);
  before_.insert({slot.number,
                  {.id = slot.id,
                   .queue = slot.queue,
                   .state = slot.state,
                   .priority = slot.priority,
                   .keeps_itself = slot.keeps_itself}});
  state_.index(state_.adopt(slot));
  if (row.given.unique) keys_.insert({slot.queue, row.given.unique->key});
}

void Book::enter(const Key& key, const Holder& holder) {
  keys_.insert(key);
  holders_before_.insert({key, holder});
  state_.holders.set(key.first, key.second, holder);
}

void Book::look_for_keys_in(std::uint16_t queue) {
  std::set<Key> there;
  for (const Key& key : keys_) there.insert({queue, key.second});
  keys_.merge(there);
}

void Book::use_counts(std::uint16_t queue, std::uint64_t waiting, std::uint64_t running) {
  counted_.insert(queue);
  state_.queue_at(queue).waiting = waiting;
  state_.queue_at(queue).running = running;
}

struct Book::Columns {
  MutableColumns changed, finished, revived, noted, added_finished, added;
  GivenColumns given_finished, given;
  postgres::Array<Uuid> removed, removed_finished;
  Tally tally;
};

// A task that ends now goes to the table of its class and day. One that ended before - it is
// restored, moved or noted - goes where tasks leave one by one.
Keeping Book::keeping_of(const Slot& slot, const NewTask& given, bool ends_now) const {
  if (!is_final(slot.state)) return {};
  if (given.keep_for) return {.task_class = 0, .goes_at = later(slot.moment, *given.keep_for)};
  const QueueSettings& settings = state_.queue_at(slot.queue).settings();
  const Keep& keep = is_dead_letter(slot.state) ? settings.keep_dead : settings.keep_completed;
  if (ends_now) return {.task_class = class_of(keep)};
  if (!keep.for_time || *keep.for_time < a_day) return {};
  return {.task_class = 0, .goes_at = later(slot.moment, *keep.for_time)};
}

void Book::write_change(const Slot& slot, const Before* before, Columns& columns) {
  const bool ends = is_final(slot.state);
  Task body;
  embedded::decode_body(state_.body(slot), body, before == nullptr);
  NewTask given = as_put(body);
  given.payload = std::move(body.payload);
  if (slot.has_start_by) given.start_by = body.start_by;
  const Keeping keeping = keeping_of(slot, given, before != nullptr && !is_final(before->state));
  const std::string_view worker = state_.workers.text(slot.worker);
  const auto notes = state_.notes(slot);
  if (before == nullptr) {
    (ends ? columns.added_finished : columns.added)
        .push(slot, given.start_by, notes, worker, keeping);
    (ends ? columns.given_finished : columns.given).push(slot.number, given, body.created_at);
  } else {
    const bool ended = is_final(before->state);
    MutableColumns& to = ends ? (ended ? columns.noted : columns.finished)
                              : (ended ? columns.revived : columns.changed);
    to.push(slot, given.start_by, notes, worker, keeping);
    columns.tally.leave(before->queue, before->state, before->priority, before->keeps_itself);
  }
  columns.tally.enter(slot.queue, slot.state, slot.priority, slot.keeps_itself);
  if (ends && (before == nullptr || is_final(before->state))) {
    ended_before_.push_back({slot.queue, is_dead_letter(slot.state), slot.moment});
  }
  if (is_waiting(slot.state)) {
    ready_again_.push_back({slot.queue, slot.priority, slot.start, slot.number});
  }
}

void Book::write_gone(const Before& before, Columns& columns) {
  (is_final(before.state) ? columns.removed_finished : columns.removed).push(before.id.value);
  columns.tally.leave(before.queue, before.state, before.priority, before.keeps_itself);
}

void Book::write_tasks(Batch& batch) {
  Columns columns;
  for (const TaskChange& change : state_.changes.tasks) {
    const auto found = before_.find(change.number);
    const Before* before = found == before_.end() ? nullptr : &found->second;
    if (change.kind == RecordKind::gone) {
      if (before != nullptr) write_gone(*before, columns);
    } else if (state_.slot(change.slot).number == change.number) {  // else it is gone since
      write_change(state_.slot(change.slot), before, columns);
    }
  }
  const auto add = [&](const postgres::Sql& sql, const MutableColumns& mutables,
                       const GivenColumns* given = nullptr) {
    if (mutables.empty()) return;
    postgres::Params& params = batch.add(sql);
    mutables.add_to(params);
    if (given != nullptr) given->add_to(params);
  };
  const auto remove = [&](const postgres::Sql& sql, const postgres::Array<Uuid>& ids) {
    if (ids.size() != 0) batch.add(sql).add(ids);
  };
  remove(sql::remove_tasks, columns.removed);
  remove(sql::remove_finished, columns.removed_finished);
  add(sql::change_tasks, columns.changed);
  add(sql::finish_tasks, columns.finished);
  add(sql::revive_tasks, columns.revived);
  add(sql::change_finished, columns.noted);
  add(sql::add_tasks, columns.added, &columns.given);
  add(sql::add_finished, columns.added_finished, &columns.given_finished);
  columns.tally.write(batch);
}

// What is held now by the keys that were looked at, against what was held before.
void Book::write_keys(Batch& batch) {
  for (const auto& change : state_.changes.small) {
    if (change.thing == embedded::Thing::window) keys_.insert({change.queue, change.key});
  }
  for (const TaskChange& change : state_.changes.tasks) {
    if (change.kind == RecordKind::gone) continue;
    const Slot& slot = state_.slot(change.slot);
    if (slot.number == change.number && slot.has_unique) {
      keys_.insert({slot.queue, state_.unique(slot).key});
    }
  }
  postgres::Array<std::int32_t> freed_queues;
  postgres::Array<std::int32_t> queues;
  postgres::Array<std::string_view> freed;
  postgres::Array<std::string_view> keys;
  postgres::Array<Uuid> tasks;
  postgres::Array<std::int64_t> numbers;
  postgres::Array<TimePoint> until;
  for (const Key& key : keys_) {
    const auto now = state_.holders.all().find(key);
    const auto before = holders_before_.find(key);
    const bool is_held = now != state_.holders.all().end();
    const bool was_held = before != holders_before_.end();
    if (is_held == was_held && (!is_held || now->second == before->second)) continue;
    if (was_held) freed_queues.push(key.first), freed.push(key.second);
    if (!is_held) continue;
    const Holder& holder = now->second;
    queues.push(key.first), keys.push(key.second), tasks.push(holder.id.value);
    numbers.push(static_cast<std::int64_t>(holder.number.value));
    until.push(holder.until == never ? std::nullopt : std::optional(holder.until));
  }
  if (freed.size() != 0) {
    postgres::Params& params = batch.add(sql::free);
    params.add(freed_queues), params.add(freed);
  }
  if (keys.size() == 0) return;
  postgres::Params& params = batch.add(sql::hold);
  params.add(queues), params.add(keys), params.add(tasks), params.add(numbers), params.add(until);
}

void Book::close() {
  state_.changes = {.on = true};
  std::vector<std::uint32_t> slots;
  for (std::uint32_t at = 0; at < state_.slot_count(); ++at) {
    if (state_.slot(at).number != 0) slots.push_back(at);
  }
  for (const std::uint32_t at : slots) {
    state_.unindex(at);
    state_.erase(at);
  }
  for (const std::uint16_t queue : counted_) {
    if (state_.has_queue_at(queue)) {
      state_.queue_at(queue).waiting = state_.queue_at(queue).running = 0;
    }
  }
  counted_.clear();
  state_.holders = {};
  state_.memos = {};
  state_.schedules.clear();
  state_.changes = {.on = true};
  numbers_.clear();
  before_.clear();
  holders_before_.clear();
  keys_.clear();
  ready_again_.clear();
  ended_before_.clear();
}

}  // namespace millrace::store_postgres
