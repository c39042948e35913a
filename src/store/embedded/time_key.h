// A moment, then the order of arrival: the key of most indexes.
#pragma once

#include <millrace/time.h>
#include <compare>
#include <cstdint>

#include "store/embedded/ordered_set.h"

namespace millrace::embedded {

struct TimeKey {
  TimePoint at{};
  std::uint64_t number = 0;
  friend auto operator<=>(const TimeKey&, const TimeKey&) = default;
};

using ByTime = OrderedSet<TimeKey>;

}  // namespace millrace::embedded
