// Groups on a terminal.
#pragma once

#include <millrace/queue.h>
#include <millrace/time.h>
#include <string>
#include <vector>

#include "cli/table.h"
#include "core/values.h"

namespace millrace::cli {

// "100 in 1m", and what is counted if that is not tasks.
std::string rate_line(const Rate& rate, RateOf of = RateOf::tasks);
// What a group does differently: "at most 3 run, paused for 10m, ends in 2h".
std::string override_line(const GroupOverride& override, TimePoint now);
// Rules for groups: "fair, at most 2 run".
std::string rules_line(const GroupRules& rules);

Table groups_table(const std::vector<Group>& groups, TimePoint now);
Sheet sheet_of(const Group& group, TimePoint now);

}  // namespace millrace::cli
