#include "core/assignment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace millrace {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::Le;

// This many workers, each of which may put all its processors to any queue.
std::vector<WorkerCapacity> crew(std::size_t workers, std::uint32_t processors,
                                 std::size_t queues) {
  WorkerCapacity one{.processors = processors};
  for (std::size_t q = 0; q < queues; ++q) one.shares.push_back({q, processors, processors});
  return std::vector<WorkerCapacity>(workers, one);
}

std::vector<std::uint64_t> by_queue(const std::vector<WorkerCapacity>& workers,
                                    const AssignmentPlan& plan, std::size_t queues) {
  std::vector<std::uint64_t> sums(queues);
  for (std::size_t w = 0; w < workers.size(); ++w) {
    for (std::size_t l = 0; l < workers[w].shares.size(); ++l) {
      sums[workers[w].shares[l].queue] += plan.most[w][l];
    }
  }
  return sums;
}

// Repeats rounds with the same figures; returns after how many nothing changed any more.
int settle(const std::vector<QueueLoad>& loads, std::vector<WorkerCapacity>& workers,
           AssignmentPlan& plan) {
  for (int round = 1; round < 50; ++round) {
    plan = plan_assignment(loads, workers);
    bool changed = false;
    for (std::size_t w = 0; w < workers.size(); ++w) {
      for (std::size_t l = 0; l < workers[w].shares.size(); ++l) {
        changed = changed || workers[w].shares[l].now != plan.most[w][l];
        workers[w].shares[l].now = plan.most[w][l];
      }
    }
    if (!changed) return round;
  }
  return -1;
}

// S1-083
TEST(Assignment, there_are_no_bounds_while_there_is_enough) {
  const std::vector<QueueLoad> loads = {{.ready = 3, .arrivals = 20, .service = 0.2},
                                        {.ready = 0, .arrivals = 5, .service = 0.2},
                                        {}};
  const auto plan = plan_assignment(loads, crew(2, 8, 3));
  EXPECT_FALSE(plan.scarce);
  EXPECT_THAT(plan.most, Each(ElementsAre(8, 8, 8)));
}

TEST(Assignment, long_tasks_leave_room_for_short_ones) {
  const std::vector<QueueLoad> loads = {{.ready = 4, .arrivals = 0.1, .service = 20},
                                        {.arrivals = 100, .service = 0.02},
                                        {.arrivals = 1, .service = 0.02, .paused = true}};
  EXPECT_THAT(plan_assignment(loads, crew(2, 8, 3)).most, Each(ElementsAre(7, 8, 8)));
  // But never more than half.
  std::vector<QueueLoad> busy = loads;
  busy[1].arrivals = 700;
  EXPECT_THAT(plan_assignment(busy, crew(2, 8, 3)).most, Each(ElementsAre(4, 8, 8)));
}

// S1-083
TEST(Assignment, shares_balance_the_expected_time_to_start) {
  // Ten times the work, nothing else: ten elevenths of the processors, but for what is left over.
  const std::vector<QueueLoad> loads = {{.ready = 20'000, .service = 0.2},
                                        {.ready = 2'000, .service = 0.2}};
  auto workers = crew(4, 11, 2);
  AssignmentPlan plan;
  EXPECT_GT(settle(loads, workers, plan), 0);
  EXPECT_TRUE(plan.scarce);
  const auto sums = by_queue(workers, plan, 2);
  EXPECT_EQ(sums[0], 44U);  // the queue with most may use what others leave
  EXPECT_THAT(sums[1], AllOf(Ge(4), Le(12)));
}

TEST(Assignment, a_weight_shortens_the_wait) {
  std::vector<QueueLoad> loads = {{.ready = 5'000, .service = 0.2},
                                  {.ready = 5'000, .service = 0.2, .weight = 10}};
  auto workers = crew(4, 10, 2);
  AssignmentPlan plan;
  EXPECT_GT(settle(loads, workers, plan), 0);
  const auto sums = by_queue(workers, plan, 2);
  EXPECT_EQ(sums[1], 40U);
  EXPECT_THAT(sums[0], AllOf(Ge(1), Le(16)));
}

TEST(Assignment, a_queue_goes_where_others_cannot) {
  // The second queue can be worked by all, the first only by the first worker.
  const std::vector<QueueLoad> loads = {{.ready = 2'000, .arrivals = 30, .service = 0.2},
                                        {.ready = 10, .arrivals = 25, .service = 0.2}};
  std::vector<WorkerCapacity> workers = {{8, {{0, 8, 8}, {1, 8, 8}}}, {8, {{1, 8, 8}}}};
  AssignmentPlan plan;
  EXPECT_GT(settle(loads, workers, plan), 0);
  EXPECT_EQ(plan.most[0][0], 8U);
  EXPECT_EQ(plan.most[0][1], 0U);
  EXPECT_EQ(plan.most[1][0], 8U);
}

TEST(Assignment, limits_of_queues_do_not_hold_up_others) {
  const std::vector<QueueLoad> loads = {{.ready = 100'000, .service = 1, .most = 2},
                                        {.ready = 10, .arrivals = 5, .service = 1}};
  auto workers = crew(2, 8, 2);
  AssignmentPlan plan;
  EXPECT_GT(settle(loads, workers, plan), 0);
  EXPECT_FALSE(plan.scarce);
  EXPECT_THAT(plan.most, Each(ElementsAre(8, 8)));
}

TEST(Assignment, with_fewer_processors_than_queues_each_gets_its_turn) {
  std::vector<QueueLoad> loads(5, {.ready = 1'000, .service = 1});
  auto workers = crew(1, 2, 5);
  AssignmentPlan plan;
  EXPECT_GT(settle(loads, workers, plan), 0);
  EXPECT_THAT(plan.most[0], Each(Ge(1)));
}

TEST(Assignment, queues_with_next_to_nothing_to_do_are_not_held_up) {
  const std::vector<QueueLoad> loads(20, {.arrivals = 0.1, .service = 0.01});
  const auto plan = plan_assignment(loads, crew(1, 8, 20));
  EXPECT_FALSE(plan.scarce);
  EXPECT_THAT(plan.most[0], Each(8));
}

TEST(Assignment, a_round_moves_half_of_a_worker_at_most) {
  const std::vector<QueueLoad> loads = {{.ready = 100'000, .service = 0.2},
                                        {.ready = 100, .service = 0.2}};
  EXPECT_THAT(plan_assignment(loads, crew(2, 8, 2)).most, Each(ElementsAre(8, 4)));
}

TEST(Assignment, chance_changes_nothing) {
  std::mt19937 random(5);
  auto workers = crew(4, 8, 3);
  std::vector<QueueLoad> loads(3, {.ready = 5'000, .arrivals = 70, .service = 0.2});
  AssignmentPlan plan;
  ASSERT_GT(settle(loads, workers, plan), 0);
  int changes = 0;
  for (int round = 0; round < 100; ++round) {
    for (auto& load : loads) {
      load.ready = 5'000 + random() % 500;
      load.arrivals = static_cast<double>(65 + random() % 10);
      load.service = 0.195 + 0.001 * static_cast<double>(random() % 10);
    }
    const auto before = plan.most;
    plan = plan_assignment(loads, workers);
    changes += plan.most != before ? 1 : 0;
    for (std::size_t w = 0; w < workers.size(); ++w) {
      for (std::size_t l = 0; l < 3; ++l) workers[w].shares[l].now = plan.most[w][l];
    }
  }
  EXPECT_LE(changes, 2);
}

TEST(Assignment, bounds_go_when_scarcity_does) {
  std::vector<QueueLoad> loads = {{.ready = 20'000, .service = 0.2},
                                  {.ready = 500, .service = 0.2}};
  auto workers = crew(2, 8, 2);
  AssignmentPlan plan;
  ASSERT_GT(settle(loads, workers, plan), 0);
  ASSERT_TRUE(plan.scarce);
  loads = {{.ready = 0, .arrivals = 10, .service = 0.2}, {.arrivals = 1, .service = 0.2}};
  ASSERT_GT(settle(loads, workers, plan), 0);
  EXPECT_FALSE(plan.scarce);
  EXPECT_THAT(plan.most, Each(ElementsAre(8, 8)));
}

TEST(Assignment, scarcity_begins_later_than_it_ends) {
  // With 8 processors, in ten seconds: about three seconds of work per processor are left.
  const std::vector<QueueLoad> some = {{.ready = 1'000, .service = 0.1},
                                       {.ready = 40, .service = 0.1}};
  auto workers = crew(1, 8, 2);
  EXPECT_FALSE(plan_assignment(some, workers).scarce);
  const std::vector<QueueLoad> more = {{.ready = 2'000, .service = 0.1},
                                       {.ready = 80, .service = 0.1}};
  AssignmentPlan plan;
  ASSERT_GT(settle(more, workers, plan), 0);
  EXPECT_TRUE(plan.scarce);
  EXPECT_TRUE(plan_assignment(some, workers).scarce);
}

TEST(Assignment, the_desired_number_keeps_waits_below_the_target) {
  const auto desired = [](const QueueLoad& load) {
    return plan_assignment({load}, crew(1, 1, 1), {.target = 10s}).desired;
  };
  EXPECT_EQ(desired({}), 0U);
  EXPECT_EQ(desired({.arrivals = 10, .service = 0.5}), 5U);
  EXPECT_EQ(desired({.ready = 100, .service = 0.5}), 5U);
  EXPECT_EQ(desired({.ready = 100, .arrivals = 10, .service = 0.5}), 10U);
  EXPECT_EQ(desired({.ready = 100, .arrivals = 10, .service = 0.5, .most = 3}), 3U);
  EXPECT_EQ(desired({.ready = 100, .arrivals = 10, .service = 0.5, .paused = true}), 0U);
  EXPECT_EQ(desired({.arrivals = 0.001, .service = 0.5}), 1U);
  EXPECT_EQ(desired({.ready = ~0ULL, .service = 1e9}), 1'000'000'000U);
}

TEST(Assignment, nothing_is_known_and_nothing_is_there) {
  EXPECT_TRUE(plan_assignment({}, {}).most.empty());
  EXPECT_THAT(plan_assignment({{.ready = 5}}, {{}}).most, ElementsAre(ElementsAre()));
  EXPECT_THAT(plan_assignment({{.ready = 5}}, {{0, {{0, 5, 5}}}}).most.size(), 1U);
  EXPECT_THAT(plan_assignment({{.ready = 5}}, {{4, {{0, 0, 0}}}}).most,
              ElementsAre(ElementsAre(0)));
}

// Whatever the figures are.
TEST(Assignment, bounds_are_kept_and_no_queue_starves) {
  std::mt19937 random(11);
  for (int i = 0; i < 3'000; ++i) {
    const std::size_t queues = 1 + random() % 6;
    std::vector<QueueLoad> loads;
    for (std::size_t q = 0; q < queues; ++q) {
      loads.push_back({.ready = random() % 3 == 0 ? 0 : random() % 5'000,
                       .arrivals = static_cast<double>(random() % 100),
                       .service = static_cast<double>(random() % 1'000) / 100,
                       .weight = static_cast<std::uint32_t>(1 + random() % 10),
                       .oldest = Duration(random() % 100'000),
                       .paused = random() % 5 == 0});
      if (random() % 4 == 0) loads.back().most = 1 + random() % 5;
    }
    std::vector<WorkerCapacity> workers(1 + random() % 4);
    for (auto& worker : workers) {
      worker.processors = static_cast<std::uint32_t>(1 + random() % 9);
      for (std::size_t q = 0; q < queues; ++q) {
        const auto most = static_cast<std::uint32_t>(random() % 8);
        worker.shares.push_back({q, most, static_cast<std::uint32_t>(random() % 9)});
      }
    }
    const auto plan = plan_assignment(loads, workers);
    ASSERT_EQ(plan.most, plan_assignment(loads, workers).most);
    for (std::size_t w = 0; w < workers.size(); ++w) {
      for (std::size_t q = 0; q < queues; ++q) {
        ASSERT_LE(plan.most[w][q], workers[w].shares[q].most);
      }
    }
    const auto sums = by_queue(workers, plan, queues);
    for (std::size_t q = 0; q < queues; ++q) {
      const bool can = std::ranges::any_of(
          workers, [&](const WorkerCapacity& worker) { return worker.shares[q].most > 0; });
      if (can && !loads[q].paused && loads[q].ready > 0) {
        ASSERT_GE(sums[q], 1U) << "queue " << q << " of case " << i;
      }
    }
  }
}

TEST(RecentMean, fades) {
  RecentMean mean;
  EXPECT_EQ(mean.value(), 0);
  mean.add(10, 10);
  EXPECT_EQ(mean.value(), 1);
  mean.add(0, 0);
  EXPECT_DOUBLE_EQ(mean.value(), 1);
  for (int i = 0; i < 50; ++i) mean.add(30, 10);
  EXPECT_NEAR(mean.value(), 3, 0.01);
}

TEST(RecentRate, follows_soon) {
  RecentRate rate;
  rate.add(50, 5);
  EXPECT_EQ(rate.value(), 10);
  rate.add(0, 5);
  EXPECT_EQ(rate.value(), 5);
  rate.add(100, 0);  // no time has passed: nothing is learned
  EXPECT_EQ(rate.value(), 5);
}

}  // namespace
}  // namespace millrace
