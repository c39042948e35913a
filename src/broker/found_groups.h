// Dead letters by what they died of, as a walk (dead_walk.h) counts them and clients read them.
#pragma once

#include <millrace/ids.h>
#include <millrace/time.h>
#include <cstdint>
#include <string>
#include <vector>

#include "core/values.h"

namespace millrace {

struct DeadSample {
  TaskId id = {};
  TaskNumber number = {};
  std::string message = {};  // its own, cut
  TimePoint failed_at{};
};

struct DeadGroup {
  std::string key = {};  // names the group in the filter of a bulk operation
  std::string queue = {};
  std::string type = {};
  std::string code = {};
  std::string message = {};  // what their messages have in common
  std::uint64_t count = 0;
  TimePoint first_at{};
  TimePoint last_at{};
  std::vector<DeadSample> samples = {};  // the newest
};

struct FoundGroups {
  std::vector<DeadGroup> groups = {};  // the largest, largest first
  std::uint64_t more = 0;              // groups that are not among them
  std::uint64_t looked_at = 0;
  std::uint64_t total = 0;  // dead letters there are, of whatever type
  bool complete = true;     // false: there are older ones, so counts are "at least"
  TimePoint as_of{};
};

}  // namespace millrace
