#include "broker/coalescer.h"
#include "store/store.h"

#include <algorithm>
#include <chrono>

namespace millrace {
namespace {

// The clock decides, but the condition variable waits in real time: this bounds how late a clock
// that was set, or that a test moves, is noticed.
constexpr Duration longest_nap{250};

// After a flush that lacked space.
constexpr std::chrono::milliseconds flush_again{100};

}  // namespace

Coalescer::Coalescer(Clock& clock, Store& store, const CoalescerOptions& options)
    : clock_(clock),
      store_(store),
      options_(options),
      shared_(store.traits().several_processes),
      rounds_(store, options.rounds) {
  applier_ = std::thread([this] { apply_rounds(); });
  syncer_ = std::thread([this] { flush_rounds(); });
}

// Unlocks first, so that the applier does not wake up to a lock that is held.
template <class Change>
void Coalescer::change(const Change& change) {
  bool wake = false;
  {
    const Lock lock(mutex_);
    change();
    wake = applier_waits_ && has_company();
    if (wake) applier_waits_ = false;
  }
  if (wake) work_.notify_one();
}

Ticket Coalescer::submit(Request request) {
  Answers refused;
  Ticket ticket;
  const TimePoint now = clock_.now();
  change([&]() REQUIRES(mutex_) { ticket = rounds_.submit(std::move(request), now, refused); });
  refused.deliver();
  return ticket;
}

void Coalescer::cancel(Ticket ticket) {
  Answers dropped;
  change([&]() REQUIRES(mutex_) { dropped = rounds_.cancel(ticket); });
  dropped.deliver();
}

void Coalescer::leave(CallerId caller) {
  Answers dropped;
  change([&]() REQUIRES(mutex_) { dropped = rounds_.leave(caller); });
  dropped.deliver();
}

void Coalescer::give_back(const WorkResult& result) {
  change([&]() REQUIRES(mutex_) { rounds_.give_back(result); });
}

void Coalescer::hint(const Hint& hint) {
  change([&]() REQUIRES(mutex_) {
    rounds_.hint(hint.work);
    if (hint.everything) rounds_.hint_all();
  });
}

void Coalescer::tell_of_store() {
  const auto failure = rounds_.failure();
  if (failure.has_value() == away_) return;
  away_ = failure.has_value();
  if (on_store_) on_store_(failure);
}

void Coalescer::on_store(std::function<void(const std::optional<Error>&)> tell) {
  const Lock lock(mutex_);
  on_store_ = std::move(tell);
}

// Of changes that other processes have applied, nothing is known here. Only a flush that begins now
// or later covers them.
void Coalescer::when_stored(Stored then) {
  Lock lock(mutex_);
  const std::uint64_t round = rounds_.applied() + (applying_ ? 1 : 0);
  const std::uint64_t flush = shared_ ? flushes_begun_ + 1 : 0;
  auto failure = rounds_.failure();
  if (!failure && shared_ && syncer_done_) {
    failure = Error{ErrorCode::unavailable, "the broker is stopping; nothing was changed"};
  }
  if (!failure && (round > rounds_.durable() || shared_)) {
    waiting_stored_.push_back({round, flush, std::move(then)});
    flush_wanted_ = std::max(flush_wanted_, flush);
    if (shared_) applied_.notify_one();
    return;
  }
  lock.unlock();
  then(failure);
}

// A round that changed and answered nothing is not counted, so its number will never come.
std::vector<Coalescer::Stored> Coalescer::take_stored() {
  std::vector<Stored> taken;
  const bool failed = rounds_.failure().has_value();
  std::erase_if(waiting_stored_, [&](WaitingStored& waiting) REQUIRES(mutex_) {
    const std::uint64_t round =
        applying_ ? waiting.round : std::min(waiting.round, rounds_.applied());
    if (!failed && (round > rounds_.durable() || waiting.flush > flushes_over_)) return false;
    taken.push_back(std::move(waiting.then));
    return true;
  });
  return taken;
}

bool Coalescer::has_company() const {
  return !syncer_busy_ || stopping_ || rounds_.waiting() >= options_.company;
}

void Coalescer::wait_for_work(TimePoint now) {
  const bool may_apply = has_room() && has_company();
  const TimePoint wakeup = may_apply ? rounds_.next_wakeup() : rounds_.next_deadline();
  if (wakeup <= now) return;
  // While there is no room, only the end of a flush is worth waking up for.
  applier_waits_ = has_room();
  // While a flush is under way, or about to be, deadlines must be kept whatever becomes of it.
  if (wakeup == never && may_apply && !rounds_.needs_flush()) {
    work_.wait(mutex_);
  } else {
    work_.wait_for(mutex_, wakeup < later(now, longest_nap) ? wakeup - now : longest_nap);
  }
  applier_waits_ = false;
}

// Rounds allows this beside its other calls, so the mutex is not held.
void Coalescer::run(Round& round) NO_THREAD_SAFETY_ANALYSIS {
  rounds_.run(round);
}

void Coalescer::apply_rounds() {
  Lock lock(mutex_);
  while (!stopping_ || !rounds_.idle() || syncer_busy_) {
    wait_for_work(clock_.now());
    Round round;
    round.now = clock_.now();
    Answers answers = rounds_.expire(round.now);
    const bool apply = has_room() && has_company();
    if (apply) answers.add(rounds_.gather(round.now, round));
    applying_ = apply;
    lock.unlock();
    answers.deliver();
    if (apply) run(round);
    lock.lock();
    if (!apply) continue;
    answers = rounds_.keep(round);
    applying_ = false;
    tell_of_store();
    if (rounds_.needs_flush()) applied_.notify_one();
    auto stored = take_stored();
    if (answers.empty() && stored.empty()) continue;
    const auto failure = rounds_.failure();
    lock.unlock();
    answers.deliver();
    for (Stored& then : stored) then(failure);
    lock.lock();
  }
  applier_done_ = true;
  applied_.notify_one();
}

void Coalescer::flush_rounds() {
  Lock lock(mutex_);
  for (;;) {
    applied_.wait(mutex_, [this]() REQUIRES(mutex_) { return needs_flush() || applier_done_; });
    if (!needs_flush()) {
      syncer_done_ = true;
      return;
    }
    const std::uint64_t applied = rounds_.applied();
    const std::uint64_t flush = ++flushes_begun_;
    // Requests need not wait for a flush that is made for reads alone.
    syncer_busy_ = rounds_.needs_flush();
    lock.unlock();
    const auto before = clock_.steady();
    const Result<void> result = store_.flush();
    flush_seconds_.observe(std::chrono::duration<double>(clock_.steady() - before).count());
    lock.lock();
    Answers answers = rounds_.flushed(applied, result);
    const bool full = !result && result.error().code == ErrorCode::limited;
    if (!full) flushes_over_ = flush;
    tell_of_store();
    if (!result && needs_flush()) {
      // Requests that free space must not wait for company meanwhile.
      syncer_busy_ = false;
      work_.notify_one();
      applied_.wait_for(mutex_, flush_again, [this]() REQUIRES(mutex_) { return stopping_; });
      syncer_busy_ = true;
    }
    // An applier that waits for requests gains nothing from being woken now.
    const bool wake = !applier_waits_ || !result;
    auto stored = take_stored();
    const auto failure = rounds_.failure();
    lock.unlock();
    if (wake) work_.notify_one();
    for (Stored& then : stored) then(failure);
    answers.deliver();
    lock.lock();
    syncer_busy_ = false;
    if (stopping_ || rounds_.next_wakeup() == TimePoint::min()) work_.notify_one();
  }
}

void Coalescer::stop() {
  Lock lock(mutex_);
  stopping_ = true;
  Answers refused = rounds_.stop();
  lock.unlock();
  work_.notify_one();
  applied_.notify_one();
  refused.deliver();
  const Lock joining(join_mutex_);
  if (applier_.joinable()) applier_.join();
  if (syncer_.joinable()) syncer_.join();
}

CoalescerStats Coalescer::stats() {
  const Lock lock(mutex_);
  return {.rounds = rounds_.stats(), .flush_seconds = flush_seconds_.snapshot()};
}

std::optional<Error> Coalescer::failure() {
  const Lock lock(mutex_);
  return rounds_.failure();
}

}  // namespace millrace
