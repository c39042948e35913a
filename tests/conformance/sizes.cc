// How large a task and its result may be: what its queue says.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <string>
#include <vector>

#include "core/limits.h"
#include "store/store.h"
#include "tests/conformance/conformance.h"
#include "tests/support/matchers.h"

namespace millrace::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string bytes(std::size_t count, char what = 'x') {
  return std::string(count, what);
}

MATCHER_P2(RefusesSize, most, field, "") {
  return ::testing::ExplainMatchResult(
             FailsWith(ErrorCode::too_large,
                       HasSubstr(fmt::format("at most {} are allowed in queue", most))),
             arg, result_listener) &&
         ::testing::ExplainMatchResult(std::string(field), arg.error().field, result_listener);
}

TEST_P(StoreConformance, a_queue_takes_tasks_and_results_of_1_mib_unless_it_says_otherwise) {
  put(task("q", {.payload = bytes(limits::mib)}));
  const Lease lease = take_one("q");
  expect_unchanged([&] {
    EXPECT_THAT(try_put(task("q", {.payload = bytes(limits::mib + 1)})),
                RefusesSize(1048576, "payload"));
    EXPECT_THAT(try_settle(done(lease, bytes(limits::mib + 1))), RefusesSize(1048576, "result"));
  });
  EXPECT_EQ(settle(done(lease, bytes(limits::mib))), TaskState::completed);
}

TEST_P(StoreConformance, a_task_and_its_result_may_have_16_mib_where_the_queue_allows_it) {
  make_queue(queue("large", {.max_task_size = limits::max_payload}));
  const std::string payload = bytes(limits::max_payload, 'p');
  const std::string result = bytes(limits::max_result, 'r');
  const TaskId id = put(task("large", {.payload = payload})).id;
  const Lease lease = take_one("large");
  EXPECT_TRUE(lease.payload == payload);
  EXPECT_EQ(settle(done(lease, result)), TaskState::completed);
  must(store().flush());
  if (can_reopen()) reopen();
  const Task found = find(id);
  EXPECT_TRUE(found.payload == payload);
  EXPECT_TRUE(found.result == result);
}

TEST_P(StoreConformance, a_queue_may_allow_less_for_tasks_results_and_schedules) {
  make_queue(queue("small", {.max_task_size = 1024}));
  put(task("small", {.payload = bytes(1024)}));
  put(task("q"));
  const Lease small = take_one("small");
  const Lease lease = take_one("q");
  const NewTask large = task("small", {.payload = bytes(1025)});
  expect_unchanged([&] {
    EXPECT_THAT(try_put(large), RefusesSize(1024, "payload"));
    EXPECT_THAT(try_settle(done(small, bytes(1025))), RefusesSize(1024, "result"));
    NewTask ticked = large;
    ticked.id = {};
    EXPECT_THAT(store().put_schedule(
                    {.name = "tick", .rule = {.every = std::chrono::minutes(1)}, .task = ticked},
                    PutSchedule::create, now),
                RefusesSize(1024, "task.payload"));
  });
  EXPECT_EQ(settle(done(small, bytes(1024))), TaskState::completed);
  EXPECT_EQ(settle(with(done(lease), {large})), TaskState::completed)
      << "a task can end whatever the queues of its follow-ups allow";
  EXPECT_EQ(find(large.id).payload.size(), 1025U);
}

TEST_P(StoreConformance, the_tasks_of_a_queue_stay_when_it_allows_less) {
  make_queue(queue("shrinks", {.max_task_size = 4096}));
  const TaskId id = put(task("shrinks", {.payload = bytes(4096)})).id;
  make_queue(queue("shrinks", {.max_task_size = 1024}));
  EXPECT_THAT(try_put(task("shrinks", {.payload = bytes(1025)})), RefusesSize(1024, "payload"));
  EXPECT_EQ(put(task("shrinks", {.id = id, .payload = bytes(4096)})).existing, true);
  const Lease lease = take_one("shrinks");
  EXPECT_EQ(lease.payload.size(), 4096U);
  EXPECT_THAT(try_settle(done(lease, bytes(1025))), RefusesSize(1024, "result"));
  EXPECT_EQ(settle(failed(lease)), TaskState::failed);
  EXPECT_EQ(revive(id), TaskState::queued);
}

TEST_P(StoreConformance, moves_and_restores_bring_what_a_put_could_not) {
  make_queue(queue("small", {.max_task_size = 1024}));
  const TaskId id = put(task("q", {.payload = bytes(2000)})).id;
  update({.id = id, .queue = "small"});
  EXPECT_EQ(find(id).queue, "small");
  const Task old = old_task("small", {.payload = bytes(2000), .state = TaskState::queued});
  restore(old);
  EXPECT_EQ(find(old.id).payload.size(), 2000U);
}

TEST_P(StoreConformance, a_max_task_size_out_of_bounds_is_refused) {
  for (const std::uint32_t size : {0U, 1023U, (1U << 24U) + 1}) {
    expect_unchanged([&] {
      const auto put =
          store().put_queue(queue("other", {.max_task_size = size}), PutQueue::create, now);
      ASSERT_THAT(put, FailsWith(ErrorCode::invalid, AllOf(HasSubstr(fmt::format("is {};", size)),
                                                           HasSubstr("1024 to 16777216"))));
      EXPECT_EQ(put.error().field, "max_task_size");
    });
  }
}

}  // namespace
}  // namespace millrace::test
