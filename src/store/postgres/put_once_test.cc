// A committed put is not made again, whatever happens while the rest of its answer is read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <future>

#include "core/uuid.h"
#include "store/store.h"
#include "tests/support/matchers.h"
#include "tests/support/sql_session.h"

namespace millrace::test {
namespace {

using ::testing::SizeIs;
using namespace std::chrono_literals;

// Two tasks are put. The id of the second exists, and another session holds that row, so that the
// store, which has committed the first by then, waits for it.
class PutOnce : public SqlSession {
 protected:
  PutOnce() {
    put(second);
    holder_->begin({});
    run(fmt::format("select from millrace.tasks where id = '{}' for update",
                    to_text(second.id.value)));
    putting_ = std::async(std::launch::async,
                          [this] { return store().put(std::vector<NewTask>{first, second}, now); });
    wait_until_it_waits();
  }

  void run(const std::string& text) { ASSERT_TRUE(holder_->run_script(text).has_value()) << text; }

  void wait_until_it_waits() {
    const std::string query =
        "select count(*) from pg_stat_activity where wait_event_type = 'Lock' "
        "and application_name = 'millrace'";
    for (int i = 0; i < 1000 && sql(query) == "0"; ++i) {
    }
    ASSERT_EQ(sql(query), "1") << "the put does not wait";
  }

  void remove_row(const NewTask& task) {
    run(fmt::format(
        "with gone as (delete from millrace.tasks where id = '{}' returning queue, state, priority)"
        " insert into millrace.count_changes select queue, state, priority, -1 from gone",
        to_text(task.id.value)));
  }

  Result<std::vector<Result<Put>>> answer() { return putting_.get(); }

  NewTask first = task("q");
  NewTask second = task("q");

 private:
  std::unique_ptr<postgres::Connection> holder_ = connect();
  std::future<Result<std::vector<Result<Put>>>> putting_;
};

TEST_F(PutOnce, a_task_that_was_there_and_is_gone_is_put_and_the_other_stays_new) {
  remove_row(second);
  run("commit");
  const auto put = answer();
  ASSERT_THAT(put, IsOk());
  EXPECT_FALSE((*put)[0]->existing) << "it was this put that added it";
  EXPECT_FALSE((*put)[1]->existing);
  EXPECT_EQ((*put)[1]->number, find(second.id).number);
  EXPECT_EQ(miscounted(), "");
}

// The first task was taken, done and removed before the put was answered.
TEST_F(PutOnce, a_task_that_has_come_and_gone_meanwhile_does_not_come_back) {
  remove_row(first);
  remove_row(second);
  run("commit");
  const auto put = answer();
  ASSERT_THAT(put, IsOk());
  EXPECT_FALSE((*put)[0]->existing);
  EXPECT_THAT(find_task(store(), first.id), FailsWith(ErrorCode::not_found));
  EXPECT_EQ(find(second.id).state, TaskState::queued);
  EXPECT_EQ(miscounted(), "");
}

TEST_F(PutOnce, added_tasks_are_answered_although_the_rest_cannot_be_read) {
  sql("select pg_terminate_backend(pid) from pg_stat_activity where wait_event_type = 'Lock' "
      "and application_name = 'millrace'");
  const auto put = answer();
  run("commit");
  ASSERT_THAT(put, IsOk());
  ASSERT_THAT((*put)[0], IsOk());
  EXPECT_FALSE((*put)[0]->existing);
  EXPECT_THAT((*put)[1], FailsWith(ErrorCode::unavailable));
  EXPECT_EQ(find(first.id).number, (*put)[0]->number);
}

class PutTwice : public SqlSession {};

TEST_F(PutTwice, an_id_given_twice_in_one_call_is_put_once) {
  const NewTask twice = task("q");
  const auto put = store().put(std::vector<NewTask>{twice, twice}, now);
  ASSERT_THAT(put, IsOk());
  EXPECT_FALSE((*put)[0]->existing);
  EXPECT_TRUE((*put)[1]->existing);
  EXPECT_EQ((*put)[0]->number, (*put)[1]->number);
}

}  // namespace
}  // namespace millrace::test
