// What one turn of a read may cost, as the number of turns that it takes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "core/limits.h"
#include "store/embedded/newest_first.h"
#include "store/embedded/number_search.h"
#include "store/embedded/state_machine.h"
#include "tests/support/driver.h"

namespace millrace::embedded {
namespace {

using test::must;
using ::testing::ElementsAre;
using ::testing::SizeIs;

class BoundedTurns : public ::testing::Test {
 protected:
  // How many turns a read takes.
  std::uint64_t turns_of(const auto& read) {
    const std::uint64_t before = machine_.turns().steps();
    read();
    return machine_.turns().steps() - before;
  }
  void make_queues(int count) {
    for (int i = 0; i < count; ++i) driver_.make_queue(fmt::format("queue-{:05}", i));
  }

  StateMachine machine_;
  test::StoreDriver driver_{machine_};
};

TEST_F(BoundedTurns, large_schedules_are_copied_a_few_at_a_time) {
  driver_.make_queue("q");
  for (int i = 0; i < 20; ++i) {
    Schedule schedule{.name = fmt::format("s{:02}", i)};
    schedule.rule.every = std::chrono::hours(1);
    schedule.task = {.queue = "q", .payload = std::string(900'000, 'x')};
    schedule.next = test::t0 + std::chrono::hours(1);
    must(machine_.put_schedule(schedule, PutSchedule::create, test::t0));
  }
  std::vector<Schedule> all;
  EXPECT_GE(turns_of([&] { all = must(machine_.schedules(std::nullopt)); }), 10U);
  EXPECT_THAT(all, SizeIs(20));
}

TEST_F(BoundedTurns, large_memos_are_copied_a_few_at_a_time) {
  for (int i = 0; i < 20; ++i) {
    const Remember memo{.key = fmt::format("m{:02}", i), .value = std::string(900'000, 'x')};
    must(machine_.remember(memo, test::t0));
  }
  std::vector<Memo> all;
  EXPECT_GE(turns_of([&] { all = must(machine_.recall({.prefix = "m"}, test::t0)); }), 10U);
  EXPECT_THAT(all, SizeIs(20));
  EXPECT_THAT(must(machine_.recall({.prefix = "m", .limit = 7}, test::t0)), SizeIs(7));
}

TEST_F(BoundedTurns, memos_that_ended_are_passed_over_a_few_at_a_time) {
  for (int i = 0; i < 3000; ++i) {
    must(machine_.remember(
        {.key = fmt::format("m{:04}", i), .value = "", .lifetime = std::chrono::seconds(1)},
        test::t0));
  }
  must(machine_.remember({.key = "n", .value = "stays"}, test::t0));
  std::vector<Memo> all;
  const auto later = test::t0 + std::chrono::seconds(2);
  EXPECT_GE(turns_of([&] { all = must(machine_.recall({}, later)); }), 10U);
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all.front().key, "n");
}

TEST_F(BoundedTurns, a_list_over_many_queues_begins_in_several_turns_and_only_once) {
  make_queues(3000);
  std::vector<TaskId> ids;
  for (int i = 0; i < 3000; ++i) {
    ids.push_back(driver_.put(test::task(fmt::format("queue-{:05}", i))).id);
  }
  std::ranges::reverse(ids);
  TaskPage page;
  const auto turns = turns_of([&] { page = must(machine_.list({.limit = 1000})); });
  EXPECT_GE(turns, 3U);
  EXPECT_LE(turns, 30U) << "what was done in one turn is not done again in the next";
  EXPECT_THAT(page.tasks, SizeIs(1000));
  EXPECT_EQ(test::ids_of(driver_.list({.limit = 1000})), ids);
}

TEST_F(BoundedTurns, a_task_is_found_by_its_number_in_several_turns) {
  make_queues(3000);
  const Put put = driver_.put(test::task("queue-02999"));
  driver_.put(test::task("queue-00001"));
  Task found;
  EXPECT_GE(turns_of([&] { found = driver_.find(put.number); }), 2U);
  EXPECT_EQ(found.id, put.id);
  const std::vector<TaskRef> refs = {put.number, TaskNumber{99}, put.id};
  const auto several = must(machine_.find(refs, {}));
  EXPECT_EQ(several.at(0)->id, put.id);
  EXPECT_EQ(several.at(1).error().message, "there is no task number 99");
  EXPECT_EQ(several.at(2)->id, put.id);
}

TEST_F(BoundedTurns, queues_with_work_are_named_a_few_at_a_time) {
  make_queues(1000);
  for (int i = 0; i < 1000; ++i) driver_.put(test::task(fmt::format("queue-{:05}", i)));
  std::vector<std::string> ready;
  EXPECT_GE(turns_of([&] { ready = must(machine_.ready(test::t0)); }), 3U);
  EXPECT_THAT(ready, SizeIs(1000));
}

// ---- Changes between turns ----------------------------------------------------------------------

// A search that has looked at the first queues, when the task moves there from the last.
TEST_F(BoundedTurns, a_task_that_moves_meanwhile_is_found_by_its_number) {
  make_queues(3000);
  const Put put = driver_.put(test::task("queue-02999"));
  const std::vector<TaskRef> refs = {put.number};
  NumberSearch search(refs);
  search.step(machine_.state());
  ASSERT_FALSE(search.ended());
  machine_.state().watch(search);
  driver_.update({.id = put.id, .queue = "queue-00000"});
  machine_.state().unwatch(search);
  EXPECT_TRUE(search.ended());
  EXPECT_EQ(search.found(put.number), put.id);
}

class Merge : public BoundedTurns {
 protected:
  // The numbers of one turn, at most so many.
  std::vector<std::uint64_t> turn(std::size_t most) {
    std::vector<std::uint64_t> numbers;
    machine_.state().unwatch(merge_);
    if (merge_.begin_turn(machine_.state())) {
      while (numbers.size() < most) {
        const auto next = merge_.peek(machine_.state());
        if (next.kind != NewestFirst::Next::Kind::task) break;
        numbers.push_back(next.number);
        merge_.pop();
      }
    }
    machine_.state().watch(merge_);
    return numbers;
  }

  NewestFirst merge_{{}, std::nullopt, {}};
};

TEST_F(Merge, goes_on_whatever_becomes_of_the_tasks_between_two_turns) {
  driver_.make_queue("a");
  driver_.make_queue("b");
  std::vector<TaskId> ids = {TaskId{}};  // by number
  for (int i = 1; i <= 10; ++i) ids.push_back(driver_.put(test::task(i % 2 == 0 ? "a" : "b")).id);
  EXPECT_THAT(turn(3), ElementsAre(10, 9, 8));
  driver_.update({.id = ids.at(7), .queue = "a"});  // to a set whose turn it was last
  driver_.update({.id = ids.at(9), .queue = "a"});  // seen: it does not come again
  driver_.remove(ids.at(6));                        // is not there any more
  driver_.cancel(ids.at(5));                        // to a set that was empty
  driver_.make_queue("c");
  driver_.update({.id = ids.at(4), .queue = "c"});  // to a queue that was not there
  driver_.put(test::task("a"));                     // is newer
  EXPECT_THAT(turn(2), ElementsAre(7, 5));
  driver_.update({.id = ids.at(4), .queue = "b"});
  driver_.update({.id = ids.at(4), .queue = "c"});  // away and back
  must(machine_.remove_queue("a", true, test::t0));
  driver_.advance();  // and with it 2
  EXPECT_THAT(turn(10), ElementsAre(4, 3, 1));
  EXPECT_THAT(turn(10), ElementsAre());
}

}  // namespace
}  // namespace millrace::embedded
