// What a store says about itself is true.
#include <gmock/gmock.h>

#include "core/limits.h"
#include "store/store.h"
#include "tests/conformance/conformance.h"

namespace millrace::test {
namespace {

using ::testing::Contains;
using ::testing::Ge;
using ::testing::IsEmpty;
using ::testing::Not;

TEST_P(StoreConformance, a_store_has_a_name_and_sensible_traits) {
  const Traits traits = store().traits();
  EXPECT_THAT(traits.name, Not(IsEmpty()));
  EXPECT_THAT(traits.batch, Ge(1U));
  EXPECT_LE(traits.batch, limits::max_batch);
  EXPECT_THAT(traits.task_size, Ge(1U));
  EXPECT_LE(traits.task_size, limits::max_payload);
  EXPECT_LE(traits.follow_ups, limits::max_follow_ups);
  EXPECT_THAT(traits.time_precision, Ge(1ms));
  EXPECT_THAT(traits.retention_step, Ge(0ms));
  EXPECT_TRUE(traits.order_step == 0ms || traits.several_processes);
  EXPECT_TRUE(traits.durability != Durability::interval || traits.loss_window > 0ms);
  EXPECT_TRUE(traits.durability != Durability::synced || traits.loss_window == 0ms);
}

TEST_P(StoreConformance, traits_do_not_change) {
  const Traits before = store().traits();
  put(task("q"));
  EXPECT_EQ(store().traits(), before);
}

TEST_P(StoreConformance, a_store_that_several_processes_share_has_a_clock_and_no_other_has) {
  EXPECT_EQ(must(store().time()).has_value(), store().traits().several_processes);
}

TEST_P(StoreConformance, a_payload_as_large_as_the_traits_say_is_stored_and_no_larger_one) {
  const std::size_t most = store().traits().task_size;
  make_queue(queue("q", {.max_task_size = static_cast<std::uint32_t>(most)}));
  EXPECT_THAT(try_put(task("q", {.payload = std::string(most, 'x')})), IsOk());
  EXPECT_THAT(try_put(task("q", {.payload = std::string(most + 1, 'x')})),
              FailsWith(ErrorCode::too_large));
  EXPECT_EQ(take_one("q").payload.size(), most);
}

TEST_P(StoreConformance, moments_are_kept_as_precisely_as_the_traits_say) {
  const Duration step = store().traits().time_precision;
  const TaskId id = put(task("q", {.start = now + 7 * step})).id;
  EXPECT_EQ(find(id).start, now + 7 * step);
  pass(6 * step);
  EXPECT_THAT(take("q"), IsEmpty());
  pass(step);
  EXPECT_EQ(take_one("q").id, id);
}

// ---- Wake-ups ----------------------------------------------------------------------------------

TEST_P(StoreConformance, ready_names_queues_that_have_work) {
  make_queue("busy");
  put(task("busy"));
  EXPECT_THAT(must(store().ready(now)), Contains("busy"));
}

TEST_P(StoreConformance, ready_names_queues_whose_tasks_fell_due_though_they_were_not_promoted) {
  make_queue("busy");
  put(task("busy", {.start = now + 10s}));
  pass(10s);
  EXPECT_THAT(must(store().ready(now)), Contains("busy"));
}

TEST_P(StoreConformance, ready_names_nothing_where_there_is_no_work) {
  EXPECT_THAT(must(store().ready(now)), IsEmpty());
}

TEST_P(StoreConformance, a_store_that_cannot_push_never_tells) {
  if (store().traits().push_wakeups) GTEST_SKIP() << "this store tells";
  int told = 0;
  store().on_hint([&](const Hint&) { ++told; });
  put(task("q"));
  make_queue("new");
  must(store().flush());
  store().on_hint(nullptr);
  EXPECT_EQ(told, 0);
}

// Only a store that other processes use can tell what they do.
TEST_P(StoreConformance, only_a_store_that_is_shared_tells_of_others) {
  const Traits traits = store().traits();
  EXPECT_TRUE(!traits.push_wakeups || traits.several_processes);
}

// ---- Durability --------------------------------------------------------------------------------

TEST_P(StoreConformance, a_store_that_keeps_anything_can_be_reopened_and_no_other_can) {
  EXPECT_EQ(store().traits().durability != Durability::none, can_reopen());
}

// S0-016
TEST_P(StoreConformance, what_was_flushed_is_there_after_reopening) {
  if (!can_reopen()) GTEST_SKIP() << "everything is lost with the process, and the traits say so";
  make_queue(queue("full", {.number = QueueNumber{7}, .put_rate = Rate{5, 1h}}));
  one_in_each_state("q");
  if (!store().traits().leases_survive) {
    pass(2min);
    settle(lost(due_one(), now));
  }
  put(task("full", {.unique = UniqueKey{.key = "k", .scope = UniqueScope::window, .window = 1h}}));
  must(store().remember({.key = "k", .value = "v"}, now));
  must(store().put_schedule(
      {.name = "s", .rule = {.every = 1s}, .task = NewTask{.queue = "q"}, .next = t0},
      PutSchedule::replace, now));
  must(store().flush());
  expect_unchanged([&] { reopen(); });
}

TEST_P(StoreConformance, leases_survive_reopening_and_their_holder_can_settle) {
  NEEDS_TRAIT(leases_survive);
  put(task("q"));
  put(task("q"));
  const Lease lease = take_one("q");
  must(store().flush());
  reopen();
  EXPECT_NE(take_one("q").id, lease.id);
  EXPECT_EQ(settle(done(lease)), TaskState::completed);
}

TEST_P(StoreConformance, what_was_running_is_queued_again_where_leases_do_not_survive) {
  if (!can_reopen()) GTEST_SKIP() << "everything is lost with the process, and the traits say so";
  if (store().traits().leases_survive) GTEST_SKIP() << "leases survive";
  put(task("q"));
  put(task("q"));
  const Lease lease = take_one("q");
  must(store().flush());
  reopen();
  EXPECT_EQ(take_one("q").id, lease.id);
  EXPECT_THAT(try_settle(done(lease)), FailsWith(ErrorCode::lease_lost));
}

}  // namespace
}  // namespace millrace::test
