// Takes of queues that do not exist yet. A take creates no queue: it finds nothing there, and may
// wait until a put creates the queue.
#pragma once

#include <millrace/result.h>
#include <millrace/work.h>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/values.h"

namespace millrace {

// Whether there is a queue of this name.
using QueueExists = std::function<bool(const std::string&)>;

// Takes without the queues that do not exist; those that name no other are left out.
class KnownTakes {
 public:
  KnownTakes(std::span<const TakeRequest> all, const QueueExists& exists);
  // Whether one of the takes names a queue that does not exist.
  static bool misses(std::span<const TakeRequest> all, const QueueExists& exists);

  const std::vector<TakeRequest>& takes() const { return takes_; }
  // Adds the results of all takes to `to`, in the order in which they came. `from` has those of
  // takes(), from `at` on.
  void hand_out(std::vector<Result<std::vector<Lease>>>& from, std::size_t& at,
                std::vector<Result<std::vector<Lease>>>& to) const;

 private:
  std::vector<TakeRequest> takes_;
  std::vector<bool> asks_;  // by take as it came
};

}  // namespace millrace
