// What must hold for the groups of any store.
#include <fmt/format.h>
#include <algorithm>
#include <array>

#include "core/group_rules.h"
#include "core/transition.h"
#include "store/store.h"
#include "tests/random/describe.h"
#include "tests/random/witness.h"
#include "tests/support/print.h"

namespace millrace::test {

// ---- After a take -----------------------------------------------------------------------------

// None of a group that is paused, and no more at once than it may run.
void Witness::check_groups(const std::vector<Lease>& leases, const QueueSettings& settings,
                           TimePoint now) {
  if (!settings.groups) return;
  std::set<std::string> names;
  for (const auto& lease : leases) {
    if (lease.group.empty() || !names.insert(lease.group).second) continue;
    if (settings.groups->order != GroupOrder::serial) continue;
    check_strict_order(lease, *settings.groups, now);
  }
  for (const auto& name : names) {
    const auto page = side_->store().groups({.queue = settings.name, .name = name}, now);
    if (!page) continue;
    const auto& group = page->groups.front();
    const auto allowed = limits_of(*settings.groups, group.override ? &*group.override : nullptr);
    if (allowed.is_paused(now))
      complain("a task of group " + name + " was taken while it is paused");
    if (allowed.max_concurrent && group.running > *allowed.max_concurrent) {
      complain(fmt::format("group {} of {} runs {} tasks, and {} are allowed", name, settings.name,
                           group.running, *allowed.max_concurrent));
    }
  }
}

// No task of a group was put before one that is taken, and waits to go first.
void Witness::check_strict_order(const Lease& lease, const GroupRules& rules, TimePoint now) {
  ListRequest request{.queue = lease.queue, .group = lease.group, .limit = 1000};
  const auto number = side_->number_of(lease.id);
  do {
    const auto page = side_->store().list(request);
    if (!page) return;
    for (const auto& task : page->tasks) {
      if (!is_waiting(task.state) || task.number > number) continue;
      const bool has_run = task.counters.deliveries != 0;
      if (task.state == TaskState::created && !has_run) continue;
      const bool due = task.state == TaskState::queued ||
                       (task.state != TaskState::created && task.start <= now);
      if (has_run && !rules.retry_holds && !due) continue;
      complain(fmt::format("a task of group {} was taken before number {}, which was put before it",
                           lease.group, task.number.value));
    }
    request.before = page->next;
  } while (request.before);
}

// ---- What one group does differently ----------------------------------------------------------

// Overrides end with the rules.
void Witness::saw_rules(const Answer& answer) {
  const auto* queue = answer.empty() ? nullptr : std::get_if<Queue>(&answer.front());
  if (queue == nullptr || queue->settings.groups) return;
  std::erase_if(overrides_,
                [&](const auto& entry) { return entry.first.first == queue->settings.name; });
}

void Witness::saw_override(const PutGroupStep& step, const Answer& answer) {
  const auto* group = answer.empty() ? nullptr : std::get_if<Group>(&answer.front());
  if (group == nullptr) return;
  if (group->override != step.change.now && group->override) {
    complain("group " + group->name + " was given another override than was put");
  }
  const auto queue = side_->store().queues(QueueRef(group->queue));
  if (!queue) return;
  const std::pair key(group->queue, group->name);
  overrides_.erase(key);
  if (group->override) overrides_[key] = {*group->override, queue->front().created_at};
}

// What was acknowledged is there until it ends, over crashes, too; and nothing else is.
void Witness::check_overrides(const Answer& answer) {
  std::map<std::string, TimePoint> queues;
  std::map<std::pair<std::string, std::string>, GroupOverride> got;
  for (const auto& item : answer) {
    if (const auto* queue = std::get_if<Queue>(&item)) {
      queues[queue->settings.name] = queue->created_at;
    }
    const auto* group = std::get_if<Group>(&item);
    if (group != nullptr && group->override) got[{group->queue, group->name}] = *group->override;
  }
  std::erase_if(overrides_, [&](const auto& entry) {
    const auto queue = queues.find(entry.first.first);
    return queue == queues.end() || queue->second != entry.second.queue_created_at;
  });
  for (const auto& [key, stored] : got) {
    const auto known = overrides_.find(key);
    if (known != overrides_.end() && known->second.override == stored) continue;
    complain(fmt::format("group {} of {} does something differently that was not put", key.second,
                         key.first));
  }
  for (const auto& [key, known] : overrides_) {
    // After a clock that was set back, the store may have forgotten one that had ended.
    if (!counts(known.override, latest_) || got.contains(key)) continue;
    complain(fmt::format("what group {} of {} does differently is gone", key.second, key.first));
  }
}

// ---- After a look at everything ---------------------------------------------------------------

void Witness::recount_groups(const std::map<TaskId, Task>& tasks, const Answer& answer) {
  for (const auto& item : answer) {
    const auto* group = std::get_if<Group>(&item);
    if (group == nullptr) continue;
    std::array<std::uint64_t, 3> counted = {};  // waiting, ready, running
    for (const auto& [id, task] : tasks) {
      if (task.queue != group->queue || task.group != group->name) continue;
      if (is_waiting(task.state)) ++counted[0];
      if (task.state == TaskState::queued) ++counted[1];
      if (task.state == TaskState::processing) ++counted[2];
    }
    if (counted != std::array{group->waiting, group->ready, group->running}) {
      complain(fmt::format("the counters of group {} of {} are not a recount", group->name,
                           group->queue));
    }
  }
}

}  // namespace millrace::test
