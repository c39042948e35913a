#include "broker/known_takes.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace millrace {

KnownTakes::KnownTakes(std::span<const TakeRequest> all, const QueueExists& exists) {
  for (const TakeRequest& take : all) {
    TakeRequest known = take;
    std::erase_if(known.queues, [&](const Want& want) {
      const auto* name = std::get_if<std::string>(&want.queue);
      return name != nullptr && !exists(*name);
    });
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
