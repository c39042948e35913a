// Takes that found nothing and wait for work, indexed by the queues they want and by when they give
// up, so that no round has to look at all of them.
#pragma once

#include <millrace/time.h>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "broker/request.h"

namespace millrace {

class Parked {
 public:
  // The request's part is a WorkPart with `queues` filled in and a `wait_until`.
  void add(Request& request);
  void remove(Request& request);

  std::size_t size() const { return by_end_.size(); }
  bool wanted(const std::string& queue) const { return by_queue_.contains(queue); }

  // Up to `most` of the takes that want this queue, in order of arrival.
  void first(const std::string& queue, std::size_t most,
             std::map<std::uint64_t, Request*>& found) const;

  // The takes that have waited long enough.
  std::vector<Request*> ended(TimePoint now) const;
  std::optional<TimePoint> next_end() const;

 private:
  std::unordered_map<std::string, std::map<std::uint64_t, Request*>> by_queue_;
  std::map<std::pair<TimePoint, std::uint64_t>, Request*> by_end_;
};

}  // namespace millrace
