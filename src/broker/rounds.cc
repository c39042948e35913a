#include "broker/rounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace millrace {

Rounds::Rounds(Store& store, const RoundsOptions& options)
    : callers_(options.waiting),
      runner_(store, {.items = options.items,
                      .batch = std::max<std::size_t>(store.traits().batch, 1),
                      .parked = options.parked,
                      .retry_after = options.waiting.retry_after}),
      options_(options) {
  // A store that syncs at intervals learns from its calls how late it is. If nobody calls, what was
  // written last would never be synced.
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
    // One that is running is looked at again by keep().
  }
}

void Rounds::give_back_of(const Request& request) {
  if (const auto* part = std::get_if<WorkPart>(&request.part)) give_back(part->result);
}

void Rounds::give_back(const WorkResult& result) {
  if (failed_) return;
  for (const auto& taken : result.taken) {
    if (!taken) continue;
    for (const Lease& lease : *taken) {
      give_backs_.push_back(
          {.id = lease.id, .expect = Held{lease.token}, .event = Event::give_back});
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
  round.now = now;
  round.requests = callers_.gather(options_.items, options_.bytes);
  round.give_backs = std::exchange(give_backs_, {});
  for (const Ticket ticket : std::exchange(unpark_, {})) {
    Request* request = callers_.find(ticket);
    if (request != nullptr && request->stage == Request::Stage::parked) {
      round.unpark.push_back(request);
    }
  }
  if (closed_) round.unpark = runner_.parked().ended(never);
  round.flush = !round.requests.empty() || !round.give_backs.empty();
  stats_.rounds += round.flush ? 1 : 0;
  stats_.requests += round.requests.size();
  for (const Request* request : round.requests) stats_.items += request->items;
  if (closed_) return answers;

  // Somebody may have set the clock back: what is to come at intervals must not wait for the moment
  // it was planned for.
  next_poll_ = std::min(next_poll_, later(now, options_.poll));
  round.serve = parked_ != 0 && (round.flush || more_ || now >= next_poll_);
  if (round.serve) next_poll_ = later(now, options_.poll);
  if (touch_every_) {
    next_touch_ = std::min(next_touch_, later(now, *touch_every_));
    round.touch = now >= next_touch_;
    if (round.touch) next_touch_ = later(now, *touch_every_);
  }
  return answers;
}

Answers Rounds::keep(Round& round) {
  Answers answers;
  for (Request* request : round.parked) {
    request->stage = Request::Stage::parked;
    if (request->gone) unpark_.push_back(request->ticket());
  }
  if (round.failure && !failed_) store_failed(*round.failure, answers);
  for (Request* request : round.unpark) refuse(*request, answers);
  if (failed_) {
    fail_round(round, answers);
  } else {
    hold(round, answers);
  }
  more_ = round.more;
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
    request->stage = Request::Stage::held;
    held.requests.push_back(request);
    held.items += request->items;
  }
  stats_.held += held.requests.size();
  stats_.held_items += held.items;
  held_.push_back(std::move(held));
}

// Nobody knows what became of it.
void Rounds::fail_round(Round& round, Answers& out) {
  // Those that had been parked before and were served in this round are not among its requests.
  for (Request* request : round.answered) {
    if (request->stage == Request::Stage::parked) refuse(*request, out);
  }
  for (Request* request : round.requests) {
    if (request->stage == Request::Stage::running) refuse(*request, out);
  }
}

void Rounds::refuse(Request& request, Answers& out) {
  if (closed_) request.instead = closed_;
  out.add(callers_.remove(request));
}

Answers Rounds::flushed(std::uint64_t round, const Result<void>& result) {
  Answers answers;
  // No space for now: everybody goes on waiting for a flush that succeeds.
  if (!result && result.error().code == ErrorCode::limited && !closed_) return answers;
  if (!result) {
    store_failed(result.error(), answers);
    round = applied_;
  }
  flushed_ = std::max(flushed_, round);
  while (!held_.empty() && held_.front().round <= round) {
    for (Request* request : held_.front().requests) {
      if (!result) request->instead = closed_;
      answers.add(callers_.remove(*request));
    }
    stats_.held -= held_.front().requests.size();
    stats_.held_items -= held_.front().items;
    held_.pop_front();
  }
  return answers;
}

Answers Rounds::stop() {
  Answers answers;
  if (!closed_) {
    close({ErrorCode::unavailable, "the broker is stopping; nothing was changed"}, answers);
  }
  return answers;
}

void Rounds::store_failed(const Error& cause, Answers& out) {
  failed_ = true;
  give_backs_.clear();
  close({ErrorCode::unavailable, fmt::format("the store has failed: {}", cause.message)}, out);
}

void Rounds::close(Error cause, Answers& out) {
  closed_ = std::move(cause);
  callers_.refuse_all(*closed_, out);
}

TimePoint Rounds::next_wakeup() const {
  const bool now = callers_.waiting() != 0 || !give_backs_.empty() || !unpark_.empty() ||
                   (parked_ != 0 && (more_ || closed_));
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
