// What happened in one minute or hour, as the store keeps it: a memo of a few kilobytes.
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

// A minute or an hour: its length, how long its memos are kept, and how large they may be.
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

// Keys sort by time.
std::string history_key(const HistoryStep& step, TimePoint at);
// The beginning of the minute or hour that contains a moment.
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

  // Nothing happened, and nothing waits or runs.
  bool empty() const { return queues_.empty(); }
  const Queues& queues() const { return queues_; }
  // When the depths were read; the epoch: never.
  TimePoint seen() const { return seen_; }

  void add(const MinuteRow& row);
  // Merges another memo of the same time, or of a part of it: what happened is added up. The depths
  // that were read last stay, or the greater ones if both were read at once.
  void add(const HistoryMemo& other);
  // What waits and runs now.
  void see(const std::vector<QueueCounts>& counts, TimePoint now);

  // Keeps at most this many rows by queue and type, and this many queues with a depth: the busiest.
  // The rest is added up under the type `other` of its queue and, where that is still too much,
  // under the queue `other`.
  void cut(std::size_t rows = most_rows, std::size_t depths = most_depths);

  // Cut until it fits.
  std::string encode_in(std::size_t bytes) const;
  std::string encode() const;
  // `corrupt` if the bytes are not a memo of this kind.
  static Result<HistoryMemo> decode(std::string_view bytes);

  friend bool operator==(const HistoryMemo&, const HistoryMemo&) = default;

 private:
  std::size_t rows() const;
  void cut_types(std::size_t most);
  void cut_queues(std::size_t most);
  void cut_depths(std::size_t most);

  TimePoint seen_{};  // when the depths were read
  Queues queues_;
};

}  // namespace millrace
