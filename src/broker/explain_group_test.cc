// The gates of groups, from what a store says of a group.
#include <gtest/gtest.h>

#include <string>

#include "broker/explain.h"
#include "tests/support/builders.h"

namespace millrace {
namespace {

using namespace millrace::test;

class ExplainGroupTest : public ::testing::Test {
 protected:
  ExplainGroupTest() {
    task_.number = TaskNumber{20};
    stats_.last_asked = t0;
    queue_.settings = test::queue("emails");
    counts_.queue = "emails";
    group_ = Group{.queue = "emails", .name = "acme", .waiting = 41'002, .ready = 41'000};
    counts_.by[static_cast<std::size_t>(TaskState::queued)][default_priority] = 50'000;
  }
  GroupRules& rules() { return queue_.settings.groups.emplace(); }
  Explanation explained() {
    return explain({.task = task_,
                    .queue = queue_,
                    .counts = counts_,
                    .stats = stats_,
                    .takes = takes_,
                    .now = t0,
                    .parents = {},
                    .group = group_});
  }
  void expect(Gate gate, const std::string& sentence) {
    const Explanation why = explained();
    EXPECT_EQ(why.gate, gate);
    EXPECT_EQ(why.sentence, sentence);
  }

  Task task_ = old_task("emails", {.state = TaskState::queued, .group = "acme"});
  Queue queue_;
  QueueCounts counts_;
  QueueStats stats_;
  RateWindow takes_;
  std::optional<Group> group_;
};

TEST_F(ExplainGroupTest, full_groups) {
  rules().max_concurrent = 3;
  group_->running = 2;
  EXPECT_NE(explained().gate, Gate::group_concurrency);
  group_->running = 3;
  expect(Gate::group_concurrency,
         "Its group \"acme\" runs 3 of 3 tasks; 41,002 of its tasks wait.");
  // An override says another number, until it ends.
  group_->override = GroupOverride{.max_concurrent = 5, .until = t0 + 1ms};
  EXPECT_NE(explained().gate, Gate::group_concurrency);
  group_->override->until = t0;
  EXPECT_EQ(explained().gate, Gate::group_concurrency);
}

TEST_F(ExplainGroupTest, groups_that_have_reached_their_rate) {
  rules().process_rate = Rate{.max = 100, .per = 1min};
  EXPECT_NE(explained().gate, Gate::group_rate);
  group_->room_at = t0 + 30s;
  expect(Gate::group_rate,
         "Its group \"acme\" may start 100 tasks in 1m and has; more may start in 30 s.");
  EXPECT_EQ(explained().until, t0 + 30s);
  queue_.settings.groups->rate_of = RateOf::cost;
  expect(Gate::group_rate,
         "Its group \"acme\" may use a cost of 100 in 1m, and too little is left for its next "
         "task; there is room in 30 s.");
  group_->room_at = t0;
  EXPECT_NE(explained().gate, Gate::group_rate);
}

TEST_F(ExplainGroupTest, paused_groups) {
  rules();
  group_->override = GroupOverride{.paused_until = t0 + 3h};
  expect(Gate::group_paused,
         "Its group \"acme\" is paused until 2030-01-01T03:00:00.000Z (in 3 h).");
  EXPECT_EQ(explained().until, t0 + 3h);
  group_->override->paused_until = never;
  expect(Gate::group_paused, "Its group \"acme\" is paused until it is resumed.");
  EXPECT_EQ(explained().until, std::nullopt);
  group_->override->until = t0 - 1s;
  EXPECT_NE(explained().gate, Gate::group_paused);
}

TEST_F(ExplainGroupTest, tasks_behind_another_one_of_a_serial_group) {
  rules().order = GroupOrder::serial;
  group_->running = 1;
  expect(Gate::group_serial,
         "Its group \"acme\" runs one task at a time, and one is running; 41,002 of its tasks "
         "wait.");
  group_->running = 0;
  group_->first = TaskNumber{17};
  expect(Gate::group_serial,
         "Its group \"acme\" runs its tasks in the order in which they were put, and task number "
         "17 comes before this one.");
  group_->first = task_.number;
  EXPECT_NE(explained().gate, Gate::group_serial);
}

TEST_F(ExplainGroupTest, places_where_groups_have_turns) {
  rules().order = GroupOrder::fair;
  group_->oldest = t0 - 1h;  // the task is ready since half an hour
  task_.start = t0 - 30min;
  const Explanation why = explained();
  EXPECT_EQ(why.gate, Gate::behind);
  EXPECT_EQ(why.sentence,
            "About 20,499 tasks of its group \"acme\" are before it, and the groups of its queue "
            "have turns.");
  EXPECT_EQ(why.ahead, 20'499U);
  group_->ready = 50'000;  // there is no other group
  EXPECT_EQ(explained().gate, Gate::next);
}

TEST_F(ExplainGroupTest, the_gates_of_the_queue_come_first) {
  rules().max_concurrent = 3;
  group_->running = 3;
  queue_.settings.max_concurrent = 3;
  counts_.by[static_cast<std::size_t>(TaskState::processing)][default_priority] = 3;
  EXPECT_EQ(explained().gate, Gate::concurrency);
  queue_.settings.max_concurrent.reset();
  EXPECT_EQ(explained().gate, Gate::group_concurrency);
  group_.reset();  // a task without a group
  EXPECT_EQ(explained().gate, Gate::next);
}

TEST_F(ExplainGroupTest, a_rate_of_cost_of_the_queue) {
  const Rate rate{.max = 100, .per = 1min};
  queue_.settings.process_rate = rate;
  queue_.settings.rate_of = RateOf::cost;
  group_.reset();
  takes_.add(rate, t0, 70);
  task_.cost = 30;
  EXPECT_NE(explained().gate, Gate::rate);
  task_.cost = 31;
  const Explanation why = explained();
  EXPECT_EQ(why.gate, Gate::rate);
  EXPECT_TRUE(why.sentence.starts_with(
      "The queue emails may use a cost of 100 in 1m, and too little is left for this task, which "
      "costs 31; there is room in "))
      << why.sentence;
  task_.cost = 1000;  // more than ever fits: it may start once nothing else counts
  EXPECT_EQ(explained().gate, Gate::rate);
  takes_ = {};
  EXPECT_NE(explained().gate, Gate::rate);
}

}  // namespace
}  // namespace millrace
