#include "broker/sweeper.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "broker/dead_letter.h"
#include "core/decide.h"
#include "core/limits.h"
#include "core/time_text.h"
#include "core/transition.h"
#include "core/uuid.h"
#include "store/store.h"

namespace millrace {
namespace {

constexpr auto calm = std::chrono::seconds(30);
constexpr auto disagreement = std::chrono::seconds(5);
constexpr auto standstill = std::chrono::seconds(5);  // between two looks that come every second

constexpr Duration at_least_every{1000};
constexpr std::size_t advance_step = 1000;
// In a store that several processes share, one of them cleans up for all.
constexpr std::size_t shared_advance_step = 5000;
constexpr std::size_t settle_step = 500;

}  // namespace

LossGuard::LossGuard(Clock& clock)
    : clock_(clock), wall_(clock.now()), steady_(clock.steady()), calm_from_(steady_ + calm) {}

bool LossGuard::may_lose() {
  const TimePoint wall = clock_.now();
  const std::chrono::nanoseconds steady = clock_.steady();
  const auto passed = steady - std::exchange(steady_, steady);
  const std::chrono::nanoseconds shown = wall - std::exchange(wall_, wall);
  if (std::chrono::abs(shown - passed) > disagreement || passed > standstill) {
    calm_from_ = steady + calm;
  }
  const auto behind = std::chrono::duration_cast<Duration>(passed - shown);
  set_back_ = behind > disagreement ? behind : Duration::zero();
  return steady >= calm_from_;
}

Result<TimePoint> Sweeper::run_once(Store& store, TimePoint now) {
  const auto advanced =
      store.advance(now, books_.traits.several_processes ? shared_advance_step : advance_step);
  if (!advanced) return std::unexpected(advanced.error());
  if (advanced->promoted != 0 && books_.log().wants(LogLevel::debug)) {
    books_.log()(LogLevel::debug,
                 fmt::format("{} delayed or retrying tasks are due", advanced->promoted),
                 {{"tasks", static_cast<std::int64_t>(advanced->promoted)}});
  }
  const auto removing = books_.queues.removing();
  if (advanced->lifted != 0 || !removing.empty()) {
    if (auto good = books_.queues.reload(store); !good) return std::unexpected(good.error());
  }
  for (const std::string& queue : removing) {
    if (!books_.queues.find(queue)) books_.metrics.forget(queue);
  }
  if (!removing.empty() && books_.waiters.look_at_all() && on_awaited) on_awaited();
  const auto more = settle_overdue(store, now);
  if (!more) return std::unexpected(more.error());
  if (*more || advanced->more) return now;
  if (jumps_) return advanced->next.value_or(never);
  // A lease given out meanwhile may end earlier than what was known just now.
  const TimePoint next = later(now, at_least_every);
  return advanced->next ? std::min(*advanced->next, next) : next;
}

Result<Settlement> Sweeper::decide(Store& store, const Overdue& overdue, TimePoint now) {
  Settlement settlement;
  if (const auto* lost = std::get_if<Lost>(&overdue.expect)) {
    const auto settings = books_.settings_of(store, overdue.lease.queue);
    if (!settings) return std::unexpected(settings.error());
    settlement = decide_lost(overdue.lease, lost->until, overdue.cancel_requested, *settings,
                             books_.options.retry, now);
    if (makes_dead_letter(settlement.event, *settings)) {
      add_dead_letter(settlement, dead_task(overdue.lease), *settings, books_.ids, now);
    }
  } else if (overdue.parent) {
    settlement = decide_orphaned(overdue.lease.id, std::get<Unchanged>(overdue.expect).version,
                                 *overdue.parent, now, overdue.lease.counters);
  } else {
    settlement = decide_expired(overdue.lease.id, std::get<Unchanged>(overdue.expect).version, now,
                                overdue.lease.counters);
  }
  books_.deliveries.add_to(settlement, subject_of(overdue.lease), now);
  return settlement;
}

Result<bool> Sweeper::settle_overdue(Store& store, TimePoint now) {
  const std::size_t step = std::min(settle_step, books_.traits.batch);
  const bool may_lose = jumps_ || guard_.may_lose();
  if (!jumps_) tell_set_back(guard_.set_back(), guard_.shown());
  // Leases that may not be lost yet must not hide what may be settled, however many there are.
  const auto due = store.due(now, {.limit = step, .leases = may_lose});
  if (!due) return std::unexpected(due.error());
  std::vector<const Overdue*> ended;
  std::vector<Settlement> settlements;
  std::size_t bytes = 0;  // with so many, a store leaves the others to the next call
  for (const Overdue& overdue : *due) {
    auto decided = decide(store, overdue, now);
    if (!decided) return std::unexpected(std::move(decided.error()));
    settlements.push_back(std::move(*decided));
    ended.push_back(&overdue);
    bytes += overdue.lease.payload.size();
  }
  if (settlements.empty()) return false;
  const auto result = store.work(settlements, {}, {}, now);
  if (!result) return std::unexpected(result.error());
  bool changed = false;
  for (std::size_t i = 0; i < ended.size(); ++i) {
    const auto& settled = result->settled[i];
    if (!settled) refused(*ended[i], settled.error());
    if (!settled || settled->status != SettleStatus::applied) continue;
    changed = true;
    note(*ended[i], settlements[i], *settled, now);
  }
  // What could not be settled is tried again later, not at once.
  return changed && (result->more || ended.size() == step || bytes >= limits::max_taken_bytes);
}

void Sweeper::look_at_newest(Reader& reader, TimePoint now) const {
  if (jumps_) return;
  const auto newest = reader.list({.limit = 1, .detail = Detail::state});
  if (!newest || newest->tasks.empty()) return;  // it is only for a hint
  const Duration by = newest->tasks.front().updated_at - now;
  if (by > disagreement) tell_set_back(by, now);
}

// Tasks that wait for a moment wait longer by this much, and nothing else tells an operator why.
void Sweeper::tell_set_back(Duration by, TimePoint to) const {
  if (by <= Duration::zero()) return;
  const std::string what = fmt::format(
      "the clock was set back by {} s to {}: what is ready stays ready; delays, "
      "retries, schedules and retention wait until the clock reaches their "
      "moments again",
      std::chrono::floor<std::chrono::seconds>(by).count(), format_time(to));
  books_.log()(LogLevel::warning, what, {{"ms", by.count()}});
  if (on_set_back) on_set_back(what, to);
}

// Another process extended, settled, changed or removed it at the last moment, which is not worth a
// log line.
void Sweeper::refused(const Overdue& overdue, const Error& error) {
  if (error.code == ErrorCode::lease_lost || error.code == ErrorCode::conflict) return;
  if (error.code == ErrorCode::not_found && books_.traits.several_processes) return;
  books_.log()(LogLevel::error,
               fmt::format("task {} is overdue and cannot be settled: {}",
                           to_text(overdue.lease.id.value), error.message),
               {{"queue", overdue.lease.queue}, {"code", std::string(name_of(error.code))}});
}

void Sweeper::note(const Overdue& overdue, const Settlement& settlement, const Settled& settled,
                   TimePoint now) {
  const Lease& lease = overdue.lease;
  const bool ran = std::holds_alternative<Lost>(overdue.expect);
  pending_records_.ended(lease, settlement, settled.state, ran, now);
  if (!settlement.follow_ups.empty()) {
    pending_records_.put({settlement.follow_ups, books_.queues, now}, now);
  }
  if (ran) LeaseBook::Writing(books_.leases).ended(lease.token, false, now);
  log_settled(books_.log(), lease.queue, settlement);
  if (is_final(settled.state) && books_.waiters.finished(lease.id) && on_awaited) on_awaited();
}

}  // namespace millrace
