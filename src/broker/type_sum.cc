#include "broker/type_sum.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace {
namespace {

constexpr std::string_view other = "other";  // as in HistoryMemo::cut

TypePast past_of(std::string type, const HistoryRow& row, TimePoint from) {
  const auto of = [&](Counted what) { return row.counts[static_cast<std::size_t>(what)]; };
  return {.type = std::move(type),
          .sum = {.at = from,
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
                  .run_p99 = row.ran.quantile(0.99)},
          .dead = of(Counted::dead)};
}

}  // namespace

void TypeSum::add(const HistorySum& asked, TimePoint moment, const HistoryMemo& memo) {
  for (const auto& [name, queue] : memo.queues()) {
    for (const auto& [type, row] : queue.types) {
      if (asked.wants(moment, name, type)) types_[type].add(row);
    }
  }
}

void TypeSum::add(const HistorySum& asked, TimePoint moment, const MinuteRow& row) {
  if (!asked.wants(moment, row.queue, row.type)) return;
  HistoryRow more{.waited = SparseHistogram(row.waited), .ran = SparseHistogram(row.ran)};
  std::ranges::copy(row.counts, more.counts.begin());
  types_[row.type].add(more);
}

TypesPast TypeSum::past(TimePoint from) const {
  std::vector<std::pair<std::string, HistoryRow>> rows(types_.begin(), types_.end());
  // `other` last, whatever its weight.
  std::ranges::stable_sort(rows, std::ranges::greater{}, [](const auto& row) {
    return std::pair(row.first != other, row.second.weight());
  });
  HistoryRow all;
  for (const auto& [type, row] : rows) all.add(row);
  if (rows.size() > TypesPast::most) {
    HistoryRow rest;
    for (std::size_t i = TypesPast::most - 1; i < rows.size(); ++i) rest.add(rows[i].second);
    rows.resize(TypesPast::most - 1);
    rows.emplace_back(other, std::move(rest));
  }
  TypesPast past{.all = past_of({}, all, from)};
  for (const auto& [type, row] : rows) past.types.push_back(past_of(type, row, from));
  return past;
}

}  // namespace millrace
