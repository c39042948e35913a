// One scenario, in which each single disk call goes wrong in turn: it is refused, or is the last
// one before a power cut. Nothing that was acknowledged is lost, and the store says what happened.
#include <gtest/gtest.h>

#include "tests/random/describe.h"
#include "tests/sim/simulation.h"

namespace millrace::test {
namespace {

// Fills a few segments, and is closed and opened in the middle.
History workload_of(std::uint64_t seed) {
  History history;
  history.options = {.segment_size = 16 * 1024, .cache_size = 2000};
  const Workload workload{
      .length = 150, .flush_percent = 60, .payload_percent = 90, .payload_most = 4000};
  history.events = make_workload(seed, workload);
  const auto middle = static_cast<std::ptrdiff_t>(history.events.size() / 2);
  history.events.insert(history.events.begin() + middle,
                        EndEvent{.ending = {.how = Ending::How::close}});
  history.events.emplace_back(FlushEvent{});
  history.events.emplace_back(EndEvent{.ending = {.how = Ending::How::power, .seed = 3}});
  return history;
}

// The first seed whose scenario also cleans segments.
const History& scenario() {
  static const History found = [] {
    constexpr std::uint64_t most_seeds = 100;
    for (std::uint64_t seed = 1; seed < most_seeds; ++seed) {
      auto history = workload_of(seed);
      Simulation simulation(open_journal_subject, history);
      if (!simulation.run() && simulation.tally().cleaned > 0) return history;
    }
    return History{};
  }();
  return found;
}

// Runs the scenario with the fault at its n-th call, for every n or for every few, until there is
// no n-th call. Returns how many runs met their fault.
std::uint32_t at_every_call(const std::function<SimEvent(std::uint32_t n)>& fault,
                            std::uint32_t step = 1) {
  const auto& plain = scenario();
  for (std::uint32_t n = 1, met = 0;; n += step) {
    auto history = plain;
    history.events.insert(history.events.begin(), fault(n));
    Simulation simulation(open_journal_subject, history);
    const auto failure = simulation.run();
    if (failure) {
      ADD_FAILURE() << "fault at call " << n << "\n"
                    << shortened(describe(history)) << "after event " << failure->event + 1 << ": "
                    << shortened(failure->what);
      return met;
    }
    // The scenario has one power cut of its own.
    if (!simulation.machine().failed() && simulation.tally().power_cuts < 2) return met;
    ++met;
  }
}

TEST(EveryDiskCall, is_made_in_a_scenario_that_cleans) {
  EXPECT_FALSE(scenario().events.empty());
}

TEST(EveryDiskCall, may_fail_once) {
  for (const auto call : {DiskCall::lock, DiskCall::list, DiskCall::open, DiskCall::create,
                          DiskCall::allocate, DiskCall::write, DiskCall::read, DiskCall::sync,
                          DiskCall::sync_directory, DiskCall::rename, DiskCall::remove}) {
    const auto fault = [&](std::uint32_t n) {
      const auto how = n % 2 == 0 ? Ending::How::close : Ending::How::power;
      return FailEvent{.call = call,
                       .nth = n,
                       .code = ErrorCode::unavailable,
                       .ending = {.how = how, .seed = n, .while_opening = {}, .repeat = true}};
    };
    constexpr std::uint32_t read_step = 13;  // there are many of them, all alike
    const auto met = at_every_call(fault, call == DiskCall::read ? read_step : 1);
    EXPECT_TRUE(met > 0 || call == DiskCall::remove) << name_of(call);
    if (HasFailure()) return;
  }
}

TEST(EveryDiskCall, may_find_the_disk_full_once) {
  for (const auto call : {DiskCall::allocate, DiskCall::create}) {
    const auto& plain = scenario();
    for (std::uint32_t n = 1; n < 10; ++n) {
      auto history = plain;
      history.events.insert(history.events.begin(),
                            FailEvent{.call = call, .nth = n, .code = ErrorCode::limited});
      const auto failure = Simulation(open_journal_subject, history).run();
      ASSERT_FALSE(failure) << n << ": " << shortened(failure->what);
    }
  }
}

TEST(EveryDiskCall, may_be_the_last_before_a_power_cut) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const auto met = at_every_call([&](std::uint32_t n) {
      return EndEvent{.after = n,
                      .ending = {.how = Ending::How::power,
                                 .seed = seed * 1000 + n,
                                 .while_opening = {},
                                 .repeat = true}};
    });
    EXPECT_GT(met, 50U);
  }
}

}  // namespace
}  // namespace millrace::test
