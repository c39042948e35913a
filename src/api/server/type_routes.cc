// What the tasks of a queue are, by type: how many, how fast, how long.
#include <algorithm>
#include <chrono>
#include <utility>

#include "api/server/handlers.h"
#include "api/wire/history.h"

namespace millrace::api {
namespace {

constexpr Duration usual = std::chrono::minutes(15);
constexpr Duration most = std::chrono::hours(24);
// Beyond this, hours are read instead of minutes, so that never more than 60 memos are read.
constexpr Duration most_minutes = std::chrono::hours(1);

void answer_types(CallPtr call, const Queue& queue, Duration wanted) {
  LocalBroker& broker = *call->broker;
  const Ask ask = call->ask();
  const TimePoint now = broker.now();
  HistoryRequest request{.queue = queue.settings.name, .from = now - wanted};
  if (wanted > most_minutes) request.step = std::chrono::hours(1);
  // Without this, a queue that is younger than the time asked for would look slow.
  auto then = [now, made = queue.created_at, step = request.step](CallPtr back,
                                                                  const TypesPast& past) {
    // An imported queue has a history from before it was created here.
    const TimePoint begun = past.first && *past.first + step <= made ? *past.first : made;
    const TimePoint since = std::clamp(begun, past.all.sum.at, std::max(now, past.all.sum.at));
    back->answer(wire::text_of(past, since, now));
  };
  broker.types(ask, std::move(request), answered<TypesPast>(std::move(call), std::move(then)));
}

}  // namespace

void queue_types(CallPtr call) {
  const Duration wanted = call->query.duration("for", most).value_or(usual);
  if (wanted < std::chrono::minutes(1)) call->query.refuse("for", "it must be at least 1m");
  if (!call->query_is_good()) return;
  const QueueRef queue = queue_from_text(call->path[0]);
  with_queues(std::move(call), {queue}, [queue, wanted](CallPtr back) {
    Broker& broker = *back->broker;
    const Ask ask = back->ask();
    auto then = [wanted](CallPtr again, const std::vector<QueueView>& found) {
      if (found.empty()) {
        return again->refuse(Error{ErrorCode::not_found, "there is no such queue"});
      }
      answer_types(std::move(again), found.front().queue, wanted);
    };
    broker.queues(ask, queue, answered<std::vector<QueueView>>(std::move(back), std::move(then)));
  });
}

}  // namespace millrace::api
