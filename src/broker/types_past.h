// What happened to the types of a queue, over the whole time that is asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "broker/history.h"

namespace millrace {

// One type, or all of them.
struct TypePast {
  std::string type = {};
  HistoryPoint sum = {};   // its moment is the beginning of the time; nothing waits or runs in it
  std::uint64_t dead = 0;  // of those that failed
};
struct TypesPast {
  static constexpr std::size_t most = 100;

  TypePast all = {};
  std::optional<TimePoint> first = std::nullopt;  // where the earliest minute or hour of it begins
  std::vector<TypePast> types = {};               // the busiest first; the rest is one, `other`
};

}  // namespace millrace
