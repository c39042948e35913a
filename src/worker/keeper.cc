// The thread that minds the time: heartbeats of leases, timeouts, and the beat with which the
// worker reports and is told what to do. It runs no code of others but callbacks of stop tokens.
#include <algorithm>
#include <utility>

#include "core/mutex.h"
#include "worker/parts.h"

namespace millrace::worker {
namespace {

constexpr Moment longest_wait = std::chrono::seconds(1);

}  // namespace

void Worker::Parts::keep() {
  Lock lock(mutex);
  while (!keeper_stops) {
    // Whoever plans something earlier than what is found below will say so.
    keeper_next = no_moment;
    const Moment now = clock->steady();
    Due found;
    auto answers = std::exchange(pulses, {});
    for (Answer& answer : answers) core.pulse_answered(answer.order, answer.result, now, found);
    if (const auto told = std::exchange(instructions, std::nullopt); told && told->assignments) {
      core.assign(*told->assignments);
    }
    if (std::exchange(beat_answered, false) && core.broker_answers()) news.notify_one();
    core.look(now, found);
    for (std::uint32_t i = 0; i < found.abandoned && !core.stopping(); ++i) add_processor();
    live -= std::min(found.abandoned, live);
    auto pulse = core.next_pulse(now);
    const bool beat = !beat_out && next_beat <= now;
    if (beat) {
      beat_out = true;
      next_beat = now + options.beat;
    }
    const bool acts = pulse || beat || !found.stops.empty() || !answers.empty();
    if (acts || found.abandoned != 0) {
      lock.unlock();
      news.notify_one();
      work.notify_one();
      if (found.abandoned != 0) rested.notify_all();
      for (const auto& [run, reason] : found.stops) run->ask_to_stop(reason);
      if (pulse) send_pulse(std::move(*pulse));
      if (beat) send_beat();
      lock.lock();
      continue;
    }
    const Moment next = std::min(core.next_upkeep(now), beat_out ? no_moment : next_beat);
    if (next <= now) continue;
    keeper_next = std::min(keeper_next.load(), next);
    due.wait_for(mutex, std::min(keeper_next.load() - now, longest_wait));
  }
  if (beat_out) return;
  lock.unlock();
  send_beat();  // the last word: it stops
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

void Worker::Parts::send_pulse(Order pulse) {
  WorkOrder words{.extensions = pulse.extensions};
  auto answer = std::make_shared<Answer>(Answer{.order = std::move(pulse)});
  broker->work(ask(keeper_caller), std::move(words),
               [self = shared_from_this(), answer](Result<WorkResult> result) {
                 answer->result = std::move(result);
                 const Lock lock(self->mutex);
                 self->pulses.push_back(std::move(*answer));
                 self->due.notify_one();
               });
}

// S2-046: the health check, too.
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
