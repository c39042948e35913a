// How often something may be done whose cost nobody knows beforehand: at least so far apart, and
// never more than a share of the time; but within a minute in any case.
//
// With an old snapshot open nothing that was deleted can be forgotten, and what looks at the old
// end of an index walks over all of it.
#pragma once

#include <algorithm>
#include <chrono>

namespace millrace::store_postgres {

class Pace {
 public:
  // `share` 20: a twentieth of the time at most. What takes less than `unnoticed` is left alone.
  explicit Pace(std::chrono::nanoseconds least = std::chrono::nanoseconds::zero(), int share = 20,
                std::chrono::nanoseconds unnoticed = std::chrono::milliseconds(50))
      : least_(least), share_(share), unnoticed_(unnoticed) {}

  bool may_begin(std::chrono::nanoseconds now) const { return now >= next_; }
  void ended(std::chrono::nanoseconds began, std::chrono::nanoseconds now) {
    const auto took = now - began;
    const auto rest = took < unnoticed_ ? least_ : std::min(took * share_, longest);
    next_ = now + std::max(least_, rest);
  }

 private:
  static constexpr std::chrono::nanoseconds longest = std::chrono::minutes(1);

  std::chrono::nanoseconds least_;
  int share_;
  std::chrono::nanoseconds unnoticed_;
  std::chrono::nanoseconds next_ = std::chrono::nanoseconds::min();
};

}  // namespace millrace::store_postgres
