// Who asked for what, and whose turn it is: requests from the moment they come in until they are
// answered.
#pragma once

#include <millrace/result.h>
#include <millrace/time.h>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "broker/request.h"
#include "core/limits.h"

namespace millrace {

// Requests that left the books and are to be answered outside all locks: only deliver() calls
// completions, and code that holds a lock calls deliver() after unlocking. Requests whose caller is
// gone are destroyed unanswered.
class [[nodiscard]] Answers {
 public:
  using Node = std::map<std::uint64_t, Request>::node_type;

  void add(Node node) { nodes_.push_back(std::move(node)); }
  void add(Answers more);
  bool empty() const { return nodes_.empty(); }
  // A completion that throws ends the process, as an exception from a thread's function does.
  void deliver() noexcept;

 private:
  std::vector<Node> nodes_;
};

// How much may wait for a round, overall and per caller. A request beyond that is `limited`.
struct WaitingLimits {
  std::size_t requests = 100'000;
  std::size_t bytes = 256 * limits::mib;
  std::size_t caller_requests = 20'000;
  std::size_t caller_bytes = 64 * limits::mib;
  Duration retry_after{100};
};

class Callers {
 public:
  explicit Callers(const WaitingLimits& limits) : limits_(limits) {}

  // Why the request cannot wait here, if it cannot.
  std::optional<Error> refusal(const Request& request) const;
  Ticket add(Request request, TimePoint now);

  // Takes what fits into one round: one request of each caller in turn, each caller's in order. A
  // round goes step by step, so a caller whose next request begins with an earlier step than its
  // last one ended with has to wait for the next round. The first request always fits.
  std::vector<Request*> gather(std::size_t items, std::size_t bytes);

  // Forgets a request, which the caller of this answers or throws away.
  Answers::Node remove(Request& request);

  // Waiting requests whose deadline has passed, and all of them, with the error to answer.
  void expire(TimePoint now, Answers& out);
  void refuse_all(const Error& error, Answers& out);

  // Drops the requests that still wait, and returns the takes that have begun, marked as gone.
  // Other requests that have begun will be answered as usual.
  std::vector<Request*> leave(CallerId caller, Answers& dropped);
  std::vector<Request*> cancel(Ticket ticket, Answers& dropped);

  std::optional<TimePoint> next_deadline() const;
  std::size_t waiting() const { return waiting_; }
  std::size_t waiting_bytes() const { return waiting_bytes_; }
  std::size_t open() const { return open_; }  // not answered yet, at whatever stage
  Request* find(Ticket ticket);

 private:
  struct Caller {
    std::map<std::uint64_t, Request> requests = {};  // by number: in order of arrival
    std::uint64_t next = 0;                          // requests with smaller numbers wait no more
    std::size_t waiting = 0;
    std::size_t waiting_bytes = 0;
    // The last gather that the caller was part of.
    std::uint64_t gathered = 0;
    Step step = Step::put;
    std::list<Caller*>::iterator turn = {};  // valid while something waits
  };

  static bool only_takes(const Request& request);
  // The caller's first request that has not been gathered yet.
  static Request& next_of(Caller& caller);
  void waits_no_more(Caller& caller, Request& request);
  Answers::Node drop(Request& request, std::optional<Error> instead);

  WaitingLimits limits_;
  std::unordered_map<std::uint64_t, Caller> callers_;
  std::list<Caller*> turns_;  // callers with waiting requests, the next one first
  std::map<std::pair<TimePoint, std::uint64_t>, Request*> deadlines_;  // of waiting requests
  std::uint64_t last_number_ = 0;
  std::uint64_t gathers_ = 0;
  std::size_t waiting_ = 0;
  std::size_t waiting_bytes_ = 0;
  std::size_t open_ = 0;
};

}  // namespace millrace
