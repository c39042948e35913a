// Calls that collide with other sessions, and begin again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "core/uuid.h"
#include "store/store.h"
#include "tests/support/matchers.h"
#include "tests/support/sql_session.h"

namespace millrace::test {
namespace {

class Again : public SqlSession {
 protected:
  // The tables outlive the test.
  ~Again() override {
    sql("drop trigger if exists interfere on millrace.tasks;"
        "drop function if exists millrace.interfere; drop sequence if exists millrace.tries");
  }

  // From now on `does` is done before a task is added. `tries` counts, and is not rolled back.
  static void before_insert(const std::string& does) {
    sql("create sequence millrace.tries;"
        "create function millrace.interfere() returns trigger language plpgsql as $$ begin " +
        does +
        " return new; end $$;"
        "create trigger interfere before insert on millrace.tasks for each row "
        "execute function millrace.interfere()");
  }
};

// The queues that the first attempt knew are gone by the second. Only valgrind or the address
// sanitizer tell whether one of them is used all the same.
TEST_F(Again, a_restored_task_finds_its_queue_once_more) {
  for (int i = 0; i < 20; ++i) make_queue(fmt::format("queue{}", i));
  before_insert(
      "if nextval('millrace.tries') = 1 then"
      " raise exception 'a collision' using errcode = 'serialization_failure'; end if;");
  const Task task = old_task("queue7", {.state = TaskState::queued});
  EXPECT_FALSE(restore(task).existing);
  EXPECT_EQ(sql("select last_value from millrace.tries"), "2") << "it did not begin again";
  EXPECT_EQ(find(task.id).queue, "queue7");
}

// An id that other processes keep putting and removing: it is never added and never there.
TEST_F(Again, a_task_that_the_last_attempt_adds_is_answered_as_added) {
  const NewTask never = task("q");
  const NewTask at_last = task("q");
  before_insert(
      fmt::format("if new.id = '{}' or (new.id = '{}' and nextval('millrace.tries') <= 10) then"
                  " return null; end if;",
                  to_text(never.id.value), to_text(at_last.id.value)));
  const auto put = store().put(std::vector<NewTask>{never, at_last}, now);
  ASSERT_THAT(put, IsOk());
  EXPECT_THAT(put->at(0), FailsWith(ErrorCode::unavailable));
  ASSERT_EQ(find(at_last.id).state, TaskState::queued) << "the last attempt adds it";
  ASSERT_THAT(put->at(1), IsOk());
  EXPECT_FALSE(put->at(1)->existing);
  EXPECT_EQ(put->at(1)->number, find(at_last.id).number);
}

}  // namespace
}  // namespace millrace::test
