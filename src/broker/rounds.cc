#include "broker/rounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/ensure.h"
#include "store/store.h"

namespace millrace {
namespace {

// For callers whose requests the store had when it went away.
constexpr Duration away_retry_after{1000};

}  // namespace

Rounds::Rounds(Store& store, const RoundsOptions& options)
    : callers_(options.waiting),
      runner_(store, {.items = options.items,
                      .batch = std::max<std::size_t>(store.traits().batch, 1),
                      .parked = options.parked,
                      .retry_after = options.waiting.retry_after,
                      .exists = options.exists}),
      options_(options),
      recovers_(store.traits().recovers) {
  // A store that syncs at intervals notices only in its calls that a sync is due. Without calls,
  // what was written last would never be synced.
  const Traits traits = store.traits();
  if (traits.durability == Durability::interval) {
    touch_every_ = std::max(traits.loss_window / 2, Duration(1));
    next_touch_ = TimePoint::min();
  }
}

Ticket Rounds::submit(Request request, TimePoint now, Answers& refused) {
  auto error = closed_ ? closed_ : callers_.refusal(request);
  if (!error) return callers_.add(std::move(request), now);
  ++stats_.refused;
  request.instead = std::move(error);
  std::map<std::uint64_t, Request> single;
  single.emplace(0, std::move(request));
  refused.add(single.extract(0));
  return {};
}

Answers Rounds::cancel(Ticket ticket) {
  Answers dropped;
  gone(callers_.cancel(ticket, dropped));
  return dropped;
}

Answers Rounds::leave(CallerId caller) {
  Answers dropped;
  gone(callers_.leave(caller, dropped));
  return dropped;
}

void Rounds::gone(const std::vector<Request*>& requests) {
  for (Request* request : requests) {
    if (request->stage == Request::Stage::parked) unpark_.push_back(request->ticket());
    if (request->stage == Request::Stage::held) give_back_of(*request);
    // keep() looks again at one that is running.
  }
}

void Rounds::give_back_of(const Request& request) {
  if (const auto* part = std::get_if<WorkPart>(&request.part)) give_back(part->result);
}

void Rounds::give_back(const WorkResult& result) {
  if (failed_ || (away_ && closed_)) return;
  for (const auto& taken : result.taken) {
    if (!taken) continue;
    for (const Lease& lease : *taken) {
      give_backs_.push_back({.id = lease.id,
                             .expect = Held{lease.token},
                             .event = Event::give_back,
                             .started = false});
      ++stats_.given_back;
    }
  }
}

Answers Rounds::apply(TimePoint now) {
  Round round;
  Answers answers = gather(now, round);
  run(round);
  answers.add(keep(round));
  return answers;
}

Answers Rounds::expire(TimePoint now) {
  Answers expired;
  const std::size_t before = callers_.waiting();
  callers_.expire(now, expired);
  stats_.expired += before - callers_.waiting();
  return expired;
}

Answers Rounds::gather(TimePoint now, Round& round) {
  Answers answers = expire(now);
  round.now = last_now_ = now;
  round.requests = callers_.gather(options_.items, options_.bytes);
  for (const Ticket ticket : std::exchange(unpark_, {})) {
    Request* request = callers_.find(ticket);
    if (request != nullptr && request->stage == Request::Stage::parked) {
      round.unpark.push_back(request);
    }
  }
  if (closed_) round.unpark = runner_.parked().ended(never);
  round.failed_flushes = failed_flushes_;
  if (!closed_) plan_looks(now, round);
  // While the store is away, give-backs wait for the next try.
  if (!away_ || round.touch || !round.requests.empty()) {
    round.give_backs = std::exchange(give_backs_, {});
  }
  round.flush = !round.requests.empty() || !round.give_backs.empty();
  round.serve = round.serve || (round.flush && parked_ != 0 && !closed_);
  if (round.serve) next_poll_ = later(now, options_.poll);
  stats_.rounds += round.flush ? 1 : 0;
  stats_.requests += round.requests.size();
  for (const Request* request : round.requests) stats_.items += request->items;
  return answers;
}

// What is to be looked at without a request. The clock may have been set back: what comes at
// intervals must not wait for the moment it was planned for.
void Rounds::plan_looks(TimePoint now, Round& round) {
  next_poll_ = std::min(next_poll_, later(now, options_.poll));
  const bool hinted = std::exchange(hinted_all_, false);
  round.serve = parked_ != 0 && (hinted || more_ || now >= next_poll_);
  for (const std::string& queue : std::exchange(hinted_, {})) {
    if (runner_.parked().wanted(queue)) round.hot.push_back(queue);
  }
  const auto every = away_ ? std::optional(options_.poll) : touch_every_;
  next_touch_ = every ? std::min(next_touch_, later(now, *every)) : never;
  round.touch = now >= next_touch_;
  if (round.touch) next_touch_ = later(now, *every);
}

void Rounds::hint(const std::vector<std::string>& queues) {
  hinted_.insert(queues.begin(), queues.end());
}

Answers Rounds::keep(Round& round) {
  Answers answers;
  for (Request* request : round.parked) {
    request->stage = Request::Stage::parked;
    if (request->gone) unpark_.push_back(request->ticket());
  }
  if (round.failure && !failed_) store_failed(*round.failure, answers);
  for (Request* request : round.unpark) refuse(*request, answers);
  if (round.failure && !failed_) {
    // What was answered before is flushed as usual, and the flush decides whether it is stored.
    // Only give-backs are tried again.
    round.flush = round.touch = false;
    if (!closed_) std::ranges::move(round.give_backs, std::back_inserter(give_backs_));
  }
  if (!failed_ && round.failed_flushes != failed_flushes_) {
    // The flush that failed may have covered what this round did before it.
    for (Request* request : std::exchange(round.answered, {})) answer_unknown(*request, answers);
  }
  if (!failed_) hold(round, answers);
  if (round.failure || failed_) fail_round(round, answers);
  away_round_ = round.failure ? applied_ : away_round_;
  more_ = round.more && !round.failure;
  parked_ = runner_.parked().size();
  parked_end_ = runner_.parked().next_end().value_or(never);
  return answers;
}

void Rounds::hold(Round& round, Answers& out) {
  if (!round.flush && !round.touch && round.answered.empty()) return;
  HeldRound held{.round = ++applied_};
  for (Request* request : round.answered) {
    if (request->gone) {
      give_back_of(*request);
      out.add(callers_.remove(*request));
      continue;
    }
    ensure(request->stage != Request::Stage::held, "a request was answered twice in its rounds");
    request->stage = Request::Stage::held;
    held.requests.push_back(request);
    held.items += request->items;
  }
  stats_.held += held.requests.size();
  stats_.held_items += held.items;
  held_.push_back(std::move(held));
}

// The fate of the round is unknown. Some of its requests may have been answered before.
void Rounds::fail_round(Round& round, Answers& out) {
  // Parked takes that were served in this round are not among its requests.
  for (Request* request : round.answered) {
    if (failed_ && request->stage == Request::Stage::parked) refuse(*request, out);
  }
  for (Request* request : round.requests) {
    if (request->stage == Request::Stage::running) answer_unknown(*request, out);
  }
}

// The caller does not learn which tasks it took: they must not wait for the lease's end.
void Rounds::answer_unknown(Request& request, Answers& out) {
  const bool given_back = request.gone && request.stage == Request::Stage::held;
  if (!given_back) give_back_of(request);
  request.instead = unknown();
  out.add(callers_.remove(request));
}

Error Rounds::unknown() const {
  if (failed_) return *closed_;
  Error error = *away_;
  error.message +=
      "; what became of the request is unknown, and it may be sent again with the same id";
  return error;
}

void Rounds::refuse(Request& request, Answers& out) {
  if (closed_) request.instead = closed_;
  out.add(callers_.remove(request));
}

Answers Rounds::flushed(std::uint64_t round, const Result<void>& result) {
  Answers answers;
  // No space for now: all callers go on waiting for a flush that succeeds.
  if (!result && result.error().code == ErrorCode::limited && !closed_) return answers;
  if (!result) {
    store_failed(result.error(), answers);
    ++failed_flushes_;
    round = away_round_ = applied_;
  }
  if (result && away_ && round > away_round_) {
    away_.reset();
    next_touch_ = touch_every_ ? TimePoint::min() : never;
    hint_all();
  }
  ensure(round <= applied_, "a round was flushed that was never applied");
  flushed_ = std::max(flushed_, round);
  while (!held_.empty() && held_.front().round <= round) {
    for (Request* request : held_.front().requests) {
      if (result) {
        answers.add(callers_.remove(*request));
      } else {
        answer_unknown(*request, answers);
      }
    }
    ensure(stats_.held >= held_.front().requests.size(),
           "more requests are answered than were held");
    stats_.held -= held_.front().requests.size();
    stats_.held_items -= held_.front().items;
    held_.pop_front();
  }
  return answers;
}

Answers Rounds::stop() {
  Answers answers;
  if (away_) give_backs_.clear();  // the broker stops, and does not wait for the store
  if (!closed_) {
    close({ErrorCode::unavailable, "the broker is stopping; nothing was changed"}, answers);
  }
  return answers;
}

void Rounds::store_failed(const Error& cause, Answers& out) {
  if (recovers_) {
    away_ = Error{ErrorCode::unavailable, fmt::format("the store is away: {}", cause.message),
                  away_retry_after};
    next_touch_ = std::min(next_touch_, later(last_now_, options_.poll));
    if (closed_) give_backs_.clear();
    return;
  }
  failed_ = true;
  give_backs_.clear();
  close({ErrorCode::unavailable, fmt::format("the store has failed: {}", cause.message)}, out);
}

void Rounds::close(Error cause, Answers& out) {
  closed_ = std::move(cause);
  callers_.refuse_all(*closed_, out);
}

TimePoint Rounds::next_wakeup() const {
  const bool looks = more_ || closed_ || hinted_all_ || !hinted_.empty();
  const bool now = callers_.waiting() != 0 || (!give_backs_.empty() && !away_) ||
                   !unpark_.empty() || (parked_ != 0 && looks);
  if (now) return TimePoint::min();
  if (closed_) return never;
  if (parked_ == 0) return next_touch_;
  return std::min({parked_end_, next_poll_, next_touch_});
}

RoundsStats Rounds::stats() const {
  RoundsStats stats = stats_;
  stats.waiting = callers_.waiting();
  stats.waiting_bytes = callers_.waiting_bytes();
  stats.parked = parked_;
  return stats;
}

}  // namespace millrace
