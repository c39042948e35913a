#include "app/plan.h"

#include <fmt/format.h>
#include <algorithm>
#include <utility>

namespace millrace {
namespace {

template <class T>
void set(T& to, const std::optional<T>& from) {
  if (from) to = *from;
}
template <class T>
void set(std::optional<T>& to, const std::optional<T>& from) {
  if (from) to = from;
}
void set(std::optional<Rate>& to, const Rate& from) {
  if (from.max != 0) to = from;
}

TypePolicy& policy_of(QueueSettings& settings, const std::string& type) {
  const auto found = std::ranges::find(settings.types, type, &TypePolicy::type);
  if (found != settings.types.end()) return *found;
  settings.types.push_back({.type = type});
  return settings.types.back();
}

// A batch holds tasks of one queue, whatever their types.
std::unexpected<Error> batches_have_no_types(const std::string& queue) {
  return fail(
      ErrorCode::conflict,
      fmt::format("queue {} is worked in batches, so its types have no handlers of their own",
                  queue));
}

}  // namespace

Result<void> Plan::set_batch(const std::string& queue) {
  PlannedQueue& planned = queues[queue];
  if (!planned.by_type.empty()) return batches_have_no_types(queue);
  planned.batch = true;
  return {};
}

Result<void> Plan::add(const std::string& queue, const std::string& type, TypeOptions options,
                       HandlerFunction handler) {
  PlannedQueue& planned = queues[queue];
  if (type.empty()) {
    if (planned.any) {
      return fail(ErrorCode::conflict, fmt::format("queue {} has a handler already", queue));
    }
    planned.any = std::move(handler);
    return {};
  }
  if (planned.batch) return batches_have_no_types(queue);
  if (!planned.by_type.try_emplace(type, std::move(handler)).second) {
    return fail(ErrorCode::conflict,
                fmt::format("queue {} has a handler for tasks of type {} already", queue, type));
  }
  planned.types[type] = std::move(options);
  return {};
}

bool Plan::is_critical(const std::string& queue, const std::string& type) const {
  const auto planned = queues.find(queue);
  if (planned == queues.end() || !planned->second.has_handler()) return false;
  const auto own = planned->second.types.find(type);
  return planned->second.options.critical ||
         (own != planned->second.types.end() && own->second.critical);
}

void apply(const PlannedQueue& planned, QueueSettings& settings) {
  const HandlerOptions& options = planned.options;
  set(settings.timeout, options.timeout);
  set(settings.lease, options.lease);
  set(settings.process_rate, options.process_rate);
  set(settings.rate_of, options.rate_of);
  set(settings.put_rate, options.put_rate);
  set(settings.max_concurrent, options.max_concurrent);
  set(settings.max_depth, options.max_depth);
  set(settings.groups, options.groups);
  set(settings.retry, options.retry);
  set(settings.priority, options.priority);
  set(settings.weight, options.weight);
  set(settings.keep_completed, options.keep_completed);
  set(settings.keep_dead, options.keep_dead);
  set(settings.batch_size, options.batch_size);
  for (const auto& [type, own] : planned.types) {
    if (!own.retry && !own.timeout) continue;
    TypePolicy& policy = policy_of(settings, type);
    set(policy.retry, own.retry);
    set(policy.timeout, own.timeout);
  }
}

Applied apply_unless_configured(const PlannedQueue& planned, bool overwrite,
                                QueueSettings& settings) {
  QueueSettings wanted = settings;
  apply(planned, wanted);
  if (wanted == settings) return Applied::nothing;
  const QueueSettings defaults{.name = settings.name, .number = settings.number, .id = settings.id};
  if (!overwrite && settings != defaults) return Applied::none;
  settings = std::move(wanted);
  return Applied::all;
}

void apply(const Schedule& planned, Schedule& stored) {
  stored.rule = planned.rule;
  stored.task = planned.task;
  stored.overlap = planned.overlap;
  stored.missed = planned.missed;
  stored.missed_most = planned.missed_most;
  stored.jitter = planned.jitter;
}

worker::QueueHandlers handlers_of(const PlannedQueue& planned, const QueueSettings& settings) {
  const HandlerOptions& options = planned.options;
  return {.queue = settings.name,
          .concurrency = options.concurrency,
          .prefetch = options.prefetch,
          .batch_size = planned.batch ? settings.batch_size : 1,
          .acknowledge = options.acknowledge,
          .timeout = settings.timeout,
          .grace = options.grace,
          .priority = settings.priority,
          .weight = weight_of(settings),
          .any = planned.any,
          .by_type = planned.by_type,
          .on_completed = options.on_completed,
          .on_failed = options.on_failed,
          .on_requeued = options.on_requeued,
          .on_dead = options.on_dead};
}

}  // namespace millrace
