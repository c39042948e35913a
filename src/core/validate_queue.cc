#include "core/check.h"
#include "core/limits.h"
#include "core/quote.h"
#include "core/time_text.h"
#include "core/validate.h"

#include <fmt/format.h>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace millrace {
namespace {

Result<void> check_rate(std::string_view what, const std::optional<Rate>& rate) {
  if (!rate) return {};
  const std::string max = fmt::format("{} max", what);
  const std::string per = fmt::format("{} per", what);
  Result<void> ok = check::number({max, "max"}, rate->max, 1, unlimited);
  if (ok) {
    ok = check::duration({per, "per_ms"}, rate->per, limits::min_rate_per, limits::max_rate_per);
  }
  return inside(what, std::move(ok));
}

Result<void> check_limit(std::string_view what, std::uint64_t value) {
  if (value > 0) return {};
  return fail(ErrorCode::invalid,
              fmt::format("{} is 0; allowed are 1 and up, leave it out for unlimited", what),
              std::string(what));
}

Result<void> check_task_size(const std::optional<std::uint32_t>& size) {
  if (!size) return {};
  return check::number("max_task_size", *size, limits::least_task_size, limits::max_payload);
}

Result<void> check_pause(const std::optional<TimePoint>& until) {
  if (!until || *until == never || *until <= last_time) return {};
  return fail(ErrorCode::invalid,
              "paused_until is beyond the year 9999; allowed are moments "
              "before it, and `never` for a pause without an end",
              "paused_until");
}

// What queues, the rules of their groups and single groups have in common.
Result<void> check_amounts(const auto& of) {
  if (of.max_concurrent) {
    if (auto ok = check_limit("max_concurrent", *of.max_concurrent); !ok) return ok;
  }
  if (of.max_depth) {
    if (auto ok = check_limit("max_depth", *of.max_depth); !ok) return ok;
  }
  return check_rate("process_rate", of.process_rate);
}

Result<void> check_weight(std::uint32_t weight) {
  return check::number("weight", weight, 1, limits::max_weight);
}

Result<void> check_groups(const GroupRules& groups) {
  Result<void> ok = check_amounts(groups);
  if (ok) ok = check_weight(groups.weight);
  if (ok && groups.order == GroupOrder::serial && groups.max_concurrent.value_or(1) != 1) {
    ok = fail(ErrorCode::invalid,
              fmt::format("max_concurrent is {}, and the order of the groups is serial: one task "
                          "of a group runs at a time; leave one of the two out",
                          *groups.max_concurrent),
              "max_concurrent");
  }
  return inside("groups", std::move(ok));
}

Result<void> check_flow(const QueueSettings& queue) {
  if (auto ok = check_amounts(queue); !ok) return ok;
  if (auto ok = check_task_size(queue.max_task_size); !ok) return ok;
  if (auto ok = check_rate("put_rate", queue.put_rate); !ok) return ok;
  if (queue.groups) {
    if (auto ok = check_groups(*queue.groups); !ok) return ok;
  }
  return check_pause(queue.paused_until);
}

Result<void> check_order(const QueueSettings& queue) {
  if (auto ok =
          check::number({"queue priority", "priority"}, queue.priority, 0, limits::max_priority);
      !ok) {
    return ok;
  }
  if (queue.weight) {
    if (auto ok = check_weight(*queue.weight); !ok) return ok;
  }
  if (!queue.ageing) return {};
  return check::duration({"ageing", "ageing_ms"}, *queue.ageing, Duration{1}, limits::max_delay);
}

Result<void> check_type(const TypePolicy& policy) {
  if (auto ok = validate_name({"task type", "type"}, policy.type, true); !ok) return ok;
  Result<void> ok = check::timeout(policy.timeout);
  if (ok) ok = check::rules(policy.retry);
  if (ok) ok = check::own_keep("keep_completed", policy.keep_completed);
  if (ok) ok = check::own_keep("keep_dead", policy.keep_dead);
  if (!ok) {
    ok.error().message = fmt::format("type {}: {}", in_quotes(policy.type), ok.error().message);
  }
  return ok;
}

Result<void> check_types(const QueueSettings& queue) {
  if (auto ok =
          check::count({"type policies", "types"}, queue.types.size(), limits::max_type_policies);
      !ok) {
    return ok;
  }
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < queue.types.size(); ++i) {
    const TypePolicy& policy = queue.types[i];
    auto ok = check_type(policy);
    if (ok && !seen.insert(policy.type).second) {
      ok = fail(
          ErrorCode::invalid,
          fmt::format("type {} has two policies; allowed is one per type", in_quotes(policy.type)),
          "type");
    }
    if (!ok) return inside(fmt::format("types[{}]", i), std::move(ok));
  }
  return {};
}

Result<void> check_dead_letters(const QueueSettings& queue) {
  const std::string& to = queue.dead_letter_queue;
  constexpr const char* field = "dead_letter_queue";
  if (to.empty()) return {};
  if (to.starts_with('$')) {
    return fail(ErrorCode::invalid,
                fmt::format("dead letter queue {} is internal; allowed is a queue of your own",
                            in_quotes(to)),
                field);
  }
  if (auto ok = validate_name({"dead letter queue", field}, to, false); !ok) return ok;
  if (to == queue.name) {
    return fail(ErrorCode::invalid,
                fmt::format("queue {} cannot be its own dead letter queue; choose another one",
                            in_quotes(to)),
                field);
  }
  if (queue.dead_letters) return {};
  return fail(ErrorCode::invalid,
              fmt::format("dead letter queue {} is given, and dead_letters is false: no task of "
                          "this queue ends as a dead letter; leave one of the two out",
                          in_quotes(to)),
              field);
}

Result<void> check_keep(std::string_view what, const Keep& keep) {
  if (!keep.for_time) return {};
  return inside(what, check::duration({what, "for_ms"}, *keep.for_time, {}, limits::max_delay));
}

}  // namespace

Result<void> validate(const QueueSettings& queue) {
  if (auto ok = validate_name({"queue name", "name"}, queue.name, true); !ok) return ok;
  if (queue.number) {
    if (auto ok = check::queue_number({"queue number", "number"}, *queue.number); !ok) return ok;
  }
  if (auto ok = check::text("description", queue.description, limits::max_description); !ok) {
    return ok;
  }
  if (auto ok = check_flow(queue); !ok) return ok;
  if (auto ok = check_order(queue); !ok) return ok;
  if (auto ok =
          check::duration({"lease", "lease_ms"}, queue.lease, limits::min_lease, limits::max_lease);
      !ok) {
    return ok;
  }
  if (auto ok = check::timeout(queue.timeout); !ok) return ok;
  if (auto ok = check::number("batch_size", queue.batch_size, 1, limits::max_batch); !ok) return ok;
  if (auto ok = check::rules(queue.retry); !ok) return ok;
  if (auto ok = check_types(queue); !ok) return ok;
  if (auto ok = check_dead_letters(queue); !ok) return ok;
  if (auto ok = check_keep("keep_completed", queue.keep_completed); !ok) return ok;
  return check_keep("keep_dead", queue.keep_dead);
}

namespace {

Result<void> check_group_name(std::string_view name) {
  if (name.empty()) {
    return fail(ErrorCode::invalid,
                "the name of the group is empty: tasks without a group have no limits of their own",
                "group");
  }
  return check::text("group", name, limits::max_label);
}

}  // namespace

Result<void> validate(const PutGroup& change) {
  if (auto ok = check_group_name(change.name); !ok) return ok;
  if (!change.now) return {};
  const GroupOverride& to = *change.now;
  if (auto ok = check_amounts(to); !ok) return ok;
  if (to.weight) {
    if (auto ok = check_weight(*to.weight); !ok) return ok;
  }
  if (auto ok = check_pause(to.paused_until); !ok) return ok;
  if (!to.until || *to.until <= last_time) return {};
  return fail(ErrorCode::invalid,
              "until is beyond the year 9999; leave it out for a change without an end", "until");
}

Result<void> validate(const GroupsRequest& request) {
  if (request.name) {
    if (auto ok = check_group_name(*request.name); !ok) return ok;
  }
  return check::number("limit", request.limit, 1, limits::max_page);
}

}  // namespace millrace
