// Limits of groups: how many tasks of each run and wait, and how many start per interval; what one
// group does differently; rules that come and go.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <string>

#include "store/store.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/groups.h"

namespace millrace::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// ---- max_concurrent ----------------------------------------------------------------------------

TEST_P(StoreConformance, never_more_tasks_of_a_group_run_than_its_limit) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.max_concurrent = 2});
  put_groups(*this, "aaaa");
  const auto first = take("grouped");
  EXPECT_EQ(groups_of(first), "aa");
  EXPECT_EQ(take_groups(*this), "");
  settle(done(first.at(0)));
  EXPECT_EQ(take_groups(*this), "a");
  EXPECT_EQ(take_groups(*this), "");
}

TEST_P(StoreConformance, a_full_group_does_not_keep_others_waiting) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.max_concurrent = 2});
  const auto ids = put_groups(*this, "aaaaaabbcb");
  EXPECT_EQ(take_groups(*this, 3), "aab");
  EXPECT_EQ(take_groups(*this), "bc");
  EXPECT_EQ(state_of(ids.at(2)), TaskState::queued);
  EXPECT_EQ(counts("grouped").ready(), 5U);
}

TEST_P(StoreConformance, a_limit_of_groups_holds_for_all_workers_of_one_call_together) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.max_concurrent = 3});
  put_groups(*this, "aaaaab");
  const std::vector<TakeRequest> takes = {
      {.worker = "w1", .queues = {{.queue = "grouped", .most = 2}}},
      {.worker = "w2", .queues = {{.queue = "grouped", .most = 5}}}};
  const WorkResult result = must(store().work({}, {}, takes, now));
  EXPECT_EQ(groups_of(must(result.taken.at(0))), "aa");
  EXPECT_EQ(groups_of(must(result.taken.at(1))), "ab");
}

TEST_P(StoreConformance, every_end_of_a_run_frees_its_place_in_the_group) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.max_concurrent = 1});
  for (int end = 0; end < 8; ++end) {
    put(of("a"));
    const Lease lease = take_one("grouped");
    const std::vector<Settlement> ends = {done(lease),
                                          failed(lease),
                                          exhausted(lease),
                                          retry_at(lease, now + 24h),
                                          snoozed(lease, now + 24h),
                                          parked(lease),
                                          cancelled(lease),
                                          given_back(lease)};
    settle(ends[static_cast<std::size_t>(end)]);
    EXPECT_EQ(find_group(*this, "a").running, 0U);
  }
  EXPECT_EQ(take_groups(*this), "a");
}

TEST_P(StoreConformance, a_limit_of_groups_counts_overdue_leases_too) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.max_concurrent = 1});
  put_groups(*this, "aa");
  take_one("grouped");
  pass(24h);
  EXPECT_EQ(take_groups(*this), "");
  settle(lost(due_one(), now));
  EXPECT_EQ(take_groups(*this), "a");
}

TEST_P(StoreConformance, a_lowered_limit_of_groups_lets_the_running_ones_end) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.max_concurrent = 3});
  put_groups(*this, "aaaab");
  const auto running = take("grouped");
  EXPECT_EQ(groups_of(running), "aaab");
  grouped(*this, GroupRules{.max_concurrent = 1});
  settle(done(running.at(0)));
  settle(done(running.at(1)));
  EXPECT_EQ(take_groups(*this), "");
  settle(done(running.at(2)));
  EXPECT_EQ(take_groups(*this), "a");
}

TEST_P(StoreConformance, limits_of_groups_do_not_apply_to_tasks_without_a_group) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.max_concurrent = 1, .process_rate = Rate{1, 1h}, .max_depth = 1});
  for (int i = 0; i < 5; ++i) put(of(""));
  EXPECT_EQ(take_groups(*this), "-----");
}

TEST_P(StoreConformance, limits_of_the_queue_hold_for_all_its_groups_together) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.max_concurrent = 2}, {.max_concurrent = 3});
  put_groups(*this, "aaabb");
  EXPECT_EQ(take_groups(*this), "aab");
  EXPECT_EQ(take_groups(*this), "");
  grouped(*this, GroupRules{.max_concurrent = 2}, {.process_rate = Rate{1, 1h}});
  EXPECT_EQ(take_groups(*this), "b");
  EXPECT_EQ(take_groups(*this), "");
}

TEST_P(StoreConformance, a_take_of_the_same_commit_gets_the_place_that_was_freed) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.max_concurrent = 1});
  put_groups(*this, "aab");
  const Lease lease = take("grouped", 1).at(0);
  const Settlement end = done(lease);
  const TakeRequest take{.worker = "w", .queues = {{.queue = "grouped", .most = 10}}};
  const auto result = must(store().work({&end, 1}, {}, {&take, 1}, now));
  EXPECT_EQ(groups_of(must(result.taken.front())), "ab");
}

// No take comes back with less than it may while a group with room has a task that is due.
TEST_P(StoreConformance, a_take_gives_what_any_group_with_room_has) {
  NEEDS_TRAIT(groups);
  for (const GroupOrder order : {GroupOrder::arrival, GroupOrder::fair, GroupOrder::serial}) {
    GroupRules rules{.order = order};
    if (order != GroupOrder::serial) rules.max_concurrent = 2;
    const std::size_t room = order == GroupOrder::serial ? 1 : 2;
    grouped(*this, rules);
    const std::string names = "abcdefgh";
    std::map<std::string, std::size_t> waiting;
    std::vector<Lease> running;
    for (std::size_t step = 0; step < 300; ++step) {
      const std::string group(1, names[step * step % 7 % names.size()]);
      put(of(group, {.priority = static_cast<std::uint8_t>(step % 3)}));
      ++waiting[group];
      if (step % 4 == 0) {
        std::size_t expected = 0;
        for (const auto& [name, count] : waiting) {
          const auto runs = std::ranges::count(running, name, &Lease::group);
          expected += std::min(count, room - static_cast<std::size_t>(runs));
        }
        const auto most = static_cast<std::uint32_t>(1 + step % 5);
        const auto leases = take("grouped", most);
        ASSERT_THAT(leases, SizeIs(std::min<std::size_t>(expected, most))) << "step " << step;
        for (const Lease& lease : leases) {
          --waiting[lease.group];
          running.push_back(lease);
        }
      }
      if (step % 3 == 0 && !running.empty()) {
        settle(done(running.front()));
        running.erase(running.begin());
      }
    }
    for (const Lease& lease : running) settle(done(lease));
    must(store().clear("grouped", 10'000, now));
  }
}

// ---- process_rate ------------------------------------------------------------------------------

TEST_P(StoreConformance, a_group_over_its_rate_waits_and_the_others_do_not) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.process_rate = Rate{2, 10s}});
  put_groups(*this, "aaaaabb");
  const auto first = take("grouped");
  EXPECT_EQ(groups_of(first), "aabb");
  for (const Lease& lease : first) settle(done(lease));
  EXPECT_EQ(take_groups(*this), "");
  pass(11s);
  EXPECT_EQ(take_groups(*this), "aa");
  EXPECT_EQ(take_groups(*this), "");
}

TEST_P(StoreConformance, never_more_takes_of_a_group_than_its_rate_in_any_interval) {
  NEEDS_TRAIT(groups);
  constexpr Duration per = 1s;
  grouped(*this, GroupRules{.process_rate = Rate{5, per}});
  std::vector<NewTask> batch;
  for (int i = 0; i < 300; ++i) batch.push_back(of(i % 3 == 0 ? "a" : "b"));
  put_all(batch);
  std::map<std::string, std::vector<TimePoint>> taken;
  for (int i = 0; i < 1000; ++i) {
    for (const Lease& lease : take("grouped", 1 + i % 3)) taken[lease.group].push_back(now);
    pass(Duration(1 + i * 5 % 11));
  }
  for (const auto& [group, moments] : taken) {
    EXPECT_GE(moments.size(), 20U) << group;
    for (std::size_t i = 5; i < moments.size(); ++i) {
      EXPECT_GE(moments[i] - moments[i - 5], per) << group << " " << i;
    }
  }
}

TEST_P(StoreConformance, giving_back_refunds_nothing_of_the_rate_of_a_group) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.process_rate = Rate{2, 1h}});
  put(of("a"));
  settle(given_back(take_one("grouped")));
  settle(given_back(take_one("grouped")));
  EXPECT_EQ(take_groups(*this), "");
}

// The window stays while the group has no tasks.
TEST_P(StoreConformance, a_rate_holds_for_a_group_that_comes_back) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.process_rate = Rate{2, 1h}});
  put_groups(*this, "aa");
  for (const Lease& lease : take("grouped")) settle(done(lease));
  pass(30min);
  advance();
  put_groups(*this, "ab");
  EXPECT_EQ(take_groups(*this), "b");
  pass(40min);
  EXPECT_EQ(take_groups(*this), "a");
}

TEST_P(StoreConformance, a_change_of_the_rate_of_groups_counts_what_was_used) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.process_rate = Rate{2, 1h}});
  put_groups(*this, "aaaaaaaa");
  EXPECT_EQ(take_groups(*this), "aa");
  grouped(*this, GroupRules{.process_rate = Rate{3, 1h}});
  EXPECT_EQ(take_groups(*this), "a");
  grouped(*this, GroupRules{});
  EXPECT_EQ(take_groups(*this, 1), "a");
  grouped(*this, GroupRules{.process_rate = Rate{4, 1h}});
  EXPECT_EQ(take_groups(*this), "a");
}

// ---- max_depth ---------------------------------------------------------------------------------

TEST_P(StoreConformance, the_depth_of_a_group_counts_created_queued_delayed_and_retrying) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.max_depth = 1});
  for (const TaskState state : waiting_states) {
    const std::string name = ::testing::PrintToString(state);
    const TaskId id = task_in(state, "grouped", {.group = name});
    EXPECT_THAT(try_put(of(name)), IsLimited()) << name;
    remove(id);
    EXPECT_THAT(try_put(of(name, {.held = true})), IsOk()) << name;
  }
  for (const TaskState state : {TaskState::processing, TaskState::completed, TaskState::failed,
                                TaskState::dead, TaskState::cancelled}) {
    const std::string name = ::testing::PrintToString(state);
    task_in(state, "grouped", {.group = name});
    EXPECT_THAT(try_put(of(name, {.held = true})), IsOk()) << name;
  }
}

TEST_P(StoreConformance, a_batch_is_accepted_up_to_the_depth_of_each_group) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.max_depth = 2}, {.put_rate = Rate{6, 1h}});
  std::vector<NewTask> batch;
  for (const char* name : {"a", "b", "a", "a", "", "", "b", "b"}) batch.push_back(of(name));
  const auto results = must(store().put(batch, now));
  std::vector<bool> accepted;
  for (const auto& result : results) {
    accepted.push_back(result.has_value());
    if (!result) {
      EXPECT_THAT(result, IsLimited());
    }
  }
  EXPECT_THAT(accepted, ElementsAre(true, true, true, false, true, true, true, false));
  // What was refused has cost no rate, and the sixth has used it up.
  take("grouped");
  EXPECT_THAT(try_put(of("a")), IsLimited());
  pass(2h);
  EXPECT_THAT(try_put(of("a")), IsOk());
}

TEST_P(StoreConformance, existing_tasks_cost_no_depth_of_their_group) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.max_depth = 1});
  const Put first = put(of("a", {.unique = UniqueKey{.key = "k"}}));
  EXPECT_TRUE(put(of("a", {.id = first.id})).existing);
  EXPECT_TRUE(put(of("a", {.unique = UniqueKey{.key = "k"}})).existing);
  const UniqueKey replacing{.key = "k", .on_conflict = OnConflict::replace};
  EXPECT_TRUE(put(of("a", {.unique = replacing})).replaced);
}

TEST_P(StoreConformance, follow_ups_ticks_restored_revived_and_moved_tasks_skip_the_depth) {
  NEEDS_TRAIT(groups);
  make_queue("from");
  grouped(*this, GroupRules{.max_depth = 1});
  const TaskId dead = task_in(TaskState::dead, "grouped", {.group = "a"});
  put(of("a"));
  put(task("q"));
  EXPECT_EQ(settle(with(done(take_one("q")), {of("a")})), TaskState::completed);
  EXPECT_THAT(try_restore(old_task("grouped", {.group = "a"})), IsOk());
  revive(dead);
  const TaskId moved = put(task("from", {.group = "a"})).id;
  update({.id = moved, .queue = "grouped"});
  NewTask ticked = of("a");
  ticked.id = {};
  must(store().put_schedule({.name = "s", .rule = {.every = 1s}, .task = ticked, .next = now},
                            PutSchedule::create, now));
  ticked.id = fresh_id();
  must(store().fire({.schedule = "s", .nominal = now, .next = now + 1s, .task = ticked}, now));
  EXPECT_EQ(find_group(*this, "a").waiting, 6U);
  EXPECT_THAT(try_put(of("a")), IsLimited());
}

TEST_P(StoreConformance, all_or_none_of_several_puts_keep_to_the_depth_of_groups) {
  NEEDS_TRAIT(groups);
  NEEDS_TRAIT(graphs);
  grouped(*this, GroupRules{.max_depth = 2});
  put(of("a"));
  expect_unchanged([&] {
    const std::vector<NewTask> tasks = {of("b"), of("a"), of("a")};
    const auto refused = store().put_all(tasks, now);
    EXPECT_THAT(refused, FailsWith(ErrorCode::limited));
  });
  const std::vector<NewTask> tasks = {of("b"), of("a"), of("b")};
  EXPECT_THAT(store().put_all(tasks, now), IsOk());
}

// ---- What one group does differently -----------------------------------------------------------

TEST_P(StoreConformance, a_paused_group_is_not_taken_and_keeps_no_other_waiting) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{});
  put_groups(*this, "aab");
  change_group(*this, "a", GroupOverride{.paused_until = now + 10s});
  EXPECT_EQ(take_groups(*this), "b");
  pass(9999ms);
  EXPECT_EQ(take_groups(*this), "");
  pass(1ms);
  EXPECT_EQ(take_groups(*this), "aa");
  put_groups(*this, "a");
  change_group(*this, "a", GroupOverride{.paused_until = never});
  pass(24h * 365);
  advance();
  EXPECT_EQ(take_groups(*this), "");
  change_group(*this, "a", std::nullopt);
  EXPECT_EQ(take_groups(*this), "a");
}

TEST_P(StoreConformance, a_group_may_have_other_limits_than_its_queue_says) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.max_concurrent = 1, .max_depth = 3});
  const GroupOverride wide{.max_concurrent = 2, .max_depth = 5};
  const Group answer = change_group(*this, "a", wide);
  EXPECT_EQ(answer.override, wide);
  EXPECT_EQ(answer.name, "a");
  EXPECT_EQ(answer.queue, "grouped");
  put_groups(*this, "aaaaabbb");
  EXPECT_THAT(try_put(of("a")), IsLimited());
  EXPECT_THAT(try_put(of("b")), IsLimited());
  EXPECT_EQ(take_groups(*this), "aab");
  change_group(*this, "b", GroupOverride{.process_rate = Rate{1, 1h}});
  EXPECT_EQ(change_group(*this, "a", std::nullopt).override, std::nullopt);
  EXPECT_EQ(take_groups(*this), "");
}

TEST_P(StoreConformance, a_group_may_have_a_rate_of_its_own) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{});
  change_group(*this, "a", GroupOverride{.process_rate = Rate{2, 1h}});
  put_groups(*this, "aaabbb");
  EXPECT_EQ(take_groups(*this), "aabbb");
  change_group(*this, "a", GroupOverride{.process_rate = Rate{3, 1h}});
  EXPECT_EQ(take_groups(*this), "a");
}

TEST_P(StoreConformance, what_a_group_does_differently_ends_by_itself) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.max_concurrent = 1});
  change_group(*this, "a", GroupOverride{.max_concurrent = 3, .until = now + 10s});
  put_groups(*this, "aaaaa");
  pass(9999ms);
  EXPECT_EQ(take_groups(*this, 2), "aa");
  EXPECT_TRUE(find_group(*this, "a").override);
  pass(1ms);
  EXPECT_EQ(take_groups(*this), "");
  EXPECT_EQ(find_group(*this, "a").override, std::nullopt);
  advance();
  // It is as good as none: what was seen is nothing.
  const GroupOverride paused{.paused_until = never};
  EXPECT_EQ(must(store().put_group({.queue = "grouped", .name = "a", .now = paused}, now)).override,
            paused);
}

TEST_P(StoreConformance, a_pause_ends_with_the_override_that_it_is_part_of) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{});
  put_groups(*this, "a");
  change_group(*this, "a", GroupOverride{.paused_until = never, .until = now + 10s});
  EXPECT_EQ(take_groups(*this), "");
  pass(10s);
  EXPECT_EQ(take_groups(*this), "a");
}

TEST_P(StoreConformance, an_override_that_has_ended_or_says_nothing_is_none) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{});
  EXPECT_EQ(change_group(*this, "a", GroupOverride{}).override, std::nullopt);
  EXPECT_EQ(change_group(*this, "a", GroupOverride{.weight = 2, .until = now}).override,
            std::nullopt);
  EXPECT_EQ(change_group(*this, "a", GroupOverride{.until = now + 1h}).override, std::nullopt);
  EXPECT_THAT(groups("grouped"), IsEmpty());
}

// ---- Rules that come and go --------------------------------------------------------------------

TEST_P(StoreConformance, rules_count_what_ran_and_waited_before_they_came) {
  NEEDS_TRAIT(groups);
  grouped(*this, std::nullopt);
  put_groups(*this, "aaabbb");
  const auto running = take("grouped", 2);
  EXPECT_EQ(groups_of(running), "aa");
  grouped(*this, GroupRules{.max_concurrent = 2, .max_depth = 3});
  EXPECT_THAT(try_put(of("b")), IsLimited());
  EXPECT_EQ(take_groups(*this), "bb");
  settle(done(running.at(0)));
  EXPECT_EQ(take_groups(*this), "a");
}

TEST_P(StoreConformance, without_rules_groups_mean_nothing_for_takes) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.order = GroupOrder::serial});
  put_groups(*this, "aaabbb");
  EXPECT_EQ(take_groups(*this), "ab");
  grouped(*this, std::nullopt);
  EXPECT_EQ(take_groups(*this), "aabb");
}

TEST_P(StoreConformance, overrides_and_windows_end_with_the_rules) {
  NEEDS_TRAIT(groups);
  const GroupRules rules{.process_rate = Rate{1, 1h}};
  grouped(*this, rules);
  change_group(*this, "a", GroupOverride{.paused_until = never});
  put_groups(*this, "abb");
  EXPECT_EQ(take_groups(*this), "b");
  grouped(*this, std::nullopt);
  EXPECT_EQ(find_group(*this, "a").override, std::nullopt);
  grouped(*this, rules);
  EXPECT_EQ(find_group(*this, "a").override, std::nullopt);
  EXPECT_EQ(take_groups(*this), "ab");
}

TEST_P(StoreConformance, a_change_of_other_settings_leaves_overrides_alone) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{});
  const GroupOverride paused{.paused_until = never};
  change_group(*this, "a", paused);
  grouped(*this, GroupRules{.order = GroupOrder::fair, .weight = 3}, {.max_depth = 5});
  EXPECT_EQ(find_group(*this, "a").override, paused);
}

TEST_P(StoreConformance, overrides_are_not_those_of_a_queue_of_the_same_name_that_was_removed) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.process_rate = Rate{1, 1h}});
  change_group(*this, "a", GroupOverride{.max_concurrent = 1});
  const TaskId id = put(of("a")).id;
  settle(done(take_one("grouped")));
  remove(id);
  must(store().remove_queue("grouped", false, now));
  grouped(*this, GroupRules{.process_rate = Rate{1, 1h}});
  EXPECT_THAT(groups("grouped"), IsEmpty());
  put_groups(*this, "a");
  EXPECT_EQ(take_groups(*this), "a");
}

TEST_P(StoreConformance, a_moved_task_counts_in_the_groups_of_its_new_queue) {
  NEEDS_TRAIT(groups);
  make_queue(queue("other", {.groups = GroupRules{.max_concurrent = 1}}));
  grouped(*this, GroupRules{.max_concurrent = 1});
  const auto ids = put_groups(*this, "aaa");
  put(task("other", {.group = "a"}));
  update({.id = ids.at(0), .queue = "other"});
  EXPECT_EQ(find_group(*this, "a").waiting, 2U);
  EXPECT_EQ(find_group(*this, "a", "other").waiting, 2U);
  EXPECT_EQ(take_one("other").id, ids.at(0));
  EXPECT_THAT(take("other"), IsEmpty());
  EXPECT_EQ(take_one("grouped").id, ids.at(1));
  EXPECT_THAT(take("grouped"), IsEmpty());
}

TEST_P(StoreConformance, a_task_that_is_replaced_counts_in_its_new_group) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.max_concurrent = 1});
  const UniqueKey key{.key = "k", .on_conflict = OnConflict::replace};
  const TaskId id = put(of("a", {.unique = key})).id;
  put_groups(*this, "ab");
  EXPECT_TRUE(put(of("b", {.unique = key})).replaced);
  EXPECT_EQ(find_group(*this, "a").waiting, 1U);
  EXPECT_EQ(find_group(*this, "b").waiting, 2U);
  const auto leases = take("grouped");
  EXPECT_EQ(groups_of(leases), "ba");
  EXPECT_EQ(leases.front().id, id);
}

}  // namespace
}  // namespace millrace::test
