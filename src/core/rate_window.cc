#include "core/rate_window.h"

#include <algorithm>
#include <limits>

namespace millrace {
namespace {

// A clock that is set back by less, in ms, is waited for.
constexpr std::int64_t large_step = 60'000;
constexpr auto slots = static_cast<std::int64_t>(RateWindow::slot_count);

std::int64_t width_for(const Rate& rate) {
  const std::int64_t wide = slots - 1;
  return std::max<std::int64_t>(1, (rate.per.count() + wide - 1) / wide);
}

// How many slots back from any moment, its own included, `per` reaches at most.
std::int64_t reach_of(const Rate& rate, std::int64_t width) {
  return (rate.per.count() + width - 1) / width + 1;
}

std::int64_t slot_of(std::int64_t ms, std::int64_t width) {
  return ms / width - (ms % width < 0 ? 1 : 0);  // rounds down, also before 1970
}

std::size_t index_of(std::int64_t slot) {
  return static_cast<std::size_t>((slot % slots + slots) % slots);
}

// Far moments are drawn in so that adding a window's length to them cannot overflow.
std::int64_t ms_of(TimePoint now) {
  constexpr std::int64_t far = std::int64_t{1} << 60;
  return std::clamp<std::int64_t>(now.time_since_epoch().count(), -far, far);
}

// What was used in the newest `reach` slots.
std::uint64_t sum_of(const RateWindow& window, std::int64_t reach) {
  std::uint64_t sum = 0;
  std::size_t index = index_of(window.newest);
  for (; reach > 0; --reach) {
    sum += window.used[index];
    index = (index == 0 ? window.used.size() : index) - 1;
  }
  return sum;
}

std::uint32_t saturated(std::uint64_t n) {
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(n, std::numeric_limits<std::uint32_t>::max()));
}

// The window as it stands at `now`, in slots of `rate`: old slots are dropped, nothing is added. So
// is a window that lies far ahead: it is of a clock that was set back since.
RateWindow moved_on(RateWindow window, const Rate& rate, TimePoint now) {
  const std::int64_t width = width_for(rate);
  const std::int64_t slot = slot_of(ms_of(now), width);
  if (window.width == 0) return {.newest = slot, .width = width};
  if (window.width != width) {
    const std::int64_t begin = window.newest * window.width;
    const std::int64_t used_at = std::clamp(ms_of(now), begin, begin + window.width - 1);
    RateWindow other{.newest = slot_of(used_at, width), .width = width};
    other.used[index_of(other.newest)] = saturated(sum_of(window, slots));
    window = other;
  }
  const std::int64_t behind = window.newest - slot;
  if (-behind >= slots || (behind >= slots && behind * width >= large_step)) {
    return {.newest = slot, .width = width};
  }
  while (window.newest < slot) window.used[index_of(++window.newest)] = 0;
  return window;
}

}  // namespace

std::uint32_t RateWindow::room(const Rate& rate, TimePoint now) const {
  const RateWindow window = moved_on(*this, rate, now);
  const std::uint64_t sum = sum_of(window, reach_of(rate, window.width));
  return sum >= rate.max ? 0 : static_cast<std::uint32_t>(rate.max - sum);
}

void RateWindow::add(const Rate& rate, TimePoint now, std::uint32_t n) {
  *this = moved_on(*this, rate, now);
  std::uint32_t& current = used[index_of(newest)];
  current = saturated(std::uint64_t{current} + n);
}

bool RateWindow::fits(const Rate& rate, TimePoint now, std::uint32_t n) const {
  return room(rate, now) >= std::min(n, rate.max);
}

void RateWindow::correct(const Rate& rate, TimePoint then, TimePoint now, std::uint32_t noted,
                         std::uint32_t real) {
  if (real >= noted) return add(rate, now, real - noted);
  *this = moved_on(*this, rate, now);
  const std::int64_t slot = std::min(slot_of(ms_of(then), width), newest);
  if (newest - slot >= slots) return;
  std::uint32_t& at = used[index_of(slot)];
  at -= std::min(at, noted - real);
}

Duration RateWindow::retry_after(const Rate& rate, TimePoint now, std::uint32_t n) const {
  const RateWindow window = moved_on(*this, rate, now);
  const std::int64_t reach = reach_of(rate, window.width);
  const std::uint64_t sum = sum_of(window, reach);
  if (sum + n <= rate.max) return Duration::zero();

  // This much must leave the window, oldest first; requests for more than `max` wait until it is
  // empty.
  const std::uint64_t must_leave = std::min(sum, sum + n - rate.max);
  std::uint64_t left = 0;
  std::int64_t slot = window.newest - reach;
  while (left < must_leave) left += window.used[index_of(++slot)];
  const std::int64_t leaves = (slot + reach) * window.width;
  return Duration(std::max<std::int64_t>(1, leaves - ms_of(now)));
}

}  // namespace millrace
