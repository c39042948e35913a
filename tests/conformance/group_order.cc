// Which task of which group is next: by arrival, by turns, in strict order.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>

#include "store/store.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/groups.h"

namespace millrace::test {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

// How many of the tasks are of the group.
double how_many(const std::string& taken, char group) {
  return static_cast<double>(std::ranges::count(taken, group));
}

// ---- Arrival -----------------------------------------------------------------------------------

TEST_P(StoreConformance, by_arrival_groups_are_taken_in_the_order_of_their_tasks) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{});
  const TaskId last = put(of("a", {.priority = 1})).id;
  const TaskId late = put(of("b", {.delay = Duration(5ms)})).id;
  const TaskId first = put(of("c", {.priority = 9})).id;
  const TaskId plain = put(of("a")).id;
  const TaskId alone = put(of("")).id;
  pass(10ms);
  EXPECT_THAT(ids_of(take("grouped")), ElementsAre(first, plain, alone, late, last));
}

TEST_P(StoreConformance, tasks_of_groups_age_as_others_do) {
  NEEDS_TRAIT(groups);
  for (const GroupOrder order : {GroupOrder::arrival, GroupOrder::fair}) {
    grouped(*this, GroupRules{.order = order, .max_concurrent = 1}, {.ageing = Duration(1min)});
    const TaskId old = put(of("a", {.priority = 4})).id;
    pass(3min);
    const TaskId young = put(of("b", {.priority = 6})).id;
    put(of("a", {.priority = 6}));
    const auto leases = take("grouped");
    EXPECT_THAT(ids_of(leases), ElementsAre(old, young));
    for (const Lease& lease : leases) settle(done(lease));
    must(store().clear("grouped", 100, now));
  }
}

// ---- Fair --------------------------------------------------------------------------------------

TEST_P(StoreConformance, fair_groups_have_turns) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.order = GroupOrder::fair});
  const auto ids = put_groups(*this, "aaaabbbccb");
  const auto leases = take("grouped");
  EXPECT_EQ(groups_of(leases), "abcabcabab");
  EXPECT_THAT(ids_of(leases), ElementsAre(ids[0], ids[4], ids[7], ids[1], ids[5], ids[8], ids[2],
                                          ids[6], ids[3], ids[9]));
}

TEST_P(StoreConformance, turns_go_on_from_take_to_take) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.order = GroupOrder::fair});
  put_groups(*this, "aaaaabbbbbccccc");
  std::string taken;
  for (int i = 0; i < 15; ++i) taken += take_groups(*this, 1);
  EXPECT_EQ(taken, repeated("abc", 5));
}

TEST_P(StoreConformance, groups_have_as_many_turns_as_their_weights_say) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.order = GroupOrder::fair, .weight = 2});
  change_group(*this, "a", GroupOverride{.weight = 6});
  change_group(*this, "b", GroupOverride{.weight = 1});
  put_groups(*this, repeated("a", 400) + repeated("b", 400) + repeated("c", 400));
  const std::string taken = take_groups(*this, 450);
  EXPECT_NEAR(how_many(taken, 'a'), 300, 2);
  EXPECT_NEAR(how_many(taken, 'b'), 50, 2);
  EXPECT_NEAR(how_many(taken, 'c'), 100, 2);
  // Not only over all: every stretch of nine has about six.
  for (std::size_t from = 0; from + 9 <= taken.size(); ++from) {
    EXPECT_NEAR(how_many(taken.substr(from, 9), 'a'), 6, 1) << from;
  }
}

TEST_P(StoreConformance, a_change_of_a_weight_holds_from_the_next_turn_on) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.order = GroupOrder::fair});
  put_groups(*this, repeated("a", 60) + repeated("b", 60));
  EXPECT_EQ(take_groups(*this, 6), "ababab");
  change_group(*this, "b", GroupOverride{.weight = 4, .until = now + 10s});
  EXPECT_NEAR(how_many(take_groups(*this, 20), 'b'), 16, 1);
  pass(10s);
  EXPECT_NEAR(how_many(take_groups(*this, 20), 'b'), 10, 1);
}

// An idle group saves no turns up, and one that is new has none to make up for.
TEST_P(StoreConformance, a_group_that_comes_or_comes_back_begins_at_the_turn_of_the_queue) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.order = GroupOrder::fair});
  put_groups(*this, repeated("a", 30) + "b");
  const auto leases = take("grouped", 20);
  EXPECT_EQ(groups_of(leases), "ab" + repeated("a", 18));
  settle(done(leases.at(1)));
  put_groups(*this, "bbbbccc");
  EXPECT_EQ(take_groups(*this, 9), "abcabcabc");
}

TEST_P(StoreConformance, a_group_keeps_its_turn_while_its_tasks_wait_or_run) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.order = GroupOrder::fair});
  change_group(*this, "a", GroupOverride{.weight = 2});
  put_groups(*this, "abbbbbbbb");
  const Lease held = take("grouped", 1).at(0);
  EXPECT_EQ(held.group, "a");
  EXPECT_EQ(take_groups(*this, 4), "bbbb");
  // It still runs one: its turn is where it was, which is before that of b, but not before that of
  // the queue.
  put_groups(*this, "aaaa");
  EXPECT_EQ(take_groups(*this, 4), "aaba");
}

TEST_P(StoreConformance, a_higher_priority_comes_before_the_turns) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.order = GroupOrder::fair});
  for (int i = 0; i < 3; ++i) put(of("a", {.priority = 9}));
  put_groups(*this, "bbaaaabbbb");
  // What was taken for its priority has used the turns of its group nevertheless.
  EXPECT_EQ(take_groups(*this, 8), "aaabbbab");
}

TEST_P(StoreConformance, within_a_fair_group_the_order_is_that_of_queues) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.order = GroupOrder::fair});
  const TaskId late = put(of("a", {.delay = Duration(5ms)})).id;
  const TaskId plain = put(of("a")).id;
  const TaskId other = put(of("b")).id;
  const TaskId high = put(of("a", {.priority = 6})).id;
  pass(10ms);
  EXPECT_THAT(ids_of(take("grouped")), ElementsAre(high, other, plain, late));
}

TEST_P(StoreConformance, tasks_without_a_group_have_turns_like_a_group) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.order = GroupOrder::fair, .max_concurrent = 2});
  for (int i = 0; i < 6; ++i) put(of(""));
  put_groups(*this, "aaabbb");
  EXPECT_EQ(take_groups(*this), "-ab-ab----");
}

TEST_P(StoreConformance, a_fair_group_without_room_is_passed_over_and_comes_back) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.order = GroupOrder::fair, .max_concurrent = 1});
  change_group(*this, "b", GroupOverride{.max_concurrent = 100});
  put_groups(*this, "aaabbbbbb");
  const auto leases = take("grouped", 4);
  EXPECT_EQ(groups_of(leases), "abbb");
  settle(done(leases.at(0)));
  EXPECT_EQ(take_groups(*this, 3), "abb");
}

TEST_P(StoreConformance, a_change_of_the_order_begins_the_turns_anew) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.order = GroupOrder::fair});
  change_group(*this, "a", GroupOverride{.weight = 1000});
  put_groups(*this, repeated("a", 30) + repeated("b", 30));
  EXPECT_EQ(take_groups(*this, 10), repeated("a", 10));
  change_group(*this, "a", std::nullopt);
  grouped(*this, GroupRules{.order = GroupOrder::fair, .weight = 7});
  EXPECT_EQ(take_groups(*this, 4), "abab") << "no change of the order";
  grouped(*this, GroupRules{.order = GroupOrder::arrival});
  EXPECT_EQ(take_groups(*this, 3), "aaa");
  grouped(*this, GroupRules{.order = GroupOrder::fair});
  EXPECT_EQ(take_groups(*this, 4), "abab");
}

TEST_P(StoreConformance, a_change_of_other_rules_leaves_the_turns_as_they_are) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.order = GroupOrder::fair});
  for (int i = 0; i < 10; ++i) put(of(""));
  put_groups(*this, repeated("a", 10));
  EXPECT_EQ(take_groups(*this, 4), "-a-a");
  grouped(*this, GroupRules{.order = GroupOrder::fair, .retry_holds = false});
  EXPECT_EQ(take_groups(*this, 4), "-a-a");
  grouped(*this, GroupRules{.order = GroupOrder::fair, .max_concurrent = 20});
  EXPECT_EQ(take_groups(*this, 4), "-a-a");
}

// 100,000 tasks of one group were put first: the others have their turns all the same.
TEST_P(StoreConformance, a_crowd_in_front_keeps_a_thousand_other_groups_waiting_for_two_rounds) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.order = GroupOrder::fair});
  std::vector<NewTask> batch;
  for (int put = 0; put < 100; ++put) {
    batch.clear();
    for (int i = 0; i < 1000; ++i) batch.push_back(of("crowd"));
    put_all(batch);
  }
  batch.clear();
  for (int i = 0; i < 1000; ++i) batch.push_back(of("other-" + std::to_string(i)));
  put_all(batch);
  std::set<std::string> seen;
  for (int round = 0; round < 2; ++round) {
    const auto leases = take("grouped", 1000);
    EXPECT_THAT(leases, SizeIs(1000));
    for (const Lease& lease : leases) seen.insert(lease.group);
  }
  EXPECT_THAT(seen, SizeIs(1001));
}

// ---- Serial ------------------------------------------------------------------------------------

TEST_P(StoreConformance, a_serial_group_runs_one_task_at_a_time_in_the_order_of_puts) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.order = GroupOrder::serial});
  std::vector<TaskId> ids;
  for (const std::uint8_t priority : std::to_array<std::uint8_t>({0, 9, 5, 7})) {
    ids.push_back(put(of("a", {.priority = priority})).id);
  }
  std::vector<TaskId> taken;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto leases = take("grouped");
    ASSERT_THAT(leases, SizeIs(1));
    taken.push_back(leases.front().id);
    EXPECT_EQ(take_groups(*this), "");
    settle(done(leases.front()));
  }
  EXPECT_THAT(taken, ElementsAreArray(ids));
}

TEST_P(StoreConformance, serial_groups_run_beside_each_other_in_the_order_of_what_is_next) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.order = GroupOrder::serial});
  const TaskId low = put(of("a", {.priority = 1})).id;
  put(of("a", {.priority = 9}));
  const TaskId middle = put(of("b")).id;
  const TaskId high = put(of("c", {.priority = 9})).id;
  EXPECT_THAT(ids_of(take("grouped")), ElementsAre(high, middle, low));
}

TEST_P(StoreConformance, in_a_serial_queue_tasks_without_a_group_go_in_the_order_of_the_queue) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.order = GroupOrder::serial});
  const TaskId late = put(of("", {.delay = Duration(1h)})).id;
  const TaskId low = put(of("", {.priority = 1})).id;
  const TaskId high = put(of("", {.priority = 9})).id;
  EXPECT_THAT(ids_of(take("grouped")), ElementsAre(high, low));
  EXPECT_EQ(state_of(late), TaskState::delayed);
}

TEST_P(StoreConformance, a_serial_group_waits_for_its_first_task_to_be_due) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.order = GroupOrder::serial});
  const TaskId first = put(of("a", {.delay = Duration(1h)})).id;
  put_groups(*this, "ab");
  EXPECT_EQ(take_groups(*this), "b");
  pass(1h);
  EXPECT_EQ(take_one("grouped").id, first);
}

TEST_P(StoreConformance, a_serial_group_goes_on_when_its_first_task_is_cancelled_or_removed) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.order = GroupOrder::serial});
  const TaskId cancelled = put(of("a", {.delay = Duration(1h)})).id;
  const TaskId removed = put(of("a", {.delay = Duration(1h)})).id;
  const TaskId third = put(of("a")).id;
  cancel(cancelled);
  EXPECT_EQ(take_groups(*this), "");
  remove(removed);
  EXPECT_EQ(take_one("grouped").id, third);
}

TEST_P(StoreConformance, a_task_that_comes_again_holds_up_its_serial_group) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.order = GroupOrder::serial});
  const TaskId first = put(of("a")).id;
  put(of("a", {.priority = 9}));
  settle(retry_at(take_one("grouped"), now + 1min));
  EXPECT_EQ(take_groups(*this), "");
  pass(1min);
  Lease lease = take_one("grouped");
  EXPECT_EQ(lease.id, first);
  settle(snoozed(lease, now + 1min));
  EXPECT_EQ(take_groups(*this), "");
  pass(1min);
  lease = take_one("grouped");
  EXPECT_EQ(lease.id, first);
  settle(given_back(lease));
  lease = take_one("grouped");
  EXPECT_EQ(lease.id, first);
  pass(24h);
  EXPECT_EQ(take_groups(*this), "") << "its lease is overdue, and nothing has ended it";
  settle(lost(due_one(), now));
  lease = take_one("grouped");
  EXPECT_EQ(lease.id, first);
  settle(parked(lease));
  EXPECT_EQ(take_groups(*this), "");
  update({.id = first, .release = true});
  lease = take_one("grouped");
  EXPECT_EQ(lease.id, first);
  settle(failed(lease));
  EXPECT_NE(take_one("grouped").id, first);
}

TEST_P(StoreConformance, a_task_that_is_held_and_has_never_run_holds_up_no_serial_group) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.order = GroupOrder::serial});
  const TaskId held = put(of("a", {.held = true})).id;
  const auto ids = put_groups(*this, "aa");
  const Lease lease = take_one("grouped");
  EXPECT_EQ(lease.id, ids.at(0));
  update({.id = held, .release = true});
  EXPECT_EQ(take_groups(*this), "");
  settle(done(lease));
  EXPECT_EQ(take_one("grouped").id, held);
}

TEST_P(StoreConformance, a_task_that_waits_for_others_holds_up_no_serial_group) {
  NEEDS_TRAIT(groups);
  NEEDS_TRAIT(graphs);
  grouped(*this, GroupRules{.order = GroupOrder::serial});
  const TaskId parent = put(task("q")).id;
  const TaskId child = put(of("a", {.after = After{.tasks = {parent}}})).id;
  const auto ids = put_groups(*this, "aa");
  Lease lease = take_one("grouped");
  EXPECT_EQ(lease.id, ids.at(0));
  settle(done(take_one("q")));
  settle(done(lease));
  lease = take_one("grouped");
  EXPECT_EQ(lease.id, child);
  settle(done(lease));
  EXPECT_EQ(take_one("grouped").id, ids.at(1));
}

TEST_P(StoreConformance, retries_hold_up_no_serial_group_that_says_so) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.order = GroupOrder::serial, .retry_holds = false});
  const auto ids = put_groups(*this, "aaaaa");
  const TaskId delayed = put(of("a", {.delay = Duration(2h)})).id;
  put_groups(*this, "a");
  settle(retry_at(take_one("grouped"), now + 1h));
  Lease lease = take_one("grouped");
  EXPECT_EQ(lease.id, ids.at(1));
  EXPECT_EQ(take_groups(*this), "") << "one at a time";
  settle(parked(lease));
  lease = take_one("grouped");
  EXPECT_EQ(lease.id, ids.at(2));
  settle(snoozed(lease, now + 1h));
  pass(1h);
  // Once they are due they come before those that were put later.
  lease = take_one("grouped");
  EXPECT_EQ(lease.id, ids.at(0));
  settle(done(lease));
  update({.id = ids.at(1), .release = true});
  for (const TaskId& id : {ids.at(1), ids.at(2), ids.at(3), ids.at(4)}) {
    lease = take_one("grouped");
    EXPECT_EQ(lease.id, id);
    settle(done(lease));
  }
  EXPECT_EQ(take_groups(*this), "") << "a task that has never run is waited for";
  pass(1h);
  EXPECT_EQ(take_one("grouped").id, delayed);
}

TEST_P(StoreConformance, a_restored_task_comes_after_those_put_before_it_in_a_serial_group) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.order = GroupOrder::serial});
  const TaskId first = put(of("a")).id;
  const Task old = old_task("grouped", {.state = TaskState::queued, .priority = 9, .group = "a"});
  restore(old);
  const Task parked = old_task(
      "grouped",
      {.state = TaskState::created, .counters = {.deliveries = 1}, .start = never, .group = "a"});
  restore(parked);
  put_groups(*this, "a");
  Lease lease = take_one("grouped");
  EXPECT_EQ(lease.id, first);
  settle(done(lease));
  lease = take_one("grouped");
  EXPECT_EQ(lease.id, old.id);
  settle(done(lease));
  EXPECT_EQ(take_groups(*this), "") << "a parked task has begun, elsewhere";
}

TEST_P(StoreConformance, a_revived_task_has_its_old_place_in_a_serial_group) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.order = GroupOrder::serial});
  const auto ids = put_groups(*this, "aaa");
  settle(failed(take_one("grouped")));
  const Lease second = take_one("grouped");
  revive(ids.at(0));
  EXPECT_EQ(take_groups(*this), "");
  settle(done(second));
  EXPECT_EQ(take_one("grouped").id, ids.at(0));
}

TEST_P(StoreConformance, moved_tasks_have_their_old_place_in_a_serial_group) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.order = GroupOrder::serial});
  const TaskId first = put(task("q", {.group = "a"})).id;
  const auto ids = put_groups(*this, "aaa");
  update({.id = first, .queue = "grouped"});
  update({.id = ids.at(0), .queue = "q"});
  Lease lease = take_one("grouped");
  EXPECT_EQ(lease.id, first);
  settle(done(lease));
  EXPECT_EQ(take_one("grouped").id, ids.at(1));
}

TEST_P(StoreConformance, a_serial_group_waits_for_a_task_that_came_too_late_until_it_is_settled) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.order = GroupOrder::serial});
  put(of("a", {.start_by = now + 1min}));
  const TaskId second = put(of("a")).id;
  pass(2min);
  EXPECT_EQ(take_groups(*this), "");
  settle(expired(due_one(), now));
  EXPECT_EQ(take_one("grouped").id, second);
}

TEST_P(StoreConformance, no_override_lets_a_serial_group_run_two_tasks) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.order = GroupOrder::serial});
  change_group(*this, "a", GroupOverride{.max_concurrent = 5});
  put_groups(*this, "aa");
  EXPECT_EQ(take_groups(*this), "a");
}

TEST_P(StoreConformance, a_pause_and_a_rate_hold_for_a_serial_group) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.order = GroupOrder::serial, .process_rate = Rate{1, 1min}});
  change_group(*this, "b", GroupOverride{.paused_until = now + 1h});
  put_groups(*this, "aab");
  settle(done(take_one("grouped")));
  EXPECT_EQ(take_groups(*this), "");
  pass(63s);
  EXPECT_EQ(take_groups(*this), "a");
  pass(1h);
  EXPECT_EQ(take_groups(*this), "b");
}

TEST_P(StoreConformance, a_group_that_becomes_serial_waits_until_all_it_runs_have_ended) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{});
  const auto ids = put_groups(*this, "aaaa");
  const auto running = take("grouped", 2);
  grouped(*this, GroupRules{.order = GroupOrder::serial});
  settle(done(running.at(0)));
  EXPECT_EQ(take_groups(*this), "");
  settle(retry_at(running.at(1), now + 1h));
  EXPECT_EQ(take_groups(*this), "") << "that comes first";
  grouped(*this, GroupRules{.order = GroupOrder::serial, .retry_holds = false});
  EXPECT_EQ(take_one("grouped").id, ids.at(2));
  grouped(*this, GroupRules{});
  EXPECT_EQ(take_one("grouped").id, ids.at(3));
}

TEST_P(StoreConformance, serial_order_heeds_neither_priority_nor_start_of_an_update) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.order = GroupOrder::serial});
  const auto ids = put_groups(*this, "aa");
  update({.id = ids.at(1), .priority = 9});
  update({.id = ids.at(0), .start = now + 1min});
  EXPECT_EQ(take_groups(*this), "");
  update({.id = ids.at(0), .start = now});
  EXPECT_EQ(take_one("grouped").id, ids.at(0));
}

}  // namespace
}  // namespace millrace::test
