// Why a task is not running, in a sentence, from counters and settings and never from a scan.
#pragma once

#include <millrace/queue.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "broker/broker.h"
#include "core/rate_window.h"

namespace millrace {

struct ExplainFacts {
  const Task& task;
  const Queue& queue;
  const QueueCounts& counts;
  const QueueStats& stats;
  const RateWindow& takes;  // of the queue, as seen by this broker
  TimePoint now;
  // The first of the tasks that it waits for; nullopt: not there.
  std::vector<std::pair<TaskId, std::optional<TaskState>>> parents = {};
  // Of the task, if its queue has rules for groups.
  std::optional<Group> group = std::nullopt;
};

// How many of those are named.
inline constexpr std::size_t named_parents = 3;

// The first gate that is closed: those of the task, of its queue, of its group, then the rest.
Explanation explain(const ExplainFacts& facts);

struct ClosedGate {
  Gate gate = Gate::next;
  std::string sentence = {};
  std::optional<TimePoint> until = std::nullopt;
};

// The first closed gate of the group of the task (explain_group.cc).
std::optional<ClosedGate> closed_by_group(const ExplainFacts& facts);

}  // namespace millrace
