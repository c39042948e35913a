#include "broker/history_sum.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "broker/queue_book.h"

namespace millrace {
namespace {

constexpr std::size_t most_types = 100;
constexpr std::string_view other_type = "other";  // as in HistoryMemo::cut

HistoryRow row_of(const RowSum& rows) {
  HistoryRow row{.counts = rows.counts};
  for (std::size_t i = 0; i < fine_buckets; ++i) {
    (void)row.waited.append(i, rows.waited[i]);
    (void)row.ran.append(i, rows.ran[i]);
  }
  return row;
}

HistoryPoint point_of(const HistoryRow& row, TimePoint at) {
  const auto of = [&](Counted what) { return row.counts[static_cast<std::size_t>(what)]; };
  return {.at = at,
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
          .run_p99 = row.ran.quantile(0.99)};
}

TypePast past_of(std::string type, const HistoryRow& row, TimePoint from) {
  return {.type = std::move(type),
          .sum = point_of(row, from),
          .dead = row.counts[static_cast<std::size_t>(Counted::dead)]};
}

}  // namespace

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
      if (!wants_type(type)) continue;
      sum.row.add(row);
      if (request_.types) types_[type].add(row);
    }
  }
  if (memo.seen() >= sum.seen) put_depth(sum, memo);
}

void HistorySum::see(TimePoint now, const std::vector<QueueCounts>& counts) {
  now_ = now;
  depth_.see(counts, now);
}

void HistorySum::add(TimePoint moment, const RowSum& rows) {
  sums_[beginning_of(step_, moment)].row.add(row_of(rows));
}

void HistorySum::add_type(std::string_view type, const RowSum& rows) {
  types_[std::string(type)].add(row_of(rows));
}

std::optional<TypesPast> HistorySum::types() const {
  if (!request_.types) return std::nullopt;
  std::vector<std::pair<std::string, HistoryRow>> rows(types_.begin(), types_.end());
  std::ranges::stable_sort(rows, std::ranges::greater{},
                           [](const auto& row) { return row.second.weight(); });
  HistoryRow all;
  for (const auto& [type, row] : rows) all.add(row);
  if (rows.size() > most_types) {
    HistoryRow rest;
    for (std::size_t i = most_types; i < rows.size(); ++i) rest.add(rows[i].second);
    rows.resize(most_types);
    const auto other = std::ranges::find(rows, other_type,
                                         [](const auto& row) -> const auto& { return row.first; });
    if (other != rows.end()) {
      other->second.add(rest);
    } else {
      rows.emplace_back(other_type, std::move(rest));
    }
  }
  TypesPast past{.all = past_of({}, all, from_)};
  for (const auto& [type, row] : rows) past.types.push_back(past_of(type, row, from_));
  return past;
}

std::vector<HistoryPoint> HistorySum::points() {
  if (now_ != TimePoint{} && wants(now_)) put_depth(sums_[beginning_of(step_, now_)], depth_);
  std::vector<HistoryPoint> points;
  points.reserve(sums_.size());
  for (const auto& [at, sum] : sums_) {
    // Nothing of what was asked for.
    if (sum.row.weight() == 0 && sum.waiting == 0 && sum.running == 0) continue;
    HistoryPoint& point = points.emplace_back(point_of(sum.row, at));
    point.waiting = sum.waiting;
    point.running = sum.running;
  }
  return points;
}

}  // namespace millrace
