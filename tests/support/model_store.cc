#include "tests/support/model_store.h"

#include <algorithm>

#include "core/limits.h"
#include "core/own_keep.h"
#include "core/transition.h"
#include "core/validate.h"

namespace millrace::test {

// ---- Looking things up ------------------------------------------------------------------------

ModelStore::Record* ModelStore::record_of(const TaskId& id) {
  for (auto& [number, record] : records_) {
    if (record.task.id == id) return &record;
  }
  return nullptr;
}

ModelStore::Record* ModelStore::record_of(const TaskRef& ref) {
  if (const auto* id = std::get_if<TaskId>(&ref)) return record_of(*id);
  auto found = records_.find(std::get<TaskNumber>(ref).value);
  return found == records_.end() ? nullptr : &found->second;
}

ModelStore::Line* ModelStore::line_of(const QueueRef& ref) {
  for (auto& [name, line] : queues_) {
    const auto& settings = line.queue.settings;
    if (const auto* wanted = std::get_if<std::string>(&ref)) {
      if (name == *wanted) return &line;
    } else if (const auto* number = std::get_if<QueueNumber>(&ref)) {
      if (settings.number == *number) return &line;
    } else if (settings.id == std::get<Uuid>(ref)) {
      return &line;
    }
  }
  return nullptr;
}

std::size_t ModelStore::count(const std::string& queue, bool (*wanted)(TaskState)) const {
  std::size_t found = 0;
  for (const auto& [number, record] : records_) {
    if (record.task.queue == queue && wanted(record.task.state)) ++found;
  }
  return found;
}

// The holder of a unique key: a task, or a window that outlived its task.
std::optional<Put> ModelStore::holder(const std::string& queue, const std::string& key,
                                      TimePoint now, const Record* except) const {
  for (const auto& [number, record] : records_) {
    const auto& task = record.task;
    if (&record == except || !record.holds_key || task.queue != queue) continue;
    if (task.unique->key != key) continue;
    if (task.unique->scope == UniqueScope::window &&
        now >= later(task.created_at, task.unique->window)) {
      continue;
    }
    return Put{.id = task.id, .number = task.number, .state = task.state, .existing = true};
  }
  for (const auto& orphan : orphans_) {
    if (orphan.queue == queue && orphan.key == key && now < orphan.until) return orphan.put;
  }
  return std::nullopt;
}

// No other task holds the key. Windows that are over no longer count, even if time should go back.
void ModelStore::hold_key(Record& record) {
  const auto& key = record.task.unique->key;
  for (auto& [number, other] : records_) {
    if (other.task.queue == record.task.queue && other.task.unique &&
        other.task.unique->key == key) {
      other.holds_key = false;
    }
  }
  std::erase_if(orphans_, [&](const Orphan& orphan) {
    return orphan.queue == record.task.queue && orphan.key == key;
  });
  record.holds_key = true;
}

// ---- Changing a task --------------------------------------------------------------------------

void ModelStore::touch(Record& record, TimePoint now) {
  ++record.task.version.value;
  record.task.updated_at = now;
}

// Dead letters are kept by one rule, everything else that is finished by the other.
bool ModelStore::is_dead_letter(TaskState state) {
  return state == TaskState::failed || state == TaskState::dead;
}

const Keep& ModelStore::keep_of(TaskState state, const QueueSettings& settings) {
  return is_dead_letter(state) ? settings.keep_dead : settings.keep_completed;
}

// The end of a task. A limit of zero removes it at once.
void ModelStore::finish(Record& record, TaskState state, TimePoint now) {
  auto& task = record.task;
  task.state = state;
  task.finished_at = now;
  task.cancel_requested = false;
  if (task.start == never) task.start = now;
  if (state == TaskState::completed) task.checkpoint.clear(), task.answer.reset();
  if (task.unique && task.unique->scope != UniqueScope::window) record.holds_key = false;
  regroup(task.queue, task.group, now);
  const auto& keep = keep_of(state, line_of(record).queue.settings);
  const auto own = own_keep(task, state);
  const bool at_once =
      own ? *own == Duration::zero() : keep.for_time == Duration::zero() || keep.last == 0U;
  stop_waiting(record);
  const TaskId id = task.id;
  if (at_once) erase(task.number.value, now);
  tell_children(id, state, now);
}

void ModelStore::erase(std::uint64_t number, TimePoint now) {
  const auto& record = records_.at(number);
  const auto task = record.task;
  if (record.holds_key && task.unique->scope == UniqueScope::window) {
    orphans_.push_back(
        {.queue = task.queue,
         .key = task.unique->key,
         .until = later(task.created_at, task.unique->window),
         .put = {.id = task.id, .number = task.number, .state = std::nullopt, .existing = true}});
  }
  records_.erase(number);
  regroup(task.queue, task.group, now);
}

// ---- Putting ----------------------------------------------------------------------------------

Result<std::vector<Result<Put>>> ModelStore::put(std::span<const NewTask> tasks, TimePoint now) {
  if (tasks.size() > traits().batch) return fail(ErrorCode::invalid, "the batch is too large");
  std::vector<Result<Put>> results;
  for (const auto& task : tasks) results.push_back(put_one(task, now));
  return results;
}

Result<Put> ModelStore::put_one(const NewTask& task, TimePoint now) {
  if (auto valid = validate(task, now); !valid) return std::unexpected(valid.error());
  if (const auto* record = record_of(task.id)) {
    return Put{.id = task.id,
               .number = record->task.number,
               .state = record->task.state,
               .existing = true,
               .queue = record->task.queue};
  }
  auto* line = line_of(task.queue);
  if (line == nullptr) return fail(ErrorCode::not_found, "no such queue");
  const auto& settings = line->queue.settings;
  const auto existing = in_the_way(task, *line, now);
  const bool replaces = existing && may_replace(task, *existing);
  if (existing && !replaces) return *existing;
  if (!settings.active || settings.draining || line->queue.removing) {
    return fail(ErrorCode::conflict, "the queue accepts no tasks");
  }
  if (auto fits = check_size(settings, task.payload.size()); !fits) {
    return std::unexpected(fits.error());
  }
  if (replaces) return replace(task, *existing, now);
  if (settings.max_depth && count(settings.name, is_waiting) >= *settings.max_depth) {
    return std::unexpected(Error{ErrorCode::limited, "the queue is full", Duration(1000)});
  }
  if (auto room = check_group_depth(*line, task, now); !room) {
    return std::unexpected(room.error());
  }
  if (settings.put_rate && line->puts.room(*settings.put_rate, now) == 0) {
    return std::unexpected(Error{ErrorCode::limited, "too many puts",
                                 line->puts.retry_after(*settings.put_rate, now, 1)});
  }
  if (auto there = check_parents(task); !there) return std::unexpected(there.error());
  if (settings.put_rate) line->puts.add(*settings.put_rate, now, 1);
  return add(task, *line, now);
}

// The task with the same id, or the holder of the unique key.
std::optional<Put> ModelStore::in_the_way(const NewTask& task, const Line& line, TimePoint now) {
  if (const auto* record = record_of(task.id)) {
    return Put{.id = task.id,
               .number = record->task.number,
               .state = record->task.state,
               .existing = true,
               .queue = record->task.queue};
  }
  if (!task.unique) return std::nullopt;
  return holder(line.queue.settings.name, task.unique->key, now);
}

bool ModelStore::may_replace(const NewTask& from, const Put& existing) {
  if (existing.id == from.id || !from.unique || from.unique->on_conflict == OnConflict::keep) {
    return false;
  }
  const auto* record = record_of(existing.id);
  if (record == nullptr || record->task.number != existing.number) return false;
  const auto& task = record->task;
  const bool unmarked = task.history.empty() && task.log.empty() && task.result.empty() &&
                        task.checkpoint.empty() && task.progress == 0 && !task.error &&
                        !task.delivery && !task.answer;
  return is_waiting(task.state) && task.counters.deliveries == 0 && unmarked &&
         task.unique->scope != UniqueScope::window && !task.after;
}

Put ModelStore::replace(const NewTask& from, const Put& existing, TimePoint now) {
  auto& record = *record_of(existing.id);
  auto& task = record.task;
  const bool was_ready =
      task.state == TaskState::queued || (task.state == TaskState::delayed && task.start <= now);
  const TimePoint was = task.start;
  const std::string group = task.group;
  const auto with_keep = with_keep_of_type(from, line_of(record).queue.settings);
  give(with_keep ? *with_keep : from, task, now);
  if (from.unique->on_conflict == OnConflict::postpone && from.unique->max_delay) {
    const TimePoint latest = later(task.created_at, *from.unique->max_delay);
    task.start = std::max(now, std::min(task.start, latest));
  }
  task.state = from.held ? TaskState::created : waiting_state(task.start, now);
  if (was_ready && task.state == TaskState::queued) task.start = was;
  regroup(task.queue, group, now);
  regroup(task.queue, task.group, now);
  touch(record, now);
  return {.id = task.id,
          .number = task.number,
          .state = task.state,
          .existing = true,
          .replaced = true};
}

// All that a put says about its task.
void ModelStore::give(const NewTask& from, Task& task, TimePoint now) {
  task.type = from.type;
  task.payload = from.payload;
  task.content_type = from.content_type;
  task.priority = from.priority;
  task.start = std::max(now, from.start.value_or(from.delay ? later(now, *from.delay) : now));
  task.start_by = from.start_by;
  task.timeout = from.timeout;
  task.max_lost = from.max_lost;
  task.retry = from.retry;
  task.unique = from.unique;
  // That is about the put alone.
  if (task.unique) task.unique->on_conflict = OnConflict::keep, task.unique->max_delay.reset();
  task.callback = from.callback;
  task.keep_for = from.keep_for;
  task.keep_completed = from.keep_completed;
  task.keep_dead = from.keep_dead;
  task.client_id = from.client_id;
  task.request_id = from.request_id;
  task.group = from.group;
  task.metadata = from.metadata;
  task.tags = from.tags;
  task.parent = from.parent;
  task.cost = from.cost;
}

Put ModelStore::add(const NewTask& from, Line& line, TimePoint now) {
  Record record;
  auto& task = record.task;
  task.id = from.id;
  task.number = TaskNumber{++last_number_};
  task.version = Version{1};
  task.queue = line.queue.settings.name;
  task.created_at = now;
  task.updated_at = now;
  const auto with_keep = with_keep_of_type(from, line.queue.settings);
  give(with_keep ? *with_keep : from, task, now);
  task.state = from.held ? TaskState::created : waiting_state(task.start, now);
  task.after = from.after;
  if (task.after) wait_for(record, task.after->tasks);
  if (!task.waits_for.empty()) task.state = TaskState::created;
  if (task.unique) hold_key(record);
  const Put result{task.id, task.number, task.state, false};
  records_.emplace(result.number.value, std::move(record));
  regroup(line.queue.settings.name, from.group, now);
  return result;
}

// Follow-ups and ticks skip every limit, but their queue must exist and not be removed.
Result<void> ModelStore::check_queue(const QueueRef& queue) {
  const auto* line = line_of(queue);
  if (line == nullptr) return fail(ErrorCode::not_found, "no such queue");
  if (line->queue.removing) return fail(ErrorCode::conflict, "the queue is being removed");
  return {};
}

Result<void> ModelStore::check_size(const QueueSettings& settings, std::size_t bytes) {
  if (bytes <= settings.max_task_size.value_or(limits::mib)) return {};
  return fail(ErrorCode::too_large, "the queue takes less");
}

Result<void> ModelStore::check_follow_ups(const std::vector<NewTask>& tasks, TimePoint now) {
  for (const auto& task : tasks) {
    if (auto valid = validate(task, now); !valid) return valid;
    if (task.after) return fail(ErrorCode::invalid, "it cannot wait", "after");
    if (auto open = check_queue(task.queue); !open) return open;
  }
  return {};
}

Put ModelStore::put_unlimited(const NewTask& task, TimePoint now) {
  auto& line = *line_of(task.queue);
  if (auto existing = in_the_way(task, line, now)) {
    return may_replace(task, *existing) ? replace(task, *existing, now) : *existing;
  }
  return add(task, line, now);
}

// ---- Reading ----------------------------------------------------------------------------------

Result<std::vector<Result<Task>>> ModelStore::find(std::span<const TaskRef> tasks, Parts parts) {
  if (tasks.size() > limits::max_batch) return fail(ErrorCode::invalid, "too many tasks");
  std::vector<Result<Task>> found;
  for (const TaskRef& ref : tasks) {
    const auto* record = record_of(ref);
    if (record == nullptr) {
      found.emplace_back(fail(ErrorCode::not_found, "no such task"));
      continue;
    }
    Task task = record->task;
    if (!parts.payload) task.payload.clear();
    if (!parts.notes) {
      task.result.clear(), task.log.clear(), task.history.clear();
      task.checkpoint.clear(), task.answer.reset();
      task.error.reset(), task.delivery.reset(), task.progress = 0;
    }
    found.emplace_back(std::move(task));
  }
  return found;
}

namespace {

bool contains(const std::vector<TaskId>& ids, const TaskId& id) {
  return std::ranges::find(ids, id) != ids.end();
}

bool wanted(const Task& task, const ListRequest& request) {
  if (request.type && task.type != *request.type) return false;
  if (request.client_id && task.client_id != *request.client_id) return false;
  if (request.group && task.group != *request.group) return false;
  if (request.tag && std::ranges::find(task.tags, *request.tag) == task.tags.end()) return false;
  if (request.priority && task.priority != *request.priority) return false;
  if (request.created_from && task.created_at < *request.created_from) return false;
  return !request.created_until || task.created_at < *request.created_until;
}

}  // namespace

Result<TaskPage> ModelStore::list(const ListRequest& request) {
  if (request.limit < 1 || request.limit > limits::max_page) {
    return fail(ErrorCode::invalid, "limit must be 1 to 1,000");
  }
  std::optional<std::string> queue;
  if (request.queue) {
    const auto* line = line_of(*request.queue);
    if (line == nullptr) return fail(ErrorCode::not_found, "no such queue");
    queue = line->queue.settings.name;
  }
  TaskPage page;
  for (auto entry = records_.rbegin(); entry != records_.rend(); ++entry) {
    const auto& task = entry->second.task;
    if (request.before && task.number >= *request.before) continue;
    if (task.number < request.from) continue;
    if (queue && task.queue != *queue) continue;
    if (request.waits_for &&
        (entry->second.orphan || !contains(task.waits_for, *request.waits_for))) {
      continue;
    }
    if (!request.states.empty() &&
        std::ranges::find(request.states, task.state) == request.states.end()) {
      continue;
    }
    if (page.tasks.size() == request.limit || page.looked_at == limits::max_walk) {
      page.next = TaskNumber{task.number.value + 1};
      break;
    }
    ++page.looked_at;
    if (!wanted(task, request)) continue;
    auto& copy = page.tasks.emplace_back(task);
    if (request.detail == Detail::full) continue;
    copy.payload.clear();
    copy.result.clear();
    copy.log.clear();
    copy.history.clear();
    copy.checkpoint.clear();
    copy.answer.reset();
  }
  return page;
}

Result<std::vector<QueueCounts>> ModelStore::counts(const std::optional<QueueRef>& queue,
                                                    TimePoint now) {
  auto wanted_queues = queues(queue);
  if (!wanted_queues) return std::unexpected(wanted_queues.error());
  std::vector<QueueCounts> all;
  for (const auto& each : *wanted_queues) {
    auto& counts = all.emplace_back();
    counts.queue = each.settings.name;
    counts.number = each.settings.number;
    for (const auto& [number, record] : records_) {
      const auto& task = record.task;
      if (task.queue != counts.queue) continue;
      ++counts.by[static_cast<std::size_t>(task.state)][task.priority];
      if (is_ready(task, now)) {
        counts.oldest = std::min({counts.oldest.value_or(never), task.start, now});
      }
    }
  }
  return all;
}

Result<std::vector<std::string>> ModelStore::ready(TimePoint now) {
  std::vector<std::string> names;
  for (const auto& [name, line] : queues_) {
    const bool any = std::ranges::any_of(records_, [&](const auto& entry) {
      return entry.second.task.queue == name && is_ready(entry.second.task, now);
    });
    if (any) names.push_back(name);
  }
  return names;
}

}  // namespace millrace::test
