// Which dead letters a walk reads, and what it makes of them.
#include "broker/dead_walk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "store/forwarding.h"
#include "tests/support/broker_driver.h"
#include "tests/support/matchers.h"

namespace millrace {
namespace {

using namespace millrace::test;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Counts the tasks whose errors are read.
class CountingStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  std::size_t found = 0;
  std::size_t most_at_once = 0;

  Result<std::vector<Result<Task>>> find(std::span<const TaskRef> tasks, Parts parts) override {
    found += tasks.size();
    most_at_once = std::max(most_at_once, tasks.size());
    return ForwardingStore::find(tasks, parts);
  }
};

class DeadWalkTest : public ::testing::Test {
 protected:
  DeadWalkTest() {
    d_.make_queue("q");
    d_.make_queue("r");
  }
  TaskId kill(const std::string& message, const std::string& queue = "q",
              const std::string& type = "t") {
    const TaskId id = d_.put(task(queue, {.type = type})).id;
    d_.settle(failed(d_.take_one(queue), error(message)));
    return id;
  }
  // "queue type message count", the largest group first.
  std::vector<std::string> walk(std::optional<QueueRef> queue = {},
                                std::optional<std::string> type = {}) {
    store_.found = 0;
    DeadWalk walk(known_, std::move(queue), std::move(type));
    for (int steps = 0; !must(walk.step(store_)); ++steps) {
      if (steps == 1000) give_up("the walk does not end", Where::current());
    }
    std::vector<std::string> groups;
    for (const DeadGroup& group : walk.found().groups) {
      groups.push_back(group.queue + " " + group.type + " " + group.message + " " +
                       std::to_string(group.count));
      samples_ = group.samples.size();
    }
    return groups;
  }

  std::unique_ptr<Store> memory_ = open_memory();
  CountingStore store_{*memory_};
  StoreDriver d_{*memory_};
  KnownDead known_;
  std::size_t samples_ = 0;  // of the last group
};

TEST_F(DeadWalkTest, nothing_is_dead) {
  EXPECT_THAT(walk(), IsEmpty());
  EXPECT_EQ(store_.found, 0U);
}

TEST_F(DeadWalkTest, an_error_is_read_once_and_samples_each_time) {
  for (int i = 0; i < 1500; ++i) kill("no route to " + std::to_string(i));
  EXPECT_THAT(walk(), ElementsAre("q t no route to # 1500"));
  EXPECT_EQ(store_.found, 1500U + 3U);
  EXPECT_EQ(store_.most_at_once, 256U);
  EXPECT_EQ(samples_, 3U);
  kill("no route to 7");
  EXPECT_THAT(walk(), ElementsAre("q t no route to # 1501"));
  EXPECT_EQ(store_.found, 1U + 3U);
}

TEST_F(DeadWalkTest, what_died_again_of_something_else_is_in_the_other_group) {
  const TaskId id = kill("full");
  kill("full");
  EXPECT_THAT(walk(), ElementsAre("q t full 2"));
  d_.revive(id);
  EXPECT_THAT(walk(), ElementsAre("q t full 1"));
  d_.settle(failed(d_.take_one("q"), error("gone")));
  EXPECT_THAT(walk(), ::testing::UnorderedElementsAre("q t full 1", "q t gone 1"));
}

TEST_F(DeadWalkTest, a_queue_and_a_type_may_be_meant) {
  kill("no", "q", "a");
  kill("no", "q", "b");
  kill("no", "r", "a");
  EXPECT_THAT(walk(), SizeIs(3));
  EXPECT_THAT(walk("q"), SizeIs(2));
  EXPECT_THAT(walk("q", "b"), ElementsAre("q b no 1"));
  EXPECT_THAT(walk({}, "c"), IsEmpty());
}

// A task that is retried while the walk goes on is no sample, and its group may be empty by then.
TEST_F(DeadWalkTest, what_was_retried_meanwhile_is_not_shown) {
  const TaskId id = kill("no");
  DeadWalk walk(known_, std::nullopt, std::nullopt);
  EXPECT_FALSE(must(walk.step(store_)));
  d_.revive(id);
  EXPECT_TRUE(must(walk.step(store_)));
  EXPECT_THAT(walk.found().groups, IsEmpty());
}

TEST_F(DeadWalkTest, what_a_walk_did_not_meet_is_forgotten_when_there_are_too_many) {
  known_.begin_walk();
  Task one = d_.find(kill("no"));
  for (std::size_t i = 0; i < KnownDead::most; ++i) {
    one.number.value = 1'000'000 + i;
    known_.add(one);
  }
  EXPECT_THAT(walk(), SizeIs(1));
  EXPECT_EQ(known_.size(), 1U);
}

TEST_F(DeadWalkTest, an_unknown_queue_is_an_error) {
  DeadWalk walk(known_, QueueRef("no such"), std::nullopt);
  EXPECT_THAT(walk.step(store_), FailsWith(ErrorCode::not_found));
}

}  // namespace
}  // namespace millrace
