#include "broker/type_sum.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace {
namespace {

constexpr std::string_view other = "other";  // as in HistoryMemo::cut

TypePast past_of(std::string type, const HistoryRow& row, TimePoint from) {
  return {.type = std::move(type),
          .sum = point_of(from, row),
          .dead = row.counts[static_cast<std::size_t>(Counted::dead)]};
}

}  // namespace

void TypeSum::add(const HistorySum& asked, TimePoint moment, const HistoryMemo& memo) {
  for (const auto& [name, queue] : memo.queues()) {
    for (const auto& [type, row] : queue.types) {
      if (asked.wants(moment, name, type)) add(moment, type, row);
    }
  }
}

void TypeSum::add(const HistorySum& asked, TimePoint moment, const MinuteRow& row) {
  if (!asked.wants(moment, row.queue, row.type)) return;
  HistoryRow more{.waited = SparseHistogram(row.waited), .ran = SparseHistogram(row.ran)};
  std::ranges::copy(row.counts, more.counts.begin());
  add(moment, row.type, more);
}

void TypeSum::add(TimePoint moment, const std::string& type, const HistoryRow& row) {
  types_[type].add(row);
  first_ = std::min(first_.value_or(moment), moment);
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
  TypesPast past{.all = past_of({}, all, from), .first = first_};
  for (const auto& [type, row] : rows) past.types.push_back(past_of(type, row, from));
  return past;
}

}  // namespace millrace
