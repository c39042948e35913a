// Work that goes on where an earlier run of the task left off: checkpoints, and tasks that are
// parked until they are released.
#include <gmock/gmock.h>
#include <string>

#include "core/limits.h"
#include "core/time_text.h"
#include "store/store.h"
#include "tests/conformance/conformance.h"

namespace millrace::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Extension with_checkpoint(const Lease& lease, std::string checkpoint) {
  return {.id = lease.id, .token = lease.token, .checkpoint = std::move(checkpoint)};
}

Settlement with_checkpoint(Settlement settlement, std::string checkpoint) {
  settlement.checkpoint = std::move(checkpoint);
  return settlement;
}

// ---- Checkpoints -------------------------------------------------------------------------------

TEST_P(StoreConformance, a_checkpoint_of_a_heartbeat_is_given_with_the_next_lease) {
  const TaskId id = put(task("q")).id;
  const Lease first = take_one("q");
  EXPECT_EQ(first.checkpoint, "");
  must(try_extend(with_checkpoint(first, "one")));
  must(try_extend(with_checkpoint(first, "two")));
  EXPECT_EQ(find(id).checkpoint, "two");
  settle(retry_at(first, now));
  EXPECT_EQ(take_one("q").checkpoint, "two");
}

TEST_P(StoreConformance, every_return_to_the_queue_keeps_the_checkpoint_or_brings_one) {
  const TaskId id = put(task("q")).id;
  const auto take_again = [&] {
    pass(1h);
    return take_one("q");
  };
  settle(with_checkpoint(retry_at(take_one("q"), now), "1"));
  EXPECT_EQ(find(id).checkpoint, "1");
  settle(snoozed(take_again(), now));
  EXPECT_EQ(find(id).checkpoint, "1");
  settle(with_checkpoint(snoozed(take_again(), now), "2"));
  EXPECT_EQ(find(id).checkpoint, "2");
  settle(with_checkpoint(given_back(take_again()), "3"));
  EXPECT_EQ(find(id).checkpoint, "3");
  settle(given_back(take_again()));
  EXPECT_EQ(find(id).checkpoint, "3");
  take_again();
  pass(24h);
  settle(lost(due_one(), now));
  EXPECT_EQ(take_again().checkpoint, "3");
}

TEST_P(StoreConformance, an_empty_checkpoint_takes_the_old_one_away) {
  const TaskId id = put(task("q")).id;
  const Lease lease = take_one("q");
  must(try_extend(with_checkpoint(lease, "old")));
  must(try_extend(with_checkpoint(lease, "")));
  EXPECT_EQ(find(id).checkpoint, "");
}

TEST_P(StoreConformance, a_completed_task_has_no_checkpoint_and_no_answer) {
  const TaskId id = put(task("q")).id;
  settle(with_checkpoint(parked(take_one("q")), "half"));
  update({.id = id, .release = true, .answer = "yes"});
  settle(with_checkpoint(done(take_one("q")), "whole"));
  EXPECT_EQ(find(id).checkpoint, "");
  EXPECT_EQ(find(id).answer, std::nullopt);
}

TEST_P(StoreConformance, a_retry_of_what_failed_goes_on_from_the_checkpoint) {
  const auto end = [&](auto how, const std::string& expected) {
    const TaskId id = put(task("q")).id;
    settle(with_checkpoint(parked(take_one("q")), "half"));
    update({.id = id, .release = true, .answer = "yes"});
    settle(how(take_one("q")));
    EXPECT_EQ(find(id).checkpoint, expected);
    EXPECT_EQ(find(id).answer, "yes");
    revive(id);
    const Lease lease = take_one("q");
    EXPECT_EQ(lease.checkpoint, expected);
    EXPECT_EQ(lease.answer, "yes");
    settle(done(lease));
  };
  end([](const Lease& lease) { return failed(lease); }, "half");
  end([](const Lease& lease) { return exhausted(lease); }, "half");
  end([](const Lease& lease) { return cancelled(lease); }, "half");
  end([](const Lease& lease) { return with_checkpoint(failed(lease), "more"); }, "more");
}

TEST_P(StoreConformance, a_retry_of_a_parked_task_that_was_cancelled_goes_on_from_the_checkpoint) {
  const TaskId id = put(task("q")).id;
  settle(with_checkpoint(parked(take_one("q")), "half"));
  cancel(id);
  EXPECT_EQ(find(id).checkpoint, "half");
  revive(id);
  EXPECT_EQ(take_one("q").checkpoint, "half");
}

TEST_P(StoreConformance, a_parked_task_that_was_cancelled_can_be_restored) {
  const TaskId id = put(task("q")).id;
  settle(with_checkpoint(parked(take_one("q")), "half"));
  pass(1s);
  cancel(id);
  const Task cancelled = find(id);
  EXPECT_EQ(cancelled.start, now);
  remove(id);
  restore(cancelled);
  EXPECT_EQ(find(id).start, cancelled.start);
  EXPECT_EQ(find(id).checkpoint, "half");
  revive(id);
  EXPECT_EQ(take_one("q").checkpoint, "half");
}

TEST_P(StoreConformance, a_checkpoint_is_fenced_by_the_token) {
  const TaskId id = put(task("q")).id;
  const Lease old = take_one("q");
  must(try_extend(with_checkpoint(old, "mine")));
  settle(retry_at(old, now));
  const Lease other = take_one("q");
  expect_unchanged([&] {
    EXPECT_THAT(try_extend(with_checkpoint(old, "late")), FailsWith(ErrorCode::lease_lost));
    EXPECT_THAT(try_settle(with_checkpoint(snoozed(old, now), "late")),
                FailsWith(ErrorCode::lease_lost));
  });
  EXPECT_EQ(find(id).checkpoint, "mine");
  EXPECT_EQ(other.checkpoint, "mine");
}

TEST_P(StoreConformance, a_settlement_that_a_cancel_overtakes_leaves_the_checkpoint) {
  const TaskId id = put(task("q")).id;
  const Lease lease = take_one("q");
  must(try_extend(with_checkpoint(lease, "mine")));
  cancel(id);
  EXPECT_EQ(must(try_settle(with_checkpoint(parked(lease), "late"))).status,
            SettleStatus::cancel_requested);
  EXPECT_EQ(find(id).checkpoint, "mine");
}

TEST_P(StoreConformance, a_checkpoint_may_have_64_kib_of_any_bytes) {
  put(task("q"));
  const Lease lease = take_one("q");
  expect_unchanged([&] {
    const std::string large(limits::max_checkpoint + 1, 'c');
    EXPECT_THAT(try_extend(with_checkpoint(lease, large)), FailsWith(ErrorCode::too_large));
    EXPECT_THAT(try_settle(with_checkpoint(snoozed(lease, now), large)),
                FailsWith(ErrorCode::too_large));
  });
  std::string most(limits::max_checkpoint, '\xFF');
  most[7] = '\0';
  settle(with_checkpoint(retry_at(lease, now), most));
  EXPECT_EQ(take_one("q").checkpoint, most);
}

TEST_P(StoreConformance, checkpoints_and_answers_survive_a_restart) {
  if (!can_reopen()) GTEST_SKIP() << "the store keeps nothing";
  const TaskId id = put(task("q")).id;
  settle(with_checkpoint(parked(take_one("q"), now + 1h), "half"));
  reopen();
  EXPECT_EQ(find(id).checkpoint, "half");
  update({.id = id, .release = true, .answer = "yes"});
  reopen();
  const Lease lease = take_one("q");
  EXPECT_EQ(lease.checkpoint, "half");
  EXPECT_EQ(lease.answer, "yes");
}

TEST_P(StoreConformance, lists_leave_out_checkpoints_and_answers_unless_they_are_full) {
  const TaskId id = put(task("q")).id;
  settle(with_checkpoint(parked(take_one("q")), "half"));
  update({.id = id, .release = true, .answer = "yes"});
  EXPECT_EQ(list().at(0).checkpoint, "");
  EXPECT_EQ(list().at(0).answer, std::nullopt);
  EXPECT_EQ(list({.detail = Detail::full}).at(0).checkpoint, "half");
  EXPECT_EQ(list({.detail = Detail::full}).at(0).answer, "yes");
}

// ---- Parked tasks ------------------------------------------------------------------------------

TEST_P(StoreConformance, a_parked_task_waits_until_it_is_released) {
  const TaskId id = put(task("q")).id;
  const Lease lease = take_one("q");
  pass(2s);
  EXPECT_EQ(settle(parked(lease)), TaskState::created);
  const Task found = find(id);
  EXPECT_EQ(found.state, TaskState::created);
  EXPECT_EQ(found.start, never);
  EXPECT_EQ(found.previous_start, t0);
  EXPECT_EQ(found.lease_until, std::nullopt);
  EXPECT_EQ(found.counters.deliveries, 1U);
  EXPECT_EQ(found.counters.attempts, 1U);
  ASSERT_THAT(found.history, SizeIs(1));
  EXPECT_EQ(found.history[0].event, Event::park);
  pass(24h * 365);
  advance();
  EXPECT_THAT(take("q"), IsEmpty());
  EXPECT_EQ(update({.id = id, .release = true}), TaskState::queued);
  EXPECT_EQ(find(id).start, now);
  const Lease next = take_one("q");
  EXPECT_EQ(next.id, id);
  EXPECT_EQ(next.answer, std::nullopt);
  EXPECT_EQ(next.previous_start, t0);
}

TEST_P(StoreConformance, a_release_brings_data_to_every_later_lease) {
  const TaskId id = put(task("q")).id;
  settle(parked(take_one("q")));
  update({.id = id, .release = true, .answer = R"({"approved":true})"});
  EXPECT_EQ(find(id).answer, R"({"approved":true})");
  const Lease lease = take_one("q");
  EXPECT_EQ(lease.answer, R"({"approved":true})");
  settle(retry_at(lease, now));
  EXPECT_EQ(take_one("q").answer, R"({"approved":true})");
}

TEST_P(StoreConformance, an_empty_answer_is_an_answer) {
  const TaskId id = put(task("q")).id;
  settle(parked(take_one("q")));
  update({.id = id, .release = true, .answer = ""});
  EXPECT_EQ(take_one("q").answer, "");
}

TEST_P(StoreConformance, a_held_task_may_be_released_with_data) {
  const TaskId id = put(task("q", {.held = true})).id;
  update({.id = id, .release = true, .answer = "go"});
  EXPECT_EQ(take_one("q").answer, "go");
}

TEST_P(StoreConformance, parking_again_waits_for_another_answer) {
  const TaskId id = put(task("q")).id;
  settle(parked(take_one("q")));
  update({.id = id, .release = true, .answer = "first"});
  settle(parked(take_one("q")));
  EXPECT_EQ(find(id).answer, std::nullopt);
  update({.id = id, .release = true});
  EXPECT_EQ(take_one("q").answer, std::nullopt);
}

TEST_P(StoreConformance, a_parked_task_is_released_by_its_time_without_an_answer) {
  const TaskId id = put(task("q")).id;
  settle(parked(take_one("q"), now + 10s));
  EXPECT_EQ(find(id).start, now + 10s);
  EXPECT_EQ(advance().next, now + 10s);
  pass(10s - 1ms);
  EXPECT_EQ(advance().promoted, 0U);
  EXPECT_EQ(state_of(id), TaskState::created);
  pass(1ms);
  EXPECT_EQ(advance().promoted, 1U);
  EXPECT_EQ(state_of(id), TaskState::queued);
  const Lease lease = take_one("q");
  EXPECT_EQ(lease.start, now);
  EXPECT_EQ(lease.answer, std::nullopt);
}

TEST_P(StoreConformance, a_parked_task_is_found_where_takes_have_gone_past_its_place) {
  const TaskId id = put(task("q")).id;
  settle(parked(take_one("q"), now + 5s));
  pass(10s);
  put(task("q"));
  EXPECT_NE(take_one("q").id, id);
  EXPECT_THAT(take("q"), IsEmpty());
  EXPECT_EQ(advance().promoted, 1U);
  EXPECT_EQ(take_one("q").id, id);
}

TEST_P(StoreConformance, a_release_comes_before_the_time_of_a_parked_task) {
  const TaskId id = put(task("q")).id;
  settle(parked(take_one("q"), now + 1h));
  pass(1s);
  EXPECT_EQ(update({.id = id, .release = true, .answer = "early"}), TaskState::queued);
  EXPECT_EQ(find(id).start, now);
  EXPECT_EQ(take_one("q").answer, "early");
  pass(2h);
  EXPECT_EQ(advance().promoted, 0U);
}

TEST_P(StoreConformance, the_time_of_a_parked_task_can_be_changed) {
  const TaskId id = put(task("q")).id;
  settle(parked(take_one("q")));
  EXPECT_EQ(update({.id = id, .start = now + 5s}), TaskState::created);
  pass(5s);
  EXPECT_EQ(advance().promoted, 1U);
  EXPECT_EQ(take_one("q").id, id);
}

TEST_P(StoreConformance, a_release_with_a_start_is_delayed_until_then) {
  const TaskId id = put(task("q")).id;
  settle(parked(take_one("q"), now + 1h));
  EXPECT_EQ(update({.id = id, .start = now + 5s, .release = true, .answer = "later"}),
            TaskState::delayed);
  pass(5s);
  EXPECT_EQ(take_one("q").answer, "later");
}

TEST_P(StoreConformance,
       a_parked_task_takes_no_place_among_the_running_ones_but_counts_as_waiting) {
  make_queue(queue("narrow", {.max_concurrent = 1, .max_depth = 2}));
  put(task("narrow"));
  settle(parked(take_one("narrow")));
  put(task("narrow"));
  EXPECT_THAT(try_put(task("narrow")), FailsWith(ErrorCode::limited));
  EXPECT_THAT(take("narrow"), SizeIs(1));
  EXPECT_EQ(counts("narrow").of(TaskState::created), 1U);
}

TEST_P(StoreConformance, a_parked_task_is_cancelled_at_once_and_does_not_expire) {
  const TaskId id = put(task("q", {.start_by = now + 5s})).id;
  settle(parked(take_one("q")));
  pass(10s);
  EXPECT_THAT(due(), IsEmpty());
  EXPECT_EQ(cancel(id), TaskState::cancelled);
}

TEST_P(StoreConformance, a_parked_task_moves_with_its_time_and_its_checkpoint) {
  make_queue("other");
  const TaskId id = put(task("q")).id;
  settle(with_checkpoint(parked(take_one("q"), now + 5s), "half"));
  EXPECT_EQ(update({.id = id, .queue = "other"}), TaskState::created);
  pass(5s);
  EXPECT_EQ(advance().promoted, 1U);
  EXPECT_EQ(take_one("other").checkpoint, "half");
}

TEST_P(StoreConformance, a_parked_task_goes_with_its_queue_and_with_a_clear) {
  put(task("q"));
  settle(parked(take_one("q"), now + 5s));
  EXPECT_EQ(must(store().clear("q", 10, now)), 1U);
  pass(5s);
  EXPECT_EQ(advance().promoted, 0U);
}

TEST_P(StoreConformance, a_key_until_started_stays_free_while_a_task_is_parked) {
  const UniqueKey key{.key = "k", .scope = UniqueScope::until_started};
  put(task("q", {.unique = key}));
  settle(parked(take_one("q")));
  EXPECT_FALSE(put(task("q", {.unique = key})).existing);
}

TEST_P(StoreConformance, what_is_not_held_or_parked_cannot_be_released_with_data) {
  const auto tasks = one_in_each_state("q");
  expect_unchanged([&] {
    for (const auto& [state, id] : tasks) {
      if (state == TaskState::created) continue;
      EXPECT_THAT(try_update({.id = id, .release = true, .answer = "yes"}),
                  FailsWith(ErrorCode::conflict));
    }
  });
}

TEST_P(StoreConformance, a_release_that_comes_too_early_is_told_to_come_again) {
  const TaskId id = put(task("q")).id;
  const Lease lease = take_one("q");
  expect_unchanged([&] {
    EXPECT_THAT(try_update({.id = id, .release = true, .answer = "yes"}),
                FailsWith(ErrorCode::conflict,
                          AllOf(HasSubstr("has not been parked yet"), HasSubstr("release it again"),
                                HasSubstr("is processing"))));
  });
  settle(parked(lease));
  update({.id = id, .release = true, .answer = "yes"});
  EXPECT_EQ(take_one("q").answer, "yes");
  EXPECT_THAT(try_update({.id = put(task("q")).id, .release = true}),
              FailsWith(ErrorCode::conflict, HasSubstr("only held and parked tasks can")));
}

TEST_P(StoreConformance, a_release_that_expects_a_version_does_not_answer_the_next_wait) {
  const TaskId id = put(task("q")).id;
  settle(parked(take_one("q")));
  const Version seen = find(id).version;
  const TaskUpdate release{.id = id, .release = true, .answer = "first", .expect_version = seen};
  update(release);
  expect_unchanged([&] { EXPECT_THAT(try_update(release), FailsWith(ErrorCode::conflict)); });
  settle(parked(take_one("q")));
  expect_unchanged([&] {
    EXPECT_THAT(try_update(release), FailsWith(ErrorCode::conflict, HasSubstr("has changed")));
  });
  update({.id = id, .release = true, .answer = "second", .expect_version = find(id).version});
  EXPECT_EQ(take_one("q").answer, "second");
}

TEST_P(StoreConformance, an_answer_is_refused_without_a_release_and_beyond_its_size) {
  const TaskId id = put(task("q")).id;
  settle(parked(take_one("q")));
  expect_unchanged([&] {
    EXPECT_THAT(try_update({.id = id, .answer = "yes"}), FailsWith(ErrorCode::invalid));
    const std::string large(limits::max_answer + 1, 'a');
    EXPECT_THAT(try_update({.id = id, .release = true, .answer = large}),
                FailsWith(ErrorCode::too_large));
  });
  const std::string most(limits::max_answer, 'a');
  update({.id = id, .release = true, .answer = most});
  EXPECT_EQ(take_one("q").answer, most);
}

TEST_P(StoreConformance, a_lost_lease_cannot_be_parked_and_a_time_beyond_the_calendar_is_refused) {
  put(task("q"));
  const Lease lease = take_one("q");
  Settlement beyond = parked(lease, last_time + 1ms);
  EXPECT_THAT(try_settle(beyond), FailsWith(ErrorCode::invalid));
  pass(24h);
  Settlement as_lost = parked(lease);
  as_lost.expect = due_one().expect;
  EXPECT_THAT(try_settle(as_lost), FailsWith(ErrorCode::invalid));
}

TEST_P(StoreConformance, a_parked_task_is_restored_as_it_was) {
  const Task old = old_task("q", {.state = TaskState::created,
                                  .counters = {.deliveries = 1, .attempts = 1},
                                  .start = now + 5s,
                                  .checkpoint = "half",
                                  .answer = "earlier"});
  const TaskId id = restore(old).id;
  EXPECT_EQ(find(id).checkpoint, "half");
  EXPECT_EQ(find(id).answer, "earlier");
  pass(5s);
  EXPECT_EQ(advance().promoted, 1U);
  EXPECT_EQ(take_one("q").checkpoint, "half");

  Task for_ever = old_task("q", {.state = TaskState::created, .counters = {.deliveries = 1}});
  for_ever.start = never;
  const TaskId other = restore(for_ever).id;
  EXPECT_EQ(find(other).start, never);
  EXPECT_EQ(update({.id = other, .release = true}), TaskState::queued);
}

TEST_P(StoreConformance, steps_of_a_completed_task_are_not_restored) {
  expect_unchanged([&] {
    Task old = old_task("q", {.state = TaskState::completed, .checkpoint = "half"});
    EXPECT_THAT(try_restore(old), FailsWith(ErrorCode::invalid));
    old = old_task("q", {.state = TaskState::completed, .answer = "yes"});
    EXPECT_THAT(try_restore(old), FailsWith(ErrorCode::invalid));
    old = old_task("q", {.checkpoint = std::string(limits::max_checkpoint + 1, 'c')});
    EXPECT_THAT(try_restore(old), FailsWith(ErrorCode::too_large));
  });
}

}  // namespace
}  // namespace millrace::test
