// What tasks cost: rates that count it, of queues and of groups, and what runs have really cost.
#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "store/store.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/groups.h"

namespace millrace::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<std::uint32_t> costs_of(const std::vector<Lease>& leases) {
  std::vector<std::uint32_t> costs;
  for (const Lease& lease : leases) costs.push_back(lease.cost);
  return costs;
}

Settlement costing(Settlement settlement, std::uint32_t cost) {
  settlement.cost = cost;
  return settlement;
}

// The queue "dear", whose rate counts costs.
QueueSettings dear(Rate rate) {
  return queue("dear", {.process_rate = rate, .rate_of = RateOf::cost});
}

TEST_P(StoreConformance, a_task_keeps_the_cost_that_it_was_put_with) {
  const TaskId id = put(task("q", {.cost = 7})).id;
  EXPECT_EQ(find(id).cost, 7U);
  const Lease lease = take_one("q");
  EXPECT_EQ(lease.cost, 7U);
  settle(costing(retry_at(lease, now), 3));
  EXPECT_EQ(find(id).cost, 7U);
  EXPECT_EQ(find(put(task("q")).id).cost, 1U);
}

TEST_P(StoreConformance, a_rate_of_cost_counts_what_tasks_cost) {
  NEEDS_TRAIT(groups);
  make_queue(dear({10, 10s}));
  for (const std::uint32_t cost : {4, 5, 1, 1}) put(task("dear", {.cost = cost}));
  EXPECT_THAT(costs_of(take("dear")), ElementsAre(4, 5, 1));
  EXPECT_THAT(take("dear"), IsEmpty());
  pass(11s);
  EXPECT_THAT(costs_of(take("dear")), ElementsAre(1));
}

TEST_P(StoreConformance, a_rate_of_tasks_does_not_count_what_they_cost) {
  NEEDS_TRAIT(groups);
  make_queue(queue("rated", {.process_rate = Rate{2, 1h}}));
  for (int i = 0; i < 3; ++i) put(task("rated", {.cost = 1000}));
  const auto leases = take("rated");
  EXPECT_THAT(leases, SizeIs(2));
  settle(costing(done(leases.at(0)), 0));
  EXPECT_THAT(take("rated"), IsEmpty());
}

// Else dear tasks would wait for ever behind cheap ones.
TEST_P(StoreConformance, a_task_that_costs_more_than_there_is_room_for_keeps_its_place) {
  NEEDS_TRAIT(groups);
  make_queue(dear({10, 10s}));
  for (const std::uint32_t cost : {6, 6, 1}) put(task("dear", {.cost = cost}));
  EXPECT_THAT(costs_of(take("dear")), ElementsAre(6));
  EXPECT_THAT(take("dear"), IsEmpty());
  pass(11s);
  EXPECT_THAT(costs_of(take("dear")), ElementsAre(6, 1));
}

TEST_P(StoreConformance, a_task_that_costs_more_than_the_rate_runs_when_nothing_else_counts) {
  NEEDS_TRAIT(groups);
  make_queue(dear({10, 10s}));
  for (const std::uint32_t cost : {1, 25, 1}) put(task("dear", {.cost = cost}));
  EXPECT_THAT(costs_of(take("dear")), ElementsAre(1));
  pass(11s);
  EXPECT_THAT(costs_of(take("dear")), ElementsAre(25));
  pass(9s);
  EXPECT_THAT(take("dear"), IsEmpty());
  pass(2s);
  EXPECT_THAT(costs_of(take("dear")), ElementsAre(1));
}

TEST_P(StoreConformance, never_more_cost_than_the_rate_in_any_interval) {
  NEEDS_TRAIT(groups);
  constexpr Duration per = 1s;
  make_queue(dear({20, per}));
  std::vector<NewTask> batch;
  for (std::uint32_t i = 0; i < 200; ++i) batch.push_back(task("dear", {.cost = 1 + i * 7 % 11}));
  put_all(batch);
  std::vector<std::pair<TimePoint, std::uint32_t>> taken;
  for (int i = 0; i < 2000; ++i) {
    for (const Lease& lease : take("dear", 1 + i % 3)) taken.emplace_back(now, lease.cost);
    pass(Duration(1 + i * 5 % 11));
  }
  EXPECT_GE(taken.size(), 30U);
  for (const auto& [from, first] : taken) {
    std::uint64_t sum = 0;
    for (const auto& [moment, cost] : taken) {
      if (moment >= from && moment < from + per) sum += cost;
    }
    EXPECT_LE(sum, 20U);
  }
}

// ---- What a run has really cost ----------------------------------------------------------------

TEST_P(StoreConformance, a_run_that_cost_less_makes_room_at_once) {
  NEEDS_TRAIT(groups);
  make_queue(dear({10, 32s}));
  for (int i = 0; i < 4; ++i) put(task("dear", {.cost = 10}));
  Lease lease = take_one("dear");
  pass(5s);
  settle(costing(done(lease), 0));
  lease = take_one("dear");
  pass(5s);
  settle(costing(done(lease), 4));
  put(task("dear", {.priority = 9, .cost = 6}));
  EXPECT_THAT(costs_of(take("dear")), ElementsAre(6));
  EXPECT_THAT(take("dear"), IsEmpty());
  // The four count as of the take, and the six of the one that was taken just now.
  pass(29s);
  put(task("dear", {.priority = 9, .cost = 4}));
  EXPECT_THAT(costs_of(take("dear")), ElementsAre(4));
}

TEST_P(StoreConformance, a_run_that_cost_more_counts_from_the_moment_that_is_known) {
  NEEDS_TRAIT(groups);
  make_queue(dear({10, 32s}));
  put(task("dear", {.cost = 1}));
  const Lease lease = take_one("dear");
  pass(20s);
  settle(costing(done(lease), 11));
  put(task("dear", {.cost = 1}));
  EXPECT_THAT(take("dear"), IsEmpty());
  pass(15s);
  EXPECT_THAT(take("dear"), IsEmpty());
  pass(20s);
  EXPECT_THAT(take("dear"), SizeIs(1));
}

TEST_P(StoreConformance, every_end_of_a_run_may_say_what_it_cost) {
  NEEDS_TRAIT(groups);
  make_queue(dear({10, 1h}));
  const TaskId id = put(task("dear", {.cost = 10})).id;
  for (int end = 0; end < 8; ++end) {
    const Lease lease = take_one("dear");
    const std::vector<Settlement> ends = {
        retry_at(lease, now), snoozed(lease, now), parked(lease, now), given_back(lease),
        failed(lease),        exhausted(lease),    cancelled(lease),   done(lease)};
    settle(costing(ends[static_cast<std::size_t>(end)], 0));
    if (end == 2) update({.id = id, .release = true});
    if (end >= 4 && end < 7) revive(id);
  }
}

TEST_P(StoreConformance, a_settlement_that_is_refused_or_repeated_corrects_nothing) {
  NEEDS_TRAIT(groups);
  make_queue(dear({10, 1h}));
  const TaskId id = put(task("dear", {.cost = 8})).id;
  put(task("dear", {.cost = 5}));
  const Lease lease = take_one("dear");
  Settlement stale = costing(done(lease), 0);
  stale.expect = Held{Token{lease.token.value + 1000}};
  EXPECT_THAT(try_settle(stale), FailsWith(ErrorCode::lease_lost));
  cancel(id);
  EXPECT_EQ(must(try_settle(costing(retry_at(lease, now), 0))).status,
            SettleStatus::cancel_requested);
  EXPECT_THAT(take("dear"), IsEmpty());
  settle(done(lease));
  EXPECT_EQ(must(try_settle(costing(done(lease), 0))).status, SettleStatus::already);
  EXPECT_THAT(take("dear"), IsEmpty());
}

TEST_P(StoreConformance, a_take_of_the_same_commit_has_the_room_that_a_settlement_makes) {
  NEEDS_TRAIT(groups);
  make_queue(dear({10, 1h}));
  for (int i = 0; i < 2; ++i) put(task("dear", {.cost = 10}));
  const Settlement end = costing(done(take_one("dear")), 0);
  const TakeRequest take{.worker = "w", .queues = {{.queue = "dear", .most = 10}}};
  const auto result = must(store().work({&end, 1}, {}, {&take, 1}, now));
  EXPECT_THAT(must(result.taken.front()), SizeIs(1));
}

// ---- Groups ------------------------------------------------------------------------------------

TEST_P(StoreConformance, a_rate_of_groups_may_count_costs) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.process_rate = Rate{10, 10s}, .rate_of = RateOf::cost});
  for (const char* name : {"a", "a", "a", "b", ""}) put(of(name, {.cost = 5}));
  EXPECT_EQ(take_groups(*this), "aab-");
  pass(11s);
  EXPECT_EQ(take_groups(*this), "a");
}

TEST_P(StoreConformance, a_dear_task_keeps_its_own_group_waiting_and_no_other) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.process_rate = Rate{10, 10s}, .rate_of = RateOf::cost});
  put(of("a", {.cost = 6}));
  put(of("a", {.cost = 6}));
  put(of("a", {.cost = 1}));
  put(of("b", {.cost = 100}));
  put(of("b", {.cost = 1}));
  EXPECT_EQ(take_groups(*this), "ab");
  EXPECT_EQ(take_groups(*this), "");
  pass(11s);
  EXPECT_EQ(take_groups(*this), "aab");
}

// What is first in the group decides whether it has room, and that changes.
TEST_P(StoreConformance, a_group_has_room_again_once_its_first_task_is_a_cheaper_one) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.process_rate = Rate{10, 1h}, .rate_of = RateOf::cost});
  put(of("a", {.cost = 6}));
  EXPECT_EQ(take_groups(*this), "a");
  const TaskId dear = put(of("a", {.cost = 6})).id;
  EXPECT_EQ(take_groups(*this), "");
  put(of("a", {.priority = 9, .cost = 2}));
  EXPECT_EQ(take_groups(*this), "a");
  put(of("a", {.cost = 2}));
  EXPECT_EQ(take_groups(*this), "");
  cancel(dear);
  EXPECT_EQ(take_groups(*this), "a");
}

TEST_P(StoreConformance, what_a_run_has_really_cost_counts_for_its_group_and_its_queue) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.process_rate = Rate{10, 1h}, .rate_of = RateOf::cost},
          {.process_rate = Rate{20, 1h}, .rate_of = RateOf::cost});
  for (const char* name : {"a", "a", "b", "c"}) put(of(name, {.cost = 10}));
  const auto leases = take("grouped");
  EXPECT_EQ(groups_of(leases), "ab");
  settle(costing(done(leases.at(0)), 0));
  EXPECT_EQ(take_groups(*this), "a") << "its group has room again, and the queue too";
  settle(costing(done(leases.at(1)), 4));
  EXPECT_EQ(take_groups(*this), "") << "the queue has room for 6 only";
  put(of("b", {.priority = 9, .cost = 6}));
  EXPECT_EQ(take_groups(*this), "b");
}

TEST_P(StoreConformance, a_rate_of_groups_that_counts_tasks_is_not_corrected) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.process_rate = Rate{1, 1h}});
  put_groups(*this, "aa");
  settle(costing(done(take_one("grouped")), 0));
  EXPECT_EQ(take_groups(*this), "");
}

TEST_P(StoreConformance, a_group_may_have_a_rate_of_cost_of_its_own) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.process_rate = Rate{10, 1h}, .rate_of = RateOf::cost});
  change_group(*this, "a", GroupOverride{.process_rate = Rate{20, 1h}});
  for (const char* name : {"a", "a", "a", "b", "b"}) put(of(name, {.cost = 10}));
  EXPECT_EQ(take_groups(*this), "aab");
}

}  // namespace
}  // namespace millrace::test
