// Counters: equal to a recount at any moment.
#include <gmock/gmock.h>
#include <algorithm>
#include <random>

#include "core/transition.h"
#include "store/store.h"
#include "tests/conformance/conformance.h"

namespace millrace::test {
namespace {

using ::testing::ElementsAre;

// What the counters must say, from a walk over every task.
QueueCounts recount(StoreDriver& driver, const std::string& queue) {
  QueueCounts counts{.queue = queue, .number = driver.find_queue(queue).settings.number};
  for (const Task& task : driver.list({.queue = queue, .limit = 1000})) {
    ++counts.by[static_cast<std::size_t>(task.state)][task.priority];
    const bool takeable = task.state == TaskState::queued || task.state == TaskState::delayed ||
                          task.state == TaskState::retrying;
    if (takeable && task.start <= driver.now) {
      counts.oldest = std::min(counts.oldest.value_or(never), task.start);
    }
  }
  return counts;
}

// S1-014, S1-043, S1-044, S1-045, S1-046, S1-047, S1-048
TEST_P(StoreConformance, counts_show_every_queue_with_its_number_and_its_four_figures) {
  make_queue(queue("emails", {.number = QueueNumber{3}}));
  make_queue("empty");
  one_in_each_state("emails");
  const auto all = must(store().counts(std::nullopt, now));
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all.at(0).queue, "emails");
  EXPECT_EQ(all.at(0).number, QueueNumber{3});
  EXPECT_EQ(all.at(0).total(), 9U);
  EXPECT_EQ(all.at(0).ready(), 1U);
  EXPECT_EQ(all.at(0).taken(), 1U);
  EXPECT_EQ(all.at(0).later(), 2U);
  EXPECT_EQ(all.at(0).waiting(), 4U);
  EXPECT_EQ(all.at(1).queue, "empty");
  EXPECT_EQ(all.at(1).number, std::nullopt);
  EXPECT_EQ(all.at(1).total(), 0U);
  EXPECT_EQ(all.at(2).queue, "q");
}

TEST_P(StoreConformance, counts_are_kept_by_state_and_priority) {
  put(task("q", {.priority = 9}));
  put(task("q", {.priority = 9}));
  put(task("q", {.priority = 0, .held = true}));
  const auto by = counts("q").by;
  EXPECT_EQ(by[static_cast<std::size_t>(TaskState::queued)][9], 2U);
  EXPECT_EQ(by[static_cast<std::size_t>(TaskState::created)][0], 1U);
  EXPECT_EQ(by[static_cast<std::size_t>(TaskState::queued)][0], 0U);
}

TEST_P(StoreConformance, counts_of_an_unknown_queue_are_not_found) {
  EXPECT_THAT(store().counts("nowhere", now), FailsWith(ErrorCode::not_found));
}

TEST_P(StoreConformance, the_oldest_is_the_one_ready_for_longest) {
  EXPECT_EQ(counts("q").oldest, std::nullopt);
  put(task("q", {.priority = 9, .start = now + 10s}));
  EXPECT_EQ(counts("q").oldest, std::nullopt) << "not takeable yet";
  pass(5s);
  put(task("q", {.priority = 0}));
  EXPECT_EQ(counts("q").oldest, t0 + 5s);
  pass(10s);
  EXPECT_EQ(counts("q").oldest, t0 + 5s) << "whatever the priority";
  const auto leases = take("q");
  EXPECT_EQ(counts("q").oldest, std::nullopt) << "running";
  settle(retry_at(leases.at(0), now));
  EXPECT_EQ(counts("q").oldest, now) << "whether promoted or not";
}

// A long mix of everything, the same in every run.
class Mix {
 public:
  explicit Mix(StoreDriver& driver) : driver_(driver) {}

  void step() {
    switch (roll(10)) {
      case 0:
      case 1:
      case 2:
        return put();
      case 3:
      case 4:
        return take();
      case 5:
      case 6:
        return settle();
      case 7:
        return upkeep();
      case 8:
        return operate();
      default:
        return driver_.pass(Duration(roll(60'000)));
    }
  }

 private:
  std::uint32_t roll(std::size_t sides) { return static_cast<std::uint32_t>(die_() % sides); }

  const char* any_queue() { return roll(3) == 0 ? "brief" : "q"; }

  TaskId any_task() { return ids_.empty() ? fresh_id() : ids_[roll(ids_.size())]; }

  void put() {
    NewTask fields{.priority = static_cast<std::uint8_t>(roll(10)), .held = roll(5) == 0};
    if (roll(3) == 0) fields.delay = Duration(roll(90'000));
    if (roll(4) == 0) fields.start_by = driver_.now + Duration(90'000 + roll(300'000));
    if (roll(5) == 0) fields.keep_for = Duration(roll(60'000));
    if (roll(5) == 0) fields.unique = UniqueKey{.key = std::to_string(roll(4))};
    ids_.push_back(driver_.put(task(any_queue(), fields)).id);
  }

  void take() {
    for (Lease& lease : driver_.take(any_queue(), 1 + roll(3))) {
      leases_.push_back(std::move(lease));
    }
  }

  void settle() {
    if (leases_.empty()) return;
    const std::size_t at = roll(leases_.size());
    const Lease lease = leases_[at];
    leases_.erase(leases_.begin() + static_cast<std::ptrdiff_t>(at));
    const TimePoint soon = driver_.now + Duration(roll(30'000));
    const std::vector<Settlement> ends = {done(lease),          retry_at(lease, soon),
                                          failed(lease),        exhausted(lease),
                                          snoozed(lease, soon), given_back(lease),
                                          cancelled(lease),     with(done(lease), {task("q")})};
    static_cast<void>(driver_.try_settle(ends[roll(ends.size())]));
  }

  void upkeep() {
    for (const Overdue& overdue : driver_.due(5)) {
      const bool running = std::holds_alternative<Lost>(overdue.expect);
      static_cast<void>(
          driver_.try_settle(running ? lost(overdue, driver_.now) : expired(overdue, driver_.now)));
    }
    driver_.advance(1 + roll(20));
  }

  void operate() {
    const TaskId id = any_task();
    switch (roll(6)) {
      case 0:
        return static_cast<void>(driver_.try_cancel({.id = id}));
      case 1:
        return static_cast<void>(driver_.try_revive(id));
      case 2:
        return static_cast<void>(driver_.try_remove(id));
      case 3:
        return static_cast<void>(driver_.try_update({.id = id, .release = true}));
      case 4:
        return static_cast<void>(
            driver_.try_update({.id = id,
                                .priority = static_cast<std::uint8_t>(roll(10)),
                                .start = driver_.now + Duration(roll(30'000))}));
      default:
        return static_cast<void>(must(driver_.store().clear(any_queue(), 1, driver_.now)));
    }
  }

  StoreDriver& driver_;
  std::minstd_rand die_{42};
  std::vector<TaskId> ids_;
  std::vector<Lease> leases_;
};

TEST_P(StoreConformance, counts_equal_a_recount_all_along_a_long_mix) {
  NEEDS_TRAIT(exact_counts);
  make_queue(queue("brief", {.max_concurrent = 3,
                             .keep_completed = {.for_time = 5min, .last = 3},
                             .keep_dead = {.last = 2}}));
  Mix mix(*this);
  for (int step = 0; step < 3000; ++step) {
    mix.step();
    if (step % 10 != 0) continue;
    for (const std::string name : {"q", "brief"}) {
      ASSERT_EQ(counts(name), recount(*this, name)) << "after step " << step;
    }
  }
  EXPECT_GT(list().size(), 50U) << "the mix became too thin to say anything";
}

}  // namespace
}  // namespace millrace::test
