// Groups as they are listed, what is refused about them, and what of them is there after reopening.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "core/limits.h"
#include "core/time_text.h"
#include "core/transition.h"
#include "store/store.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/groups.h"

namespace millrace::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<std::string> names_of(const std::vector<Group>& groups) {
  std::vector<std::string> names;
  for (const Group& group : groups) names.push_back(group.name);
  return names;
}

// ---- Lists -------------------------------------------------------------------------------------

TEST_P(StoreConformance, a_group_says_how_many_of_its_tasks_wait_are_ready_and_run) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{});
  for (int i = 0; i < static_cast<int>(state_count); ++i) {
    task_in(static_cast<TaskState>(i), "grouped", {.group = "a"});
    if (i == static_cast<int>(TaskState::queued)) take_one("grouped");
  }
  put(of("a", {.delay = Duration(10s)}));
  put(of("a"));
  put(of("b"));
  const Group group = find_group(*this, "a");
  EXPECT_EQ(group.queue, "grouped");
  EXPECT_EQ(group.name, "a");
  EXPECT_EQ(group.waiting, 5U) << "created, delayed twice, retrying, queued";
  EXPECT_EQ(group.ready, 1U);
  EXPECT_EQ(group.running, 2U);
  EXPECT_EQ(group.override, std::nullopt);
}

// The recount of a store after many changes of every kind.
TEST_P(StoreConformance, the_counters_of_groups_equal_a_recount) {
  NEEDS_TRAIT(groups);
  make_queue("other");
  grouped(*this, GroupRules{.order = GroupOrder::fair, .max_concurrent = 3});
  const std::vector<std::string> names = {"a", "b", "c", ""};
  const auto recount = [&] {
    std::map<std::string, Group> expected;
    for (const Task& task : list({.queue = "grouped"})) {
      if (task.group.empty() || is_final(task.state)) continue;
      Group& group = expected[task.group];
      group.queue = "grouped", group.name = task.group;
      if (task.state == TaskState::processing) {
        ++group.running;
        continue;
      }
      ++group.waiting;
      if (task.state == TaskState::queued) ++group.ready;
      const bool due = task.state == TaskState::queued ||
                       (task.state != TaskState::created && task.start <= now);
      if (due) group.oldest = std::min({group.oldest.value_or(never), task.start, now});
    }
    std::vector<Group> all;
    for (const auto& [name, group] : expected) all.push_back(group);
    return all;
  };
  std::vector<Lease> running;
  std::vector<TaskId> ids;
  for (std::size_t step = 0; step < 200; ++step) {
    NewTask fields{.priority = static_cast<std::uint8_t>(step % 10), .held = step % 11 == 0};
    if (step % 5 == 0) fields.delay = Duration(20ms);
    ids.push_back(put(of(names[step * 7 % names.size()], fields)).id);
    if (step % 3 == 0) {
      for (Lease& lease : take("grouped", 3)) running.push_back(std::move(lease));
    }
    if (step % 2 == 0 && !running.empty()) {
      const Lease lease = running.front();
      running.erase(running.begin());
      const std::vector<Settlement> ends = {done(lease),   retry_at(lease, now + 15ms),
                                            failed(lease), snoozed(lease, now + 5ms),
                                            parked(lease), given_back(lease)};
      settle(ends[step / 2 % ends.size()]);
    }
    const TaskId some = ids[step * 13 % ids.size()];
    if (step % 7 == 3) static_cast<void>(try_cancel({.id = some}));
    if (step % 7 == 4) static_cast<void>(try_remove(some));
    if (step % 7 == 5) static_cast<void>(try_update({.id = some, .queue = "other"}));
    if (step % 7 == 6) static_cast<void>(try_revive(some));
    if (step % 9 == 0) static_cast<void>(try_update({.id = some, .release = true}));
    if (step % 10 == 0) advance();
    pass(3ms);
    ASSERT_EQ(groups("grouped"), recount()) << "step " << step;
  }
}

TEST_P(StoreConformance, the_oldest_of_a_group_is_what_has_been_due_for_longest) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{});
  EXPECT_EQ(find_group(*this, "a").oldest, std::nullopt);
  put(of("a", {.delay = Duration(10s)}));
  put(of("a", {.held = true}));
  EXPECT_EQ(find_group(*this, "a").oldest, std::nullopt);
  pass(10s);
  const TimePoint fell_due = now;
  pass(1s);
  EXPECT_EQ(find_group(*this, "a").oldest, fell_due) << "not promoted, and due";
  put(of("a"));
  advance();
  EXPECT_EQ(find_group(*this, "a").oldest, fell_due);
  take("grouped", 1);
  EXPECT_EQ(find_group(*this, "a").oldest, now);
  now -= 5s;
  EXPECT_EQ(find_group(*this, "a").oldest, now) << "never a moment that is to come";
}

TEST_P(StoreConformance, groups_with_tasks_or_overrides_are_listed) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{});
  change_group(*this, "quiet", GroupOverride{.weight = 3});
  put(of("waits"));
  put(of(""));
  const TaskId finished = put(of("finished", {.priority = 9})).id;
  settle(done(take("grouped", 1).at(0)));
  put(of("runs", {.priority = 9}));
  take("grouped", 1);
  EXPECT_TRUE(exists(finished));
  EXPECT_THAT(names_of(groups("grouped")), ElementsAre("quiet", "runs", "waits"));
  EXPECT_THAT(groups("q"), IsEmpty());
}

TEST_P(StoreConformance, groups_of_a_queue_without_rules_are_counted_too) {
  NEEDS_TRAIT(groups);
  put(task("q", {.group = "a"}));
  put(task("q", {.group = "b"}));
  put(task("q", {.group = "a"}));
  EXPECT_THAT(names_of(groups("q")), ElementsAre("a", "b"));
  EXPECT_EQ(find_group(*this, "a", "q").waiting, 2U);
}

TEST_P(StoreConformance, a_group_that_is_asked_for_by_name_is_there_without_tasks) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{});
  EXPECT_EQ(find_group(*this, "a"), (Group{.queue = "grouped", .name = "a"}));
  put_groups(*this, "ab");
  EXPECT_EQ(find_group(*this, "a").waiting, 1U);
}

TEST_P(StoreConformance, each_group_is_on_one_page) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{});
  std::set<std::string> expected;
  for (int i = 0; i < 57; ++i) {
    const std::string name = "group-" + std::to_string(i * i);
    expected.insert(name);
    if (i % 3 != 0) put(of(name));
    if (i % 3 == 0 || i % 5 == 0) change_group(*this, name, GroupOverride{.weight = 2});
  }
  for (const std::uint32_t limit : {1U, 7U, 56U, 57U, 1000U}) {
    std::vector<std::string> seen;
    GroupsRequest request{.queue = "grouped", .limit = limit};
    do {
      const GroupPage page = must(store().groups(request, now));
      EXPECT_LE(page.groups.size(), limit);
      for (const Group& group : page.groups) seen.push_back(group.name);
      request.after = page.next;
      // What comes and goes meanwhile makes no other group come twice or not at all.
      const std::string passing = "passing-" + std::to_string(seen.size());
      const TaskId id = put(of(passing)).id;
      remove(id);
    } while (!request.after.empty());
    EXPECT_THAT(seen, SizeIs(57)) << limit;
    EXPECT_EQ(std::set(seen.begin(), seen.end()), expected) << limit;
  }
}

// ---- Refusals ----------------------------------------------------------------------------------

TEST_P(StoreConformance, bad_changes_of_groups_are_refused) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{});
  put(of("a"));
  change_group(*this, "a", GroupOverride{.weight = 2});
  const auto refused = [&](const PutGroup& change, ErrorCode code, const std::string& says) {
    expect_unchanged(
        [&] { EXPECT_THAT(store().put_group(change, now), FailsWith(code, HasSubstr(says))); });
  };
  const GroupOverride plain{.max_concurrent = 1};
  const std::string long_name(limits::max_label + 1, 'x');
  refused({.queue = "grouped", .name = "", .now = plain}, ErrorCode::invalid, "empty");
  refused({.queue = "grouped", .name = long_name, .now = plain}, ErrorCode::too_large, "group");
  refused({.queue = "grouped", .name = "line\nbreak", .now = plain}, ErrorCode::invalid, "group");
  refused({.queue = "ghost", .name = "a", .now = plain}, ErrorCode::not_found, "ghost");
  refused({.queue = "q", .name = "a", .now = plain}, ErrorCode::conflict, "q");
  refused({.queue = "grouped", .name = "b", .now = GroupOverride{.weight = 0}}, ErrorCode::invalid,
          "weight");
  refused({.queue = "grouped", .name = "b", .now = GroupOverride{.weight = 1001}},
          ErrorCode::invalid, "1,000");
  refused({.queue = "grouped", .name = "b", .now = GroupOverride{.max_concurrent = 0}},
          ErrorCode::invalid, "max_concurrent");
  refused({.queue = "grouped", .name = "b", .now = GroupOverride{.max_depth = 0}},
          ErrorCode::invalid, "max_depth");
  refused({.queue = "grouped", .name = "b", .now = GroupOverride{.process_rate = Rate{0, 1s}}},
          ErrorCode::invalid, "process_rate");
  refused({.queue = "grouped",
           .name = "b",
           .now = GroupOverride{.weight = 1, .until = last_time + Duration(1)}},
          ErrorCode::invalid, "9999");
}

TEST_P(StoreConformance, an_override_is_changed_only_as_it_was_seen) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{});
  const GroupOverride first{.weight = 2};
  const GroupOverride second{.weight = 3};
  const auto put_seen = [&](std::optional<GroupOverride> seen, std::optional<GroupOverride> to) {
    return store().put_group({.queue = "grouped", .name = "a", .seen = seen, .now = to}, now);
  };
  expect_unchanged([&] {
    EXPECT_THAT(put_seen(first, second), FailsWith(ErrorCode::conflict));
    EXPECT_THAT(put_seen(first, std::nullopt), FailsWith(ErrorCode::conflict));
  });
  EXPECT_THAT(put_seen(std::nullopt, first), IsOk());
  expect_unchanged([&] {
    EXPECT_THAT(put_seen(std::nullopt, second), FailsWith(ErrorCode::conflict));
    EXPECT_THAT(put_seen(second, second), FailsWith(ErrorCode::conflict));
    EXPECT_THAT(put_seen(std::nullopt, std::nullopt), FailsWith(ErrorCode::conflict));
  });
  EXPECT_THAT(put_seen(first, second), IsOk());
  EXPECT_THAT(put_seen(second, std::nullopt), IsOk());
  EXPECT_THAT(put_seen(std::nullopt, std::nullopt), IsOk());
}

TEST_P(StoreConformance, a_queue_has_at_most_10_000_groups_that_do_something_differently) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{});
  const auto name = [](std::size_t i) { return "group-" + std::to_string(i); };
  const auto change = [&](const std::string& group, GroupOverride to) {
    return store().put_group({.queue = "grouped", .name = group, .now = to}, now);
  };
  for (std::size_t i = 0; i < limits::max_group_overrides; ++i) {
    ASSERT_THAT(
        change(name(i), {.weight = 2, .until = i == 0 ? std::optional(now + 1h) : std::nullopt}),
        IsOk());
  }
  EXPECT_THAT(change("one too many", {.weight = 2}), FailsWith(ErrorCode::conflict));
  EXPECT_EQ(find_group(*this, "one too many").override, std::nullopt);
  EXPECT_THAT(try_change_group(*this, name(5), GroupOverride{.weight = 3}), IsOk());
  change_group(*this, name(7), std::nullopt);
  EXPECT_THAT(change("one more", {.weight = 2}), IsOk());
  EXPECT_THAT(change("one too many", {.weight = 2}), FailsWith(ErrorCode::conflict));
  pass(1h);
  EXPECT_THAT(change("for one that has ended", {.weight = 2}), IsOk());
}

TEST_P(StoreConformance, bad_rules_for_groups_are_refused) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{.max_concurrent = 4});
  const auto refused = [&](GroupRules rules, const std::string& field) {
    expect_unchanged([&] {
      QueueSettings settings = find_queue("grouped").settings;
      settings.groups = rules;
      const auto put = store().put_queue(settings, PutQueue::replace, now);
      ASSERT_THAT(put, FailsWith(ErrorCode::invalid));
      EXPECT_EQ(put.error().field, field);
    });
  };
  refused({.order = GroupOrder::serial, .max_concurrent = 2}, "groups.max_concurrent");
  refused({.max_concurrent = 0}, "groups.max_concurrent");
  refused({.process_rate = Rate{.max = 0}}, "groups.process_rate");
  refused({.max_depth = 0}, "groups.max_depth");
  refused({.weight = 0}, "groups.weight");
  refused({.weight = 1001}, "groups.weight");
  EXPECT_EQ(grouped(*this, GroupRules{.order = GroupOrder::serial, .max_concurrent = 1})
                .settings.groups->order,
            GroupOrder::serial);
}

TEST_P(StoreConformance, bad_requests_for_groups_are_refused) {
  NEEDS_TRAIT(groups);
  grouped(*this, GroupRules{});
  const auto ask = [&](const GroupsRequest& request) { return store().groups(request, now); };
  EXPECT_THAT(ask({.queue = "ghost"}), FailsWith(ErrorCode::not_found));
  EXPECT_THAT(ask({.queue = "grouped", .limit = 0}), FailsWith(ErrorCode::invalid));
  EXPECT_THAT(ask({.queue = "grouped", .limit = 1001}), FailsWith(ErrorCode::invalid));
  EXPECT_THAT(ask({.queue = "grouped", .name = ""}), FailsWith(ErrorCode::invalid));
  EXPECT_THAT(ask({.queue = "grouped", .name = std::string(limits::max_label + 1, 'x')}),
              FailsWith(ErrorCode::too_large));
}

// A store without groups says so, whatever it is asked.
TEST_P(StoreConformance, a_store_without_groups_refuses_them) {
  if (store().traits().groups) GTEST_SKIP() << "this store has groups";
  expect_unchanged([&] {
    EXPECT_THAT(
        store().put_queue(queue("grouped", {.groups = GroupRules{}}), PutQueue::create, now),
        FailsWith(ErrorCode::invalid));
    EXPECT_THAT(store().put_queue(queue("dear", {.rate_of = RateOf::cost}), PutQueue::create, now),
                FailsWith(ErrorCode::invalid));
    EXPECT_THAT(store().put_group({.queue = "q", .name = "a"}, now), FailsWith(ErrorCode::invalid));
  });
}

// ---- After reopening ---------------------------------------------------------------------------

TEST_P(StoreConformance, groups_are_as_they_were_after_reopening) {
  NEEDS_TRAIT(groups);
  NEEDS_TRAIT(leases_survive);
  grouped(*this, GroupRules{.max_concurrent = 2, .process_rate = Rate{3, 1h}, .max_depth = 4},
          {.process_rate = Rate{100, 1h}, .rate_of = RateOf::cost});
  change_group(*this, "b", GroupOverride{.max_concurrent = 1, .max_depth = 9});
  change_group(*this, "c", GroupOverride{.paused_until = now + 1h, .until = now + 2h});
  change_group(*this, "d", GroupOverride{.weight = 2, .until = now + 1min});
  put_groups(*this, "aaabbbc");
  EXPECT_EQ(take_groups(*this), "aab");
  must(store().flush());
  expect_unchanged([&] { reopen(); });
  EXPECT_EQ(take_groups(*this), "");
  EXPECT_THAT(try_put(of("b")), IsOk());
  for (int i = 0; i < 3; ++i) put(of("a"));
  EXPECT_THAT(try_put(of("a")), IsLimited());
  pass(1min);
  must(store().flush());
  reopen();
  EXPECT_EQ(find_group(*this, "d").override, std::nullopt);
  EXPECT_EQ(find_group(*this, "c").override->paused_until, now + 59min);
}

TEST_P(StoreConformance, rates_and_costs_of_groups_are_as_they_were_after_reopening) {
  NEEDS_TRAIT(groups);
  if (!can_reopen()) GTEST_SKIP() << "everything is lost with the process, and the traits say so";
  grouped(*this, GroupRules{.process_rate = Rate{10, 1h}, .rate_of = RateOf::cost});
  for (const char* name : {"a", "a", "a", "b"}) put(of(name, {.cost = 4}));
  for (const Lease& lease : take("grouped")) {
    Settlement settlement = done(lease);
    if (lease.group == "b") settlement.cost = 10;
    settle(settlement);
  }
  put(of("b", {.cost = 1}));
  must(store().flush());
  reopen();
  EXPECT_EQ(take_groups(*this), "");
  put(of("a", {.priority = 9, .cost = 2}));
  EXPECT_EQ(take_groups(*this), "a");
  pass(63min);
  EXPECT_EQ(take_groups(*this), "ab");
}

// A store that was closed in between gives the same tasks in the same order as one that was not.
TEST_P(StoreConformance, turns_go_on_after_reopening) {
  NEEDS_TRAIT(groups);
  NEEDS_TRAIT(leases_survive);
  const auto begin = [](StoreDriver& driver) {
    grouped(driver, GroupRules{.order = GroupOrder::fair, .weight = 3});
    change_group(driver, "b", GroupOverride{.weight = 7});
    put_groups(driver, "aaaaaaaaabbbbbbbbbbbbbbbcccccccc");
    const auto leases = driver.take("grouped", 9);
    // The turns of a group end with its last task, and begin anew with the next.
    driver.put(of("d", {.priority = 9}));
    driver.settle(done(driver.take("grouped", 1).at(0)));
    for (const Lease& lease : leases) driver.settle(done(lease));
    driver.put(of("d"));
  };
  const auto unopened = GetParam().make();
  StoreDriver other(*unopened);
  begin(other);
  begin(*this);
  must(store().flush());
  reopen();
  const std::string expected = groups_of(other.take("grouped", 10));
  EXPECT_EQ(take_groups(*this, 10), expected);
  must(store().flush());
  reopen();
  EXPECT_EQ(take_groups(*this), groups_of(other.take("grouped")));
}

TEST_P(StoreConformance, serial_order_holds_after_reopening) {
  NEEDS_TRAIT(groups);
  NEEDS_TRAIT(leases_survive);
  grouped(*this, GroupRules{.order = GroupOrder::serial});
  const auto ids = put_groups(*this, "aaabbbcd");
  const auto leases = take("grouped");
  EXPECT_EQ(groups_of(leases), "abcd");
  settle(retry_at(leases.at(0), now + 1h));
  settle(parked(leases.at(1)));
  settle(done(leases.at(2)));
  must(store().flush());
  reopen();
  EXPECT_EQ(take_groups(*this), "");
  put_groups(*this, "cd");
  EXPECT_EQ(take_groups(*this), "c");
  pass(1h);
  EXPECT_EQ(take_one("grouped").id, ids.at(0));
  EXPECT_EQ(settle(done(leases.at(3))), TaskState::completed);
  EXPECT_EQ(take_groups(*this), "d");
}

}  // namespace
}  // namespace millrace::test
