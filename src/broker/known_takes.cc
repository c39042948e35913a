#include "broker/known_takes.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace millrace {
namespace {

bool is_missing(const Want& want, const QueueExists& exists) {
  const auto* name = std::get_if<std::string>(&want.queue);
  return name != nullptr && !exists(*name);
}

}  // namespace

bool KnownTakes::misses(std::span<const TakeRequest> all, const QueueExists& exists) {
  return std::ranges::any_of(all, [&](const TakeRequest& take) {
    return std::ranges::any_of(take.queues,
                               [&](const Want& want) { return is_missing(want, exists); });
  });
}

KnownTakes::KnownTakes(std::span<const TakeRequest> all, const QueueExists& exists) {
  for (const TakeRequest& take : all) {
    TakeRequest known = take;
    std::erase_if(known.queues, [&](const Want& want) { return is_missing(want, exists); });
    asks_.push_back(!known.queues.empty());
    if (asks_.back()) takes_.push_back(std::move(known));
  }
}

void KnownTakes::hand_out(std::vector<Result<std::vector<Lease>>>& from, std::size_t& at,
                          std::vector<Result<std::vector<Lease>>>& to) const {
  for (const bool asks : asks_) {
    if (asks) {
      to.push_back(std::move(from[at++]));
    } else {
      to.emplace_back(std::vector<Lease>());
    }
  }
}

}  // namespace millrace
