// Adds up what an answer about the past is made of.
#pragma once

#include <millrace/queue.h>
#include <millrace/time.h>
#include <map>
#include <string_view>
#include <vector>

#include "broker/history.h"
#include "broker/history_memo.h"
#include "broker/type_tally.h"

namespace millrace {

class HistorySum {
 public:
  explicit HistorySum(HistoryRequest request);

  const HistoryRequest& request() const { return request_; }
  const HistoryStep& step() const { return step_; }
  // Whether the minute or the hour that begins then, or has this moment in it, was asked for.
  bool wants(TimePoint moment) const;
  bool wants(TimePoint moment, std::string_view queue, std::string_view type) const {
    return wants(moment) && wants_queue(queue) && wants_type(type);
  }

  // In any order. Of rows only those that are wanted.
  void add(TimePoint moment, const HistoryMemo& memo);
  void add(TimePoint moment, const RowSum& rows);
  // What waits and runs now, which no memo knows better.
  void see(TimePoint now, const std::vector<QueueCounts>& counts);
  std::vector<HistoryPoint> points();

 private:
  struct Sum {
    HistoryRow row = {};
    std::uint64_t waiting = 0;
    std::uint64_t running = 0;
    TimePoint seen{};  // when these were
  };

  void put_depth(Sum& sum, const HistoryMemo& memo) const;
  bool wants_queue(std::string_view queue) const;
  bool wants_type(std::string_view type) const;

  const HistoryRequest request_;
  const HistoryStep& step_;
  const TimePoint from_;
  std::map<TimePoint, Sum> sums_;
  TimePoint now_{};
  HistoryMemo depth_;  // of now
};

}  // namespace millrace
