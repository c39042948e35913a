#include "core/decide.h"

#include "core/classify.h"
#include "core/clip.h"
#include "core/limits.h"
#include "core/retry.h"
#include "core/transition.h"
#include "core/uuid.h"

#include <fmt/format.h>
#include <algorithm>
#include <string>
#include <utility>

namespace millrace {
namespace {

// Counters stop at their greatest value rather than wrap around to zero.
std::uint32_t one_more(std::uint32_t count) {
  return count == std::numeric_limits<std::uint32_t>::max() ? count : count + 1;
}

TaskError fitted(TaskError error, TimePoint now) {
  if (error.code.empty()) error.code = TaskError{}.code;
  error.code = clip(std::move(error.code), limits::max_error_code);
  error.message = clip(std::move(error.message), limits::max_error_text);
  error.details = clip(std::move(error.details), limits::max_error_text);
  error.stack = clip(std::move(error.stack), limits::max_error_text);
  error.failed_at = now;
  return error;
}

TimePoint within_reach(TimePoint moment, TimePoint now) {
  return std::clamp(moment, now, later(now, limits::max_delay));
}

RetryPolicy policy_of(const Lease& lease, const QueueSettings& queue, const RetryPolicy& server) {
  const TypePolicy* type = type_policy(queue, lease.type);
  return resolve(server, queue.retry, type != nullptr ? &type->retry : nullptr,
                 lease.retry ? &*lease.retry : nullptr);
}

// Fills in the rest of a holder's settlement; one overload per outcome.
struct Decision {
  const Lease& lease;
  const QueueSettings& queue;
  const RetryPolicy& server;
  TimePoint now;
  double random;

  Settlement operator()(const Done& done) const {
    Settlement s = settle(Event::done);
    s.result = done.result;
    return s;
  }

  Settlement operator()(const Failed& failed) const {
    const RetryPolicy policy = policy_of(lease, queue, server);
    const bool again = failed.retryable.value_or(is_retryable(policy, failed.error));
    if (!again && queue.dead_letters) return settle(Event::fail, failed.error);
    const Duration delay = retry_delay(policy, lease.counters.retries, random);
    return charge(policy, later(now, delay), failed.error);
  }

  Settlement operator()(const RetryAt& retry) const {
    return charge(policy_of(lease, queue, server), within_reach(retry.at, now), retry.error);
  }

  Settlement operator()(const Snooze& snooze) const {
    Settlement s = settle(Event::snooze);
    s.ready = within_reach(snooze.until, now);
    s.counters.attempts = one_more(s.counters.attempts);
    return s;
  }

  Settlement operator()(const Park& park) const {
    Settlement s = settle(Event::park);
    s.ready = park.until == never ? never : within_reach(park.until, now);
    s.counters.attempts = one_more(s.counters.attempts);
    return s;
  }

  Settlement operator()(const Cancel& cancel) const {
    return settle(Event::cancel, {.code = "cancelled", .message = cancel.reason});
  }

  Settlement operator()(const GiveBack&) const { return settle(Event::give_back); }

 private:
  Settlement settle(Event event) const {
    return {.id = lease.id,
            .expect = Held{lease.token},
            .event = event,
            .ready = lease.start,
            .counters = lease.counters};
  }

  Settlement settle(Event event, const TaskError& error) const {
    Settlement s = settle(event);
    s.error = fitted(error, now);
    return s;
  }

  // A retryable failure costs one retry of the budget, or ends the task if none is left.
  Settlement charge(const RetryPolicy& policy, TimePoint ready, const TaskError& error) const {
    const bool spent =
        policy.max_retries != unlimited && lease.counters.retries >= policy.max_retries;
    if (spent && queue.dead_letters) return settle(Event::exhaust, error);
    Settlement s = settle(Event::retry, error);
    s.ready = ready;
    s.counters.attempts = one_more(s.counters.attempts);
    s.counters.retries = one_more(s.counters.retries);
    return s;
  }
};

std::string ended_with(const Settlement& settlement) {
  std::string text = fmt::format("the run ended with {}", name_of(settlement.event));
  if (settlement.error) {
    text += fmt::format(": {}: {}", settlement.error->code, settlement.error->message);
  }
  return text;
}

}  // namespace

Settlement decide(const Lease& lease, const Outcome& outcome, const QueueSettings& queue,
                  const RetryPolicy& server, TimePoint now, double random) {
  return std::visit(Decision{lease, queue, server, now, random}, outcome);
}

Settlement decide_lost(const Lease& lease, TimePoint until, bool cancel_requested,
                       const QueueSettings& queue, const RetryPolicy& server, TimePoint now) {
  Settlement s{.id = lease.id,
               .expect = Lost{.token = lease.token, .until = until},
               .event = Event::lose,
               .ready = now,
               .counters = lease.counters};
  s.counters.lost = one_more(s.counters.lost);
  if (cancel_requested) {
    s.event = Event::cancel;
    s.error = fitted({.code = "cancelled", .message = "cancelled while it was running"}, now);
    return s;
  }
  const std::uint32_t most =
      max_lost_of(lease.max_lost, lease.type, queue, policy_of(lease, queue, server).max_retries);
  if (queue.dead_letters && s.counters.lost > most) {  // never more than `unlimited`
    s.event = Event::exhaust;
    s.error = fitted({.code = "worker_lost",
                      .message = fmt::format("its worker was lost {} times; {} are allowed",
                                             s.counters.lost, most)},
                     now);
    return s;
  }
  s.counters.attempts = one_more(s.counters.attempts);
  return s;
}

Settlement decide_expired(TaskId id, Version version, TimePoint now, const Counters& counters) {
  return {.id = id,
          .expect = Unchanged{version},
          .event = Event::expire,
          .ready = now,
          .counters = counters,
          .error = fitted({.code = "expired", .message = "not started in time"}, now)};
}

Settlement decide_orphaned(TaskId id, Version version, const EndedParent& parent, TimePoint now,
                           const Counters& counters) {
  return {.id = id,
          .expect = Unchanged{version},
          .event = Event::cancel,
          .ready = now,
          .counters = counters,
          .error = fitted({.code = "parent_ended",
                           .message = fmt::format("task {}, which it waited for, is {}",
                                                  to_text(parent.id.value), name_of(parent.state))},
                          now)};
}

Settlement decide_cancelled(const Settlement& refused, TimePoint now) {
  // The task does not return after all, so the charge for its return is taken back.
  Counters counters = refused.counters;
  const bool returns = refused.event == Event::retry || refused.event == Event::snooze ||
                       refused.event == Event::park || refused.event == Event::lose;
  if (returns && counters.attempts > 0) --counters.attempts;
  if (refused.event == Event::retry && counters.retries > 0) --counters.retries;
  return {.id = refused.id,
          .expect = refused.expect,
          .event = Event::cancel,
          .ready = now,
          .counters = counters,
          .error = fitted({.code = "cancelled",
                           .message = "cancelled while it was running",
                           .details = ended_with(refused)},
                          now),
          .cost = refused.cost};
}

const TypePolicy* type_policy(const QueueSettings& queue, std::string_view type) {
  const auto found = std::ranges::find(queue.types, type, &TypePolicy::type);
  return found == queue.types.end() ? nullptr : &*found;
}

std::optional<Duration> timeout_of(std::optional<Duration> task, std::string_view type,
                                   const QueueSettings& queue) {
  if (task) return task;
  const TypePolicy* policy = type_policy(queue, type);
  return policy != nullptr && policy->timeout ? policy->timeout : queue.timeout;
}

std::uint32_t max_lost_of(std::optional<std::uint32_t> task, std::string_view type,
                          const QueueSettings& queue, std::uint32_t max_retries) {
  if (task) return *task;
  const TypePolicy* policy = type_policy(queue, type);
  if (policy != nullptr && policy->max_lost) return *policy->max_lost;
  const std::uint32_t fallback = max_retries == unlimited ? unlimited : limits::default_max_lost;
  return queue.max_lost.value_or(fallback);
}

}  // namespace millrace
