// What an operator does to single tasks: find, remove, revive, update.
#include <gmock/gmock.h>

#include "core/limits.h"
#include "core/transition.h"
#include "store/store.h"
#include "tests/conformance/conformance.h"

namespace millrace::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// ---- Find --------------------------------------------------------------------------------------

// S0-018
TEST_P(StoreConformance, a_task_is_found_by_its_id_and_by_its_number) {
  const Put stored = put(task("q"));
  EXPECT_EQ(find(stored.id).number, stored.number);
  EXPECT_EQ(find(stored.number).id, stored.id);
}

TEST_P(StoreConformance, an_unknown_task_is_not_found) {
  const Put stored = put(task("q"));
  EXPECT_THAT(try_find(fresh_id()), FailsWith(ErrorCode::not_found));
  EXPECT_THAT(try_find(TaskNumber{stored.number.value + 1}), FailsWith(ErrorCode::not_found));
  EXPECT_THAT(try_find(TaskNumber{0}), FailsWith(ErrorCode::not_found));
}

TEST_P(StoreConformance, many_tasks_are_found_in_the_order_asked) {
  const Put first = put(task("q", {.payload = "one"}));
  const Put second = put(task("q", {.payload = "two"}));
  const TaskId unknown = fresh_id();
  const std::vector<TaskRef> wanted = {second.id, unknown, first.number, second.id};
  const auto found = must(store().find(wanted, {}));
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(must(found[0]).payload, "two");
  EXPECT_THAT(found[1], FailsWith(ErrorCode::not_found));
  EXPECT_EQ(must(found[2]).payload, "one");
  EXPECT_EQ(must(found[3]).id, second.id);
  EXPECT_TRUE(must(store().find({}, {})).empty());
  const std::vector<TaskRef> too_many(limits::max_batch + 1, first.id);
  EXPECT_THAT(store().find(too_many, head_only), FailsWith(ErrorCode::invalid));
}

TEST_P(StoreConformance, a_task_is_found_with_the_parts_wanted) {
  const Put stored =
      put(task("q", {.type = "mail", .payload = "p", .metadata = "{}", .tags = {"t"}}));
  const Lease lease = take_one("q");
  settle({.id = lease.id, .expect = Held{lease.token}, .event = Event::done, .result = "r"});
  const Task whole = find(stored.id);
  EXPECT_EQ(whole.payload, "p");
  EXPECT_EQ(whole.result, "r");
  Task head = whole;
  head.payload.clear(), head.result.clear(), head.history.clear(), head.log.clear();
  head.error.reset(), head.delivery.reset(), head.progress = 0;
  EXPECT_EQ(must(find_task(store(), stored.id, head_only)), head);
  EXPECT_EQ(must(find_task(store(), stored.number, head_only)), head);
  Task with_notes = whole;
  with_notes.payload.clear();
  EXPECT_EQ(must(find_task(store(), stored.id, {.payload = false})), with_notes);
  Task with_payload = head;
  with_payload.payload = "p";
  EXPECT_EQ(must(find_task(store(), stored.id, {.notes = false})), with_payload);
}

// ---- Remove ------------------------------------------------------------------------------------

TEST_P(StoreConformance, remove_removes_waiting_and_final_tasks_and_says_in_which_state_they_were) {
  for (const auto& [state, id] : one_in_each_state("q")) {
    if (state == TaskState::processing) continue;
    EXPECT_EQ(remove(id), state);
    EXPECT_THAT(try_find(id), FailsWith(ErrorCode::not_found));
  }
  EXPECT_EQ(counts("q").total(), 1U);
  pass(24h);
  EXPECT_THAT(take("q"), IsEmpty());
}

TEST_P(StoreConformance, a_running_task_cannot_be_removed) {
  const TaskId id = task_in(TaskState::processing, "q");
  expect_unchanged([&] { EXPECT_THAT(try_remove(id), FailsWith(ErrorCode::conflict)); });
}

TEST_P(StoreConformance, each_removal_of_a_batch_has_its_own_result) {
  const TaskId running = task_in(TaskState::processing, "q");
  const TaskId waiting = put(task("q")).id;
  const std::vector<TaskId> batch = {waiting, running, waiting};
  const auto results = must(store().remove(batch, now));
  ASSERT_EQ(results.size(), 3U);
  EXPECT_THAT(results.at(0), IsOkAndHolds(TaskState::queued));
  EXPECT_THAT(results.at(1), FailsWith(ErrorCode::conflict));
  EXPECT_THAT(results.at(2), FailsWith(ErrorCode::not_found));
}

TEST_P(StoreConformance, a_removed_task_is_not_due_any_more) {
  const TaskId id = put(task("q", {.start_by = now + 1s})).id;
  remove(id);
  pass(1h);
  EXPECT_THAT(due(), IsEmpty());
}

// ---- Revive ------------------------------------------------------------------------------------

TEST_P(StoreConformance, failed_dead_and_cancelled_tasks_start_a_new_life) {
  for (const TaskState state : {TaskState::failed, TaskState::dead, TaskState::cancelled}) {
    const TaskId id = task_in(state, "q");
    pass(1s);
    EXPECT_EQ(revive(id), TaskState::queued);
    const Task found = find(id);
    EXPECT_EQ(found.state, TaskState::queued);
    EXPECT_EQ(found.counters, Counters{});
    EXPECT_EQ(found.start, now);
    EXPECT_EQ(found.finished_at, std::nullopt);
    const Lease lease = take_one("q");
    EXPECT_EQ(lease.id, id);
    EXPECT_EQ(lease.counters, Counters{.deliveries = 1});
    settle(done(lease));
  }
}

TEST_P(StoreConformance, the_old_outcome_of_a_revived_task_is_in_its_history) {
  const TaskId id = put(task("q")).id;
  settle(failed(take_one("q"), error("no such user", "bad_request")));
  revive(id);
  const auto history = find(id).history;
  ASSERT_FALSE(history.empty());
  bool kept = false;
  for (const Attempt& attempt : history) kept |= attempt.error_message == "no such user";
  EXPECT_TRUE(kept) << ::testing::PrintToString(history);
}

TEST_P(StoreConformance, an_outcome_without_a_run_is_in_the_history_too) {
  const TaskId id = put(task("q")).id;
  must(try_cancel({.id = id, .reason = "not wanted"}));
  revive(id);
  const auto history = find(id).history;
  ASSERT_EQ(history.size(), 1U);
  EXPECT_EQ(history.at(0).event, Event::revive);
  EXPECT_EQ(history.at(0).error_message, "not wanted");
  EXPECT_EQ(find(id).error, std::nullopt);
}

TEST_P(StoreConformance, only_failed_dead_and_cancelled_tasks_can_be_revived) {
  for (const auto& [state, id] : one_in_each_state("q")) {
    if (state == TaskState::failed || state == TaskState::dead || state == TaskState::cancelled) {
      continue;
    }
    expect_unchanged([&] { EXPECT_THAT(try_revive(id), FailsWith(ErrorCode::conflict)); });
  }
  EXPECT_THAT(try_revive(fresh_id()), FailsWith(ErrorCode::not_found));
}

TEST_P(StoreConformance, a_cancel_request_does_not_reach_into_the_new_life) {
  const TaskId id = put(task("q")).id;
  const Lease lease = take_one("q");
  cancel(id);
  settle(cancelled(lease));
  revive(id);
  EXPECT_FALSE(find(id).cancel_requested);
  const Lease second = take_one("q");
  EXPECT_FALSE(extend(second).cancel_requested);
  EXPECT_EQ(settle(retry_at(second, now)), TaskState::retrying);
}

TEST_P(StoreConformance, a_revived_task_does_not_expire_for_its_old_start_by) {
  const TaskId id = put(task("q", {.start_by = now + 10s})).id;
  pass(10s);
  settle(expired(due_one(), now));
  revive(id);
  EXPECT_EQ(find(id).start_by, std::nullopt);
  EXPECT_THAT(due(), IsEmpty());
  EXPECT_EQ(take_one("q").id, id);
}

TEST_P(StoreConformance, the_token_of_the_old_life_is_refused_in_the_new_one) {
  const TaskId id = put(task("q")).id;
  const Lease old = take_one("q");
  settle(failed(old));
  revive(id);
  take_one("q");
  EXPECT_THAT(try_settle(done(old)), FailsWith(ErrorCode::lease_lost));
}

// ---- Update: priority --------------------------------------------------------------------------

TEST_P(StoreConformance, the_priority_of_a_waiting_task_may_change) {
  const auto tasks = one_in_each_state("q");
  for (const TaskState state : waiting_states) {
    const TimePoint ready = find(tasks.at(state)).start;
    EXPECT_EQ(update({.id = tasks.at(state), .priority = 9}), state);
    EXPECT_EQ(find(tasks.at(state)).priority, 9);
    EXPECT_EQ(find(tasks.at(state)).start, ready);
    EXPECT_EQ(counts("q").by[static_cast<std::size_t>(state)][9], 1U);
  }
}

TEST_P(StoreConformance, running_and_final_tasks_keep_priority_and_start) {
  for (const auto& [state, id] : one_in_each_state("q")) {
    if (is_waiting(state)) continue;
    expect_unchanged([&] {
      EXPECT_THAT(try_update({.id = id, .priority = 9}), FailsWith(ErrorCode::conflict));
      EXPECT_THAT(try_update({.id = id, .start = now + 1h}), FailsWith(ErrorCode::conflict));
      EXPECT_THAT(try_update({.id = id, .release = true}), FailsWith(ErrorCode::conflict));
    });
  }
  EXPECT_THAT(try_update({.id = fresh_id(), .priority = 9}), FailsWith(ErrorCode::not_found));
}

// ---- Update: start -----------------------------------------------------------------------------

TEST_P(StoreConformance, a_new_start_moves_a_task_between_queued_and_delayed) {
  const TaskId id = put(task("q")).id;
  EXPECT_EQ(update({.id = id, .start = now + 10s}), TaskState::delayed);
  EXPECT_EQ(find(id).start, now + 10s);
  EXPECT_THAT(take("q"), IsEmpty());
  EXPECT_EQ(update({.id = id, .start = now}), TaskState::queued);
  EXPECT_EQ(take_one("q").id, id);
}

TEST_P(StoreConformance, a_new_start_sorts_the_task_anew) {
  NEEDS_TRAIT(exact_order);
  const TaskId first = put(task("q", {.start = now + 1s})).id;
  const TaskId second = put(task("q", {.start = now + 2s})).id;
  update({.id = first, .start = now + 3s});
  pass(5s);
  EXPECT_THAT(ids_of(take("q")), ElementsAre(second, first));
}

TEST_P(StoreConformance, a_retrying_task_may_be_moved_forward_and_keeps_its_counters) {
  const TaskId id = task_in(TaskState::retrying, "q");
  const Counters before = find(id).counters;
  EXPECT_EQ(update({.id = id, .start = now + 1s}), TaskState::retrying);
  EXPECT_EQ(find(id).counters, before);
  EXPECT_THAT(take("q"), IsEmpty());
  pass(1s);
  EXPECT_EQ(take_one("q").id, id);
}

// ---- Update: release ---------------------------------------------------------------------------

// S0-066: created, queued, processing, completed.
TEST_P(StoreConformance, a_held_task_is_queued_by_its_release) {
  const TaskId id = put(task("q", {.held = true})).id;
  pass(1s);
  EXPECT_EQ(update({.id = id, .release = true}), TaskState::queued);
  EXPECT_EQ(find(id).start, now);
  EXPECT_EQ(settle(done(take_one("q"))), TaskState::completed);
}

TEST_P(StoreConformance, a_held_task_that_starts_later_is_delayed_by_its_release) {
  const TaskId id = put(task("q", {.held = true, .start = now + 10s})).id;
  pass(1s);
  EXPECT_EQ(update({.id = id, .release = true}), TaskState::delayed);
  EXPECT_EQ(find(id).start, t0 + 10s);
}

TEST_P(StoreConformance, a_held_task_stays_held_while_priority_and_start_change) {
  const TaskId id = put(task("q", {.held = true})).id;
  EXPECT_EQ(update({.id = id, .priority = 9, .start = now + 10s}), TaskState::created);
  EXPECT_THAT(take("q"), IsEmpty());
  EXPECT_EQ(update({.id = id, .release = true}), TaskState::delayed);
  EXPECT_EQ(find(id).start, now + 10s);
}

TEST_P(StoreConformance, a_task_that_is_not_held_cannot_be_released) {
  for (const TaskState state : {TaskState::retrying, TaskState::delayed, TaskState::queued}) {
    const TaskId id = task_in(state, "q");
    expect_unchanged([&] {
      EXPECT_THAT(try_update({.id = id, .release = true}), FailsWith(ErrorCode::conflict));
    });
  }
}

// ---- Update: delivery attempts -----------------------------------------------------------------

TEST_P(StoreConformance, delivery_attempts_are_counted_on_any_task) {
  for (const auto& [state, id] : one_in_each_state("q")) {
    EXPECT_EQ(find(id).delivery, std::nullopt);
    EXPECT_EQ(update({.id = id, .delivery_attempt = "HTTP 503"}), state);
    EXPECT_EQ(find(id).delivery, (DeliveryNote{.attempts = 1, .last_status = "HTTP 503"}));
    EXPECT_EQ(update({.id = id, .delivery_attempt = "200"}), state);
    EXPECT_EQ(find(id).delivery, (DeliveryNote{.attempts = 2, .last_status = "200"}));
  }
}

TEST_P(StoreConformance, two_deliveries_that_report_at_once_both_count) {
  const TaskId id = task_in(TaskState::completed, "q");
  const TaskId other = task_in(TaskState::dead, "q");
  const std::vector<TaskUpdate> batch = {{.id = id, .delivery_attempt = "HTTP 503"},
                                         {.id = other, .delivery_attempt = "HTTP 404"},
                                         {.id = id, .delivery_attempt = "200"}};
  EXPECT_THAT(must(store().update(batch, now)),
              ElementsAre(IsOkAndHolds(TaskState::completed), IsOkAndHolds(TaskState::dead),
                          IsOkAndHolds(TaskState::completed)));
  EXPECT_EQ(find(id).delivery, (DeliveryNote{.attempts = 2, .last_status = "200"}));
  EXPECT_EQ(find(other).delivery, (DeliveryNote{.attempts = 1, .last_status = "HTTP 404"}));
}

TEST_P(StoreConformance, a_delivery_attempt_with_a_status_that_is_too_long_is_not_counted) {
  const TaskId id = task_in(TaskState::completed, "q");
  update({.id = id, .delivery_attempt = std::string(limits::max_error_text, 's')});
  expect_unchanged([&] {
    EXPECT_THAT(
        try_update({.id = id, .delivery_attempt = std::string(limits::max_error_text + 1, 's')}),
        FailsWith(ErrorCode::too_large));
  });
}

TEST_P(StoreConformance, an_update_is_applied_whole_or_not_at_all) {
  const TaskId id = task_in(TaskState::completed, "q");
  expect_unchanged([&] {
    EXPECT_THAT(try_update({.id = id, .priority = 9, .delivery_attempt = "200"}),
                FailsWith(ErrorCode::conflict));
  });
}

}  // namespace
}  // namespace millrace::test
