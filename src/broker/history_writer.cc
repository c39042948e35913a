#include "broker/history_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/time_text.h"
#include "store/store.h"

namespace millrace {
namespace {

constexpr std::size_t most_pending = 60;  // minutes that could not be stored
constexpr int tries = 5;                  // against other servers that write the same memo
constexpr Duration soon{200};
constexpr Duration rest_after_failure{10'000};

}  // namespace

Result<TimePoint> HistoryWriter::run_once(Store& store, TimePoint now) {
  const TimePoint minute = beginning_of(history_minute, now);
  const TimePoint next = minute + history_minute.length;
  // This broker knows nothing of the time before it started.
  if (gathered_ == TimePoint::min()) gathered_ = minute;
  if (gathered_ != minute) {
    if (auto good = gather(store, now, false); !good) return std::unexpected(good.error());
    return pending_.empty() ? next : now;
  }
  if (pending_.empty()) return next;
  auto written = write_next(store, now);
  if (!written && written.error().code == ErrorCode::unavailable) {
    return std::unexpected(std::move(written.error()));
  }
  if (!written) return std::min(next, cannot_write(written.error(), now));
  if (!*written) return std::min(next, later(now, soon));
  if (std::exchange(failing_, false)) {
    books_.log()(LogLevel::info, "history can be stored again");
  }
  return pending_.empty() ? next : now;
}

TimePoint HistoryWriter::cannot_write(const Error& error, TimePoint now) {
  if (!std::exchange(failing_, true)) {
    books_.log()(LogLevel::warning, fmt::format("history cannot be stored: {}", error.message));
  }
  return later(now, rest_after_failure);
}

HistoryWriter::Pending& HistoryWriter::pending_of(TimePoint minute) {
  const auto open = [&](const Pending& each) { return each.at == minute && !each.minute_stored; };
  const auto found = std::ranges::find_if(pending_, open);
  return found == pending_.end() ? pending_.emplace_back(Pending{.at = minute}) : *found;
}

Result<void> HistoryWriter::gather(Store& store, TimePoint now, bool all) {
  const auto counts = store.counts(std::nullopt, now);
  if (!counts) return std::unexpected(counts.error());
  const TimePoint minute = beginning_of(history_minute, now);
  for (const auto& each : books_.metrics.finished(now, all)) {
    Pending& pending = pending_of(each->at);
    for (const auto& row : each->rows) pending.memo.add(*row);
  }
  // What waits now is what waited when the last minute ended, unless the clock was set back.
  const bool goes_on = minute >= gathered_;
  const TimePoint last = all ? minute : minute - history_minute.length;
  HistoryMemo depth;
  depth.see(*counts, now);
  const bool there = std::ranges::any_of(
      pending_, [&](const Pending& each) { return each.at == last && !each.minute_stored; });
  if (goes_on && (there || !depth.empty())) pending_of(last).memo.add(depth);
  for (Pending& pending : pending_) pending.memo.cut();
  gathered_ = minute;
  while (pending_.size() > most_pending) {
    books_.log()(LogLevel::warning,
                 fmt::format("the history of {} is lost: it could not be stored for {} minutes",
                             format_time(pending_.front().at), most_pending));
    pending_.pop_front();
  }
  return {};
}

Result<bool> HistoryWriter::write_next(Store& store, TimePoint now) {
  Pending& next = pending_.front();
  const HistoryStep& step = next.minute_stored ? history_hour : history_minute;
  auto written = write(store, step, next.at, next.memo, now);
  if (!written || !*written) return written;
  if (next.minute_stored) {
    pending_.pop_front();
  } else {
    next.minute_stored = true;
  }
  return true;
}

Result<bool> HistoryWriter::write(Store& store, const HistoryStep& step, TimePoint minute,
                                  const HistoryMemo& memo, TimePoint now) {
  const std::string key = history_key(step, beginning_of(step, minute));
  for (int i = 0; i < tries; ++i) {
    const auto old = store.recall({.prefix = key, .limit = 1}, now);
    if (!old) return std::unexpected(old.error());
    const auto unsure = std::exchange(unsure_, std::nullopt);
    if (unsure && !old->empty() && unsure->key == key && unsure->value == old->front().value) {
      return true;
    }
    HistoryMemo sum = memo;
    if (!old->empty()) {
      auto before = HistoryMemo::decode(old->front().value);
      if (before) {
        before->add(memo);
        sum = std::move(*before);
      } else {
        books_.log()(LogLevel::error,
                     fmt::format("memo {} is replaced: {}", key, before.error().message));
      }
    }
    Remember request{.key = key,
                     .value = sum.encode_in(step.bytes),
                     .expected = old->empty() ? 0 : old->front().version,
                     .lifetime = step.kept};
    const auto stored = store.remember(request, now);
    if (stored) return true;
    if (stored.error().code == ErrorCode::unavailable) unsure_ = std::move(request);
    if (stored.error().code != ErrorCode::conflict) return std::unexpected(stored.error());
  }
  return false;
}

Result<void> HistoryWriter::write_all(Store& store, TimePoint now) {
  if (auto good = gather(store, now, true); !good) return good;
  while (!pending_.empty()) {
    const auto written = write_next(store, now);
    if (!written) return std::unexpected(written.error());
    if (!*written) return fail(ErrorCode::conflict, "other servers keep writing the same memos");
  }
  return {};
}

void HistoryWriter::look_at_unwritten(
    const HistoryStep& step,
    const std::function<void(TimePoint minute, const HistoryMemo&)>& look) {
  const bool minutes = step.length == history_minute.length;
  for (const Pending& pending : pending_) {
    if (minutes && pending.minute_stored) continue;
    look(pending.at, pending.memo);
  }
}

}  // namespace millrace
