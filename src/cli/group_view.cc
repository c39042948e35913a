#include "cli/group_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/wire/names.h"
#include "cli/ages.h"
#include "cli/console.h"
#include "cli/display.h"
#include "core/time_text.h"

namespace millrace::cli {
namespace {

// What rules and overrides have in common.
void add_limits(std::vector<std::string>& parts, const auto& of, RateOf rate_of) {
  if (of.max_concurrent) {
    parts.push_back(*of.max_concurrent == unlimited
                        ? std::string("any number may run")
                        : fmt::format("at most {} {}", grouped(*of.max_concurrent),
                                      *of.max_concurrent == 1 ? "runs" : "run"));
  }
  if (of.process_rate) parts.push_back(rate_line(*of.process_rate, rate_of));
  if (of.max_depth) {
    parts.push_back(fmt::format("at most {} {}", grouped(*of.max_depth),
                                *of.max_depth == 1 ? "waits" : "wait"));
  }
}

std::string joined_parts(const std::vector<std::string>& parts) {
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

std::string rate_line(const Rate& rate, RateOf of) {
  return fmt::format("{}{} in {}", of == RateOf::cost ? "a cost of " : "", grouped(rate.max),
                     format_duration(rate.per));
}

std::string override_line(const GroupOverride& override, TimePoint now) {
  std::vector<std::string> parts;
  add_limits(parts, override, RateOf::tasks);
  if (override.weight) parts.push_back(fmt::format("weight {}", *override.weight));
  if (override.paused_until && *override.paused_until > now) {
    parts.push_back(*override.paused_until == never
                        ? std::string("paused")
                        : "paused for " + brief(*override.paused_until - now));
  }
  if (override.until) parts.push_back("ends " + age(*override.until, now));
  return joined_parts(parts);
}

std::string rules_line(const GroupRules& rules) {
  std::vector<std::string> parts;
  parts.emplace_back(wire::names(GroupOrder{})[static_cast<std::size_t>(rules.order)]);
  add_limits(parts, rules, rules.rate_of);
  if (rules.weight != 1) parts.push_back(fmt::format("weight {}", rules.weight));
  if (rules.order == GroupOrder::serial && !rules.retry_holds) {
    parts.emplace_back("retries hold up none");
  }
  return joined_parts(parts);
}

Table groups_table(const std::vector<Group>& groups, TimePoint now) {
  Table table({{"GROUP", false, 10},
               {"WAITING", true},
               {"READY", true},
               {"RUNNING", true},
               {"OLDEST", true},
               {"DIFFERENT", false, 12}});
  for (const Group& each : groups) {
    table.add({printable(each.name), number_cell(each.waiting), number_cell(each.ready),
               number_cell(each.running, Paint::busy),
               each.oldest ? brief(now - *each.oldest) : "-",
               Cell(each.override ? override_line(*each.override, now) : "-",
                    each.override ? Paint::warning : Paint::faint)});
  }
  return table;
}

Sheet sheet_of(const Group& group, TimePoint now) {
  Sheet sheet;
  sheet.add("group", printable(group.name));
  sheet.add("queue", group.queue);
  sheet.add("waiting", number_cell(group.waiting));
  sheet.add("ready", number_cell(group.ready));
  sheet.add("running", number_cell(group.running, Paint::busy));
  if (group.oldest) sheet.add("oldest ready", age(*group.oldest, now));
  if (group.room_at && *group.room_at > now) sheet.add("room again", age(*group.room_at, now));
  if (group.first) sheet.add("next task", fmt::to_string(group.first->value));
  sheet.add("different", group.override ? override_line(*group.override, now) : "nothing");
  return sheet;
}

}  // namespace millrace::cli
