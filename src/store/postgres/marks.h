// Where a take begins to look in each queue and priority: what lies before is taken already.
//
// Others may bring something in before that place, so it is looked there every now and then, too;
// what this process brings in itself is never missed. Both begin further down for once: where a
// take found less than it wanted there is nothing left below, and the next one begins at the top
// again. With an old snapshot open, everything in between would be walked over once more.
#pragma once

#include <millrace/time.h>
#include <algorithm>
#include <array>
#include <chrono>
#include <compare>
#include <cstdint>
#include <unordered_map>

#include "core/time_text.h"
#include "store/postgres/pace.h"

namespace millrace::store_postgres {

class Marks {
 public:
  struct Mark {
    TimePoint start = first_time;
    std::uint64_t number = 0;
    friend auto operator<=>(const Mark&, const Mark&) = default;
  };

  // Of one queue, by priority.
  struct Places {
    std::array<Mark, 10> marks = {};
    std::array<Mark, 10> tops = {};  // where they were at the highest
  };

  Mark at(std::uint16_t queue, std::uint8_t priority) { return queues_[queue].marks[priority]; }

  // For a take that may fail: then nothing was taken, and all is as before.
  Places places(std::uint16_t queue) { return queues_[queue]; }
  void put_back(std::uint16_t queue, const Places& places) {
    static_cast<Places&>(queues_[queue]) = places;
  }

  // This one was taken, and everything before it.
  void taken(std::uint16_t queue, std::uint8_t priority, Mark mark) {
    Queue& its = queues_[queue];
    its.marks[priority] = std::max(its.marks[priority], mark);
    its.tops[priority] = std::max(its.tops[priority], mark);
  }
  // A take that began at the marks left nothing that is due by `now`. A clock that was set back may
  // have brought tasks below the tops that fall due later.
  void emptied(std::uint16_t queue, TimePoint now) {
    Queue& its = queues_[queue];
    const Mark due{.start = now + Duration(1)};
    for (std::size_t i = 0; i < its.marks.size(); ++i) {
      its.marks[i] = std::max(its.marks[i], std::min(its.tops[i], due));
    }
  }
  // Something may be taken at this place.
  void lower(std::uint16_t queue, std::uint8_t priority, Mark mark) {
    Mark& own = queues_[queue].marks[priority];
    if (mark < own) own = mark;
  }

  // Begins from the bottom if that is due. True: it does, and looked() says how long it took.
  bool look_below(std::uint16_t queue, std::chrono::nanoseconds now) {
    Queue& its = queues_[queue];
    if (!its.looks.may_begin(now)) return false;
    its.marks = {};
    return true;
  }
  void looked(std::uint16_t queue, std::chrono::nanoseconds began, std::chrono::nanoseconds ended) {
    queues_[queue].looks.ended(began, ended);
  }

  void forget() { queues_.clear(); }

 private:
  struct Queue : Places {
    Pace looks{std::chrono::seconds(1), 30};
  };
  std::unordered_map<std::uint16_t, Queue> queues_;
};

}  // namespace millrace::store_postgres
