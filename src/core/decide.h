// What becomes of a task when its run or its wait ends: pure decisions, made by the broker.
//
// Each returns a settlement without follow-ups (the broker adds webhooks and alerts), with error
// texts cut to core/limits.h and `failed_at` = now.
#pragma once

#include <millrace/ids.h>
#include <millrace/queue.h>
#include <millrace/retry.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <millrace/work.h>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/values.h"

namespace millrace {

// A handler ended. `random` in [0, 1) picks the point inside the policy's jitter.
//
//   Done      done, counters as they are.
//   Failed    final if the handler says so, or if it says nothing and the policy does: fail.
//             Else retry after the policy's delay, charged; with no budget left: exhaust.
//   RetryAt   retry at the moment given, charged; with no budget left: exhaust.
//   Snooze    delayed until the moment given; counts as an attempt, not as a failure.
//   Park      created until it is released, or until the moment given; counts as Snooze does.
//   GiveBack  back to its old place, counters as they are.
//   Cancel    cancelled, with the reason.
//
// A moment in the past is now; one beyond limits::max_delay is cut to it. In a queue without dead
// letters every failure is retried: only the handler ends a task (by Done or Cancel).
Settlement decide(const Lease& lease, const Outcome& outcome, const QueueSettings& queue,
                  const RetryPolicy& server, TimePoint now, double random);

// A lease ended at `until` without its holder: back to the queue, ready now, unless a cancel was
// requested (cancelled) or it was lost more often than max_lost (exhaust, code `worker_lost`).
// Holds only if the lease was not extended meanwhile.
Settlement decide_lost(const Lease& lease, TimePoint until, bool cancel_requested,
                       const QueueSettings& queue, const RetryPolicy& server, TimePoint now);

// A waiting task's start_by passed: cancelled, code `expired`. Holds only if the task is still the
// one of `version`; `counters` are the task's, which stay.
Settlement decide_expired(TaskId id, Version version, TimePoint now, const Counters& counters = {});

// A task that it waited for ended otherwise than it must: cancelled, code `parent_ended`.
Settlement decide_orphaned(TaskId id, Version version, const EndedParent& parent, TimePoint now,
                           const Counters& counters = {});

// The store answered `cancel_requested` to `refused`: cancelled instead, under the same
// expectation. The outcome of the run goes into the error's details.
Settlement decide_cancelled(const Settlement& refused, TimePoint now);

// The queue's policy for tasks of this type; null if it has none.
const TypePolicy* type_policy(const QueueSettings& queue, std::string_view type);

// How long a run may take: the value of the task, else of its type, else of the queue; nullopt: as
// long as its lease is extended.
std::optional<Duration> timeout_of(std::optional<Duration> task, std::string_view type,
                                   const QueueSettings& queue);

// How often a lease may be lost: the value of the task, else of its type, else of the queue, else
// 3; `unlimited` if `max_retries` of the resolved policy is unlimited.
std::uint32_t max_lost_of(std::optional<std::uint32_t> task, std::string_view type,
                          const QueueSettings& queue, std::uint32_t max_retries);

}  // namespace millrace
