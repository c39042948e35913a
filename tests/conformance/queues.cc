// Queues: their names, their settings, and what stops and empties them.
#include <gmock/gmock.h>

#include "store/store.h"
#include "tests/conformance/conformance.h"

namespace millrace::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

QueueSettings queue_with_everything() {
  return {.name = "full",
          .number = QueueNumber{42},
          .id = fresh_uuid(),
          .description = "all of it",
          .active = false,
          .draining = true,
          .paused_until = t0 + 1h,
          .max_concurrent = 1,
          .max_depth = 2,
          .put_rate = Rate{3, 4s},
          .process_rate = Rate{5, 6s},
          .priority = 7,
          .weight = 8,
          .ageing = 9s,
          .lease = 10s,
          .timeout = 11s,
          .batch_size = 12,
          .max_lost = 13,
          .retry = {.backoff = Backoff::fixed, .base = 14s, .jitter_share = 0.25, .max_retries = 0},
          .types = {{.type = "a", .retry = {.cap = 15s}, .timeout = 16s, .max_lost = 17}},
          .dead_letters = false,
          .keep_completed = {.for_time = 18s, .last = 19},
          .keep_dead = {}};
}

// ---- Identity ----------------------------------------------------------------------------------

// Design 2.1, C-17: a queue has a name, an optional number and a UUID; every operation accepts any.
TEST_P(StoreConformance, every_operation_accepts_a_queue_by_name_number_and_uuid) {
  const Queue made = make_queue(queue("named", {.number = QueueNumber{7}}));
  for (const QueueRef& ref :
       {QueueRef("named"), QueueRef(QueueNumber{7}), QueueRef(made.settings.id)}) {
    const TaskId id = put(task(ref)).id;
    EXPECT_EQ(find(id).queue, "named");
    EXPECT_THAT(ids_of(list({.queue = ref})), ElementsAre(id));
    EXPECT_EQ(counts(ref).queue, "named");
    EXPECT_EQ(counts(ref).ready(), 1U);
    EXPECT_EQ(find_queue(ref).settings.name, "named");
    EXPECT_THAT(store().remove_queue(ref, false, now), FailsWith(ErrorCode::conflict));

    const Lease lease = take_one(ref);
    EXPECT_EQ(lease.queue, "named");
    const NewTask child = task(ref);
    settle(with(cancelled(lease), {child}));
    EXPECT_EQ(find(child.id).queue, "named");
    EXPECT_THAT(store().clear(ref, 10, now), IsOkAndHolds(1U));
    remove(id);
  }
  EXPECT_EQ(counts("named").total(), 0U);
}

TEST_P(StoreConformance, schedules_and_cancels_accept_a_queue_by_name_number_and_uuid) {
  const Queue made = make_queue(queue("named", {.number = QueueNumber{7}}));
  must(store().put_schedule({.name = "tick",
                             .rule = {.every = 1s, .anchor = t0},
                             .task = NewTask{.queue = QueueNumber{7}},
                             .overlap = Overlap::allow,
                             .next = t0},
                            PutSchedule::replace, now));
  TimePoint tick = t0;
  for (const QueueRef& ref :
       {QueueRef("named"), QueueRef(QueueNumber{7}), QueueRef(made.settings.id)}) {
    const NewTask fired = task(ref);
    must(
        store().fire({.schedule = "tick", .nominal = tick, .next = tick + 1s, .task = fired}, now));
    EXPECT_EQ(find(fired.id).queue, "named");
    const NewTask child = task(ref);
    must(try_cancel({.id = fired.id, .follow_ups = {child}}));
    EXPECT_EQ(find(child.id).queue, "named");
    tick += 1s;
  }
}

TEST_P(StoreConformance, removing_works_by_name_number_and_uuid) {
  for (int way = 0; way < 3; ++way) {
    const Queue made = make_queue(queue("named", {.number = QueueNumber{7}}));
    const QueueRef refs[] = {"named", QueueNumber{7}, made.settings.id};
    EXPECT_THAT(store().remove_queue(refs[way], false, now), IsOk());
    EXPECT_THAT(store().queues("named"), FailsWith(ErrorCode::not_found));
  }
}

TEST_P(StoreConformance, an_unknown_queue_is_not_found_by_any_operation) {
  for (const QueueRef& ref :
       {QueueRef("nowhere"), QueueRef(QueueNumber{99}), QueueRef(fresh_uuid())}) {
    expect_unchanged([&] {
      EXPECT_THAT(try_put(task(ref)), FailsWith(ErrorCode::not_found));
      EXPECT_THAT(try_take({.worker = "w", .queues = {{.queue = ref}}}),
                  FailsWith(ErrorCode::not_found));
      EXPECT_THAT(store().list({.queue = ref}), FailsWith(ErrorCode::not_found));
      EXPECT_THAT(store().counts(ref, now), FailsWith(ErrorCode::not_found));
      EXPECT_THAT(store().queues(ref), FailsWith(ErrorCode::not_found));
      EXPECT_THAT(store().remove_queue(ref, false, now), FailsWith(ErrorCode::not_found));
      EXPECT_THAT(store().remove_queue(ref, true, now), FailsWith(ErrorCode::not_found));
      EXPECT_THAT(store().clear(ref, 1, now), FailsWith(ErrorCode::not_found));
    });
  }
}

TEST_P(StoreConformance, numbers_and_uuids_belong_to_one_queue_each) {
  const Queue first = make_queue(queue("first", {.number = QueueNumber{1}}));
  for (const PutQueue mode : {PutQueue::create, PutQueue::replace}) {
    expect_unchanged([&] {
      EXPECT_THAT(store().put_queue(queue("second", {.number = QueueNumber{1}}), mode, now),
                  FailsWith(ErrorCode::conflict));
      EXPECT_THAT(store().put_queue(queue("second", {.id = first.settings.id}), mode, now),
                  FailsWith(ErrorCode::conflict));
    });
  }
}

TEST_P(StoreConformance, a_queue_may_get_another_number_and_the_old_one_is_free) {
  make_queue(queue("moving", {.number = QueueNumber{1}}));
  make_queue(queue("moving", {.number = QueueNumber{2}}));
  EXPECT_EQ(find_queue(QueueNumber{2}).settings.name, "moving");
  EXPECT_THAT(store().queues(QueueNumber{1}), FailsWith(ErrorCode::not_found));
  make_queue(queue("other", {.number = QueueNumber{1}}));
  EXPECT_EQ(find_queue(QueueNumber{1}).settings.name, "other");
}

// ---- Settings ----------------------------------------------------------------------------------

TEST_P(StoreConformance, a_queue_is_found_with_all_its_settings) {
  const QueueSettings settings = queue_with_everything();
  const Queue made = must(store().put_queue(settings, PutQueue::create, now));
  EXPECT_EQ(made, (Queue{.settings = settings, .created_at = now, .updated_at = now}));
  EXPECT_EQ(find_queue("full"), made);
}

TEST_P(StoreConformance, creating_leaves_an_existing_queue_as_it_is_and_returns_it) {
  const Queue made = make_queue(queue("kept", {.description = "first"}));
  pass(1s);
  EXPECT_EQ(
      must(store().put_queue(queue("kept", {.description = "second"}), PutQueue::create, now)),
      made);
  EXPECT_EQ(find_queue("kept"), made);
}

TEST_P(StoreConformance, replacing_replaces_all_settings_and_keeps_the_id_where_none_is_given) {
  const QueueSettings before = queue_with_everything();
  make_queue(before);
  pass(1s);
  const Queue after = must(store().put_queue({.name = "full"}, PutQueue::replace, now));
  QueueSettings defaults{.name = "full"};
  defaults.id = before.id;
  EXPECT_EQ(after, (Queue{.settings = defaults, .created_at = t0, .updated_at = now}));
  EXPECT_EQ(find_queue(before.id), after);
}

TEST_P(StoreConformance, creating_a_queue_needs_an_id) {
  for (const PutQueue mode : {PutQueue::create, PutQueue::replace}) {
    EXPECT_THAT(store().put_queue({.name = "new"}, mode, now), FailsWith(ErrorCode::invalid));
  }
  EXPECT_THAT(store().queues("new"), FailsWith(ErrorCode::not_found));
}

// ---- Versions ----------------------------------------------------------------------------------

TEST_P(StoreConformance, a_change_of_a_queue_is_made_only_if_the_queue_is_as_it_was_seen) {
  const Queue seen = make_queue(queue("shared"));
  QueueSettings settings = seen.settings;
  settings.description = "first";
  const Queue first = must(store().put_queue(settings, PutQueue::changed(seen), now));
  EXPECT_EQ(first.settings.description, "first");
  settings.description = "second";
  expect_unchanged([&] {
    EXPECT_THAT(store().put_queue(settings, PutQueue::changed(seen), now),
                FailsWith(ErrorCode::conflict));
  });
  EXPECT_EQ(must(store().put_queue(settings, PutQueue::changed(first), now)).settings.description,
            "second");
  EXPECT_EQ(find_queue("shared").settings.description, "second");
}

// `updated_at` is what a change is checked against, so no value may come twice: it moves on even
// where the clock does not.
TEST_P(StoreConformance, every_write_of_a_queue_gives_it_a_later_moment) {
  Queue last = make_queue(queue("shared"));
  const auto expect_later = [&](const char* what) {
    const Queue changed = find_queue("shared");
    EXPECT_GT(changed.updated_at, last.updated_at) << what;
    expect_unchanged([&] {
      EXPECT_THAT(store().put_queue(last.settings, PutQueue::changed(last), now),
                  FailsWith(ErrorCode::conflict))
          << what;
    });
    last = changed;
  };
  must(store().put_queue(last.settings, PutQueue::replace, now));
  expect_later("the same once more");
  must(store().put_queue(last.settings, PutQueue::replace, now - 1h));
  expect_later("a clock that was put back");
  QueueSettings stopped = last.settings;
  stopped.draining = true;
  stopped.paused_until = now;
  must(store().put_queue(stopped, PutQueue::replace, now));
  expect_later("a pause");
  EXPECT_EQ(advance().lifted, 2U);
  expect_later("upkeep");
  put(task("shared"));
  must(store().remove_queue("shared", true, now));
  expect_later("removal");
}

TEST_P(StoreConformance, a_queue_that_is_gone_or_another_one_by_now_is_not_changed) {
  const Queue seen = make_queue(queue("shared"));
  must(store().remove_queue("shared", false, now));
  expect_unchanged([&] {
    EXPECT_THAT(store().put_queue(seen.settings, PutQueue::changed(seen), now),
                FailsWith(ErrorCode::conflict));
  });
  // In the same millisecond.
  make_queue(queue("shared", {.description = "another"}));
  expect_unchanged([&] {
    EXPECT_THAT(store().put_queue(seen.settings, PutQueue::changed(seen), now),
                FailsWith(ErrorCode::conflict));
  });
}

TEST_P(StoreConformance, new_settings_hold_for_tasks_that_wait_already) {
  QueueSettings settings = queue("changing");
  make_queue(settings);
  for (int i = 0; i < 3; ++i) put(task("changing"));
  settings.lease = 5min;
  settings.max_concurrent = 1;
  make_queue(settings);
  const auto leases = take("changing");
  ASSERT_THAT(leases, SizeIs(1));
  EXPECT_EQ(leases.at(0).until, now + 5min);
}

TEST_P(StoreConformance, all_queues_are_listed_by_name) {
  for (const char* name : {"b", "a", "c"}) make_queue(name);
  std::vector<std::string> names;
  for (const Queue& queue : must(store().queues(std::nullopt))) {
    names.push_back(queue.settings.name);
  }
  EXPECT_THAT(names, ElementsAre("a", "b", "c", "q"));
}

// ---- active and pause --------------------------------------------------------------------------

TEST_P(StoreConformance, an_inactive_queue_refuses_puts_and_takes) {
  QueueSettings settings = queue("gate");
  make_queue(settings);
  const TaskId waiting = put(task("gate")).id;
  settings.active = false;
  make_queue(settings);
  EXPECT_THAT(try_put(task("gate")), FailsWith(ErrorCode::conflict));
  EXPECT_THAT(take("gate"), IsEmpty());
  settings.active = true;
  make_queue(settings);
  EXPECT_THAT(try_put(task("gate")), IsOk());
  EXPECT_EQ(take_one("gate").id, waiting);
}

TEST_P(StoreConformance, an_inactive_or_paused_queue_lets_its_running_tasks_end) {
  for (const bool active : {true, false}) {
    QueueSettings settings = queue("gate-" + std::to_string(active));
    make_queue(settings);
    put(task(settings.name));
    const Lease lease = take_one(settings.name);
    settings.active = active;
    settings.paused_until = never;
    make_queue(settings);
    EXPECT_EQ(extend(lease).until, now + 60s);
    EXPECT_EQ(settle(done(lease)), TaskState::completed);
  }
}

TEST_P(StoreConformance, a_paused_queue_gives_nothing_until_the_moment_comes) {
  make_queue(queue("gate", {.paused_until = now + 10s}));
  EXPECT_THAT(try_put(task("gate")), IsOk());
  pass(10s - 1ms);
  EXPECT_THAT(take("gate"), IsEmpty());
  pass(1ms);
  EXPECT_THAT(take("gate"), SizeIs(1));
}

TEST_P(StoreConformance, a_pause_for_ever_ends_only_when_it_is_lifted) {
  QueueSettings settings = queue("gate", {.paused_until = never});
  make_queue(settings);
  put(task("gate"));
  pass(24h * 3650);
  advance();
  EXPECT_THAT(take("gate"), IsEmpty());
  settings.paused_until = std::nullopt;
  make_queue(settings);
  EXPECT_THAT(take("gate"), SizeIs(1));
}

TEST_P(StoreConformance, advance_lifts_a_pause_that_ended) {
  make_queue(queue("gate", {.paused_until = now + 10s}));
  EXPECT_EQ(advance().lifted, 0U);
  EXPECT_EQ(find_queue("gate").settings.paused_until, now + 10s);
  pass(10s);
  EXPECT_EQ(advance().lifted, 1U);
  EXPECT_EQ(find_queue("gate").settings.paused_until, std::nullopt);
}

}  // namespace
}  // namespace millrace::test
