// What one call may cost in time and in memory, whatever has piled up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/limits.h"
#include "store/embedded/recount.h"
#include "store/embedded/state_machine.h"
#include "tests/support/driver.h"

namespace millrace::embedded {
namespace {

using namespace millrace::test;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class BoundedCalls : public ::testing::Test {
 protected:
  StateMachine machine_;
  StoreDriver driver_{machine_};
};

// To cancel one of them is to unlink it from a thousand others.
TEST_F(BoundedCalls, few_children_are_told_at_once_if_each_waits_for_many_others) {
  constexpr std::size_t children = 500;
  driver_.make_queue("q");
  After after;
  std::vector<NewTask> parents;
  for (std::size_t i = 0; i < limits::max_parents; ++i) {
    after.tasks.push_back(parents.emplace_back(task("q")).id);
  }
  driver_.put_all(parents);
  std::vector<NewTask> tasks;
  for (std::size_t i = 0; i < children; ++i) tasks.push_back(task("q", {.after = after}));
  driver_.put_all(tasks);
  driver_.cancel(after.tasks.front());
  EXPECT_EQ(driver_.due(1000).size(), 63U);
  while (driver_.advance().more) {
  }
  EXPECT_EQ(driver_.due(1000).size(), children);
  EXPECT_THAT(recount(machine_.state()), IsEmpty());
}

TEST_F(BoundedCalls, what_is_overdue_is_given_as_far_as_it_fits_into_memory) {
  driver_.make_queue({.name = "q", .id = fresh_uuid(), .max_task_size = limits::max_payload});
  for (int i = 0; i < 5; ++i) {
    driver_.put(task("q", {.payload = std::string(limits::max_taken_bytes / 2, 'x')}));
  }
  while (!driver_.take("q").empty()) {
  }
  driver_.pass(std::chrono::hours(1));
  EXPECT_THAT(driver_.due(100), SizeIs(2));
}

}  // namespace
}  // namespace millrace::embedded
