// Limits how often something of unknown cost is done: with at least a given pause, and never for
// more than a share of the time; but within a minute in any case.
//
// With an old snapshot open the server cannot remove deleted entries, and a scan of the old end of
// an index walks over all of them.
#pragma once

#include <algorithm>
#include <chrono>

namespace millrace::store_postgres {

class Throttle {
 public:
  // `share` 20: a twentieth of the time at most. Work that takes less than `unnoticed` has no
  // share.
  explicit Throttle(std::chrono::nanoseconds least = std::chrono::nanoseconds::zero(),
                    int share = 20,
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
