// Where the scan of a take begins in each queue and priority: every task before that is already
// taken.
//
// Another process may put a task before the cursor, so a take scans from the bottom again at
// intervals. A task that this process itself puts there lowers the cursor, so it is never missed.
// Both are for one scan only: when a take finds less than it wants, nothing is left below, and the
// next one begins at the furthest place again. Otherwise, with an old snapshot open, it would walk
// over all the dead entries in between once more.
#pragma once

#include <millrace/task.h>
#include <millrace/time.h>
#include <algorithm>
#include <array>
#include <chrono>
#include <compare>
#include <cstdint>
#include <unordered_map>

#include "core/time_text.h"
#include "store/postgres/throttle.h"

namespace millrace::store_postgres {

class TakeCursors {
 public:
  // How often a take looks for what other processes put, as long as that takes little time.
  static constexpr Duration rescan_step = std::chrono::seconds(1);

  struct Cursor {
    TimePoint start = first_time;
    std::uint64_t number = 0;
    friend auto operator<=>(const Cursor&, const Cursor&) = default;
  };

  // The cursors of one queue, by priority.
  struct Positions {
    std::array<Cursor, priority_count> cursors = {};
    std::array<Cursor, priority_count> furthest = {};  // the highest that they have been
  };

  Cursor at(std::uint16_t queue, std::uint8_t priority) { return queues_[queue].cursors[priority]; }

  // For a take that may fail: then nothing was taken, and restore() undoes its changes.
  Positions positions(std::uint16_t queue) { return queues_[queue]; }
  void restore(std::uint16_t queue, const Positions& before) {
    static_cast<Positions&>(queues_[queue]) = before;
  }

  // This task was taken, and everything before it.
  void taken(std::uint16_t queue, std::uint8_t priority, Cursor cursor) {
    Queue& its = queues_[queue];
    its.cursors[priority] = std::max(its.cursors[priority], cursor);
    its.furthest[priority] = std::max(its.furthest[priority], cursor);
  }
  // A take that began at the cursors found all that was due by `now`. If the clock was set back,
  // there may be tasks below the furthest place that fall due later.
  void emptied(std::uint16_t queue, TimePoint now) {
    Queue& its = queues_[queue];
    const Cursor due{.start = now + Duration(1)};
    for (std::size_t i = 0; i < its.cursors.size(); ++i) {
      its.cursors[i] = std::max(its.cursors[i], std::min(its.furthest[i], due));
    }
  }
  // There may be a task to take at this place.
  void lower(std::uint16_t queue, std::uint8_t priority, Cursor cursor) {
    Cursor& own = queues_[queue].cursors[priority];
    if (cursor < own) own = cursor;
  }

  // Moves the cursors to the bottom if a rescan is due. True: it is, and the caller says with
  // rescanned() how long it took.
  bool rescan_if_due(std::uint16_t queue, std::chrono::nanoseconds now) {
    Queue& its = queues_[queue];
    if (!its.rescans.may_begin(now)) return false;
    its.cursors = {};
    return true;
  }
  void rescanned(std::uint16_t queue, std::chrono::nanoseconds began,
                 std::chrono::nanoseconds ended) {
    queues_[queue].rescans.ended(began, ended);
  }

  void forget() { queues_.clear(); }

  // Tasks were ready by this moment, and stay so: where the clock is set back, it is after the
  // `now` of later calls.
  void saw(TimePoint ready) { seen_ = std::max(seen_, ready); }
  TimePoint seen() const { return seen_; }

 private:
  struct Queue : Positions {
    Throttle rescans{rescan_step, 30};
  };
  std::unordered_map<std::uint16_t, Queue> queues_;
  TimePoint seen_ = first_time;
};

}  // namespace millrace::store_postgres
