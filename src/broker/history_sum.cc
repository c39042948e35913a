#include "broker/history_sum.h"

#include <algorithm>
#include <utility>

#include "broker/queue_book.h"

namespace millrace {

HistorySum::HistorySum(HistoryRequest request)
    : request_(std::move(request)),
      step_(request_.step == history_hour.length ? history_hour : history_minute),
      from_(beginning_of(step_, request_.from)) {}

bool HistorySum::wants(TimePoint moment) const {
  return moment >= from_ && beginning_of(step_, moment) < request_.until;
}

bool HistorySum::wants_queue(std::string_view queue) const {
  return request_.queue ? queue == *request_.queue : !is_internal(queue);
}

bool HistorySum::wants_type(std::string_view type) const {
  return !request_.type || type == *request_.type;
}

void HistorySum::put_depth(Sum& sum, const HistoryMemo& memo) const {
  sum.seen = memo.seen();
  sum.waiting = 0;
  sum.running = 0;
  for (const auto& [name, queue] : memo.queues()) {
    // Nobody counts them by type.
    if (!wants_queue(name) || request_.type) continue;
    sum.waiting += queue.waiting;
    sum.running += queue.running;
  }
}

void HistorySum::add(TimePoint moment, const HistoryMemo& memo) {
  if (!wants(moment)) return;
  Sum& sum = sums_[beginning_of(step_, moment)];
  for (const auto& [name, queue] : memo.queues()) {
    if (!wants_queue(name)) continue;
    for (const auto& [type, row] : queue.types) {
      if (wants_type(type)) sum.row.add(row);
    }
  }
  if (memo.seen() >= sum.seen) put_depth(sum, memo);
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

std::vector<HistoryPoint> HistorySum::points() {
  if (now_ != TimePoint{} && wants(now_)) put_depth(sums_[beginning_of(step_, now_)], depth_);
  std::vector<HistoryPoint> points;
  points.reserve(sums_.size());
  for (const auto& [at, sum] : sums_) {
    const HistoryRow& row = sum.row;
    // Nothing of what was asked for.
    if (row.weight() == 0 && sum.waiting == 0 && sum.running == 0) continue;
    const auto of = [&](Counted what) { return row.counts[static_cast<std::size_t>(what)]; };
    points.push_back({.at = at,
                      .put = of(Counted::put),
                      .taken = of(Counted::taken),
                      .completed = of(Counted::completed),
                      .failed = of(Counted::failed) + of(Counted::dead),
                      .retried = of(Counted::retried),
                      .lost = of(Counted::lost),
                      .cancelled = of(Counted::cancelled) + of(Counted::expired),
                      .wait_p50 = row.waited.quantile(0.5),
                      .wait_p95 = row.waited.quantile(0.95),
                      .wait_p99 = row.waited.quantile(0.99),
                      .run_p50 = row.ran.quantile(0.5),
                      .run_p95 = row.ran.quantile(0.95),
                      .run_p99 = row.ran.quantile(0.99),
                      .waiting = sum.waiting,
                      .running = sum.running});
  }
  return points;
}

}  // namespace millrace
