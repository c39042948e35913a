#include "broker/parked.h"

#include "core/ensure.h"

namespace millrace {
namespace {

WorkPart& part_of(Request& request) {
  return std::get<WorkPart>(request.part);
}

TimePoint end_of(const WorkPart& part) {
  return ensured(part.work.wait_until, "a request that does not wait was parked");
}

}  // namespace

void Parked::add(Request& request) {
  const WorkPart& part = part_of(request);
  by_end_.emplace(std::pair(end_of(part), request.number), &request);
  for (const std::string& queue : part.queues) by_queue_[queue].emplace(request.number, &request);
}

void Parked::remove(Request& request) {
  const WorkPart& part = part_of(request);
  by_end_.erase({end_of(part), request.number});
  for (const std::string& queue : part.queues) {
    const auto at = by_queue_.find(queue);
    if (at == by_queue_.end()) continue;  // a take may name a queue twice
    at->second.erase(request.number);
    if (at->second.empty()) by_queue_.erase(at);
  }
}

void Parked::first(const std::string& queue, std::size_t most,
                   std::map<std::uint64_t, Request*>& found) const {
  const auto at = by_queue_.find(queue);
  if (at == by_queue_.end()) return;
  for (const auto& [number, request] : at->second) {
    if (most-- == 0) return;
    found.emplace(number, request);
  }
}

std::vector<Request*> Parked::ended(TimePoint now) const {
  std::vector<Request*> found;
  for (const auto& [end, request] : by_end_) {
    if (end.first > now) break;
    found.push_back(request);
  }
  return found;
}

std::optional<TimePoint> Parked::next_end() const {
  if (by_end_.empty()) return std::nullopt;
  return by_end_.begin()->first.first;
}

}  // namespace millrace
