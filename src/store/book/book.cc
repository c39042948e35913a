#include "store/book/book.h"

#include "core/as_put.h"
#include "core/ensure.h"
#include "core/limits.h"
#include "core/transition.h"

namespace millrace::book {

using embedded::Holder;
using embedded::RecordKind;
using embedded::Slot;

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
  slot.fixed = !row.unreadable.empty();
  slot.has_waits = row.notes.waits.has_value();
  before_.insert({slot.number,
                  {.id = slot.id,
                   .queue = slot.queue,
                   .state = slot.state,
                   .priority = slot.priority,
                   .keeps_itself = goes_by_own_rule(slot)}});
  const auto at = state_.adopt(slot);
  if (slot.has_waits) link(at, row);
  state_.index(at);
  if (!row.unreadable.empty()) unreadable_.insert({slot.id, row.unreadable});
  if (row.given.unique) keys_.insert({slot.queue, row.given.unique->key});
}

void Book::link(std::uint32_t at, const Row& row) {
  ensure(state_.link(at), "a task waits for others that it does not name");
  if (!state_.slot(at).linked) return;
  for (std::size_t i = 0; i < row.given.after->tasks.size(); ++i) {
    if (!row.notes.waits->is_open(i)) continue;
    edges_before_.insert(embedded::Edge(row.given.after->tasks[i], row.slot.number, i));
  }
}

void Book::enter_untold(const TaskId& id, std::uint64_t next) {
  state_.untold.insert({id, next});
  untold_before_.insert({id, next});
}

bool Book::goes_by_own_rule(const Slot& slot) const {
  return is_final(slot.state) && state_.keep_for(slot, slot.state).has_value();
}

Result<void> Book::check_readable(const TaskId& id) const {
  for (const auto* reasons : {&unreadable_, &held_back_}) {
    const auto found = reasons->find(id);
    if (found != reasons->end()) return fail(ErrorCode::corrupt, found->second);
  }
  return {};
}

Result<void> Book::check_removable(const TaskId& id) const {
  if (held_back_.contains(id) || state_.has_children(id)) return check_readable(id);
  return {};
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

// ---- What has changed ---------------------------------------------------------------------------

Changes Book::changes() {
  Changes changes;
  add_task_changes(changes);
  add_key_changes(changes);
  add_graph_changes(changes);
  return changes;
}

void Book::add_task_changes(Changes& changes) const {
  for (const embedded::TaskChange& change : state_.changes.tasks) {
    const auto found = before_.find(change.number);
    TaskChange task;
    if (found != before_.end()) task.before = found->second;
    if (change.kind != RecordKind::gone) {
      task.now = &state_.slot(change.slot);
      if (task.now->number != change.number) continue;  // it is gone since
      task.rewritten = task.now->rewritten;
      ensure(!unreadable_.contains(task.now->id), "a task is changed that could not be read");
    } else if (!task.before) {
      continue;  // it came and went
    }
    if (task.before) {
      const Before& was = *task.before;
      changes.tally.leave(was.queue, was.state, was.priority, was.keeps_itself);
    }
    if (task.now != nullptr) {
      const Slot& is = *task.now;
      changes.tally.enter(is.queue, is.state, is.priority, goes_by_own_rule(is));
    }
    changes.tasks.push_back(task);
  }
}

// Compares the holders of the keys that were looked at with those before the call.
void Book::add_key_changes(Changes& changes) {
  for (const auto& change : state_.changes.small) {
    if (change.thing == embedded::Thing::window) keys_.insert({change.queue, change.key});
  }
  for (const TaskChange& change : changes.tasks) {
    if (change.now != nullptr && change.now->has_unique) {
      keys_.insert({change.now->queue, state_.unique(*change.now).key});
    }
  }
  for (const Key& key : keys_) {
    const auto now = state_.holders.all().find(key);
    const auto before = holders_before_.find(key);
    const bool is_held = now != state_.holders.all().end();
    const bool was_held = before != holders_before_.end();
    if (is_held == was_held && (!is_held || now->second == before->second)) continue;
    changes.keys.push_back({.key = key,
                            .was_held = was_held,
                            .now = is_held ? std::optional(now->second) : std::nullopt});
  }
}

// Compares the edges of the tasks that were entered, and of those that were added, with those
// before the call.
void Book::add_graph_changes(Changes& changes) const {
  auto before = edges_before_.begin();
  for (const auto& [edge, child] : state_.edges) {
    for (; before != edges_before_.end() && *before < edge; ++before) {
      changes.old_edges.push_back(*before);
    }
    if (before != edges_before_.end() && *before == edge) {
      ++before;
    } else {
      changes.new_edges.push_back({.edge = edge, .child = state_.slot(child).id});
    }
  }
  changes.old_edges.insert(changes.old_edges.end(), before, edges_before_.end());
  for (const auto& [id, next] : untold_before_) {
    if (!state_.untold.contains(id)) changes.untold.push_back({.id = id, .next = std::nullopt});
  }
  for (const auto& [id, next] : state_.untold) {
    const auto found = untold_before_.find(id);
    if (found != untold_before_.end() && found->second == next) continue;
    changes.untold.push_back({.id = id, .next = next});
  }
}

Row Book::row_of(const Slot& slot, bool with_payload) const {
  Task body;
  embedded::decode_body(state_.body(slot), body, with_payload);
  Row row{.slot = slot,
          .given = as_put(body),
          .created_at = body.created_at,
          .notes = state_.notes(slot),
          .worker = std::string(state_.workers.text(slot.worker))};
  row.given.payload = std::move(body.payload);
  // Fields that mean something to this state machine only.
  row.slot.body = {}, row.slot.notes = {};
  row.slot.worker = 0;
  row.slot.recorded = row.slot.moved = row.slot.rewritten = row.slot.fixed = false;
  row.slot.linked = false;
  if (slot.has_start_by) row.given.start_by = body.start_by;
  return row;
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
  state_.untold.clear();
  state_.cut.clear();
  state_.tell_budget = limits::max_told_by_call;
  state_.schedules.clear();
  state_.changes = {.on = true};
  numbers_.clear();
  before_.clear();
  holders_before_.clear();
  keys_.clear();
  edges_before_.clear();
  untold_before_.clear();
  unreadable_.clear();
  held_back_.clear();
}

}  // namespace millrace::book
