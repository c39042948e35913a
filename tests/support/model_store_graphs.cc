// Tasks that wait for others: each end is told to all at once.
#include <algorithm>
#include <utility>

#include "core/graph.h"
#include "core/transition.h"
#include "tests/support/model_store.h"

namespace millrace::test {

namespace {

bool passes(const After& after, TaskState state) {
  return state == TaskState::completed || after.when == AfterWhen::ended ||
         after.otherwise == Otherwise::run;
}

}  // namespace

Result<void> ModelStore::check_parents(const NewTask& task) {
  for (std::size_t i = 0; task.after && i < task.after->tasks.size(); ++i) {
    if (record_of(task.after->tasks[i]) == nullptr) {
      return fail(ErrorCode::not_found, "no such parent", "after.tasks[" + std::to_string(i) + "]");
    }
  }
  return {};
}

// A new task waits for those that are open, unless they have ended as they must.
void ModelStore::wait_for(Record& record, const std::vector<TaskId>& open) {
  auto& task = record.task;
  task.waits_for.clear();
  if (!task.after) return;
  for (const auto& id : task.after->tasks) {
    if (std::ranges::find(open, id) == open.end()) continue;
    const auto* parent = record_of(id);
    const bool ended = parent != nullptr && is_final(parent->task.state);
    if (ended && passes(*task.after, parent->task.state)) continue;
    task.waits_for.push_back(id);
    if (ended && task.after->otherwise == Otherwise::cancel && !record.orphan) {
      record.orphan = EndedParent{id, parent->task.state};
    }
  }
}

bool ModelStore::has_children(const TaskId& id) const {
  return std::ranges::any_of(records_, [&](const auto& entry) {
    const auto& [task, open] = std::pair(entry.second.task, entry.second.task.waits_for);
    return !entry.second.orphan && std::ranges::find(open, id) != open.end();
  });
}

void ModelStore::tell_children(const TaskId& id, TaskState state, TimePoint now) {
  for (auto& [number, record] : records_) {
    auto& task = record.task;
    const auto at = std::ranges::find(task.waits_for, id);
    if (record.orphan || at == task.waits_for.end()) continue;
    if (passes(*task.after, state)) {
      task.waits_for.erase(at);
      if (task.waits_for.empty()) {
        task.start = std::max(now, task.start);
        task.state = waiting_state(task.start, now);
      }
      touch(record, now);
    } else if (task.after->otherwise == Otherwise::cancel) {
      record.orphan = EndedParent{id, state};
      touch(record, now);
    }
  }
}

void ModelStore::stop_waiting(Record& record) {
  record.task.waits_for.clear();
  record.orphan.reset();
}

// A task that is removed before it has ended counts as cancelled.
void ModelStore::drop(std::uint64_t number, TimePoint now) {
  const Task task = records_.at(number).task;
  erase(number);
  if (!is_final(task.state)) tell_children(task.id, TaskState::cancelled, now);
}

// ---- All or none --------------------------------------------------------------------------------

Result<std::vector<Put>> ModelStore::put_all(std::span<const NewTask> tasks, TimePoint now) {
  if (auto valid = validate_all(tasks, now); !valid) return std::unexpected(valid.error());
  std::vector<Member> members;
  for (const auto& task : tasks) {
    auto member = judge(task, members, now);
    if (!member) return std::unexpected(member.error());
    members.push_back(std::move(*member));
  }
  for (auto& member : members) {
    if (auto good = name_parents(member, members); !good) return std::unexpected(good.error());
  }
  if (has_cycle(members)) return fail(ErrorCode::invalid, "they wait for each other");
  std::vector<Put> puts;
  for (const auto& member : members) {
    if (member.existing) {
      puts.push_back(*member.existing);
    } else if (member.twin) {
      puts.push_back(puts[*member.twin]);
      puts.back().existing = true;
    } else {
      const auto& rate = member.line->queue.settings.put_rate;
      if (rate) member.line->puts.add(*rate, now, 1);
      puts.push_back(add(member.task, *member.line, now));
    }
  }
  return puts;
}

// What becomes of a task, as far as that does not depend on what it waits for.
Result<ModelStore::Member> ModelStore::judge(const NewTask& task, const std::vector<Member>& before,
                                             TimePoint now) {
  Member member{.task = task};
  if (record_of(task.id) != nullptr) {
    member.existing = in_the_way(task, {}, now);
    return member;
  }
  auto* line = line_of(task.queue);
  if (line == nullptr) return fail(ErrorCode::not_found, "no such queue");
  const auto& settings = line->queue.settings;
  member.existing = in_the_way(task, *line, now);
  if (member.existing) return member;
  std::size_t more = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const auto& other = before[i];
    if (other.line != line) continue;
    ++more;
    if (task.unique && other.task.unique && other.task.unique->key == task.unique->key) {
      member.twin = i;
      return member;
    }
  }
  if (!settings.active || settings.draining || line->queue.removing) {
    return fail(ErrorCode::conflict, "the queue accepts no tasks");
  }
  if (auto fits = check_size(settings, task.payload.size()); !fits) {
    return std::unexpected(fits.error());
  }
  if (settings.max_depth && count(settings.name, is_waiting) + more >= *settings.max_depth) {
    return std::unexpected(Error{ErrorCode::limited, "the queue is full", Duration(1000)});
  }
  if (settings.put_rate && line->puts.room(*settings.put_rate, now) <= more) {
    return std::unexpected(Error{ErrorCode::limited, "too many puts", Duration(1)});
  }
  member.line = line;
  return member;
}

// Parents by the ids that they have here, where another task holds the key of one.
Result<void> ModelStore::name_parents(Member& member, const std::vector<Member>& all) {
  if (member.line == nullptr || !member.task.after) return {};
  std::vector<TaskId> meant;
  for (const auto& id : member.task.after->tasks) {
    const auto at = std::ranges::find(all, id, [](const Member& other) { return other.task.id; });
    const bool is_there =
        at == all.end() ? record_of(id) != nullptr : !at->existing || at->existing->state;
    if (!is_there) return fail(ErrorCode::not_found, "no such parent");
    TaskId parent = id;
    if (at != all.end() && at->existing) parent = at->existing->id;
    if (at != all.end() && at->twin) parent = all[*at->twin].task.id;
    if (std::ranges::find(meant, parent) == meant.end()) meant.push_back(parent);
  }
  member.task.after->tasks = std::move(meant);
  return {};
}

// Takes away those that wait for none of the others, until none is left, or all that are wait.
bool ModelStore::has_cycle(std::vector<Member> members) {
  std::erase_if(members, [](const Member& member) { return member.line == nullptr; });
  const auto waits = [&](const Member& member) {
    return member.task.after && std::ranges::any_of(members, [&](const Member& other) {
             const auto& parents = member.task.after->tasks;
             return std::ranges::find(parents, other.task.id) != parents.end();
           });
  };
  for (;;) {
    const auto free = std::ranges::find_if_not(members, waits);
    if (free == members.end()) return !members.empty();
    members.erase(free);
  }
}

}  // namespace millrace::test
