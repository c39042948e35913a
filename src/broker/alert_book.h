// Which alerts were sent lately: the same one at most once in a window, the rest is counted.
#pragma once

#include <millrace/time.h>
#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "broker/alert.h"
#include "core/mutex.h"

namespace millrace {

// What makes two alerts the same.
struct AlertKey {
  AlertKind kind = AlertKind::task_dead;
  std::string queue = {};
  std::string type = {};

  friend auto operator<=>(const AlertKey&, const AlertKey&) = default;
};

struct HeldBack {
  AlertKey key = {};
  std::uint64_t count = 0;
  TimePoint since{};
};

// Any thread.
class AlertBook {
 public:
  explicit AlertBook(Duration window, std::size_t most = 1000) : window_(window), most_(most) {}

  // A number: send it, and say how many like it were not sent before. Nullopt: one like it was sent
  // in this window, and this one is counted. Where there are more than can be remembered, the
  // queues and types of the rest are not told apart.
  std::optional<std::uint64_t> let_through(const AlertKey& key, TimePoint now);

  // What was held back in windows that have ended: to be told of now, which begins a new window.
  std::vector<HeldBack> ended(TimePoint now);

 private:
  struct Entry {
    TimePoint since{};
    std::uint64_t held = 0;
  };

  bool is_over(const Entry& entry, TimePoint now) const;

  const Duration window_;
  const std::size_t most_;
  Mutex mutex_{LockRank::leaf};
  std::map<AlertKey, Entry> entries_ GUARDED_BY(mutex_);
};

}  // namespace millrace
