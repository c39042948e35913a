// What a caller asks of the broker, and how it is answered: a request with its completion.
#pragma once

#include <millrace/ids.h>
#include <millrace/result.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <millrace/work.h>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "broker/call_on.h"
#include "broker/caller.h"
#include "core/values.h"
#include "store/fwd.h"

namespace millrace {

// Settles, extends and takes in one request.
struct Work {
  std::vector<Settlement> settlements = {};
  std::vector<Extension> extensions = {};
  std::vector<TakeRequest> takes = {};
  // Until when the takes may wait for tasks if there are none. Ignored if the request also has
  // settlements or extensions, whose answers must not wait.
  std::optional<TimePoint> wait_until = std::nullopt;
  // The takes name queues; those that do not exist give nothing, until they are created.
  bool may_miss = false;
};

struct PutPart {
  std::vector<NewTask> tasks;
  Completion<std::vector<Result<Put>>> done;
  std::vector<Result<Put>> results = {};
};

struct WorkPart {
  Work work;
  Completion<WorkResult> done;
  WorkResult result = {};
  // Names of all queues that the takes want; known once parked.
  std::vector<std::string> queues = {};
};

struct CallPart {
  // Makes the call and keeps its result; returns the error it ended with, if any.
  StoreCall<std::optional<Error>> run;
  // Answers with the result, or with this error instead.
  std::move_only_function<void(const std::optional<Error>& instead)> done;
};

// The steps of a round, in order: what is put can be found and taken in the same round.
enum class Step : std::uint8_t { put, call, settle, extend, take };

struct Request {
  CallerId caller = {};
  TimePoint deadline = never;  // the request must have begun by then
  std::variant<PutPart, CallPart, WorkPart> part;
  // The steps it is part of.
  Step first_step = Step::put;
  Step last_step = Step::put;
  // How much it counts in a round: tasks, settlements, extensions, wanted tasks.
  std::size_t items = 1;
  std::size_t bytes = 0;

  // Kept by Rounds.
  enum class Stage : std::uint8_t { waiting, running, parked, held, gone_out };
  std::uint64_t number = 0;
  TimePoint asked{};
  Stage stage = Stage::waiting;
  bool gone = false;                            // its caller has left or cancelled it
  std::optional<Error> instead = std::nullopt;  // the answer, where it is not the result

  Ticket ticket() const { return {caller, number}; }
  // Calls the completion.
  void answer();
};

Request put_request(CallerId caller, std::vector<NewTask> tasks, TimePoint deadline,
                    Completion<std::vector<Result<Put>>> done);

Request work_request(CallerId caller, Work work, TimePoint deadline, Completion<WorkResult> done);

Request any_request(CallerId caller, CallPart part, TimePoint deadline, std::size_t bytes);

// Any other call of the Store, made where rounds are applied, so it must be quick and not throw.
// The error `unavailable` means that the store has failed, or is away: see Rounds. `bytes` is the
// size of what the call carries, if that is large.
template <class T>
Request call_request(CallerId caller, StoreCall<Result<T>> call, TimePoint deadline,
                     Completion<T> done, std::size_t bytes = 0) {
  const auto result = std::make_shared<std::optional<Result<T>>>();
  auto run = [result, call = std::move(call)](Store& store, TimePoint now) mutable {
    *result = call(store, now);
    return (*result)->has_value() ? std::optional<Error>() : std::optional((*result)->error());
  };
  auto answer = [result, done = std::move(done)](const std::optional<Error>& instead) mutable {
    done(instead ? Result<T>(std::unexpected(*instead)) : std::move(**result));
  };
  return any_request(caller, {std::move(run), std::move(answer)}, deadline, bytes);
}

// How much room these take up, in a round and while they wait.
std::size_t bytes_of(const NewTask& task);
std::size_t bytes_of(const Settlement& settlement);
std::size_t bytes_of(const Extension& extension);
std::size_t wanted(const TakeRequest& take);

}  // namespace millrace
