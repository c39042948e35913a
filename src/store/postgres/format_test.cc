// Several versions of the program on one database: this one refuses what a newer one has written by
// the number of its format, and never reads it as something else.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/uuid.h"
#include "store/store.h"
#include "tests/support/matchers.h"
#include "tests/support/sql_session.h"

namespace millrace::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class NewerFormat : public SqlSession {
 protected:
  static void make_newer(const std::string& table, const std::string& column) {
    sql(fmt::format("update millrace.{0} set {1} = set_byte({1}, 0, 3) where {1} is not null",
                    table, column));
  }

  template <class T>
  static void expect_refused(const Result<T>& result, const std::string& what) {
    ASSERT_THAT(result, FailsWith(ErrorCode::corrupt));
    EXPECT_THAT(result.error().message,
                AllOf(HasSubstr(what), HasSubstr("have format 3"), HasSubstr("up to 2"),
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
  expect_refused(find_task(store(), newer.number), "fields of task");
  expect_refused(try_cancel({.id = newer.id}), "fields of task");
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

// A task that this program cannot read is the business of newer servers, and must not keep this one
// from its own.
class TasksBesideNewerOnes : public NewerFormat {
 protected:
  TasksBesideNewerOnes() { make_queue("others"); }

  // A task that was leased and reported on, and has notes that only a newer program can read.
  Lease newer_lease() {
    put(task("q"));
    const Lease lease = take_one("q");
    must(try_extend({.id = lease.id, .token = lease.token, .log = {"half way"}}));
    make_newer("tasks", "notes");
    return lease;
  }
};

TEST_F(TasksBesideNewerOnes, are_settled_extended_and_taken_with_them_in_one_call) {
  const Lease newer = newer_lease();
  put_all({task("others"), task("others"), task("others")});
  const auto leases = take("others", 2);
  const std::vector<Settlement> settlements = {failed(newer), failed(leases[0])};
  const std::vector<Extension> extensions = {
      {.id = newer.id, .token = newer.token, .log = {"more"}},
      {.id = leases[1].id, .token = leases[1].token, .log = {"more"}}};
  const std::vector<TakeRequest> takes = {{.worker = "w", .queues = {{"others", 1}}}};
  const auto answer = store().work(settlements, extensions, takes, now);
  ASSERT_THAT(answer, IsOk());
  expect_refused(answer->settled[0], "notes of task " + to_text(newer.id.value));
  EXPECT_THAT(answer->settled[1], IsOk());
  expect_refused(answer->extended[0], "notes of task");
  EXPECT_THAT(answer->extended[1], IsOk());
  ASSERT_THAT(answer->taken[0], IsOk());
  EXPECT_THAT(*answer->taken[0], SizeIs(1));
  sql("update millrace.tasks set notes = set_byte(notes, 0, 1) where notes is not null");
  EXPECT_THAT(find(newer.id).log, SizeIs(1)) << "the notes were written over";
  EXPECT_EQ(miscounted(), "");
}

TEST_F(TasksBesideNewerOnes, are_cancelled_retried_and_changed_with_them_in_one_call) {
  const Lease newer = newer_lease();
  const Put plain = put(task("q"));
  const auto cancelled =
      store().cancel(std::vector<CancelRequest>{{.id = newer.id}, {.id = plain.id}}, now);
  ASSERT_THAT(cancelled, IsOk());
  expect_refused(cancelled->at(0), "notes of task");
  EXPECT_EQ(must(cancelled->at(1)), TaskState::cancelled);
  const auto retried = store().retry(std::vector<TaskId>{newer.id, plain.id}, now);
  ASSERT_THAT(retried, IsOk());
  expect_refused(retried->at(0), "notes of task");
  EXPECT_EQ(must(retried->at(1)), TaskState::queued);
  const auto changed =
      store().update(std::vector<TaskUpdate>{{.id = newer.id, .delivery_attempt = "200"},
                                             {.id = plain.id, .priority = 9}},
                     now);
  ASSERT_THAT(changed, IsOk());
  expect_refused(changed->at(0), "notes of task");
  EXPECT_THAT(changed->at(1), IsOk());
}

TEST_F(TasksBesideNewerOnes, are_overdue_and_listed_without_them) {
  newer_lease();
  const Put newer_wait = put(task("q", {.start_by = now, .timeout = std::chrono::seconds(9)}));
  const auto half = std::chrono::seconds(30);
  const Put wait = put(task("others", {.delay = half, .start_by = now + half}));
  make_newer("tasks", "more");
  put(task("others"));
  const Lease lease = take_one("others");
  pass(std::chrono::hours(1));
  EXPECT_THAT(ids_of(due(1)), ElementsAre(wait.id)) << "they take the place of others";
  EXPECT_THAT(ids_of(due()), UnorderedElementsAre(wait.id, lease.id));
  const auto page = store().list({});
  ASSERT_THAT(page, IsOk());
  EXPECT_THAT(ids_of(page->tasks), UnorderedElementsAre(wait.id, lease.id));
  EXPECT_EQ(page->looked_at, 4U);
  EXPECT_THAT(find_task(store(), newer_wait.id), FailsWith(ErrorCode::corrupt));
}

TEST_F(TasksBesideNewerOnes, are_not_looked_for_where_there_are_none) {
  put(task("q", {.timeout = std::chrono::seconds(9)}));
  const Put returned = put(task("others"));
  settle(snoozed(take_one("others"), now));
  make_newer("tasks", "more");
  make_newer("tasks", "notes");
  EXPECT_THAT(must(store().ready(now)), IsEmpty());
  EXPECT_EQ(counts("q").oldest, std::nullopt);
  EXPECT_EQ(counts("others").oldest, std::nullopt);
  EXPECT_THAT(take("others"), IsEmpty()) << "a task with newer notes cannot be settled here";
  make_queue(queue("others", {.ageing = std::chrono::seconds(1)}));
  EXPECT_THAT(take("others"), IsEmpty());
  sql("update millrace.tasks set notes = set_byte(notes, 0, 1) where notes is not null");
  EXPECT_EQ(take_one("others").id, returned.id);
}

TEST_F(TasksBesideNewerOnes, hold_their_ids_and_keys_against_puts) {
  const NewTask given =
      task("q", {.timeout = std::chrono::seconds(9), .unique = UniqueKey{.key = "k"}});
  const Put newer = put(given);
  make_newer("tasks", "more");
  EXPECT_EQ(put(task("q", {.unique = UniqueKey{.key = "k"}})).id, newer.id);
  NewTask again = task("q");
  again.id = newer.id;
  EXPECT_TRUE(put(again).existing);
}

TEST_F(TasksBesideNewerOnes, are_removed_and_so_are_they) {
  const Lease newer = newer_lease();
  const Put wait =
      put(task("q", {.timeout = std::chrono::seconds(9), .unique = UniqueKey{.key = "k"}}));
  const Put cleared = put(task("q", {.timeout = std::chrono::seconds(9)}));
  make_newer("tasks", "more");
  EXPECT_EQ(remove(wait.id), TaskState::queued);
  EXPECT_FALSE(put(task("q", {.unique = UniqueKey{.key = "k"}})).existing);
  EXPECT_THAT(store().clear("q", 10, now), IsOk());
  EXPECT_THAT(find_task(store(), cleared.id), FailsWith(ErrorCode::not_found));
  EXPECT_THAT(try_remove(newer.id), FailsWith(ErrorCode::conflict)) << "it runs";
  pass(std::chrono::hours(1));
  EXPECT_EQ(remove(newer.id), TaskState::processing) << "there is no other end for it";
  EXPECT_EQ(miscounted(), "");
}

TEST_F(TasksBesideNewerOnes, have_their_upkeep_while_a_queue_is_emptied) {
  newer_lease();
  put(task("q", {.timeout = std::chrono::seconds(9)}));
  make_newer("tasks", "more");
  const Put later = put(task("others", {.delay = std::chrono::seconds(1)}));
  must(store().remove_queue("q", true, now));
  pass(std::chrono::seconds(2));
  EXPECT_EQ(advance().removed, 2U);
  EXPECT_EQ(state_of(later.id), TaskState::queued);
  EXPECT_THAT(store().queues(QueueRef("q")), FailsWith(ErrorCode::not_found));
}

class DamagedFields : public NewerFormat {
 protected:
  static void damage() {
    sql("update millrace.tasks set more = substr(more, 1, 4) where more is not null");
  }
};

// Without its rules it would run without a timeout, and be retried as it should not be.
TEST_F(DamagedFields, keep_a_task_from_being_handed_out) {
  const Put bad = put(task("q", {.timeout = std::chrono::seconds(9)}));
  damage();
  const auto alone = try_take({.worker = "w", .queues = {{"q", 10}}});
  ASSERT_THAT(alone, FailsWith(ErrorCode::corrupt));
  EXPECT_THAT(alone.error().message, HasSubstr(to_text(bad.id.value)));
  EXPECT_THAT(take("q"), IsEmpty()) << "it is leased";
  pass(std::chrono::hours(1));
  EXPECT_THAT(due(), IsEmpty());
  EXPECT_EQ(remove(bad.id), TaskState::processing);
  EXPECT_EQ(miscounted(), "");
}

TEST_F(DamagedFields, do_not_keep_a_worker_from_the_tasks_taken_with_it) {
  put(task("q", {.timeout = std::chrono::seconds(9)}));
  damage();
  const Put good = put(task("q"));
  EXPECT_THAT(ids_of(take("q")), ElementsAre(good.id));
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
