// Who asks the broker, and how it is answered.
#pragma once

#include <millrace/ids.h>
#include <millrace/result.h>
#include <cstdint>
#include <functional>

namespace millrace {

// Who asks: a connection, a processor, a service. Turns, bounds and order are kept per caller.
using CallerId = Strong<struct CallerIdTag, std::uint64_t>;

// One request, so that it can be cancelled. Number 0: it was refused, there is nothing to cancel.
struct Ticket {
  CallerId caller = {};
  std::uint64_t number = 0;

  friend bool operator==(const Ticket&, const Ticket&) = default;
};

// Called once, unless its caller leaves or cancels first: then it is destroyed uncalled. It may
// only post: nothing that takes long, blocks or throws belongs in a completion. It may make new
// requests.
template <class T>
using Completion = std::move_only_function<void(Result<T>)>;

}  // namespace millrace
