// Where the scan of a take begins in each queue and priority: every task before that is already
// taken.
//
// Another process may put a task before the cursor, so a take scans from the bottom again at
// intervals. A task that this process itself puts there lowers the cursor, so it is never missed.
// Both are for one scan only: when a take finds less than it wants, nothing is left below, and the
// next one begins at the furthest place again. Otherwise, with an old snapshot open, it would walk
// over all the dead entries in between once more.
//
// A scan ends at `now`, but what is queued stays ready when the clock is set back. Where such tasks
// may be, the scan goes on to ready_by(), over everything that is delayed until then. This, too, is
// only until a take finds less than it wants.
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
  // How much later than all moments seen here other processes may have put tasks before they, too,
  // noticed that the clock was set back.
  static constexpr Duration others_ahead = std::chrono::seconds(10);

  struct Cursor {
    TimePoint start = first_time;
    std::uint64_t number = 0;
    friend auto operator<=>(const Cursor&, const Cursor&) = default;
  };

  // The cursors of one queue, by priority.
  struct Positions {
    std::array<Cursor, priority_count> cursors = {};
    std::array<Cursor, priority_count> furthest = {};  // the highest that they have been
    // Tasks may be queued up to this moment although it is after `now`.
    TimePoint ahead = first_time;
    // As `ahead`, for the next rescan. At first it is unknown where tasks are: the clock may have
    // been set back while no process ran.
    TimePoint unsearched = never;
  };

  Cursor at(std::uint16_t queue, std::uint8_t priority) { return queues_[queue].cursors[priority]; }

  // For a take that may fail: then nothing was taken, and restore() undoes its changes. It may have
  // failed because it looked so far ahead; that is left to the next rescan.
  Positions positions(std::uint16_t queue) { return queues_[queue]; }
  void restore(std::uint16_t queue, const Positions& before) {
    Queue& its = queues_[queue];
    const TimePoint looked = std::max(its.ahead, before.ahead);
    static_cast<Positions&>(its) = before;
    its.unsearched = std::max(its.unsearched, looked);
    its.ahead = first_time;
  }

  // This task was taken, and everything before it.
  void taken(std::uint16_t queue, std::uint8_t priority, Cursor cursor) {
    Queue& its = queues_[queue];
    its.cursors[priority] = std::max(its.cursors[priority], cursor);
    its.furthest[priority] = std::max(its.furthest[priority], cursor);
  }
  // A take that began at the cursors found all that was due by `now`, and all that is queued. If
  // the clock was set back, there may be tasks below the furthest place that fall due later.
  void emptied(std::uint16_t queue, TimePoint now) {
    Queue& its = queues_[queue];
    if (its.ahead >= its.unsearched) its.unsearched = first_time;
    its.ahead = first_time;
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
  // There is a task that may be taken, whatever the clock says.
  void queued(std::uint16_t queue, TimePoint start) {
    Queue& its = queues_[queue];
    its.ahead = std::max(its.ahead, start);
  }
  // What is queued in this queue was ready by then.
  TimePoint ready_by(std::uint16_t queue, TimePoint now) {
    return std::max(now, queues_[queue].ahead);
  }

  // Moves the cursors to the bottom if a rescan is due. True: it is, and the caller says with
  // rescanned() how long it took.
  bool rescan_if_due(std::uint16_t queue, std::chrono::nanoseconds now) {
    Queue& its = queues_[queue];
    if (!its.rescans.may_begin(now)) return false;
    its.cursors = {};
    its.ahead = std::max(its.ahead, its.unsearched);
    if (last_ < latest_) its.ahead = std::max(its.ahead, later(latest_, others_ahead));
    return true;
  }
  void rescanned(std::uint16_t queue, std::chrono::nanoseconds began,
                 std::chrono::nanoseconds ended) {
    queues_[queue].rescans.ended(began, ended);
  }

  void forget() { queues_.clear(); }

  // A call was made at this moment. If an earlier one was made later, the clock was set back.
  void saw(TimePoint now) {
    if (now < last_) {
      for (auto& [queue, its] : queues_) its.ahead = std::max(its.ahead, latest_);
    }
    last_ = now;
    latest_ = std::max(latest_, now);
  }

 private:
  struct Queue : Positions {
    Throttle rescans{rescan_step, 30};
  };

  std::unordered_map<std::uint16_t, Queue> queues_;
  TimePoint last_ = first_time;    // moment that was seen
  TimePoint latest_ = first_time;  // of all
};

}  // namespace millrace::store_postgres
