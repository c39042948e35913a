#include "tests/sim/shared_simulation.h"

#include <fmt/format.h>

#include "core/transition.h"
#include "store/store.h"
#include "tests/crash/facts.h"
#include "tests/support/builders.h"

namespace millrace::test {

namespace {

std::string name_of(const Lease& lease) {
  return fmt::format("{} {}", to_text(lease.id.value), to_text(lease.token));
}

}  // namespace

SharedSimulation::SharedSimulation(std::uint64_t seed, bool honest)
    : honest_(honest), dice_(seed), ids_(seed), now_(t0) {
  UuidSource queue_ids(seed + 1);
  for (const auto* name : crash_queues) {
    const QueueSettings settings{
        .name = name, .id = queue_ids.next(now_), .keep_completed = {}, .keep_dead = {}};
    const auto store = server_.connect();
    if (!store->put_queue(settings, PutQueue::create, now_) || !store->flush()) complain("queue");
  }
  for (Broker& broker : brokers_) {
    broker.store = server_.connect();
    broker.rounds = std::make_unique<Rounds>(*broker.store, RoundsOptions{.items = 8});
  }
}

void SharedSimulation::complain(std::string text) {
  if (complaint_.empty()) complaint_ = std::move(text);
}

std::optional<std::string> SharedSimulation::run() {
  constexpr int steps = 600;
  for (int i = 0; i < steps && complaint_.empty(); ++i) {
    if (away_ && dice_.percent(15)) come_back();
    step();
    complain(ledger_.complaint());
  }
  come_back();
  for (Broker& broker : brokers_) {
    keep(broker);
    broker.rounds->stop().deliver();
    for (int i = 0; i < 10 && !broker.rounds->idle(); ++i) {
      broker.rounds->apply(now_).deliver();
      flush(broker);
    }
    if (!broker.rounds->idle()) complain("a caller was not answered");
  }
  // The server may crash as soon as all callers were answered.
  server_.crash();
  server_.come_back();
  ledger_.check(server_.direct(), true, now_);
  complain(ledger_.complaint());
  tally_.completed = ledger_.completed();
  return complaint_.empty() ? std::nullopt : std::optional(complaint_);
}

void SharedSimulation::step() {
  const auto roll = dice_.below(100);
  if (roll < 20) return put();
  if (roll < 45) return work();
  if (roll < 60) return begin(some());
  if (roll < 75) return keep(some());
  if (roll < 88) return flush(some());
  if (roll < 90) {
    Broker& broker = some();
    return broker.rounds->leave(some_caller()).deliver();
  }
  if (roll < 93) return away_ ? void() : disturb();
  now_ += dice_.between(Duration(1), Duration(2000));
}

// ---- Callers ----------------------------------------------------------------------------------

void SharedSimulation::put() {
  std::vector<NewTask> tasks;
  const auto count = dice_.between(1U, 4U);
  for (std::uint32_t i = 0; i < count; ++i) {
    const TaskId id{ids_.next(now_)};
    auto& task = tasks.emplace_back();
    task.id = id;
    task.queue = std::string(crash_queues.at(dice_.below(crash_queues.size())));
    task.payload = payload_of(id);
  }
  Answers refused;
  some().rounds->submit(put_request(some_caller(), std::move(tasks), never,
                                    [this](const Result<std::vector<Result<Put>>>& result) {
                                      ++tally_.answers;
                                      if (!result) ++tally_.unknown;
                                      if (!result) return;
                                      for (const auto& put : *result) {
                                        if (put) ledger_.note("put " + to_text(put->id.value));
                                      }
                                    }),
                        now_, refused);
  refused.deliver();
}

void SharedSimulation::work() {
  Work work;
  std::vector<Report> reports;
  while (!again_.empty() && dice_.percent(70)) {
    ++tally_.sent_again;
    reports.push_back(std::move(again_.front()));
    again_.pop_front();
  }
  while (!held_.empty() && dice_.percent(70)) {
    const auto lease = held_.front();
    held_.pop_front();
    const auto roll = dice_.below(10);
    auto settlement = roll < 6   ? done(lease, result_of(lease.id))
                      : roll < 8 ? retry_at(lease, now_)
                                 : given_back(lease);
    auto name = fmt::format("{} {}", name_of(lease), millrace::name_of(settlement.event));
    ledger_.note("settling " + name);
    reports.push_back({std::move(settlement), std::move(name)});
  }
  for (const Report& report : reports) work.settlements.push_back(report.settlement);
  work.takes.push_back({.worker = "sim",
                        .queues = {{crash_queues[0], 2}, {crash_queues[1], 1}},
                        .lease = std::chrono::hours(12)});
  if (dice_.percent(50)) work.wait_until = now_ + dice_.between(Duration(1), Duration(5000));
  // A report that is lost with its caller is not sent again.
  const CallerId caller = reports.empty() ? some_caller() : CallerId{77};
  Answers refused;
  some().rounds->submit(work_request(caller, std::move(work), never,
                                     [this, reports](const Result<WorkResult>& result) {
                                       ++tally_.answers;
                                       settled(reports, result);
                                     }),
                        now_, refused);
  refused.deliver();
}

void SharedSimulation::settled(const std::vector<Report>& reports,
                               const Result<WorkResult>& result) {
  if (!result) {
    ++tally_.unknown;
    for (const Report& report : reports) again_.push_back({report.settlement, report.name, true});
    return;
  }
  for (std::size_t i = 0; i < reports.size(); ++i) {
    // It was stored the first time, and by now another worker has the task.
    const bool stored = reports[i].again && reports[i].settlement.event != Event::done;
    if (!result->settled[i] && stored && result->settled[i].error().code == ErrorCode::lease_lost) {
      continue;
    }
    if (!result->settled[i]) {
      complain(reports[i].name + " was refused: " + result->settled[i].error().message);
    } else {
      ledger_.note("settled " + reports[i].name);
    }
  }
  for (const auto& taken : result->taken) {
    if (!taken) continue;
    for (const auto& lease : *taken) {
      if (lease.payload != payload_of(lease.id)) complain("wrong payload of " + name_of(lease));
      ledger_.note("taken " + name_of(lease));
      held_.push_back(lease);
    }
  }
}

// ---- Rounds, and what disturbs them -----------------------------------------------------------

void SharedSimulation::begin(Broker& broker) {
  if (broker.running) return;
  if (dice_.percent(20)) broker.rounds->hint_all();
  broker.running.emplace();
  broker.rounds->gather(now_, *broker.running).deliver();
  broker.rounds->run(*broker.running);
}

void SharedSimulation::keep(Broker& broker) {
  if (!broker.running) return;
  broker.rounds->keep(*broker.running).deliver();
  broker.running.reset();
}

void SharedSimulation::flush(Broker& broker) {
  if (!broker.rounds->needs_flush()) return;
  const auto applied = broker.rounds->applied();
  if (dice_.percent(30)) begin(broker);
  const auto result = honest_ ? broker.store->flush() : Result<void>{};
  broker.rounds->flushed(applied, result).deliver();
}

void SharedSimulation::disturb() {
  const auto roll = dice_.below(10);
  if (roll < 4) {
    server_.lose_answers(dice_.between(1U, 4U));
    return;
  }
  ++tally_.outages;
  away_ = true;
  if (roll < 7) return server_.go_away();
  server_.crash();
  // The server may be back before any broker has noticed.
  if (dice_.percent(50)) come_back();
}

void SharedSimulation::come_back() {
  away_ = false;
  server_.come_back();
}

}  // namespace millrace::test
