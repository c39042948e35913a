// Adds up memos into an answer about the past.
#pragma once

#include <millrace/queue.h>
#include <millrace/time.h>
#include <array>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "broker/history.h"
#include "broker/history_memo.h"
#include "broker/type_tally.h"

namespace millrace {

// The point of a row of counts, without what waits and runs.
HistoryPoint point_of(TimePoint at, const HistoryRow& row);

class HistorySum {
 public:
  explicit HistorySum(HistoryRequest request);

  const HistoryRequest& request() const { return request_; }
  const HistoryStep& step() const { return step_; }
  // Whether the minute or hour that contains this moment was asked for.
  bool wants(TimePoint moment) const;
  bool wants(TimePoint moment, std::string_view queue, std::string_view type) const {
    return wants(moment) && wants_queue(queue) && wants_type(type);
  }

  // In any order. Only the rows that are wanted are added.
  void add(TimePoint moment, const HistoryMemo& memo);
  void add(TimePoint moment, const RowSum& rows);
  // What waits and runs now, which is newer than any memo.
  void see(TimePoint now, const std::vector<QueueCounts>& counts);
  // For what is not stored yet, if the answer is by queue or type.
  void add_line(TimePoint moment, const MinuteRow& row);
  bool by_name() const { return request_.by != HistoryBy::none; }
  History history();

 private:
  struct Sum {
    HistoryRow row = {};
    std::uint64_t waiting = 0;
    std::uint64_t running = 0;
    TimePoint seen{};  // when these were read
  };

  // What a series has at one point.
  struct Bit {
    std::array<std::uint64_t, counted_count> counts = {};
    std::uint64_t waiting = 0;
    std::uint64_t running = 0;
  };
  using Line = std::map<TimePoint, Bit>;

  void put_depth(TimePoint at, const HistoryMemo& memo);
  void put_line_depths(TimePoint at, const HistoryMemo& memo);
  template <class Counts>
  void add_counts(TimePoint at, std::string_view queue, std::string_view type,
                  const Counts& counts);
  HistoryPoint total() const;
  // Everything beyond the busiest becomes one series.
  void fold_lines();
  std::vector<HistorySeries> series(const std::vector<HistoryPoint>& points) const;
  bool wants_queue(std::string_view queue) const;
  bool wants_type(std::string_view type) const;

  const HistoryRequest request_;
  const HistoryStep& step_;
  const TimePoint from_;
  std::map<TimePoint, Sum> sums_;
  std::map<std::string, Line, std::less<>> lines_;
  TimePoint now_{};
  HistoryMemo depth_;  // as of now
};

}  // namespace millrace
