// Schedules: kept by the store, fired once per tick.
#include <gmock/gmock.h>

#include "store/store.h"
#include "tests/conformance/conformance.h"

namespace millrace::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Ticking {
 public:
  explicit Ticking(Store& store) : store_(store) {}

  // A schedule of one tick per minute, the first one at t0.
  Schedule make(Overlap overlap = Overlap::skip, TimePoint now = t0) {
    return must(store_.put_schedule({.name = "tick",
                                     .rule = {.every = 1min, .anchor = t0},
                                     .task = NewTask{.queue = "q"},
                                     .overlap = overlap,
                                     .next = t0},
                                    PutSchedule::replace, now));
  }

  Result<Fired> fire(TimePoint nominal, NewTask fields = {}) {
    return store_.fire({.schedule = "tick",
                        .nominal = nominal,
                        .next = nominal + 1min,
                        .task = task("q", std::move(fields))},
                       nominal);
  }

  Schedule find() { return must(store_.schedules("tick")).at(0); }

 private:
  Store& store_;
};

// ---- Keeping -----------------------------------------------------------------------------------

TEST_P(StoreConformance, a_schedule_is_found_as_it_was_put) {
  const Schedule given = {
      .name = "nightly",
      .rule = {.cron = "0 3 * * *", .zone = "Europe/Berlin"},
      .task =
          NewTask{
              .queue = "q", .type = "report", .payload = "{}", .priority = 7, .tags = {"night"}},
      .overlap = Overlap::queue,
      .missed = Missed::all,
      .missed_most = 5,
      .jitter = 30s,
      .paused = true,
      .next = now + 3h};
  Schedule expected = given;
  expected.created_at = now;
  expected.updated_at = now;
  EXPECT_EQ(must(store().put_schedule(given, PutSchedule::replace, now)), expected);
  EXPECT_THAT(must(store().schedules("nightly")), ElementsAre(expected));
}

TEST_P(StoreConformance, all_schedules_are_listed_by_name) {
  for (const char* name : {"b", "c", "a"}) {
    must(
        store().put_schedule({.name = name, .rule = {.every = 1min}, .task = NewTask{.queue = "q"}},
                             PutSchedule::replace, now));
  }
  std::vector<std::string> names;
  for (const Schedule& schedule : must(store().schedules(std::nullopt))) {
    names.push_back(schedule.name);
  }
  EXPECT_THAT(names, ElementsAre("a", "b", "c"));
}

TEST_P(StoreConformance, replacing_a_schedule_keeps_what_happened_so_far) {
  Ticking ticking(store());
  ticking.make();
  must(ticking.fire(t0));
  must(ticking.fire(t0 + 1min));  // skipped: the first task still waits
  const Schedule before = ticking.find();
  const Schedule given = {.name = "tick",
                          .rule = {.every = 2min},
                          .task = NewTask{.queue = "q", .type = "new"},
                          .overlap = Overlap::allow,
                          .next = t0 + 4min};
  Schedule expected = given;
  expected.last = t0 + 1min;
  expected.last_task = before.last_task;
  expected.fired = before.fired;
  expected.skipped = before.skipped;
  expected.created_at = t0;
  expected.updated_at = t0 + 3min;
  EXPECT_EQ(must(store().put_schedule(given, PutSchedule::replace, t0 + 3min)), expected);
  EXPECT_EQ(ticking.find(), expected);
}

TEST_P(StoreConformance, a_removed_schedule_is_gone_and_its_tasks_stay) {
  Ticking ticking(store());
  ticking.make();
  const TaskId id = must(ticking.fire(t0)).put->id;
  EXPECT_THAT(store().remove_schedule("tick", now), IsOk());
  EXPECT_THAT(must(store().schedules(std::nullopt)), IsEmpty());
  EXPECT_TRUE(exists(id));
}

TEST_P(StoreConformance, a_schedule_needs_a_queue_that_is_there) {
  expect_unchanged([&] {
    EXPECT_THAT(store().put_schedule(
                    {.name = "tick", .rule = {.every = 1s}, .task = NewTask{.queue = "nowhere"}},
                    PutSchedule::replace, now),
                FailsWith(ErrorCode::not_found));
  });
}

TEST_P(StoreConformance, an_unknown_schedule_is_not_found) {
  Ticking ticking(store());
  expect_unchanged([&] {
    EXPECT_THAT(store().schedules("tick"), FailsWith(ErrorCode::not_found));
    EXPECT_THAT(store().remove_schedule("tick", now), FailsWith(ErrorCode::not_found));
    EXPECT_THAT(ticking.fire(t0), FailsWith(ErrorCode::not_found));
  });
}

// ---- Versions ----------------------------------------------------------------------------------

TEST_P(StoreConformance, a_change_of_a_schedule_is_made_only_if_it_is_as_it_was_seen) {
  Ticking ticking(store());
  const Schedule seen = ticking.make();
  Schedule schedule = seen;
  schedule.jitter = 1s;
  const Schedule first = must(store().put_schedule(schedule, PutSchedule::changed(seen), now));
  EXPECT_EQ(first.jitter, 1s);
  EXPECT_GT(first.updated_at, seen.updated_at) << "in the same millisecond";
  schedule.jitter = 2s;
  expect_unchanged([&] {
    EXPECT_THAT(store().put_schedule(schedule, PutSchedule::changed(seen), now),
                FailsWith(ErrorCode::conflict));
  });
  EXPECT_THAT(store().put_schedule(schedule, PutSchedule::changed(first), now), IsOk());
  EXPECT_EQ(ticking.find().jitter, 2s);
}

// Otherwise the change would set the schedule back to the tick.
TEST_P(StoreConformance, a_schedule_that_has_fired_since_it_was_seen_is_not_changed) {
  Ticking ticking(store());
  const Schedule seen = ticking.make();
  must(ticking.fire(t0));
  EXPECT_GT(ticking.find().updated_at, seen.updated_at);
  expect_unchanged([&] {
    EXPECT_THAT(store().put_schedule(seen, PutSchedule::changed(seen), now),
                FailsWith(ErrorCode::conflict));
  });
  EXPECT_THAT(ticking.fire(t0), FailsWith(ErrorCode::conflict));
}

TEST_P(StoreConformance, a_schedule_is_created_once) {
  Ticking ticking(store());
  const Schedule made = ticking.make();
  expect_unchanged([&] {
    EXPECT_THAT(store().put_schedule(made, PutSchedule::create, now),
                FailsWith(ErrorCode::conflict));
  });
  must(store().remove_schedule("tick", now));
  expect_unchanged([&] {
    EXPECT_THAT(store().put_schedule(made, PutSchedule::changed(made), now),
                FailsWith(ErrorCode::conflict))
        << "it is gone";
  });
  EXPECT_THAT(store().put_schedule(made, PutSchedule::create, now), IsOk());
}

// ---- Firing ------------------------------------------------------------------------------------

TEST_P(StoreConformance, a_tick_puts_its_task_and_moves_the_schedule_on) {
  Ticking ticking(store());
  ticking.make();
  const Fired fired = must(ticking.fire(t0, {.payload = "hello"}));
  ASSERT_TRUE(fired.put.has_value());
  EXPECT_FALSE(fired.put->existing);
  EXPECT_EQ(find(fired.put->id).payload, "hello");
  EXPECT_EQ(fired.schedule.next, t0 + 1min);
  EXPECT_EQ(fired.schedule.last, t0);
  EXPECT_EQ(fired.schedule.last_task, fired.put->id);
  EXPECT_EQ(fired.schedule.fired, 1U);
  EXPECT_EQ(fired.schedule.skipped, 0U);
  EXPECT_EQ(ticking.find(), fired.schedule);
}

// Design 2.1: compare-and-set on the nominal time.
TEST_P(StoreConformance, each_tick_fires_once) {
  Ticking ticking(store());
  ticking.make(Overlap::allow);
  must(ticking.fire(t0));
  expect_unchanged([&] {
    EXPECT_THAT(ticking.fire(t0), FailsWith(ErrorCode::conflict));
    EXPECT_THAT(ticking.fire(t0 + 2min), FailsWith(ErrorCode::conflict));
    EXPECT_THAT(ticking.fire(t0 - 1min), FailsWith(ErrorCode::conflict));
  });
  EXPECT_THAT(ticking.fire(t0 + 1min), IsOk());
}

TEST_P(StoreConformance, a_tick_whose_task_cannot_be_put_changes_nothing) {
  Ticking ticking(store());
  ticking.make();
  expect_unchanged([&] {
    EXPECT_THAT(ticking.fire(t0, {.priority = 10}), FailsWith(ErrorCode::invalid));
    EXPECT_THAT(
        store().fire(
            {.schedule = "tick", .nominal = t0, .next = t0 + 1min, .task = task("nowhere")}, now),
        FailsWith(ErrorCode::not_found));
  });
}

// An edit that leaves `next` as it was would otherwise be overtaken by a tick of the old rule.
TEST_P(StoreConformance, a_tick_that_was_decided_by_an_older_schedule_does_not_fire) {
  Ticking ticking(store());
  const Schedule seen = ticking.make();
  Schedule edited = seen;
  edited.rule.every = 1h;
  edited = must(store().put_schedule(edited, PutSchedule::changed(seen), t0));
  Fire tick{.schedule = "tick",
            .nominal = t0,
            .next = t0 + 1min,
            .seen = seen.updated_at,
            .task = task("q", {})};
  expect_unchanged([&] { EXPECT_THAT(store().fire(tick, t0), FailsWith(ErrorCode::conflict)); });
  tick.seen = edited.updated_at;
  tick.next = t0 + 1h;
  EXPECT_THAT(store().fire(tick, t0), IsOk());
}

TEST_P(StoreConformance, a_tick_after_missed_ones_is_the_last_that_fired) {
  Ticking ticking(store());
  ticking.make();
  Fire tick{.schedule = "tick",
            .nominal = t0,
            .tick = t0 + 5min,
            .next = t0 + 6min,
            .task = task("q", {})};
  const Fired fired = must(store().fire(tick, t0 + 5min));
  EXPECT_EQ(fired.schedule.last, t0 + 5min);
  EXPECT_EQ(fired.schedule.next, t0 + 6min);
  tick = {.schedule = "tick", .nominal = t0 + 6min, .next = t0 + 8min, .task = task("q", {})};
  expect_unchanged([&] {
    for (const TimePoint wrong : {t0 + 5min, t0 + 8min}) {
      tick.tick = wrong;
      EXPECT_THAT(store().fire(tick, t0 + 6min), FailsWith(ErrorCode::invalid));
    }
  });
}

TEST_P(StoreConformance, a_paused_schedule_does_not_fire) {
  Ticking ticking(store());
  Schedule schedule = ticking.make();
  schedule.paused = true;
  must(store().put_schedule(schedule, PutSchedule::replace, now));
  expect_unchanged([&] { EXPECT_THAT(ticking.fire(t0), FailsWith(ErrorCode::conflict)); });
}

TEST_P(StoreConformance, a_tick_skips_depth_and_rate) {
  QueueSettings settings = find_queue("q").settings;
  settings.max_depth = 1;
  settings.put_rate = Rate{1, 1h};
  make_queue(settings);
  put(task("q"));
  Ticking ticking(store());
  ticking.make(Overlap::allow);
  EXPECT_TRUE(must(ticking.fire(t0)).put.has_value());
  EXPECT_TRUE(must(ticking.fire(t0 + 1min)).put.has_value());
}

TEST_P(StoreConformance, a_tick_may_meet_the_holder_of_its_unique_key) {
  Ticking ticking(store());
  ticking.make(Overlap::allow);
  const Put holder = put(task("q", {.unique = UniqueKey{.key = "k"}}));
  const Fired fired = must(ticking.fire(t0, {.unique = UniqueKey{.key = "k"}}));
  ASSERT_TRUE(fired.put.has_value());
  EXPECT_TRUE(fired.put->existing);
  EXPECT_EQ(fired.put->id, holder.id);
  EXPECT_EQ(fired.schedule.next, t0 + 1min);
}

// ---- Overlap -----------------------------------------------------------------------------------

TEST_P(StoreConformance, overlap_skip_puts_nothing_while_the_last_task_is_unfinished) {
  Ticking ticking(store());
  ticking.make(Overlap::skip);
  const TaskId first = must(ticking.fire(t0)).put->id;
  const Fired skipped = must(ticking.fire(t0 + 1min));
  EXPECT_EQ(skipped.put, std::nullopt) << "it waits";
  EXPECT_EQ(skipped.schedule.next, t0 + 2min);
  EXPECT_EQ(skipped.schedule.last, t0 + 1min);
  EXPECT_EQ(skipped.schedule.last_task, first);
  EXPECT_EQ(skipped.schedule.fired, 1U);
  EXPECT_EQ(skipped.schedule.skipped, 1U);
  const Lease lease = take_one("q");
  EXPECT_EQ(must(ticking.fire(t0 + 2min)).put, std::nullopt) << "it runs";
  settle(retry_at(lease, now + 1h));
  EXPECT_EQ(must(ticking.fire(t0 + 3min)).put, std::nullopt) << "it is retried";
  EXPECT_EQ(counts("q").total(), 1U);
}

TEST_P(StoreConformance, overlap_skip_goes_on_when_the_last_task_has_ended_or_is_gone) {
  Ticking ticking(store());
  ticking.make(Overlap::skip);
  TimePoint tick = t0;
  must(ticking.fire(tick));
  for (int end = 0; end < 4; ++end) {
    now = tick;
    if (end == 3) {
      must(store().clear("q", 100, now));
    } else {
      const Lease lease = take_one("q");
      settle(end == 0 ? done(lease) : end == 1 ? failed(lease) : cancelled(lease));
    }
    tick += 1min;
    EXPECT_TRUE(must(ticking.fire(tick)).put.has_value()) << "end " << end;
  }
}

TEST_P(StoreConformance, overlap_queue_lets_one_wait_behind_a_running_one) {
  Ticking ticking(store());
  ticking.make(Overlap::queue);
  must(ticking.fire(t0));
  EXPECT_EQ(must(ticking.fire(t0 + 1min)).put, std::nullopt) << "one waits";
  take_one("q");
  EXPECT_TRUE(must(ticking.fire(t0 + 2min)).put.has_value()) << "one runs, none waits";
  EXPECT_EQ(must(ticking.fire(t0 + 3min)).put, std::nullopt) << "one runs, one waits";
  EXPECT_EQ(counts("q").total(), 2U);
}

TEST_P(StoreConformance, overlap_allow_puts_at_every_tick) {
  Ticking ticking(store());
  ticking.make(Overlap::allow);
  for (int tick = 0; tick < 5; ++tick) must(ticking.fire(t0 + tick * 1min));
  EXPECT_EQ(counts("q").ready(), 5U);
  EXPECT_EQ(ticking.find().fired, 5U);
}

}  // namespace
}  // namespace millrace::test
