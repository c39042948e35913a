#include "tests/sim/rounds_simulation.h"

#include <fmt/format.h>

#include "core/transition.h"
#include "tests/crash/facts.h"
#include "tests/support/builders.h"

namespace millrace::test {

namespace {

std::string name_of(const Lease& lease) {
  return fmt::format("{} {}", to_text(lease.id.value), to_text(lease.token));
}

}  // namespace

RoundsSimulation::RoundsSimulation(OpenSubject open, std::uint64_t seed, bool honest)
    : open_(std::move(open)),
      options_{.segment_size = 16 * 1024, .cache_size = 4 * 1024},
      honest_(honest),
      dice_(seed),
      ids_(seed),
      queue_ids_(seed + 1),
      watched_(machine_, options_),
      now_(t0) {}

void RoundsSimulation::complain(std::string text) {
  if (complaint_.empty()) complaint_ = std::move(text);
}

std::optional<std::string> RoundsSimulation::run() {
  constexpr int steps = 250;
  if (reopen(Shadow::End::power)) make_queues();
  for (int i = 0; i < steps && complaint_.empty(); ++i) {
    step();
    complain(watched_.complaint());
    complain(ledger_.complaint());
    if (watched_.failed() || machine_.down()) recover();
  }
  rounds_.reset();
  watched_.close();
  tally_.completed = ledger_.completed();
  return complaint_.empty() ? std::nullopt : std::optional(complaint_);
}

void RoundsSimulation::make_queues() {
  for (const auto* name : crash_queues) {
    const QueueSettings settings{
        .name = name, .id = queue_ids_.next(now_), .keep_completed = {}, .keep_dead = {}};
    if (!watched_.put_queue(settings, PutQueue::create, now_)) complain("no queue");
  }
  if (!watched_.flush()) complain("no flush");
}

void RoundsSimulation::step() {
  const auto roll = dice_.below(100);
  if (roll < 25) return put();
  if (roll < 50) return work();
  if (roll < 70) return rounds_->apply(now_).deliver();
  if (roll < 90) return flush();
  if (roll < 92) return rounds_->leave(some_caller()).deliver();
  if (roll < 95) return disturb();
  now_ += dice_.between(Duration(1), Duration(2000));
}

// ---- Callers ----------------------------------------------------------------------------------

void RoundsSimulation::put() {
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
  rounds_->submit(put_request(some_caller(), std::move(tasks), never,
                              [this](const Result<std::vector<Result<Put>>>& result) {
                                ++tally_.answers;
                                if (!result) return;
                                for (const auto& put : *result) {
                                  if (put) ledger_.note("put " + to_text(put->id.value));
                                }
                              }),
                  now_, refused);
  refused.deliver();
}

void RoundsSimulation::work() {
  Work work;
  std::vector<std::string> names;
  while (!held_.empty() && dice_.percent(70)) {
    const auto lease = held_.front();
    held_.pop_front();
    const auto roll = dice_.below(10);
    const auto& settlement =
        work.settlements.emplace_back(roll < 6   ? done(lease, result_of(lease.id))
                                      : roll < 8 ? retry_at(lease, now_)
                                                 : given_back(lease));
    names.push_back(fmt::format("{} {}", name_of(lease), millrace::name_of(settlement.event)));
    ledger_.note("settling " + names.back());
  }
  work.takes.push_back({.worker = "sim",
                        .queues = {{crash_queues[0], 2}, {crash_queues[1], 1}},
                        .lease = std::chrono::hours(12)});
  if (dice_.percent(50)) work.wait_until = now_ + dice_.between(Duration(1), Duration(5000));
  Answers refused;
  rounds_->submit(work_request(some_caller(), std::move(work), never,
                               [this, names](const Result<WorkResult>& result) {
                                 ++tally_.answers;
                                 settled(names, result);
                               }),
                  now_, refused);
  refused.deliver();
}

void RoundsSimulation::settled(const std::vector<std::string>& names,
                               const Result<WorkResult>& result) {
  if (!result) return;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!result->settled[i]) {
      complain(names[i] + " was refused: " + result->settled[i].error().message);
    } else {
      ledger_.note("settled " + names[i]);
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

// ---- Flushing, and what disturbs it -----------------------------------------------------------

void RoundsSimulation::flush() {
  const auto applied = rounds_->applied();
  // The next round may be applied while this one is flushed.
  if (dice_.percent(30)) rounds_->apply(now_).deliver();
  rounds_->flushed(applied, honest_ ? watched_.flush() : Result<void>{}).deliver();
}

void RoundsSimulation::disturb() {
  const auto roll = dice_.below(10);
  if (roll < 5) {
    machine_.plan_crash(dice_.between(1U, 20U), 1 + dice_.below(1'000'000));
  } else if (roll < 7) {
    machine_.crash(1 + dice_.below(1'000'000));
  } else if (roll < 8) {
    machine_.plan_failure(DiskCall::sync, dice_.between(1U, 4U), ErrorCode::unavailable);
  } else {
    machine_.kill();
    rounds_.reset();
    watched_.close();
    if (reopen(Shadow::End::process)) ledger_.check(watched_, true, now_);
  }
}

void RoundsSimulation::recover() {
  ++tally_.crashes;
  rounds_.reset();
  const bool power = machine_.down() || dice_.percent(50);
  if (power && !machine_.down()) machine_.crash(1 + dice_.below(1'000'000));
  watched_.close();
  if (machine_.down()) machine_.restart();
  machine_.forget_plans();
  if (reopen(power ? Shadow::End::power : Shadow::End::process)) {
    ledger_.check(watched_, true, now_);
    complain(ledger_.complaint());
  }
}

bool RoundsSimulation::reopen(Shadow::End how) {
  ++options_.hash_seed;
  auto subject = open_(machine_.attach(), options_);
  auto state = subject ? subject->state() : Result<std::string>(std::unexpected(subject.error()));
  if (!state) {
    complain("it cannot be opened again: " + state.error().message);
    return false;
  }
  auto& shadow = watched_.shadow();
  const auto match = shadow.match(*state, subject->boot, how);
  if (!match.commit || *match.commit < match.least) {
    complain("the store came back with a state that it must not have: " + shadow.explain(*state));
    return false;
  }
  shadow.resume(*match.commit, *state, subject->boot, how);
  watched_.forget_unflushed();
  watched_.open(std::move(*subject));
  rounds_ = std::make_unique<Rounds>(watched_, RoundsOptions{.items = 8});
  return true;
}

}  // namespace millrace::test
