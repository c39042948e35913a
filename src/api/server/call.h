// One request on its way through a route: what it asks, on whose behalf, and how it is answered.
#pragma once

#include <millrace/ids.h>
#include <millrace/result.h>
#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/server/api_options.h"
#include "api/server/http.h"
#include "api/server/principal.h"
#include "api/server/problem.h"
#include "api/server/query.h"
#include "api/server/route.h"
#include "api/server/stored_keys.h"
#include "broker/local_broker.h"

namespace millrace::api {

struct ApiState;
struct Call;
using CallPtr = std::unique_ptr<Call>;

struct Call {
  const ApiOptions& options;
  LocalBroker* broker = nullptr;  // nullptr only for routes that need none
  HttpRequest request = {};
  const Route* route = nullptr;
  std::array<std::string, 2> path = {};  // what stands in place of {…}, decoded
  Query query = {};
  Principal principal = {};
  CallerId caller = {};
  std::string request_id = {};
  Respond respond = {};
  ApiState* state = nullptr;
  std::chrono::nanoseconds began{0};
  bool waits = false;     // may wait for tasks, so its duration says nothing
  bool as_admin = false;  // needed the scope admin, though the route does not
  bool dry = false;       // changes nothing

  Ask ask() const;
  std::string_view key() const { return principal.id(); }
  bool restricted() const { return principal.restricted(); }
  bool may_touch(std::string_view queue) const { return principal.may_touch(queue); }

  // Counts an answer, and how long it took.
  void note(unsigned status) const;
  // Logs who made the change, if it is one that is logged.
  void note_action() const;
  // Counts a stream that has ended, but not its duration, which is up to the peer.
  void note_stream() {
    waits = true;
    note(200);
  }
  void answer(std::string json, unsigned status = 200);
  void answer(HttpResponse response);
  void refuse(Problem problem);
  void refuse(const Error& error);
  void refuse(const wire::Refusal& refusal);
  // False if it was refused: this part of the request needs a scope that the route does not.
  bool may(Scope scope);
  // Why the key that this began with may not go on: it was revoked, or has expired. Asked wherever
  // a request lasts; nullopt: it may go on, as a request may that came when no key was needed.
  std::optional<Problem> ended() const;
  // False if it was refused: a parameter of the query is wrong or unknown.
  bool query_is_good();

  // Reads the body; nullopt: it was refused.
  template <class T>
  std::optional<T> good(wire::Read<T> read) {
    if (read) return std::move(*read);
    refuse(read.error());
    return std::nullopt;
  }
};

// Whether a request may do this, by its key or by its session. Called once per request, since each
// call uses up one request of the key's rate.
Access check_access(const ApiOptions& options, const HttpRequest& head, Scope scope);
// The same for a request that was let in: to check again while it lasts, and for parts of it that
// need another scope. Uses up nothing of the rate.
Access check_access_again(const ApiOptions& options, const HttpRequest& head, Scope scope);

// ---- Steps that several routes begin with ------------------------------------------------------

using Next = std::move_only_function<void(CallPtr)>;
using WithTask = std::move_only_function<void(CallPtr, TaskId)>;
using WithQueue = std::move_only_function<void(CallPtr, QueueRef)>;

// A restricted key must not learn that something exists which it may not touch. So a name that it
// may not use is answered 403, whether or not there is such a queue; a number, an id or a schedule
// is answered 404 in the same words as one that does not exist. These words are the store's. The
// broker answers so for tasks, see Ask::may_see.
Error no_such_queue(const QueueRef& queue);
Error no_such_schedule(std::string_view name);

// Goes on if the key may touch all these queues; otherwise answers 403 or 404. Names are checked as
// they are; numbers and UUIDs are looked up first if the key is restricted. `field` says where in
// the request the queues stand; `instead` is the answer if the queues are not those of the request
// but of something that it names.
void with_queues(CallPtr call, std::vector<QueueRef> queues, Next next, std::string_view field = {},
                 std::optional<Error> instead = std::nullopt);
// Goes on with the queue of the path, if the query is good and the key may touch the queue.
void with_queue(CallPtr call, WithQueue next);
// Goes on with the id of the task that the path names. What the key may do to it, the broker says.
void with_task(CallPtr call, WithTask next);

// Handles an answer of the broker: refuses the call on an error, otherwise `then(call, value)` goes
// on. Runs on the thread that brings the answer, which must not be one that other answers wait for:
// use it for pages and other long reads.
template <class T, class Then>
Completion<T> answered_in_place(CallPtr call, Then then) {
  return [call = std::move(call), then = std::move(then)](Result<T> result) mutable {
    if (!result) return call->refuse(result.error());
    if constexpr (std::is_void_v<T>) {
      then(std::move(call));
    } else {
      then(std::move(call), std::move(*result));
    }
  };
}

// The same, but `then` runs on the thread of the connection.
template <class T, class Then>
Completion<T> answered(CallPtr call, Then then) {
  Call& at = *call;
  return [&at,
          next = answered_in_place<T>(std::move(call), std::move(then))](Result<T> result) mutable {
    Respond respond = std::move(at.respond);
    auto go_on = [&at, next = std::move(next), result = std::move(result)](Respond again) mutable {
      at.respond = std::move(again);
      next(std::move(result));
    };
    respond({.resume = std::make_unique<Resume>(std::move(go_on))});
  };
}

}  // namespace millrace::api
