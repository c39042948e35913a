// A sliding window that keeps a rate: never more than `max` in any interval of length `per`.
#pragma once

#include <millrace/queue.h>
#include <millrace/time.h>
#include <array>
#include <cstddef>
#include <cstdint>

namespace millrace {

// Time is cut into slots of per / 32, rounded up to whole milliseconds, and uses are counted per
// slot. The current slot and as many before it as `per` reaches back from any moment in the current
// one (32 at most) must not exceed `max` together. The price of counting slots instead of moments:
// room comes back late, by less than two slots, and never early.
//
// A `now` before the newest slot counts as in that slot. If the clock is set back by a minute or
// more, and by `per` or more, the window begins anew: what was used before that is forgotten, since
// the moment at which it would leave the window may be years ahead.
//
// The rate may change from call to call. Another `max` holds at once. Another `per`, if it changes
// the width of a slot, keeps everything still in the window as if it had been used just now, so
// that for one `per` there may be less room than the new rate allows. What had already left the
// window stays forgotten. To forget everything, assign RateWindow{}.
//
// Plain data: a store keeps and writes the members as they are.
struct RateWindow {
  static constexpr std::size_t slot_count = 33;

  std::array<std::uint32_t, slot_count> used = {};  // slot s is at s mod 33
  std::int64_t newest = 0;                          // slot s covers [s · width, (s + 1) · width)
  std::int64_t width = 0;                           // ms; 0: nothing was ever added

  // How many more fit now.
  std::uint32_t room(const Rate& rate, TimePoint now) const;

  // Whether something that uses `n` fits now. What uses more than `max` fits into an empty window.
  bool fits(const Rate& rate, TimePoint now, std::uint32_t n) const;

  // What was used at `then` was `real`, not `noted`: more is noted as used now, less is taken back
  // from then, if that is still in the window.
  void correct(const Rate& rate, TimePoint then, TimePoint now, std::uint32_t noted,
               std::uint32_t real);

  // Notes that `n` were used now. More than there is room for is noted too: the caller asks first.
  void add(const Rate& rate, TimePoint now, std::uint32_t n);

  // How long until `n` fit, if no other caller uses any: 0 if they do now, else at least 1 ms. More
  // than `max` never fit; the answer is then the time until the window is empty.
  Duration retry_after(const Rate& rate, TimePoint now, std::uint32_t n) const;

  friend bool operator==(const RateWindow&, const RateWindow&) = default;
};

}  // namespace millrace
