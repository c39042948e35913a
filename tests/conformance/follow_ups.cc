// Tasks stored in the same commit as the end of another one.
#include <gmock/gmock.h>

#include "store/store.h"
#include "tests/conformance/conformance.h"

namespace millrace::test {
namespace {

using ::testing::SizeIs;

TEST_P(StoreConformance, follow_ups_are_stored_with_the_settlement) {
  make_queue("webhooks");
  const TaskId parent = put(task("q")).id;
  const NewTask now_ready = task("webhooks", {.payload = "hook", .parent = parent});
  const NewTask later_ready = task("q", {.delay = 10s});
  settle(with(done(take_one("q")), {now_ready, later_ready}));
  EXPECT_EQ(find(now_ready.id).state, TaskState::queued);
  EXPECT_EQ(find(now_ready.id).parent, parent);
  EXPECT_EQ(find(now_ready.id).created_at, now);
  EXPECT_EQ(find(later_ready.id).state, TaskState::delayed);
  EXPECT_EQ(find(later_ready.id).start, now + 10s);
}

TEST_P(StoreConformance, follow_ups_come_with_every_event) {
  for (int event = 0; event < 7; ++event) {
    make_queue("children");
    put(task("q"));
    const Lease lease = take_one("q");
    const std::vector<Settlement> ends = {done(lease),
                                          failed(lease),
                                          exhausted(lease),
                                          retry_at(lease, now + 1h),
                                          snoozed(lease, now + 1h),
                                          cancelled(lease),
                                          given_back(lease)};
    const NewTask child = task("children");
    settle(with(ends[static_cast<std::size_t>(event)], {child}));
    EXPECT_TRUE(exists(child.id)) << "event " << event;
  }
}

TEST_P(StoreConformance, follow_ups_come_with_a_lost_lease_and_with_an_expired_wait) {
  make_queue("alerts");
  put(task("q"));
  take_one("q");
  make_queue("timed");
  put(task("timed", {.start_by = now + 60s}));
  pass(60s);
  for (const Overdue& overdue : due()) {
    const bool is_lost = std::holds_alternative<Lost>(overdue.expect);
    const NewTask alert = task("alerts");
    settle(with(is_lost ? lost(overdue, now) : expired(overdue, now), {alert}));
    EXPECT_TRUE(exists(alert.id));
  }
  EXPECT_EQ(counts("alerts").total(), 2U);
}

TEST_P(StoreConformance, follow_ups_skip_depth_rate_pause_and_active) {
  make_queue(queue("deep", {.max_depth = 1}));
  make_queue(queue("rated", {.put_rate = Rate{1, 1h}}));
  make_queue(queue("paused", {.paused_until = never}));
  make_queue(queue("inactive", {.active = false}));
  put(task("deep"));
  put(task("rated"));
  for (const std::string name : {"deep", "rated", "paused", "inactive"}) {
    const NewTask child = task(name);
    put(task("q"));
    settle(with(done(take_one("q")), {child}));
    EXPECT_EQ(state_of(child.id), TaskState::queued) << name;
  }
}

TEST_P(StoreConformance, follow_ups_go_into_a_draining_queue) {
  QueueSettings settings = queue("draining");
  make_queue(settings);
  put(task("draining"));
  settings.draining = true;
  make_queue(settings);
  const NewTask child = task("draining");
  settle(with(done(take_one("draining")), {child}));
  EXPECT_EQ(state_of(child.id), TaskState::queued);
}

TEST_P(StoreConformance, one_invalid_follow_up_refuses_the_whole_settlement) {
  put(task("q"));
  const Lease lease = take_one("q");
  expect_unchanged([&] {
    EXPECT_THAT(try_settle(with(done(lease), {task("q"), task("q", {.priority = 10})})),
                FailsWith(ErrorCode::invalid));
    EXPECT_THAT(try_settle(with(done(lease), {task("q"), NewTask{.queue = "q"}})),
                FailsWith(ErrorCode::invalid));
  });
  EXPECT_EQ(settle(done(lease)), TaskState::completed);
}

TEST_P(StoreConformance, a_follow_up_for_an_unknown_queue_refuses_the_whole_settlement) {
  put(task("q"));
  const Lease lease = take_one("q");
  expect_unchanged([&] {
    EXPECT_THAT(try_settle(with(done(lease), {task("q"), task("nowhere")})),
                FailsWith(ErrorCode::not_found));
  });
}

TEST_P(StoreConformance, a_follow_up_for_a_queue_being_removed_refuses_the_whole_settlement) {
  make_queue("doomed");
  put(task("doomed"));
  must(store().remove_queue("doomed", true, now));
  put(task("q"));
  const Lease lease = take_one("q");
  expect_unchanged([&] {
    EXPECT_FALSE(try_settle(with(done(lease), {task("q"), task("doomed")})).has_value());
  });
}

TEST_P(StoreConformance, a_refused_settlement_stores_no_follow_ups) {
  put(task("q"));
  const Lease old = take_one("q");
  settle(given_back(old));
  take_one("q");
  expect_unchanged([&] {
    EXPECT_THAT(try_settle(with(done(old), {task("q")})), FailsWith(ErrorCode::lease_lost));
  });
}

TEST_P(StoreConformance, a_follow_up_that_is_there_already_stays_as_it_is) {
  make_queue("children");
  const Put existing = put(task("children", {.payload = "first"}));
  const Put holder = put(task("children", {.unique = UniqueKey{.key = "k"}}));
  put(task("q"));
  settle(with(done(take_one("q")), {task("children", {.id = existing.id, .payload = "second"}),
                                    task("children", {.unique = UniqueKey{.key = "k"}})}));
  EXPECT_EQ(find(existing.id).payload, "first");
  EXPECT_THAT(list({.queue = "children"}), SizeIs(2));
  EXPECT_TRUE(exists(holder.id));
}

TEST_P(StoreConformance, as_many_follow_ups_as_the_traits_say_and_no_more) {
  const std::size_t most = store().traits().follow_ups;
  make_queue("children");
  put(task("q"));
  const Lease lease = take_one("q");
  std::vector<NewTask> children;
  for (std::size_t i = 0; i <= most; ++i) children.push_back(task("children"));
  expect_unchanged([&] {
    EXPECT_THAT(try_settle(with(done(lease), children)), FailsWith(ErrorCode::too_large));
  });
  children.pop_back();
  settle(with(done(lease), children));
  EXPECT_EQ(counts("children").ready(), most);
}

}  // namespace
}  // namespace millrace::test
