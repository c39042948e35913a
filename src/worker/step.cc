// The worker on the caller's thread: one round after the other, in virtual time.
#include <algorithm>
#include <utility>

#include "broker/wait_for_answer.h"
#include "core/mutex.h"
#include "worker/parts.h"

namespace millrace::worker {

Result<std::size_t> Worker::Parts::step() {
  if (started)
    return fail(ErrorCode::conflict, "the worker has been started: it cannot be stepped");
  if (core.stopping()) return fail(ErrorCode::conflict, "the worker has been shut down");
  core.begin_step();
  bool beats = false;
  {
    const Lock lock(mutex);
    beats = next_beat <= clock->steady();
    if (beats) next_beat = clock->steady() + options.beat;
  }
  if (beats) {
    const auto told = wait_for_answer<Instructions>(
        [&](auto done) { broker->beat(ask(beat_caller), core.report(), std::move(done)); });
    if (told && told->assignments) core.assign(*told->assignments);
  }
  std::size_t runs = 0;
  // Where processors are few, some queues are asked only when others have turned out to be empty.
  for (std::size_t left = core.lines().size(); runs == 0 && left != 0; --left) {
    if (auto good = send_now(true); !good) return std::unexpected(std::move(good.error()));
    while (HandPtr hand = core.next_hand(clock->steady(), true)) {
      runs += hand->runs.size();
      work_through(*hand);
      core.finished(hand);
    }
  }
  if (auto good = send_now(false); !good) return std::unexpected(std::move(good.error()));
  return runs;
}

// Sends until nothing is left to be sent; what an answer brings is not more than was asked for
// once.
Result<void> Worker::Parts::send_now(bool take) {
  for (;;) {
    if (!take && !core.has_reports()) return {};
    auto order = core.next_order(clock->steady(), take);
    if (!order && core.has_reports()) return fail(ErrorCode::unavailable, "the broker is away");
    if (!order) return {};
    take = false;
    WorkOrder words = core.words_of(*order);
    auto result = wait_for_answer<WorkResult>(
        [&](auto done) { broker->work(ask(order_caller), std::move(words), std::move(done)); });
    const Moment now = clock->steady();
    Arrived arrived = core.arrived(*order, result, now);
    if (!arrived.strays.taken.empty()) broker->give_back(arrived.strays);
    std::vector<Told> told;
    core.answered(*order, result, std::move(arrived), now, told);
    tell(told);
    if (!result) return std::unexpected(result.error());
    if (core.paused(now)) return fail(ErrorCode::unavailable, "the broker could not store all");
  }
}

// A handler waits: its time passes, and what falls due on the way is done. Time that nobody moves
// passes by itself.
void Worker::Parts::pass_time(Run& run, Duration time) {
  const Moment end = clock->steady() + time;
  for (;;) {
    look_now();
    const Moment now = clock->steady();
    if (now >= end || run.stop_reason() != StopReason::none) return;
    const Moment next = std::min({end, core.next_upkeep(now), run.time_up()});
    if (!options.pass_time) {
      run.wait_until(std::max(next, now + Duration(1)));
      continue;
    }
    options.pass_time(std::max(std::chrono::ceil<Duration>(next - now), Duration(1)));
  }
}

void Worker::Parts::look_now() {
  const Moment now = clock->steady();
  Due found;
  core.look(now, found);
  if (auto pulse = core.next_pulse(now)) {
    auto result = wait_for_answer<WorkResult>([&](auto done) {
      broker->work(ask(keeper_caller), {.extensions = pulse->extensions}, std::move(done));
    });
    core.pulse_answered(*pulse, result, now, found);
  }
  for (const auto& [run, reason] : found.stops) run->ask_to_stop(reason);
}

}  // namespace millrace::worker
