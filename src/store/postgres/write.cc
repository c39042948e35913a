#include "store/postgres/write.h"

#include "core/transition.h"
#include "core/uuid.h"
#include "store/postgres/keeping.h"
#include "store/postgres/row.h"
#include "store/postgres/sql.h"

namespace millrace::store_postgres {
namespace {

using postgres::Array;

// One member per kind of change, as there is one statement for each.
struct Kinds {
  sql::ChangedArrays changed, finished, revived, noted;
  NewRows added, added_finished, rewritten;
  Array<Uuid> removed, removed_finished;
};

void add_gone(const book::Before& before, Kinds& kinds) {
  (is_final(before.state) ? kinds.removed_finished : kinds.removed).push(before.id.value);
}

void add_task(const book::Book& book, const book::TaskChange& change, Kinds& kinds) {
  const bool is_new = !change.before;
  const bool ends = is_final(change.now->state);
  const bool ended = change.before && is_final(change.before->state);
  const book::Row row = book.row_of(*change.now, is_new || change.rewritten);
  const QueueSettings& settings = book.state().queue_at(row.slot.queue).settings();
  const Keeping keeping = keeping_of(row.slot, row.given, settings, !is_new && !ended);
  // It moves to the finished tasks with what it is put with by then.
  if (change.rewritten && !is_new && ends) kinds.rewritten.push(row, keeping);
  if (is_new) {
    (ends ? kinds.added_finished : kinds.added).push(row, keeping);
  } else if (change.rewritten && !ends) {
    kinds.rewritten.push(row, keeping);
  } else if (ends) {
    push_changed(ended ? kinds.noted : kinds.finished, row, keeping);
  } else {
    push_changed(ended ? kinds.revived : kinds.changed, row, keeping);
  }
}

void write_tasks(const book::Book& book, const book::Changes& changes, Batch& batch) {
  Kinds kinds;
  for (const book::TaskChange& change : changes.tasks) {
    if (change.now == nullptr) {
      add_gone(*change.before, kinds);
    } else {
      add_task(book, change, kinds);
    }
  }
  const auto any = [](const auto& arrays) { return arrays.id.size() != 0; };
  if (kinds.removed.size() != 0) batch.add(sql::RemoveTasks{.ids = kinds.removed});
  if (kinds.removed_finished.size() != 0) {
    batch.add(sql::RemoveFinished{.ids = kinds.removed_finished});
  }
  if (any(kinds.changed)) batch.add(sql::ChangeTasks{.changed = kinds.changed});
  if (const NewRows& rows = kinds.rewritten; any(rows.changed)) {
    batch.add(sql::RewriteTasks{.changed = rows.changed, .given = rows.given, .tags = rows.tags});
  }
  if (any(kinds.finished)) batch.add(sql::FinishTasks{.changed = kinds.finished});
  if (any(kinds.revived)) batch.add(sql::ReviveTasks{.changed = kinds.revived});
  if (any(kinds.noted)) batch.add(sql::ChangeFinished{.changed = kinds.noted});
  if (const NewRows& rows = kinds.added; any(rows.changed)) {
    batch.add(sql::AddTasks{.changed = rows.changed, .given = rows.given, .tags = rows.tags});
  }
  if (const NewRows& rows = kinds.added_finished; any(rows.changed)) {
    batch.add(sql::AddFinished{.changed = rows.changed, .given = rows.given, .tags = rows.tags});
  }
}

// Before the tasks: a new one looks for those that wait for it.
void write_edges(const book::Changes& changes, Batch& batch) {
  Array<Uuid> parents;
  Array<std::int64_t> edges;
  for (const embedded::Edge& edge : changes.old_edges) {
    parents.push(edge.parent.value);
    edges.push(static_cast<std::int64_t>(edge.child));
  }
  if (parents.size() != 0) batch.add(sql::RemoveEdges{.parents = parents, .edges = edges});
  if (changes.new_edges.empty()) return;
  sql::EdgeArrays added;
  Array<Uuid> waited_for;
  std::optional<TaskId> last;  // they are sorted by parent
  for (const auto& [edge, child] : changes.new_edges) {
    added.parent.push(edge.parent.value);
    added.edge.push(static_cast<std::int64_t>(edge.child));
    added.child.push(child.value);
    if (last != edge.parent) waited_for.push(edge.parent.value);
    last = edge.parent;
  }
  batch.add(sql::AddEdges{.edge = added});
  batch.add(sql::NoteParents{.ids = waited_for});
}

void write_untold(const book::Changes& changes, Batch& batch) {
  sql::UntoldArrays later;
  Array<Uuid> told;
  for (const auto& [id, next] : changes.untold) {
    if (!next) {
      told.push(id.value);
      continue;
    }
    later.parent.push(id.value), later.next.push(static_cast<std::int64_t>(*next));
  }
  if (later.parent.size() != 0) batch.add(sql::AddUntold{.untold = later});
  if (told.size() != 0) batch.add(sql::RemoveUntold{.ids = told});
}

void write_tally(const book::Tally& tally, Batch& batch) {
  Array<std::int32_t> queues;
  Array<std::int16_t> states;
  Array<std::int16_t> priorities;
  Array<std::int64_t> changes;
  for (const auto& [key, change] : tally.changes()) {
    if (change == 0) continue;
    queues.push(key.queue);
    states.push(key.state);
    priorities.push(key.priority);
    changes.push(change);
  }
  if (queues.size() == 0) return;
  batch.add(
      sql::Count{.queues = queues, .states = states, .priorities = priorities, .changes = changes});
}

void write_keys(const book::Changes& changes, Batch& batch) {
  Array<std::int32_t> freed_queues;
  Array<std::string_view> freed;
  sql::HolderArrays held;
  for (const auto& [key, was_held, now] : changes.keys) {
    if (was_held) freed_queues.push(key.first), freed.push(key.second);
    if (!now) continue;
    held.queue.push(key.first), held.key.push(key.second), held.task.push(now->id.value);
    held.number.push(static_cast<std::int64_t>(now->number.value));
    held.until.push(now->until == never ? std::nullopt : std::optional(now->until));
  }
  if (freed.size() != 0) batch.add(sql::Free{.queues = freed_queues, .keys = freed});
  if (held.key.size() != 0) batch.add(sql::Hold{.holder = held});
}

}  // namespace

void write_changes(const book::Book& book, const book::Changes& changes, Batch& batch) {
  write_edges(changes, batch);
  write_tasks(book, changes, batch);
  write_untold(changes, batch);
  write_tally(changes.tally, batch);
  write_keys(changes, batch);
}

}  // namespace millrace::store_postgres
