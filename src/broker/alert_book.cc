#include "broker/alert_book.h"

#include <utility>

#include "core/mutex.h"

namespace millrace {

// Setting the clock back ends a window, too: no alert should wait for the clock to catch up.
bool AlertBook::is_over(const Entry& entry, TimePoint now) const {
  return now - entry.since >= window_ || now < entry.since;
}

std::optional<std::uint64_t> AlertBook::let_through(const AlertKey& key, TimePoint now) {
  const Lock lock(mutex_);
  auto found = entries_.find(key);
  if (found == entries_.end()) {
    const AlertKey shared{.kind = key.kind};
    const bool room = entries_.size() < most_;
    const auto [at, is_new] = entries_.try_emplace(room ? key : shared, Entry{now});
    if (is_new) return 0;
    found = at;
  }
  if (is_over(found->second, now)) return std::exchange(found->second, {now, 0}).held;
  ++found->second.held;
  return std::nullopt;
}

std::vector<HeldBack> AlertBook::ended(TimePoint now) {
  const Lock lock(mutex_);
  std::vector<HeldBack> told;
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    if (!is_over(entry->second, now)) {
      ++entry;
    } else if (entry->second.held == 0) {
      entry = entries_.erase(entry);
    } else {
      told.push_back({entry->first, entry->second.held, entry->second.since});
      entry->second = {now, 0};
      ++entry;
    }
  }
  return told;
}

}  // namespace millrace
