// What happened to the types of a queue, over all the time that is asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "broker/history.h"

namespace millrace {

// Of one type, or of all.
struct TypePast {
  std::string type = {};
  HistoryPoint sum = {};   // its moment is where the time begins; nothing waits or runs in it
  std::uint64_t dead = 0;  // of those that failed
};
struct TypesPast {
  static constexpr std::size_t most = 100;

  TypePast all = {};
  std::optional<TimePoint> first = std::nullopt;  // where the earliest minute or hour of it begins
  std::vector<TypePast> types = {};  // the busiest first; those beyond the most are one, `other`
};

}  // namespace millrace
