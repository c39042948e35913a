#include "broker/history_sum.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "broker/queue_book.h"

namespace millrace {
namespace {

std::uint64_t of(const std::array<std::uint64_t, counted_count>& counts, Counted what) {
  return counts[static_cast<std::size_t>(what)];
}

std::uint64_t failed_of(const std::array<std::uint64_t, counted_count>& counts) {
  return of(counts, Counted::failed) + of(counts, Counted::dead);
}

}  // namespace

HistoryPoint point_of(TimePoint at, const HistoryRow& row) {
  const auto& counts = row.counts;
  return {.at = at,
          .put = of(counts, Counted::put),
          .taken = of(counts, Counted::taken),
          .completed = of(counts, Counted::completed),
          .failed = failed_of(counts),
          .retried = of(counts, Counted::retried),
          .lost = of(counts, Counted::lost),
          .cancelled = of(counts, Counted::cancelled) + of(counts, Counted::expired),
          .wait_p50 = row.waited.quantile(0.5),
          .wait_p95 = row.waited.quantile(0.95),
          .wait_p99 = row.waited.quantile(0.99),
          .run_p50 = row.ran.quantile(0.5),
          .run_p95 = row.ran.quantile(0.95),
          .run_p99 = row.ran.quantile(0.99)};
}

HistorySum::HistorySum(HistoryRequest request)
    : request_(std::move(request)),
      step_(request_.step == history_hour.length ? history_hour : history_minute),
      from_(beginning_of(step_, request_.from)) {}

bool HistorySum::wants(TimePoint moment) const {
  return moment >= from_ && beginning_of(step_, moment) < request_.until;
}

bool HistorySum::wants_queue(std::string_view queue) const {
  if (request_.queue) return queue == *request_.queue;
  if (is_internal(queue)) return false;
  // `other` adds up queues whose names are not kept, so it may contain some that the caller may not
  // see.
  return !request_.allowed || (queue != other_name && request_.allowed(queue));
}

bool HistorySum::wants_type(std::string_view type) const {
  return !request_.type || type == *request_.type;
}

void HistorySum::put_depth(TimePoint at, const HistoryMemo& memo) {
  Sum& sum = sums_[at];
  sum.seen = memo.seen();
  sum.waiting = 0;
  sum.running = 0;
  for (const auto& [name, queue] : memo.queues()) {
    // Waiting and running tasks are not counted by type.
    if (!wants_queue(name) || request_.type) continue;
    sum.waiting += queue.waiting;
    sum.running += queue.running;
  }
  if (request_.by == HistoryBy::queue && !request_.type) put_line_depths(at, memo);
}

void HistorySum::put_line_depths(TimePoint at, const HistoryMemo& memo) {
  for (auto& [name, line] : lines_) {
    const auto found = line.find(at);
    if (found != line.end()) found->second.waiting = found->second.running = 0;
  }
  for (const auto& [name, queue] : memo.queues()) {
    if (!wants_queue(name) || (queue.waiting == 0 && queue.running == 0)) continue;
    Bit& bit = lines_[name][at];
    bit.waiting = queue.waiting;
    bit.running = queue.running;
  }
}

template <class Counts>
void HistorySum::add_counts(TimePoint at, std::string_view queue, std::string_view type,
                            const Counts& counts) {
  if (!by_name()) return;
  const std::string_view name = request_.by == HistoryBy::queue ? queue : type;
  auto found = lines_.find(name);
  if (found == lines_.end()) found = lines_.emplace(std::string(name), Line{}).first;
  Bit& bit = found->second[at];
  for (std::size_t i = 0; i < counted_count; ++i) bit.counts[i] += counts[i];
}

void HistorySum::add(TimePoint moment, const HistoryMemo& memo) {
  if (!wants(moment)) return;
  const TimePoint at = beginning_of(step_, moment);
  Sum& sum = sums_[at];
  for (const auto& [name, queue] : memo.queues()) {
    if (!wants_queue(name)) continue;
    for (const auto& [type, row] : queue.types) {
      if (!wants_type(type)) continue;
      sum.row.add(row);
      add_counts(at, name, type, row.counts);
    }
  }
  if (memo.seen() >= sum.seen) put_depth(at, memo);
}

void HistorySum::add_line(TimePoint moment, const MinuteRow& row) {
  if (!wants(moment, row.queue, row.type)) return;
  add_counts(beginning_of(step_, moment), row.queue, row.type, row.counts);
}

void HistorySum::see(TimePoint now, const std::vector<QueueCounts>& counts) {
  now_ = now;
  depth_.see(counts, now);
}

void HistorySum::add(TimePoint moment, const RowSum& rows) {
  HistoryRow more{.counts = rows.counts};
  for (std::size_t i = 0; i < fine_buckets; ++i) {
    (void)more.waited.append(i, rows.waited[i]);
    (void)more.ran.append(i, rows.ran[i]);
  }
  sums_[beginning_of(step_, moment)].row.add(more);
}

History HistorySum::history() {
  if (now_ != TimePoint{} && wants(now_)) put_depth(beginning_of(step_, now_), depth_);
  History history{.step = request_.step, .total = total()};
  history.points.reserve(sums_.size());
  for (const auto& [at, sum] : sums_) {
    // Nothing of what was asked for.
    if (sum.row.weight() == 0 && sum.waiting == 0 && sum.running == 0) continue;
    HistoryPoint& point = history.points.emplace_back(point_of(at, sum.row));
    point.waiting = sum.waiting;
    point.running = sum.running;
  }
  fold_lines();
  history.series = series(history.points);
  return history;
}

HistoryPoint HistorySum::total() const {
  HistoryRow all;
  for (const auto& [at, sum] : sums_) all.add(sum.row);
  return point_of(from_, all);
}

void HistorySum::fold_lines() {
  const std::size_t most =
      request_.by == HistoryBy::queue ? History::most_queues : History::most_types;
  if (lines_.size() <= most) return;
  std::vector<std::pair<std::uint64_t, std::string>> weighed;
  for (const auto& [name, line] : lines_) {
    std::uint64_t weight = 0;
    for (const auto& [at, bit] : line) {
      for (const std::uint64_t count : bit.counts) weight += count;
      weight += bit.waiting + bit.running;
    }
    if (name != other_name) weighed.emplace_back(weight, name);
  }
  std::ranges::sort(weighed, std::greater<>());
  Line& other = lines_[std::string(other_name)];
  for (std::size_t i = most - 1; i < weighed.size(); ++i) {
    const auto found = lines_.find(weighed[i].second);
    for (const auto& [at, bit] : found->second) {
      Bit& sum = other[at];
      for (std::size_t k = 0; k < counted_count; ++k) sum.counts[k] += bit.counts[k];
      sum.waiting += bit.waiting;
      sum.running += bit.running;
    }
    lines_.erase(found);
  }
}

std::vector<HistorySeries> HistorySum::series(const std::vector<HistoryPoint>& points) const {
  std::vector<std::tuple<bool, std::uint64_t, HistorySeries>> found;
  const bool depths = request_.by == HistoryBy::queue && !request_.type;
  for (const auto& [name, line] : lines_) {
    HistorySeries one{.name = name};
    std::uint64_t weight = 0;
    for (const HistoryPoint& point : points) {
      const auto at = line.find(point.at);
      const Bit bit = at == line.end() ? Bit{} : at->second;
      one.put.push_back(of(bit.counts, Counted::put));
      one.completed.push_back(of(bit.counts, Counted::completed));
      one.failed.push_back(failed_of(bit.counts));
      one.retried.push_back(of(bit.counts, Counted::retried));
      if (depths) one.waiting.push_back(bit.waiting), one.running.push_back(bit.running);
      weight += one.put.back() + one.completed.back() + one.failed.back() + bit.waiting;
    }
    found.emplace_back(name == other_name, weight, std::move(one));
  }
  std::ranges::sort(found, [](const auto& a, const auto& b) {
    return std::tuple(std::get<0>(a), std::get<1>(b), std::get<2>(a).name) <
           std::tuple(std::get<0>(b), std::get<1>(a), std::get<2>(b).name);
  });
  std::vector<HistorySeries> series;
  for (auto& [last, weight, one] : found) series.push_back(std::move(one));
  return series;
}

}  // namespace millrace
