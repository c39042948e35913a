#include "worker/worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "broker/wait_for_answer.h"
#include "core/mutex.h"
#include "worker/parts.h"

namespace millrace::worker {
namespace {

// How long the destructor of a worker that was not stopped waits for running handlers.
constexpr Duration limit_of_destructor = std::chrono::seconds(10);

// The part of the limit of a stop for handlers that obey the stop request, and for sending their
// ends.
constexpr Moment moment_to_stop = std::chrono::seconds(1);
constexpr Moment moment_to_send = std::chrono::seconds(1);

// A stop without a limit waits for handlers, but not for a broker that does not answer.
constexpr Moment longest_send = std::chrono::seconds(30);

constexpr Moment longest_rest = std::chrono::milliseconds(250);

WorkerOptions with_name(WorkerOptions options) {
  if (options.name.empty()) options.name = options.internal ? local_worker : "worker";
  return options;
}

}  // namespace

// ---- The public interface ----

Worker::Worker(Clock& clock, Broker& broker, WorkerOptions options,
               std::vector<QueueHandlers> queues)
    : parts_(std::make_shared<Parts>(clock, broker, std::move(options), std::move(queues))) {}

Worker::~Worker() {
  parts_->graceful_stop(limit_of_destructor);
  const Lock lock(parts_->outside);
  parts_->last_time = parts_->clock->now();
  parts_->clock = nullptr;
}

void Worker::start() {
  parts_->start();
}

void Worker::shutdown() {
  parts_->shut_down();
}

Stopped Worker::graceful_stop(Duration limit) {
  return parts_->graceful_stop(limit);
}

Result<std::size_t> Worker::step() {
  return parts_->step();
}

std::vector<RunMetrics> Worker::metrics() const {
  const Lock lock(parts_->mutex);
  std::vector<RunMetrics> all;
  for (const WorkerQueue& queue : parts_->core.queues()) all.push_back(queue.metrics());
  return all;
}

HistogramSnapshot Worker::cycles(const std::string& queue) const {
  for (const WorkerQueue& each : parts_->core.queues()) {
    if (each.how.queue == queue) return each.cycles.snapshot();
  }
  return {};
}

std::uint32_t Worker::running_processors() const {
  const Lock lock(parts_->mutex);
  return parts_->live;
}

// ---- Starting ----

Worker::Parts::Parts(Clock& its_clock, Broker& its_broker, WorkerOptions its_options,
                     std::vector<QueueHandlers> queues)
    : clock(&its_clock),
      broker(&its_broker),
      options(with_name(std::move(its_options))),
      core(options, std::move(queues), *this),
      request_caller(broker->new_caller()),
      poll_caller(broker->new_caller()),
      keeper_caller(broker->new_caller()),
      beat_caller(broker->new_caller()) {}

// ---- What runs need ----

// `started`, read when a handler calls, decides: a stepped worker passes time itself and sends what
// was settled; one with threads leaves both to them.
bool Worker::Parts::let_time_pass(Run& run, Duration time) {
  if (started) return false;
  pass_time(run, time);
  return true;
}

void Worker::Parts::run_has_signs(Run& run) {
  if (!started) return;
  const Moment now = steady_time();
  wake_keeper_by(run.has_urgent_signs() ? now : now + std::chrono::seconds(1));
}

Result<void> Worker::Parts::send_ended() {
  if (started) return {};
  return send_now(false);
}

Result<std::vector<Parent>> Worker::Parts::parents(const TaskId& task) {
  const SharedLock lock(outside);
  if (clock == nullptr) return fail(ErrorCode::unavailable, "the worker has ended");
  const CallerId caller = broker->new_caller();
  auto parents = all_parents([&](ParentsRequest request) {
    return wait_for_answer<Parents>([&](Completion<Parents> done) {
      broker->parents(ask(caller), task, request, std::move(done));
    });
  });
  broker->leave(caller);
  return parents;
}

TimePoint Worker::Parts::wall_time() {
  const SharedLock lock(outside);
  return clock == nullptr ? last_time : clock->now();
}

Moment Worker::Parts::steady_time() {
  const SharedLock lock(outside);
  return clock == nullptr ? no_moment / 2 : clock->steady();
}

void Worker::Parts::start() {
  const Lock lock(mutex);
  if (started || core.stopping()) return;
  started = true;
  next_beat = clock->steady();
  for (std::uint32_t i = 0; i < core.processors(); ++i) add_processor();
  feeder = std::thread([self = shared_from_this()] { self->feed(); });
  keeper = std::thread([self = shared_from_this()] { self->keep(); });
  const auto s = [](std::size_t count) { return count == 1 ? "" : "s"; };
  options.log(
      LogLevel::info,
      fmt::format("worker {} started: {} processor{}, {} queue{}", options.name, core.processors(),
                  s(core.processors()), core.queues().size(), s(core.queues().size())),
      {{"worker", options.name}, {"processors", std::int64_t{core.processors()}}});
}

// ---- Stopping ----

void Worker::Parts::shut_down() {
  {
    const Lock lock(mutex);
    if (std::exchange(shutting_down, true)) return;
    core.shut_down();
    next_beat = Moment::min();
    keeper_next = Moment::min();
    work.notify_all();
    news.notify_one();
    due.notify_one();
  }
  options.log(LogLevel::info, "Shutting down workers...", {{"worker", options.name}});
}

void Worker::Parts::wait_until(Moment end, const std::function<bool()>& condition) {
  while (!condition()) {
    const Moment now = clock->steady();
    if (now >= end) return;
    rested.wait_for(mutex, std::min(end - now, longest_rest));
  }
}

// Running handlers end by themselves; when time is short they are asked to stop; at the limit they
// are abandoned.
Stopped Worker::Parts::graceful_stop(Duration limit) {
  const Lock stopping(stop_mutex);
  shut_down();
  Lock lock(mutex);
  if (stopped) return *stopped;
  Stopped result;
  if (started) {
    const Moment begin = clock->steady();
    const Moment end = limit == Duration::zero() ? no_moment : begin + limit;
    const Moment part = limit == Duration::zero() ? Moment::zero() : Moment(limit) / 4;
    Moment grace = moment_to_stop;
    for (const WorkerQueue& queue : core.queues()) grace = std::min<Moment>(grace, queue.how.grace);
    const Moment sending = std::min(moment_to_send, part);
    wait_until(end - sending - std::min(grace, part), [&] { return core.busy() == 0; });
    if (core.busy() != 0) {
      result.interrupted = core.busy();
      ask_all_to_stop();
      wait_until(end - sending, [&] { return core.busy() == 0; });
    }
    live -= std::min(live, static_cast<std::uint32_t>(core.give_up()));
    news.notify_one();
    wait_until(end == no_moment ? clock->steady() + longest_send : end,
               [this]() REQUIRES(mutex) { return live == 0 && !core.sending(); });
    for (const WorkerQueue& queue : core.queues()) result.running += queue.abandoned;
    end_threads();
  }
  result.given_back = core.given_back();
  stopped = result;
  lock.unlock();
  options.log(LogLevel::info, "Workers stopped",
              {{"worker", options.name},
               {"given_back", static_cast<std::int64_t>(result.given_back)},
               {"running", static_cast<std::int64_t>(result.running)}});
  return result;
}

void Worker::Parts::ask_all_to_stop() {
  const auto runs = core.running();
  const Unlocked meanwhile(mutex);
  for (const RunPtr& run : runs) run->ask_to_stop(StopReason::stopping);
}

void Worker::Parts::end_threads() {
  feeder_stops = true;
  keeper_stops = true;
  news.notify_all();
  due.notify_all();
  work.notify_all();
  {
    const Unlocked meanwhile(mutex);
    feeder.join();
    keeper.join();
  }
  core.drop_all({ErrorCode::unavailable, "the worker has stopped"});
  std::vector<std::thread> over;
  for (Processor& each : processors) {
    if (each.ended)
      over.push_back(std::move(each.thread));
    else if (each.thread.joinable())
      each.thread.detach();
  }
  const Unlocked meanwhile(mutex);
  for (std::thread& thread : over) thread.join();
}

}  // namespace millrace::worker
