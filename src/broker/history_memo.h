// What happened in one minute or hour, as it is kept in the store: a memo of some kilobytes.
#pragma once

#include <millrace/queue.h>
#include <millrace/result.h>
#include <millrace/time.h>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "broker/sparse_histogram.h"
#include "broker/type_tally.h"

namespace millrace {

// A minute or an hour: how long, how long its memos are kept, how much of them.
struct HistoryStep {
  Duration length{};
  Duration kept{};
  std::string_view prefix = {};  // of the memos' keys
  std::size_t bytes = 0;         // of one memo, at most
};
inline constexpr HistoryStep history_minute = {std::chrono::minutes(1), std::chrono::hours(25),
                                               "$history/1m/", 16 * 1024};
inline constexpr HistoryStep history_hour = {std::chrono::hours(1),
                                             std::chrono::days(30) + std::chrono::hours(1),
                                             "$history/1h/", 32 * 1024};

// Keys sort as time does.
std::string history_key(const HistoryStep& step, TimePoint at);
// Where the minute or the hour begins that a moment is in.
TimePoint beginning_of(const HistoryStep& step, TimePoint moment);

struct HistoryRow {
  std::array<std::uint64_t, counted_count> counts = {};
  SparseHistogram waited = {};
  SparseHistogram ran = {};

  void add(const HistoryRow& other);
  std::uint64_t weight() const;
  friend bool operator==(const HistoryRow&, const HistoryRow&) = default;
};

struct HistoryQueue {
  // At the end.
  std::uint64_t waiting = 0;
  std::uint64_t running = 0;
  std::map<std::string, HistoryRow, std::less<>> types = {};

  friend bool operator==(const HistoryQueue&, const HistoryQueue&) = default;
};

class HistoryMemo {
 public:
  using Queues = std::map<std::string, HistoryQueue, std::less<>>;

  static constexpr std::size_t most_rows = 200;
  static constexpr std::size_t most_depths = 200;

  // Nothing happened at all, and nothing is there to be counted.
  bool empty() const { return queues_.empty(); }
  const Queues& queues() const { return queues_; }
  // When the depths were seen; the epoch: they were not.
  TimePoint seen() const { return seen_; }

  void add(const MinuteRow& row);
  // Two that tell of the same time, or of parts of it, become one: what happened is added up. Of
  // the depths those stay that were seen last, the greater ones where both were seen at once.
  void add(const HistoryMemo& other);
  // What waits and runs now.
  void see(const std::vector<QueueCounts>& counts, TimePoint now);

  // No more than so many rows by queue and type, and queues with a depth: the busiest; the rest is
  // added up under the type `other` of its queue, and where that is too much under the queue
  // `other`.
  void cut(std::size_t rows = most_rows, std::size_t depths = most_depths);

  // Cut until it fits.
  std::string encode_in(std::size_t bytes) const;
  std::string encode() const;
  // `corrupt`: these are no bytes of ours.
  static Result<HistoryMemo> decode(std::string_view bytes);

  friend bool operator==(const HistoryMemo&, const HistoryMemo&) = default;

 private:
  std::size_t rows() const;
  void cut_types(std::size_t most);
  void cut_queues(std::size_t most);
  void cut_depths(std::size_t most);

  TimePoint seen_{};  // when the depths were
  Queues queues_;
};

}  // namespace millrace
