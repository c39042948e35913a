#include "cli/bench_load.h"

#include <fmt/format.h>
#include <algorithm>
#include <future>
#include <utility>

#include "broker/wait_for_answer.h"
#include "core/mutex.h"

namespace millrace::cli {
namespace {

using namespace std::chrono_literals;
using Nanoseconds = std::chrono::nanoseconds;

constexpr Duration tick = 100ms;           // between two updates of the progress
constexpr Duration trickle_patience = 5s;  // for a task to reach the waiting worker

LatencyBook::Microseconds micros(Nanoseconds time) {
  return std::chrono::duration_cast<LatencyBook::Microseconds>(time);
}

// A JSON text of this many bytes.
std::string payload_of(std::size_t bytes) {
  return fmt::format("\"{}\"", std::string(bytes - 2, 'x'));
}

void keep_first(std::optional<Error>& first, const Error& error) {
  if (!first) first = error;
}

}  // namespace

BenchLoad::BenchLoad(std::vector<std::unique_ptr<HttpBroker>> clients, const BenchPlan& plan,
                     Clock& clock, Signals& signals, Progressed progressed)
    : clients_(std::move(clients)),
      plan_(plan),
      clock_(clock),
      signals_(signals),
      progressed_(std::move(progressed)),
      task_{.queue = plan.queue, .type = "bench", .payload = payload_of(plan.payload)} {}

void BenchLoad::listen(Duration at_most) {
  if (signals_.wait(at_most) != SignalKind::stop) return;
  stop_ = true;
  signals_.exit_on_the_next();  // a second Ctrl-C ends the process at once
}

BenchPhase BenchLoad::run(std::string_view what, std::uint64_t total,
                          const std::function<void(std::size_t connection)>& start) {
  {
    const Lock lock(mutex_);
    phase_ = {};
    open_ = plan_.connections;
  }
  const Nanoseconds begin = clock_.steady();
  for (std::size_t i = 0; i < plan_.connections; ++i) start(i);
  while (true) {
    listen(tick);
    const Lock lock(mutex_);
    progressed_(what, phase_.tasks + phase_.errors, total);
    if (open_ != 0) continue;
    phase_.took = clock_.steady() - begin;
    return std::move(phase_);
  }
}

void BenchLoad::note_error(const Error& error, std::size_t tasks) {
  phase_.errors += tasks;
  keep_first(phase_.error, error);
}

void BenchLoad::leave() {
  // The waiting thread continues only when the lock is free, so this object lives until then.
  if (--open_ == 0) signals_.wake();
}

// ---- Put ----

BenchPhase BenchLoad::put() {
  {
    const Lock lock(mutex_);
    left_ = plan_.tasks;
  }
  return run("putting", plan_.tasks, [this](std::size_t connection) { put_next(connection); });
}

void BenchLoad::put_next(std::size_t connection) {
  std::size_t count = 0;
  {
    const Lock lock(mutex_);
    count = stop_ ? 0 : static_cast<std::size_t>(std::min<std::uint64_t>(plan_.batch, left_));
    left_ -= count;
    if (count == 0) return leave();
  }
  std::vector<NewTask> tasks(count, task_);
  const Nanoseconds sent = clock_.steady();
  client(connection)
      .put({}, std::move(tasks),
           [this, connection, count, sent](Result<std::vector<Result<Put>>> puts) {
             if (note_puts(puts, count, sent)) put_next(connection);
           });
}

bool BenchLoad::note_puts(const Result<std::vector<Result<Put>>>& puts, std::size_t count,
                          Nanoseconds sent) {
  const Lock lock(mutex_);
  if (!puts) {
    note_error(puts.error(), count);
    leave();
    return false;
  }
  phase_.round_trips.note(micros(clock_.steady() - sent));
  for (const Result<Put>& each : *puts) {
    if (each) {
      ++phase_.tasks;
    } else {
      note_error(each.error(), 1);
    }
  }
  return true;
}

// ---- Work ----

TakeRequest BenchLoad::take_for(std::size_t connection, std::size_t most) const {
  return {.worker = fmt::format("millrace-bench-{}", connection),
          .queues = {{.queue = plan_.queue, .most = static_cast<std::uint32_t>(most)}}};
}

BenchPhase BenchLoad::work(std::uint64_t about) {
  return run("working", about, [this](std::size_t connection) { work_next(connection, {}); });
}

void BenchLoad::work_next(std::size_t connection, std::vector<Report> reports) {
  const std::size_t count = reports.size();
  WorkOrder order{.reports = std::move(reports)};
  if (!stop_) order.takes.push_back(take_for(connection, plan_.batch));
  if (count == 0 && order.takes.empty()) {
    const Lock lock(mutex_);
    return leave();
  }
  const Nanoseconds sent = clock_.steady();
  client(connection)
      .work({}, std::move(order), [this, connection, count, sent](Result<WorkResult> result) {
        auto next = note_work(result, count, sent);
        if (!next.empty()) work_next(connection, std::move(next));
      });
}

// The reports to send next; none: there was nothing to take.
std::vector<Report> BenchLoad::note_work(const Result<WorkResult>& result, std::size_t reports,
                                         Nanoseconds sent) {
  std::vector<Report> next;
  const Lock lock(mutex_);
  if (!result) {
    note_error(result.error(), reports);
    leave();
    return next;
  }
  phase_.round_trips.note(micros(clock_.steady() - sent));
  for (const Result<Settled>& each : result->settled) {
    if (each) {
      ++phase_.tasks;
    } else {
      note_error(each.error(), 1);
    }
  }
  for (const auto& taken : result->taken) {
    if (!taken) {
      note_error(taken.error(), 0);
      continue;
    }
    for (const Lease& lease : *taken) next.push_back({.id = lease.id, .token = lease.token});
  }
  if (next.empty()) leave();
  return next;
}

// ---- One at a time ----

BenchTrickle BenchLoad::trickle(std::uint64_t tasks) {
  BenchTrickle trickle;
  for (std::uint64_t i = 0; i < tasks && !stop_; ++i) {
    if (!trickle_one(trickle)) ++trickle.errors;
    if (trickle.errors > 3) break;  // each one costs trickle_patience
    listen({});
    progressed_("one at a time", i, tasks);
  }
  return trickle;
}

bool BenchLoad::trickle_one(BenchTrickle& trickle) {
  HttpBroker& worker = client(0);
  WorkOrder order{.takes = {take_for(0, 1)}, .wait = trickle_patience};
  using Taken = std::pair<Result<WorkResult>, Nanoseconds>;
  std::promise<Taken> promise;
  auto taken = promise.get_future();
  worker.work({}, std::move(order), [this, &promise](Result<WorkResult> result) {
    promise.set_value({std::move(result), clock_.steady()});
  });
  const Nanoseconds sent = clock_.steady();
  const auto put =
      wait_for_answer<std::vector<Result<Put>>>([&](Completion<std::vector<Result<Put>>> done) {
        client(1).put({}, {task_}, std::move(done));
      });
  const Nanoseconds put_at = clock_.steady();
  const auto [result, taken_at] = taken.get();
  if (!put || !put->front()) {
    keep_first(trickle.error, put ? put->front().error() : put.error());
    return false;
  }
  trickle.puts.note(micros(put_at - sent));
  if (!result || !result->taken.front()) {
    keep_first(trickle.error, result ? result->taken.front().error() : result.error());
    return false;
  }
  if (result->taken.front()->empty()) {
    keep_first(trickle.error, {ErrorCode::unavailable, "the worker did not get a task"});
    return false;
  }
  trickle.starts.note(micros(taken_at - sent));
  const Lease& lease = result->taken.front()->front();
  WorkOrder settle{.reports = {{.id = lease.id, .token = lease.token}}};
  const auto settled = wait_for_answer<WorkResult>(
      [&](Completion<WorkResult> done) { worker.work({}, std::move(settle), std::move(done)); });
  if (settled && settled->settled.front()) return true;
  keep_first(trickle.error, settled ? settled->settled.front().error() : settled.error());
  return false;
}

}  // namespace millrace::cli
