// Dead letters by what they died of.
#include <utility>

#include "api/server/handlers.h"
#include "api/wire/dead.h"
#include "broker/dead_groups.h"

namespace millrace::api {
void group_dead(CallPtr call) {
  DeadGroups::Wanted wanted;
  if (const auto queue = call->query.text("queue")) wanted.queue = queue_from_text(*queue);
  wanted.type = call->query.text("type");
  const auto most = call->query.number("limit", 1, DeadGroups::most_groups);
  if (!call->query_is_good()) return;
  if (call->restricted() && !wanted.queue) {
    return call->refuse(Problem{.status = 403,
                                .code = "forbidden",
                                .detail = "this key is for some queues only: name one with ?queue=",
                                .field = "queue"});
  }
  std::vector<QueueRef> queues;
  if (wanted.queue) queues.push_back(*wanted.queue);
  auto go = [wanted = std::move(wanted),
             most = most.value_or(DeadGroups::most_groups)](CallPtr back) mutable {
    DeadGroups& groups = back->broker->dead_groups();
    const Ask ask = back->ask();
    auto then = [most](CallPtr again, const DeadGroups::Found& found) {
      again->answer(wire::text_of(*found, most));
    };
    groups.find(ask, std::move(wanted),
                answered_in_place<DeadGroups::Found>(std::move(back), std::move(then)));
  };
  with_queues(std::move(call), std::move(queues), std::move(go));
}

}  // namespace millrace::api
