// The thread that keeps time: heartbeats of leases, timeouts, and the beat with which the worker
// reports to the broker and gets instructions. It runs no user code but callbacks of stop tokens.
#include <algorithm>
#include <utility>

#include "core/mutex.h"
#include "worker/parts.h"

namespace millrace::worker {
namespace {

constexpr Moment longest_keeper_wait = std::chrono::seconds(1);

}  // namespace

void Worker::Parts::keep() {
  Lock lock(mutex);
  while (!keeper_stops) {
    // A thread that plans something earlier than what is found below calls plan_upkeep().
    keeper_next = no_moment;
    const Moment now = clock->steady();
    Due found;
    auto answers = std::exchange(heartbeat_answers, {});
    for (Answer& answer : answers)
      core.heartbeats_answered(answer.request, answer.result, now, found);
    if (const auto given = std::exchange(instructions, std::nullopt); given && given->assignments) {
      core.assign(*given->assignments);
    }
    if (std::exchange(beat_answered, false) && core.broker_answers()) news.notify_one();
    core.look(now, found);
    for (std::uint32_t i = 0; i < found.abandoned && !core.stopping(); ++i) add_processor();
    live -= std::min(found.abandoned, live);
    auto heartbeats = core.next_heartbeats(now);
    const bool beat = !beat_out && next_beat <= now;
    if (beat) {
      beat_out = true;
      next_beat = now + options.beat;
    }
    const bool acts = heartbeats || beat || !found.stops.empty() || !answers.empty();
    if (acts || found.abandoned != 0) {
      lock.unlock();
      news.notify_one();
      work.notify_one();
      if (found.abandoned != 0) rested.notify_all();
      for (const auto& [run, reason] : found.stops) run->ask_to_stop(reason);
      if (heartbeats) send_heartbeats(std::move(*heartbeats));
      if (beat) send_beat();
      lock.lock();
      continue;
    }
    const Moment next = std::min(core.next_upkeep(now), beat_out ? no_moment : next_beat);
    if (next <= now) continue;
    keeper_next = std::min(keeper_next.load(), next);
    due.wait_for(mutex, std::min(keeper_next.load() - now, longest_keeper_wait));
  }
  if (beat_out) return;
  lock.unlock();
  send_beat();  // the last beat says that the worker stops
}

void Worker::Parts::wake_keeper_by(Moment moment) {
  if (keeper_next.load() <= moment) return;
  const Lock lock(mutex);
  plan_upkeep(moment);
}

void Worker::Parts::plan_upkeep(Moment moment) {
  if (keeper_next.load() <= moment) return;
  keeper_next = moment;
  due.notify_one();
}

void Worker::Parts::send_heartbeats(Request heartbeats) {
  WorkOrder words{.extensions = heartbeats.extensions};
  auto answer = std::make_shared<Answer>(Answer{.request = std::move(heartbeats)});
  broker->work(ask(keeper_caller), std::move(words),
               [self = shared_from_this(), answer](Result<WorkResult> result) {
                 answer->result = std::move(result);
                 const Lock lock(self->mutex);
                 self->heartbeat_answers.push_back(std::move(*answer));
                 self->due.notify_one();
               });
}

// The beat is also the health check of the broker.
void Worker::Parts::send_beat() {
  WorkerReport report;
  {
    const Lock lock(mutex);
    report = core.report();
  }
  broker->beat(ask(beat_caller), std::move(report),
               [self = shared_from_this()](Result<Instructions> result) {
                 const Lock lock(self->mutex);
                 self->beat_out = false;
                 self->due.notify_one();
                 if (!result) return;
                 self->beat_answered = true;
                 self->instructions = std::move(*result);
               });
}

}  // namespace millrace::worker
