#include "broker/callers.h"

#include <fmt/format.h>

#include <iterator>

#include "core/ensure.h"

namespace millrace {

void Answers::add(Answers more) {
  nodes_.insert(nodes_.end(), std::move_iterator(more.nodes_.begin()),
                std::move_iterator(more.nodes_.end()));
}

void Answers::deliver() noexcept {
  // A completion may lead back here with new answers; each call has its own nodes.
  const auto nodes = std::exchange(nodes_, {});
  for (const Node& node : nodes) {
    Request& request = node.mapped();
    if (!request.gone) request.answer();
  }
}

std::optional<Error> Callers::refusal(const Request& request) const {
  if (request.bytes > limits_.caller_bytes || request.bytes > limits_.bytes) {
    return Error{ErrorCode::too_large,
                 fmt::format("the request has {} bytes and at most {} can wait; send less at once",
                             request.bytes, std::min(limits_.caller_bytes, limits_.bytes))};
  }
  const auto limited = [&](std::string_view whose, std::size_t count, std::size_t bytes) {
    return Error{ErrorCode::limited,
                 fmt::format("{} requests with {} bytes of {} wait already; try again in {} ms",
                             count, bytes, whose, limits_.retry_after.count()),
                 limits_.retry_after};
  };
  if (waiting_ >= limits_.requests || waiting_bytes_ + request.bytes > limits_.bytes) {
    return limited("all callers", waiting_, waiting_bytes_);
  }
  const auto at = callers_.find(request.caller.value);
  if (at == callers_.end()) return std::nullopt;
  const Caller& caller = at->second;
  if (caller.waiting >= limits_.caller_requests ||
      caller.waiting_bytes + request.bytes > limits_.caller_bytes) {
    return limited("this caller", caller.waiting, caller.waiting_bytes);
  }
  return std::nullopt;
}

Ticket Callers::add(Request request, TimePoint now) {
  Caller& caller = callers_[request.caller.value];
  request.number = ++last_number_;
  request.asked = now;
  request.stage = Request::Stage::waiting;
  const auto at =
      caller.requests.emplace_hint(caller.requests.end(), request.number, std::move(request));
  Request& added = at->second;
  if (caller.waiting++ == 0) caller.turn = turns_.insert(turns_.end(), &caller);
  caller.waiting_bytes += added.bytes;
  ++waiting_;
  waiting_bytes_ += added.bytes;
  ++open_;
  if (added.deadline != never) {
    // Most deadlines are as long as the one before, so the new one usually comes last.
    deadlines_.emplace_hint(deadlines_.end(), std::pair(added.deadline, added.number), &added);
  }
  return added.ticket();
}

std::vector<Request*> Callers::gather(std::size_t items, std::size_t bytes) {
  std::vector<Request*> round;
  std::list<Caller*> next_round;
  ++gathers_;
  std::size_t items_so_far = 0;
  std::size_t bytes_so_far = 0;
  while (!turns_.empty()) {
    Caller& caller = *turns_.front();
    Request& request = next_of(caller);
    if (caller.gathered == gathers_ && request.first_step < caller.step) {
      next_round.splice(next_round.end(), turns_, turns_.begin());
      continue;
    }
    items_so_far += request.items;
    bytes_so_far += request.bytes;
    if (!round.empty() && (items_so_far > items || bytes_so_far > bytes)) break;
    round.push_back(&request);
    caller.gathered = gathers_;
    caller.step = request.last_step;
    caller.next = request.number + 1;
    turns_.splice(turns_.end(), turns_, turns_.begin());
    waits_no_more(caller, request);
    request.stage = Request::Stage::running;
  }
  turns_.splice(turns_.begin(), next_round);
  return round;
}

Request& Callers::next_of(Caller& caller) {
  const auto next = caller.requests.lower_bound(caller.next);
  ensure(next != caller.requests.end(), "a caller has its turn and no request");
  return next->second;
}

void Callers::waits_no_more(Caller& caller, Request& request) {
  ensure(waiting_ != 0 && caller.waiting != 0 && waiting_bytes_ >= request.bytes,
         "a request was not counted among those that wait");
  --waiting_;
  waiting_bytes_ -= request.bytes;
  caller.waiting_bytes -= request.bytes;
  if (--caller.waiting == 0) turns_.erase(caller.turn);
  if (request.deadline != never) deadlines_.erase({request.deadline, request.number});
}

Answers::Node Callers::remove(Request& request) {
  const auto at = callers_.find(request.caller.value);
  ensure(at != callers_.end() && open_ != 0, "a request is removed whose caller is not known");
  Caller& caller = at->second;
  if (request.stage == Request::Stage::waiting) waits_no_more(caller, request);
  request.stage = Request::Stage::gone_out;
  Answers::Node node = caller.requests.extract(request.number);
  ensure(!node.empty(), "a request is answered or dropped twice");
  if (caller.requests.empty()) callers_.erase(at);
  --open_;
  return node;
}

Answers::Node Callers::drop(Request& request, std::optional<Error> instead) {
  request.gone = !instead;
  request.instead = std::move(instead);
  return remove(request);
}

void Callers::expire(TimePoint now, Answers& out) {
  while (!deadlines_.empty() && deadlines_.begin()->first.first <= now) {
    Request& request = *deadlines_.begin()->second;
    const auto waited = request.asked < now ? now - request.asked : Duration::zero();
    out.add(drop(request, Error{ErrorCode::unavailable,
                                fmt::format("not started within {} ms; nothing was changed",
                                            waited.count())}));
  }
}

void Callers::refuse_all(const Error& error, Answers& out) {
  while (!turns_.empty()) {
    Caller& caller = *turns_.front();
    out.add(drop(next_of(caller), error));
  }
}

// Once applied, only a request that takes and does nothing else can be undone. Others are answered:
// their completions may have to note what happened, and a caller that is gone does not mind.
bool Callers::only_takes(const Request& request) {
  const auto* part = std::get_if<WorkPart>(&request.part);
  return part != nullptr && part->work.settlements.empty() && part->work.extensions.empty();
}

std::vector<Request*> Callers::leave(CallerId id, Answers& dropped) {
  std::vector<Request*> rest;
  const auto at = callers_.find(id.value);
  if (at == callers_.end()) return rest;
  std::vector<Request*> all;
  for (auto& [number, request] : at->second.requests) all.push_back(&request);
  for (Request* request : all) {
    if (request->stage == Request::Stage::waiting) {
      dropped.add(drop(*request, std::nullopt));
    } else if (only_takes(*request) && !std::exchange(request->gone, true)) {
      rest.push_back(request);
    }
  }
  return rest;
}

std::vector<Request*> Callers::cancel(Ticket ticket, Answers& dropped) {
  Request* request = find(ticket);
  if (request == nullptr || request->gone) return {};
  if (request->stage == Request::Stage::waiting) {
    dropped.add(drop(*request, std::nullopt));
    return {};
  }
  if (!only_takes(*request)) return {};
  request->gone = true;
  return {request};
}

std::optional<TimePoint> Callers::next_deadline() const {
  if (deadlines_.empty()) return std::nullopt;
  return deadlines_.begin()->first.first;
}

Request* Callers::find(Ticket ticket) {
  const auto at = callers_.find(ticket.caller.value);
  if (at == callers_.end()) return nullptr;
  const auto request = at->second.requests.find(ticket.number);
  return request == at->second.requests.end() ? nullptr : &request->second;
}

}  // namespace millrace
