// Several versions of the program on one database: this one refuses what a newer one has written by
// the number of its format, and never reads it as something else.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/uuid.h"
#include "tests/support/matchers.h"
#include "tests/support/sql_session.h"

namespace millrace::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class NewerFormat : public SqlSession {
 protected:
  static void make_newer(const std::string& table, const std::string& column) {
    sql(fmt::format("update millrace.{0} set {1} = set_byte({1}, 0, 2) where {1} is not null",
                    table, column));
  }

  template <class T>
  static void expect_refused(const Result<T>& result, const std::string& what) {
    ASSERT_THAT(result, FailsWith(ErrorCode::corrupt));
    EXPECT_THAT(result.error().message,
                AllOf(HasSubstr(what), HasSubstr("have format 2"), HasSubstr("up to 1"),
                      HasSubstr("upgrade this server")));
  }
};

TEST_F(NewerFormat, of_fields_is_refused_and_the_task_left_to_newer_servers) {
  const Put newer = put(task("q", {.timeout = std::chrono::seconds(9)}));
  const Put plain = put(task("q"));
  make_newer("tasks", "more");
  expect_refused(find_task(store(), newer.id), "fields of task " + to_text(newer.id.value));
  const auto both = store().find(std::vector<TaskRef>{newer.id, plain.id}, head_only);
  ASSERT_THAT(both, IsOk());
  expect_refused(both->at(0), "fields of task");
  EXPECT_THAT(both->at(1), IsOk());
  expect_refused(store().cancel(std::vector<CancelRequest>{{.id = newer.id}}, now),
                 "fields of task");
  const auto leases = take("q", 10);
  ASSERT_THAT(leases, SizeIs(1));
  EXPECT_EQ(leases[0].id, plain.id);
  make_queue(queue("q", {.ageing = std::chrono::seconds(1)}));
  EXPECT_THAT(take("q", 10), IsEmpty());
  sql("update millrace.tasks set more = set_byte(more, 0, 1) where more is not null");
  const auto again = take("q", 10);
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_EQ(again[0].timeout, std::chrono::seconds(9));
}

TEST_F(NewerFormat, of_notes_is_refused) {
  put(task("q"));
  const Lease lease = take_one("q");
  ASSERT_THAT(try_extend({.id = lease.id, .token = lease.token, .log = {"half way"}}), IsOk());
  make_newer("tasks", "notes");
  expect_refused(find_task(store(), lease.id), "notes of task " + to_text(lease.id.value));
  expect_refused(store().due(now + std::chrono::hours(1), 10), "notes of task");
  // done.sql does not read the notes, and leaves them as they are.
  settle(done(lease));
  expect_refused(find_task(store(), lease.id), "notes of task " + to_text(lease.id.value));
}

TEST_F(NewerFormat, of_policies_is_refused_with_the_name_of_the_queue) {
  make_newer("queues", "policies");
  expect_refused(store().queues(std::nullopt), "policies of queue \"q\"");
}

TEST_F(NewerFormat, of_schedules_is_refused_with_their_name) {
  Schedule schedule{.name = "nightly", .rule = {}, .task = task("q")};
  schedule.task.id = {};
  schedule.rule.every = std::chrono::hours(24);
  ASSERT_THAT(store().put_schedule(schedule, PutSchedule::replace, now), IsOk());
  make_newer("schedules", "schedule");
  expect_refused(store().schedules(std::nullopt), "fields of schedule \"nightly\"");
  const auto put = store().put_schedule(schedule, PutSchedule::replace, now);
  expect_refused(put, "fields of schedule \"nightly\"");
}

TEST_F(NewerFormat, is_another_thing_than_damage) {
  const Put one = put(task("q", {.metadata = "{\"a\":1}"}));
  sql("update millrace.tasks set more = substr(more, 1, 4)");
  const auto found = find_task(store(), one.id);
  ASSERT_THAT(found, FailsWith(ErrorCode::corrupt));
  EXPECT_THAT(found.error().message, HasSubstr("are damaged"));
}

}  // namespace
}  // namespace millrace::test
