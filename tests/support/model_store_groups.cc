// Groups of a queue: what each may do, whose turn it is, and what tasks cost.
#include <algorithm>
#include <set>

#include "core/limits.h"
#include "core/transition.h"
#include "core/validate.h"
#include "tests/support/model_store.h"

namespace millrace::test {

namespace {

bool is_unfinished(TaskState state) {
  return !is_final(state);
}

bool is_running(TaskState state) {
  return state == TaskState::processing;
}

// In the strict order of a group: a task that the next ones do not wait for.
bool is_passed_over(const Task& task, const GroupRules& rules, bool due) {
  const bool has_run = task.counters.deliveries != 0;
  if (task.state == TaskState::created && !has_run) return true;
  return !rules.retry_holds && has_run && !due;
}

std::uint32_t amount(RateOf counts, const Task& task) {
  return counts == RateOf::cost ? task.cost : 1;
}

}  // namespace

// ---- What holds for a group -------------------------------------------------------------------

std::size_t ModelStore::count(const std::string& queue, const std::string& group,
                              bool (*wanted)(TaskState)) const {
  return static_cast<std::size_t>(std::ranges::count_if(records_, [&](const auto& entry) {
    const auto& task = entry.second.task;
    return task.queue == queue && task.group == group && wanted(task.state);
  }));
}

// An override that has ended is as good as none.
std::optional<GroupOverride> ModelStore::override_of(const Line& line, const std::string& group,
                                                     TimePoint now) {
  const auto found = line.overrides.find(group);
  if (found == line.overrides.end() || !millrace::counts(found->second, now)) return std::nullopt;
  return found->second;
}

// REQUIRES: the queue has rules for groups.
GroupLimits ModelStore::limits_of(const Line& line, const std::string& group, TimePoint now) {
  const auto& rules = *line.queue.settings.groups;
  if (group.empty()) return limits_of_ungrouped(rules);
  const auto override = override_of(line, group, now);
  return millrace::limits_of(rules, override ? &*override : nullptr);
}

Result<void> ModelStore::check_group_depth(const Line& line, const NewTask& task,
                                           TimePoint now) const {
  const auto& settings = line.queue.settings;
  if (!settings.groups) return {};
  const auto most = limits_of(line, task.group, now).max_depth;
  if (!most || count(settings.name, task.group, is_waiting) < *most) return {};
  return std::unexpected(Error{ErrorCode::limited, "the group is full", Duration(1000)});
}

// ---- Turns ------------------------------------------------------------------------------------

// Tasks of the group have come or gone: it has a turn while it has any that wait or run.
void ModelStore::regroup(const std::string& queue, const std::string& group, TimePoint now) {
  auto& line = queues_.at(queue);
  if (count(queue, group, is_unfinished) == 0) {
    line.turns.erase(group);
  } else if (!line.turns.contains(group)) {
    const bool grouped = line.queue.settings.groups.has_value();
    const auto weight = grouped ? limits_of(line, group, now).weight : 1;
    line.turns[group] = line.turn + turn_of_weight(weight);
  }
}

void ModelStore::change_rules(Line& line, const std::optional<GroupRules>& to) {
  const auto& from = line.queue.settings.groups;
  if (from.has_value() != to.has_value() || (from && from->order != to->order)) {
    line.turn = 0;
    for (auto& [group, turn] : line.turns) turn = 0;
  }
  if (!to) {
    line.overrides.clear();
    line.group_takes.clear();
  }
}

// ---- The next task ----------------------------------------------------------------------------

std::int64_t ModelStore::effective_priority(const QueueSettings& settings, const Task& task,
                                            TimePoint now) {
  std::int64_t priority = task.priority;
  if (settings.ageing && now > task.start) priority += (now - task.start) / *settings.ageing;
  return std::min<std::int64_t>(priority, limits::max_priority);
}

// The first task that may be taken, of the queue or of one of its groups.
ModelStore::Record* ModelStore::first(const Line& line, const std::string* group, TimePoint now) {
  const auto& settings = line.queue.settings;
  Record* found = nullptr;
  for (auto& [number, record] : records_) {
    const auto& task = record.task;
    if (task.queue != settings.name || !takeable(task, now)) continue;
    if (group != nullptr && task.group != *group) continue;
    if (found != nullptr) {
      const auto mine = effective_priority(settings, task, now);
      const auto other = effective_priority(settings, found->task, now);
      if (mine < other || (mine == other && task.start >= found->task.start)) continue;
    }
    found = &record;
  }
  return found;
}

// In strict order: that with the lowest number, which may have to wait.
ModelStore::Record* ModelStore::first_in_strict_order(const Line& line, const std::string& group,
                                                      TimePoint now) {
  for (auto& [number, record] : records_) {
    const auto& task = record.task;
    if (task.queue != line.queue.settings.name || task.group != group) continue;
    if (!is_waiting(task.state)) continue;
    if (is_passed_over(task, *line.queue.settings.groups, is_ready(task, now))) continue;
    return &record;
  }
  return nullptr;
}

ModelStore::Record* ModelStore::stands_for(const Line& line, const std::string& group,
                                           TimePoint now) {
  const bool strict = line.queue.settings.groups->order == GroupOrder::serial && !group.empty();
  if (!strict) return first(line, &group, now);
  auto* record = first_in_strict_order(line, group, now);
  return record != nullptr && takeable(record->task, now) ? record : nullptr;
}

// When the rate of a group has room for a task of cost 1; null if it has now, or none waits for
// that.
std::optional<TimePoint> ModelStore::room_at(const Line& line, const std::string& group,
                                             TimePoint now) {
  const auto rate = limits_of(line, group, now).process_rate;
  const auto* record = stands_for(line, group, now);
  const auto used = line.group_takes.find(group);
  if (!rate || record == nullptr || used == line.group_takes.end()) return std::nullopt;
  if (used->second.fits(*rate, now, 1)) return std::nullopt;
  return later(now, used->second.retry_after(*rate, now, 1));
}

// The task that stands for the group; null if it has none, or no room.
ModelStore::Record* ModelStore::next_of(const Line& line, const std::string& group, TimePoint now) {
  const auto& rules = *line.queue.settings.groups;
  const auto allowed = limits_of(line, group, now);
  if (allowed.is_paused(now)) return nullptr;
  if (allowed.max_concurrent &&
      count(line.queue.settings.name, group, is_running) >= *allowed.max_concurrent) {
    return nullptr;
  }
  auto* record = stands_for(line, group, now);
  if (record == nullptr || !allowed.process_rate) return record;
  const auto used = line.group_takes.find(group);
  const RateWindow window = used == line.group_takes.end() ? RateWindow{} : used->second;
  const auto needs = amount(rules.rate_of, record->task);
  return window.fits(*allowed.process_rate, now, needs) ? record : nullptr;
}

ModelStore::Record* ModelStore::best(const Line& line, TimePoint now) {
  const auto& settings = line.queue.settings;
  if (!settings.groups) return first(line, nullptr, now);
  Record* found = nullptr;
  const auto place = [&](const Record& record) {
    const auto& task = record.task;
    const bool fair = settings.groups->order == GroupOrder::fair;
    return std::tuple(-effective_priority(settings, task, now),
                      fair ? line.turns.at(task.group) : 0, task.start, task.number);
  };
  for (const auto& [group, turn] : line.turns) {
    auto* record = next_of(line, group, now);
    if (record != nullptr && (found == nullptr || place(*record) < place(*found))) found = record;
  }
  return found;
}

// ---- What a task counts for -------------------------------------------------------------------

bool ModelStore::fits_rate(const Line& line, const Task& task, TimePoint now) {
  const auto& settings = line.queue.settings;
  if (!settings.process_rate) return true;
  return line.takes.fits(*settings.process_rate, now, amount(settings.rate_of, task));
}

// The task is taken: its queue and its group have used some of their rates, and the group its turn.
void ModelStore::charge(Line& line, const Task& task, TimePoint now) {
  const auto& settings = line.queue.settings;
  if (settings.process_rate) {
    line.takes.add(*settings.process_rate, now, amount(settings.rate_of, task));
  }
  if (!settings.groups) return;
  const auto allowed = limits_of(line, task.group, now);
  if (allowed.process_rate) {
    line.group_takes[task.group].add(*allowed.process_rate, now,
                                     amount(settings.groups->rate_of, task));
  }
  if (settings.groups->order != GroupOrder::fair) return;
  auto& turn = line.turns.at(task.group);
  line.turn = std::max(line.turn, turn);
  turn = line.turn + turn_of_weight(allowed.weight);
}

// What the run has really cost.
void ModelStore::correct(Line& line, const Task& task, std::uint32_t cost, TimePoint now) {
  const auto& settings = line.queue.settings;
  const TimePoint then = *task.started_at;
  if (settings.process_rate && settings.rate_of == RateOf::cost) {
    line.takes.correct(*settings.process_rate, then, now, task.cost, cost);
  }
  if (!settings.groups || settings.groups->rate_of != RateOf::cost) return;
  const auto allowed = limits_of(line, task.group, now);
  if (!allowed.process_rate) return;
  line.group_takes[task.group].correct(*allowed.process_rate, then, now, task.cost, cost);
}

// ---- Verbs ------------------------------------------------------------------------------------

Group ModelStore::as_it_is(const Line& line, const std::string& name, TimePoint now) {
  const auto& queue = line.queue.settings.name;
  Group group{.queue = queue,
              .name = name,
              .waiting = count(queue, name, is_waiting),
              .running = count(queue, name, is_running),
              .override = override_of(line, name, now)};
  const auto& rules = line.queue.settings.groups;
  const bool strict = rules && rules->order == GroupOrder::serial && !name.empty();
  const auto* stands = strict ? stands_for(line, name, now) : nullptr;
  const auto* must_start = strict ? first_in_strict_order(line, name, now) : nullptr;
  if (must_start != nullptr) group.first = must_start->task.number;
  if (rules) group.room_at = room_at(line, name, now);
  for (const auto& [number, record] : records_) {
    const auto& task = record.task;
    if (task.queue != queue || task.group != name) continue;
    if (task.state == TaskState::queued) ++group.ready;
    if (rules && takeable(task, now) && (!strict || &record == stands)) {
      group.oldest = std::min({group.oldest.value_or(never), task.start, now});
    }
  }
  return group;
}

Result<Group> ModelStore::put_group(const PutGroup& change, TimePoint now) {
  if (auto valid = validate(change); !valid) return std::unexpected(valid.error());
  auto* line = line_of(change.queue);
  if (line == nullptr) return fail(ErrorCode::not_found, "no such queue");
  if (!line->queue.settings.groups) {
    return fail(ErrorCode::conflict, "the queue has no rules for groups");
  }
  if (override_of(*line, change.name, now) != change.seen) {
    return fail(ErrorCode::conflict, "the group is not as it was");
  }
  auto& all = line->overrides;
  if (!change.now || !millrace::counts(*change.now, now)) {
    all.erase(change.name);
    return as_it_is(*line, change.name, now);
  }
  const auto others = std::ranges::count_if(all, [&](const auto& entry) {
    return entry.first != change.name && millrace::counts(entry.second, now);
  });
  if (static_cast<std::size_t>(others) >= limits::max_group_overrides) {
    return fail(ErrorCode::conflict, "too many groups do something differently");
  }
  all[change.name] = *change.now;
  return as_it_is(*line, change.name, now);
}

Result<GroupPage> ModelStore::groups(const GroupsRequest& request, TimePoint now) {
  if (auto valid = validate(request); !valid) return std::unexpected(valid.error());
  const auto* line = line_of(request.queue);
  if (line == nullptr) return fail(ErrorCode::not_found, "no such queue");
  if (request.name) return GroupPage{.groups = {as_it_is(*line, *request.name, now)}};
  std::set<std::string> names;
  for (const auto& [name, turn] : line->turns) names.insert(name);
  for (const auto& [name, override] : line->overrides) {
    if (millrace::counts(override, now)) names.insert(name);
  }
  GroupPage page;
  for (const auto& name : names) {
    if (name.empty() || name <= request.after) continue;
    if (page.groups.size() == request.limit) {
      page.next = page.groups.back().name;
      break;
    }
    page.groups.push_back(as_it_is(*line, name, now));
  }
  return page;
}

}  // namespace millrace::test
