// The gates of the group of a task.
#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "broker/explain.h"
#include "broker/explain_words.h"
#include "core/group_rules.h"

namespace millrace {
namespace {

std::string its_name(const Group& group) {
  return fmt::format("Its group \"{}\"", group.name);
}

std::optional<ClosedGate> shut_by_pause(const Group& group, const GroupLimits& limits,
                                        TimePoint now) {
  if (!limits.is_paused(now)) return std::nullopt;
  const TimePoint until = *limits.paused_until;
  if (until == never) {
    return ClosedGate{Gate::group_paused,
                      fmt::format("{} is paused until it is resumed.", its_name(group))};
  }
  return ClosedGate{Gate::group_paused,
                    fmt::format("{} is paused until {}.", its_name(group), moment_text(until, now)),
                    until};
}

std::optional<ClosedGate> shut_by_order(const Group& group, const Task& task) {
  if (group.running != 0) {
    return ClosedGate{
        Gate::group_serial,
        fmt::format("{} runs one task at a time, and one is running; {} of its tasks {}.",
                    its_name(group), number_text(group.waiting),
                    group.waiting == 1 ? "waits" : "wait")};
  }
  if (!group.first || *group.first == task.number) return std::nullopt;
  return ClosedGate{Gate::group_serial,
                    fmt::format("{} runs its tasks in the order in which they were put, and task "
                                "number {} comes before this one.",
                                its_name(group), group.first->value)};
}

std::optional<ClosedGate> shut_by_concurrency(const Group& group, const GroupLimits& limits) {
  if (!limits.max_concurrent || group.running < *limits.max_concurrent) return std::nullopt;
  return ClosedGate{Gate::group_concurrency,
                    fmt::format("{} runs {} of {} tasks; {} of its tasks {}.", its_name(group),
                                number_text(group.running), number_text(*limits.max_concurrent),
                                number_text(group.waiting), group.waiting == 1 ? "waits" : "wait")};
}

std::optional<ClosedGate> shut_by_rate(const Group& group, const GroupLimits& limits, RateOf of,
                                       TimePoint now) {
  if (!limits.process_rate || !group.room_at || *group.room_at <= now) return std::nullopt;
  const Rate& rate = *limits.process_rate;
  const std::string per = format_duration(rate.per);
  const std::string in = about(*group.room_at - now);
  return ClosedGate{
      Gate::group_rate,
      of == RateOf::cost
          ? fmt::format("{} may use a cost of {} in {}, and too little is left for "
                        "its next task; there is room in {}.",
                        its_name(group), number_text(rate.max), per, in)
          : fmt::format("{} may start {} {} in {} and has; more may start in {}.", its_name(group),
                        number_text(rate.max), rate.max == 1 ? "task" : "tasks", per, in),
      group.room_at};
}

}  // namespace

std::optional<ClosedGate> closed_by_group(const ExplainFacts& facts) {
  const auto& rules = facts.queue.settings.groups;
  if (!facts.group || !rules) return std::nullopt;
  const Group& group = *facts.group;
  const bool differs = group.override && counts(*group.override, facts.now);
  const GroupLimits limits = limits_of(*rules, differs ? &*group.override : nullptr);
  auto closed = shut_by_pause(group, limits, facts.now);
  if (!closed && rules->order == GroupOrder::serial) closed = shut_by_order(group, facts.task);
  if (!closed) closed = shut_by_concurrency(group, limits);
  if (!closed) closed = shut_by_rate(group, limits, rules->rate_of, facts.now);
  return closed;
}

}  // namespace millrace
