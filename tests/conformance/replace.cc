// Unique keys whose puts replace or postpone the holder while it has not begun.
#include <gmock/gmock.h>

#include "core/limits.h"
#include "store/store.h"
#include "tests/conformance/conformance.h"

namespace millrace::test {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

const UniqueKey replacing{.key = "k", .on_conflict = OnConflict::replace};
const UniqueKey postponing{.key = "k", .on_conflict = OnConflict::postpone};

NewTask with(NewTask task, const UniqueKey& unique) {
  task.unique = unique;
  return task;
}

// Every field that a put may give.
NewTask full() {
  return {.type = "second",
          .payload = "new payload",
          .content_type = "text/plain",
          .priority = 8,
          .start_by = t0 + 5h,
          .timeout = 7s,
          .max_lost = 4,
          .retry = RetryRules{.max_retries = 9},
          .callback = Callback{.url = "https://example.org/"},
          .keep_for = 3h,
          .client_id = "client",
          .request_id = "request",
          .group = "group",
          .metadata = R"({"a":1})",
          .tags = {"one", "two"},
          .parent = {.value = Uuid{{1}}}};
}

TEST_P(StoreConformance, a_replaced_task_has_all_that_was_put_last_and_keeps_its_identity) {
  const Put holder =
      put(task("q", {.type = "first", .payload = "old", .unique = replacing, .tags = {"three"}}));
  pass(1s);
  const NewTask second = task("q", with(full(), replacing));
  const Put replaced = put(second);
  EXPECT_EQ(replaced, (Put{.id = holder.id,
                           .number = holder.number,
                           .state = TaskState::queued,
                           .existing = true,
                           .replaced = true}));
  EXPECT_FALSE(exists(second.id));
  const Task now_there = find(holder.id);
  EXPECT_EQ(now_there.created_at, now - 1s);
  EXPECT_EQ(now_there.updated_at, now);
  EXPECT_EQ(now_there.version.value, 2U);
  NewTask as_first = full();
  as_first.id = task("q").id;
  as_first.queue = std::string("q");
  const Put other = put(as_first);
  Task like_new = find(other.id);
  like_new.id = now_there.id, like_new.number = now_there.number;
  like_new.version = now_there.version;
  like_new.created_at = like_new.start = now_there.created_at;
  like_new.unique = UniqueKey{.key = "k"};
  EXPECT_EQ(now_there, like_new);
}

TEST_P(StoreConformance, what_a_replaced_task_had_and_the_put_does_not_give_is_gone) {
  const Put holder = put(task("q", with(full(), replacing)));
  put(task("q", {.payload = "only", .unique = replacing}));
  const Task now_there = find(holder.id);
  EXPECT_EQ(now_there.payload, "only");
  EXPECT_EQ(now_there.type, "");
  EXPECT_EQ(now_there.priority, default_priority);
  EXPECT_THAT(now_there.tags, SizeIs(0));
  EXPECT_FALSE(now_there.start_by || now_there.timeout || now_there.retry || now_there.keep_for ||
               now_there.callback || now_there.max_lost);
  EXPECT_EQ(counts("q").by[1][default_priority], 1U);
  EXPECT_EQ(counts("q").by[1][8], 0U);
  advance();
  pass(6h);
  EXPECT_THAT(due(), SizeIs(0)) << "the old start_by no longer counts";
  EXPECT_EQ(take_one("q").payload, "only");
}

TEST_P(StoreConformance, a_lease_on_a_replaced_task_brings_what_was_put_last) {
  const Put holder = put(task("q", {.payload = "old", .unique = replacing}));
  put(task("q", {.type = "t", .payload = "new", .unique = replacing}));
  const Lease lease = take_one("q");
  EXPECT_EQ(lease.id, holder.id);
  EXPECT_EQ(lease.type, "t");
  EXPECT_EQ(lease.payload, "new");
  settle(done(lease, "result"));
  EXPECT_EQ(find(holder.id).payload, "new");
  EXPECT_EQ(find(holder.id).result, "result");
}

TEST_P(StoreConformance, a_replaced_task_survives_a_restart_as_it_was_put_last) {
  if (!can_reopen()) GTEST_SKIP() << "the store keeps nothing";
  const Put holder = put(task("q", {.payload = "old", .unique = replacing}));
  must(store().flush());
  put(task("q", {.payload = "new", .priority = 9, .unique = replacing}));
  must(store().flush());
  const std::string before = dump(store(), now);
  reopen();
  EXPECT_EQ(dump(store(), now), before);
  EXPECT_EQ(find(holder.id).payload, "new");
  put(task("q", {.payload = "newest", .unique = replacing}));
  EXPECT_EQ(take_one("q").payload, "newest");
}

// ---- Who is replaced
// -----------------------------------------------------------------------------

TEST_P(StoreConformance, held_and_delayed_tasks_are_replaced_too) {
  for (const TaskState state : {TaskState::created, TaskState::queued, TaskState::delayed}) {
    const std::string name = "replace-" + ::testing::PrintToString(state);
    make_queue(name);
    const TaskId holder = task_in(state, name, {.payload = "old", .unique = replacing});
    const Put second = put(task(name, {.payload = "new", .unique = replacing}));
    EXPECT_TRUE(second.replaced) << name;
    EXPECT_EQ(second.id, holder) << name;
    EXPECT_EQ(second.state, TaskState::queued) << name;
    EXPECT_EQ(take_one(name).payload, "new") << name;
  }
}

TEST_P(StoreConformance, a_put_that_is_held_holds_the_task_that_it_replaces) {
  const Put holder = put(task("q", {.unique = replacing}));
  EXPECT_EQ(put(task("q", {.held = true, .unique = replacing})).state, TaskState::created);
  EXPECT_THAT(take("q"), SizeIs(0));
  update({.id = holder.id, .release = true});
  EXPECT_EQ(take_one("q").id, holder.id);
}

TEST_P(StoreConformance, a_task_that_runs_or_has_run_is_kept) {
  const Put holder = put(task("q", {.payload = "old", .unique = replacing}));
  const Lease lease = take_one("q");
  const auto expect_kept = [&](TaskState state) {
    const NewTask second = task("q", {.payload = "new", .unique = replacing});
    EXPECT_EQ(put(second),
              (Put{.id = holder.id, .number = holder.number, .state = state, .existing = true}));
    EXPECT_EQ(find(holder.id).payload, "old");
  };
  expect_kept(TaskState::processing);
  settle(retry_at(lease, now + 1h));
  expect_kept(TaskState::retrying);
  pass(1h);
  settle(failed(take_one("q")));
  revive(holder.id);
  expect_kept(TaskState::queued);  // its history is about what it was put with
}

TEST_P(StoreConformance, until_started_lets_a_put_beside_a_run_add_a_task) {
  UniqueKey key = replacing;
  key.scope = UniqueScope::until_started;
  put(task("q", {.payload = "1", .unique = key}));
  EXPECT_TRUE(put(task("q", {.payload = "2", .unique = key})).replaced);
  EXPECT_EQ(take_one("q").payload, "2");
  EXPECT_FALSE(put(task("q", {.payload = "3", .unique = key})).existing);
  EXPECT_TRUE(put(task("q", {.payload = "4", .unique = key})).replaced);
  EXPECT_EQ(take_one("q").payload, "4");
}

TEST_P(StoreConformance, the_holder_of_a_window_is_kept) {
  const UniqueKey window{.key = "k", .scope = UniqueScope::window, .window = 10s};
  put(task("q", {.payload = "old", .unique = window}));
  const Put second = put(task("q", {.payload = "new", .unique = replacing}));
  EXPECT_TRUE(second.existing);
  EXPECT_FALSE(second.replaced);
  EXPECT_EQ(take_one("q").payload, "old");
}

TEST_P(StoreConformance, a_put_that_keeps_changes_a_replacing_holder_in_nothing) {
  put(task("q", {.payload = "old", .unique = replacing}));
  EXPECT_FALSE(put(task("q", {.payload = "new", .unique = UniqueKey{.key = "k"}})).replaced);
  EXPECT_EQ(take_one("q").payload, "old");
}

TEST_P(StoreConformance, the_scope_of_the_put_that_replaced_counts_from_then_on) {
  put(task("q", {.unique = replacing}));
  UniqueKey key = replacing;
  key.scope = UniqueScope::until_started;
  EXPECT_TRUE(put(task("q", {.unique = key})).replaced);
  take_one("q");
  EXPECT_FALSE(put(task("q", {.unique = key})).existing) << "the key was free at the take";
}

TEST_P(StoreConformance, the_last_of_several_puts_in_one_batch_counts) {
  const auto puts = put_all({task("q", {.payload = "1", .unique = replacing}),
                             task("q", {.payload = "2", .unique = replacing}),
                             task("q", {.payload = "3", .unique = replacing})});
  EXPECT_FALSE(puts.at(0).existing || puts.at(0).replaced);
  EXPECT_TRUE(puts.at(1).replaced && puts.at(2).replaced);
  EXPECT_EQ(puts.at(2).id, puts.at(0).id);
  EXPECT_EQ(counts("q").by[1][default_priority], 1U);
  EXPECT_EQ(take_one("q").payload, "3");
}

TEST_P(StoreConformance, a_task_that_was_moved_is_replaced_where_it_is) {
  make_queue("other");
  const Put holder = put(task("q", {.payload = "old", .unique = replacing}));
  update({.id = holder.id, .queue = QueueRef("other")});
  EXPECT_FALSE(put(task("q", {.payload = "apart", .unique = replacing})).existing);
  EXPECT_TRUE(put(task("other", {.payload = "new", .unique = replacing})).replaced);
  EXPECT_EQ(take_one("other").payload, "new");
  EXPECT_EQ(take_one("q").payload, "apart");
}

// ---- When it starts
// ------------------------------------------------------------------------------

TEST_P(StoreConformance, a_replaced_task_starts_when_the_put_says) {
  const Put holder = put(task("q", {.delay = 1h, .unique = replacing}));
  EXPECT_EQ(put(task("q", {.delay = 2h, .unique = replacing})).state, TaskState::delayed);
  EXPECT_EQ(find(holder.id).start, now + 2h);
  EXPECT_EQ(put(task("q", {.unique = replacing})).state, TaskState::queued);
  EXPECT_EQ(find(holder.id).start, now);
}

TEST_P(StoreConformance, a_ready_task_that_is_replaced_by_a_ready_one_keeps_its_place) {
  NEEDS_TRAIT(exact_order);
  const Put first = put(task("q", {.unique = replacing}));
  pass(1s);
  const Put second = put(task("q"));
  pass(1s);
  EXPECT_TRUE(put(task("q", {.payload = "new", .unique = replacing})).replaced);
  EXPECT_THAT(ids_of(take("q")), ElementsAre(first.id, second.id));
}

TEST_P(StoreConformance, a_delayed_task_whose_moment_has_come_keeps_its_place_too) {
  const Put first = put(task("q", {.delay = 1s, .unique = replacing}));
  const TimePoint ready = now + 1s;
  pass(10s);
  EXPECT_EQ(put(task("q", {.unique = replacing})).state, TaskState::queued);
  EXPECT_EQ(find(first.id).start, ready);
}

TEST_P(StoreConformance, each_postponing_put_begins_the_delay_again) {
  const Put holder = put(task("q", {.payload = "1", .delay = 10s, .unique = postponing}));
  for (int i = 0; i < 3; ++i) {
    pass(9s);
    advance();
    EXPECT_THAT(take("q"), SizeIs(0));
    EXPECT_TRUE(put(task("q", {.payload = "2", .delay = 10s, .unique = postponing})).replaced);
    EXPECT_EQ(find(holder.id).start, now + 10s);
  }
  pass(10s);
  EXPECT_EQ(take_one("q").payload, "2");
}

TEST_P(StoreConformance, a_task_is_postponed_until_max_delay_after_its_first_put_and_no_longer) {
  UniqueKey key = postponing;
  key.max_delay = 25s;
  const Put holder = put(task("q", {.delay = 10s, .unique = key}));
  const TimePoint latest = now + 25s;
  for (int i = 0; i < 2; ++i) {
    pass(9s);
    put(task("q", {.delay = 10s, .unique = key}));
  }
  EXPECT_EQ(find(holder.id).start, latest);
  pass(7s);
  EXPECT_EQ(take_one("q").id, holder.id);
}

TEST_P(StoreConformance, a_task_past_its_max_delay_is_ready_and_keeps_its_place) {
  UniqueKey key = postponing;
  key.max_delay = 10s;
  const Put holder = put(task("q", {.delay = 5s, .unique = key}));
  const TimePoint ready = now + 5s;
  pass(20s);
  EXPECT_EQ(put(task("q", {.delay = 5s, .unique = key})).state, TaskState::queued);
  EXPECT_EQ(find(holder.id).start, ready);
  // One that was to start later is ready now.
  const Put late = put(task("q", {.delay = 1h, .unique = UniqueKey{.key = "late"}}));
  pass(20s);
  key.key = "late";
  EXPECT_EQ(put(task("q", {.delay = 5s, .unique = key})).state, TaskState::queued);
  EXPECT_EQ(find(late.id).start, now);
}

TEST_P(StoreConformance, max_delay_shortens_no_first_put) {
  UniqueKey key = postponing;
  key.max_delay = 10s;
  const Put holder = put(task("q", {.delay = 1h, .unique = key}));
  EXPECT_EQ(find(holder.id).start, now + 1h);
}

// ---- Limits, and other ways to put
// ---------------------------------------------------------------

TEST_P(StoreConformance, a_replacement_costs_no_depth_and_no_rate) {
  make_queue(queue("narrow", {.max_depth = 1, .put_rate = Rate{.max = 1, .per = 1h}}));
  put(task("narrow", {.unique = replacing}));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(put(task("narrow", {.unique = replacing})).replaced);
  EXPECT_THAT(try_put(task("narrow")), FailsWith(ErrorCode::limited));
}

TEST_P(StoreConformance, a_queue_that_takes_no_puts_takes_no_replacements) {
  for (const QueueSettings& shut :
       {queue("inactive", {.active = false}), queue("draining", {.draining = true})}) {
    make_queue(shut.name);
    put(task(shut.name, {.payload = "old", .unique = replacing}));
    make_queue(shut);
    expect_unchanged([&] {
      EXPECT_THAT(try_put(task(shut.name, {.payload = "new", .unique = replacing})),
                  FailsWith(ErrorCode::conflict));
    });
    EXPECT_TRUE(put(task(shut.name, {.unique = UniqueKey{.key = "k"}})).existing);
  }
}

TEST_P(StoreConformance, a_follow_up_replaces_what_has_not_begun) {
  make_queue("next");
  const Put holder = put(task("next", {.payload = "old", .unique = replacing}));
  put(task("q"));
  Settlement settlement = done(take_one("q"));
  settlement.follow_ups = {task("next", {.payload = "new", .unique = replacing})};
  settle(settlement);
  EXPECT_EQ(counts("next").by[1][default_priority], 1U);
  const Lease lease = take_one("next");
  EXPECT_EQ(lease.id, holder.id);
  EXPECT_EQ(lease.payload, "new");
}

TEST_P(StoreConformance,
       a_task_that_is_replaced_and_cancelled_in_one_call_ends_as_it_was_put_last) {
  make_queue("next");
  const Put holder = put(task("next", {.payload = "old", .unique = replacing}));
  const Put first = put(task("q"));
  const std::vector<CancelRequest> requests = {
      {.id = first.id, .follow_ups = {task("next", {.payload = "new", .unique = replacing})}},
      {.id = holder.id}};
  for (const auto& result : must(store().cancel(requests, now))) {
    EXPECT_EQ(must(result), TaskState::cancelled);
  }
  EXPECT_EQ(find(holder.id).payload, "new");
}

TEST_P(StoreConformance, a_tick_replaces_what_has_not_begun) {
  Schedule schedule{.name = "s",
                    .rule = {.every = 1h},
                    .task = {.queue = std::string("q"), .payload = "tick", .unique = replacing},
                    .overlap = Overlap::allow,
                    .next = now + 1h};
  must(store().put_schedule(schedule, PutSchedule::create, now));
  const Put holder = put(task("q", {.payload = "old", .unique = replacing}));
  pass(1h);
  NewTask ticked = schedule.task;
  ticked.id = task("q").id;
  const Fired fired =
      must(store().fire({.schedule = "s", .nominal = now, .next = now + 1h, .task = ticked}, now));
  ASSERT_TRUE(fired.put.has_value());
  EXPECT_TRUE(fired.put->replaced);
  EXPECT_EQ(fired.schedule.last_task, holder.id);
  EXPECT_EQ(fired.schedule.task.unique, replacing) << "the next tick replaces, too";
  EXPECT_EQ(take_one("q").payload, "tick");
}

TEST_P(StoreConformance, an_imported_task_replaces_none) {
  const Put holder = put(task("q", {.payload = "old", .unique = replacing}));
  Task import = find(put(task("q", {.payload = "new"})).id);
  remove(import.id);
  import.unique = replacing;
  const Put answer = restore(import);
  EXPECT_EQ(answer.id, holder.id);
  EXPECT_FALSE(answer.replaced);
  EXPECT_EQ(find(holder.id).payload, "old");
}

TEST_P(StoreConformance, a_bad_on_conflict_is_refused_with_its_field) {
  const auto refused = [&](const UniqueKey& unique, const NewTask& fields, const std::string& field,
                           const std::string& says) {
    NewTask bad = task("q", fields);
    bad.unique = unique;
    expect_unchanged([&] {
      const auto answer = try_put(bad);
      ASSERT_THAT(answer, FailsWith(ErrorCode::invalid));
      EXPECT_EQ(answer.error().field, field);
      EXPECT_THAT(answer.error().message, ::testing::HasSubstr(says));
    });
  };
  put(task("q", {.unique = UniqueKey{.key = "k"}}));
  refused({.key = "k", .on_conflict = static_cast<OnConflict>(3)}, {}, "unique.on_conflict",
          "0 to 2");
  refused({.key = "k", .on_conflict = OnConflict::replace, .max_delay = 1s}, {},
          "unique.max_delay_ms", "postpone");
  refused({.key = "k", .on_conflict = OnConflict::postpone}, {}, "delay_ms", "no delay");
  for (const Duration most : {Duration(0), limits::max_delay + 1ms}) {
    refused({.key = "k", .on_conflict = OnConflict::postpone, .max_delay = most}, {.delay = 1s},
            "unique.max_delay_ms", "10 years");
  }
  refused(
      {.key = "k", .scope = UniqueScope::window, .window = 1s, .on_conflict = OnConflict::replace},
      {}, "unique.on_conflict", "until_started");
}

}  // namespace
}  // namespace millrace::test
