// One round: what was gathered from many callers, applied to the store in few calls.
#pragma once

#include <millrace/result.h>
#include <millrace/time.h>
#include <millrace/work.h>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "broker/known_takes.h"
#include "broker/parked.h"
#include "broker/request.h"
#include "core/values.h"
#include "store/fwd.h"

namespace millrace {

struct Round {
  // What is to be done.
  TimePoint now{};
  std::vector<Request*> requests = {};      // by turns
  std::vector<Settlement> give_backs = {};  // of leases whose caller is gone
  std::vector<Request*> unpark = {};        // parked takes whose caller is gone
  bool serve = false;                       // look for work for parked takes
  std::vector<std::string> hot = {};        // queues that may have work, according to hints
  bool touch = false;                       // call the store even if there is nothing to do
  bool flush = false;                       // something may be changed
  std::uint64_t failed_flushes = 0;         // when it began

  // What became of it.
  std::vector<Request*> answered = {};  // to be held until the flush, each caller's in order
  std::vector<Request*> parked = {};
  bool more = false;  // parked takes may find more at once
  // The store has failed, or is away. Requests that are neither answered nor parked may have been
  // applied or not.
  std::optional<Error> failure = std::nullopt;
};

struct RoundOptions {
  std::size_t items = 1000;  // about how many items parked takes get in one round
  std::size_t batch = 1000;  // of one call of the store: traits().batch
  std::size_t parked = 10'000;
  Duration retry_after{100};  // for takes that find no room to park
  QueueExists exists = {};    // for takes that may miss queues
};

// Applies rounds. Touches only the store, the parked takes and the requests of the round, so that
// new requests may come in meanwhile.
class RoundRunner {
 public:
  RoundRunner(Store& store, const RoundOptions& options);

  // Puts, then other calls, then settlements and extensions, then takes: parked ones before new
  // ones, since they came first.
  void run(Round& round);

  const Parked& parked() const { return parked_; }

 private:
  // Each is false once the store has failed.
  bool apply(Round& round);
  bool put(Round& round);
  bool call(Round& round);
  bool work(Round& round);
  bool serve_parked(Round& round);

  // Which parts of the requests go to the store.
  struct Parts {
    bool reports = false;  // settlements and extensions, including give-backs
    bool takes = false;
  };
  bool ask(Round& round, std::span<Request* const> requests, Parts parts);
  // What a parked take got; queues that gave it less than it wanted are dry for now.
  std::size_t collect(Round& round, Request& request, std::unordered_set<std::string>& dry);
  bool answer_or_park(Round& round, Request& request);
  // The names of the queues that the takes want, one per want.
  Result<std::vector<std::string>> names_of(const std::vector<TakeRequest>& takes);

  // Notes the error of a whole call; true if the store has failed.
  bool failed(Round& round, const Error& error) const;
  // Like store.work(), split into calls that the store's batch limit allows; false: the store has
  // failed.
  bool work_in_batches(Round& round, std::span<const Settlement> settlements,
                       std::span<const Extension> extensions, std::span<const TakeRequest> takes,
                       WorkResult& result);

  Store& store_;
  RoundOptions options_;
  bool recovers_;  // then a store that is away also says when to come back
  Parked parked_;
};

}  // namespace millrace
