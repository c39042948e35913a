#include "core/bulk.h"

#include <gtest/gtest.h>

#include "core/error_group.h"
#include "core/transition.h"

namespace millrace {
namespace {

using namespace std::chrono_literals;

Task waiting(std::string queue = "q") {
  Task task;
  task.queue = std::move(queue);
  task.state = TaskState::queued;
  return task;
}

TEST(Bulk, an_action_applies_to_the_states_from_which_it_leads_anywhere) {
  for (std::size_t i = 0; i < state_count; ++i) {
    const auto state = static_cast<TaskState>(i);
    const bool running = state == TaskState::processing;
    EXPECT_EQ(applies(BulkAction::cancel, state), is_waiting(state) || running);
    EXPECT_EQ(applies(BulkAction::retry, state), is_final(state) && state != TaskState::completed);
    EXPECT_EQ(applies(BulkAction::remove, state), !running);
    EXPECT_EQ(applies(BulkAction::priority, state), is_waiting(state));
    EXPECT_EQ(applies(BulkAction::move, state), !running && state != TaskState::completed);
  }
}

TEST(Bulk, without_states_all_to_which_the_action_applies_are_meant) {
  EXPECT_EQ(states_of({.action = BulkAction::priority}).size(), 4U);
  EXPECT_EQ(states_of({.action = BulkAction::remove}).size(), 8U);
  BulkRequest request{.action = BulkAction::move};
  request.filter.states = {TaskState::dead};
  EXPECT_EQ(states_of(request), std::vector{TaskState::dead});
}

TEST(Bulk, a_retry_means_dead_letters_unless_cancelled_tasks_are_named) {
  BulkRequest request{.action = BulkAction::retry};
  EXPECT_EQ(states_of(request), (std::vector{TaskState::failed, TaskState::dead}));
  Task task = waiting();
  task.state = TaskState::cancelled;
  EXPECT_FALSE(fits(request, task));
  request.filter.states = {TaskState::cancelled};
  EXPECT_TRUE(fits(request, task));
}

TEST(Bulk, every_part_of_a_filter_must_fit) {
  Task task = waiting();
  task.type = "t";
  task.client_id = "c";
  task.group = "g";
  task.tags = {"a", "b"};
  task.priority = 7;
  task.created_at = TimePoint(10s);
  const BulkFilter all{.queue = "q",
                       .states = {TaskState::delayed, TaskState::queued},
                       .type = "t",
                       .client_id = "c",
                       .group = "g",
                       .tag = "b",
                       .priority = 7,
                       .created_from = TimePoint(10s),
                       .created_until = TimePoint(11s)};
  const auto with = [&](auto change) {
    BulkRequest request{.action = BulkAction::cancel, .filter = all};
    change(request.filter);
    return fits(request, task);
  };
  EXPECT_TRUE(with([](BulkFilter&) {}));
  EXPECT_FALSE(with([](BulkFilter& filter) { filter.queue = "r"; }));
  EXPECT_FALSE(with([](BulkFilter& filter) { filter.states = {TaskState::delayed}; }));
  EXPECT_FALSE(with([](BulkFilter& filter) { filter.type = ""; }));
  EXPECT_FALSE(with([](BulkFilter& filter) { filter.client_id = "d"; }));
  EXPECT_FALSE(with([](BulkFilter& filter) { filter.group = "h"; }));
  EXPECT_FALSE(with([](BulkFilter& filter) { filter.tag = "ab"; }));
  EXPECT_FALSE(with([](BulkFilter& filter) { filter.priority = 6; }));
  EXPECT_FALSE(with([](BulkFilter& filter) { filter.created_from = TimePoint(11s); }));
  EXPECT_FALSE(with([](BulkFilter& filter) { filter.created_until = TimePoint(10s); }));
}

TEST(Bulk, a_group_of_errors_is_those_that_died_of_the_same) {
  Task task = waiting();
  task.state = TaskState::dead, task.type = "t";
  task.error = TaskError{.code = "exit_1", .message = "user 17 is unknown"};
  BulkRequest request{.action = BulkAction::retry};
  request.filter.error_group = error_group_name(error_group_of(task));
  task.error->message = "user 18 is unknown";
  EXPECT_TRUE(fits(request, task));
  task.error->message = "user 18 is blocked";
  EXPECT_FALSE(fits(request, task));
  task.error.reset();
  EXPECT_FALSE(fits(request, task));
}

TEST(Bulk, an_error_code_and_a_text_must_fit) {
  Task task = waiting();
  task.state = TaskState::dead;
  task.error = TaskError{.code = "exit_1", .message = "user Ann is unknown"};
  task.payload = R"({"to":"ann@example.org"})";
  BulkRequest request{.action = BulkAction::retry};
  request.filter.error_code = "exit_1";
  EXPECT_TRUE(fits(request, task));
  request.filter.text = "ANN@";
  EXPECT_TRUE(fits(request, task));
  request.filter.text = "bob@";
  EXPECT_FALSE(fits(request, task));
  request.filter.text.reset();
  request.filter.error_code = "exit_2";
  EXPECT_FALSE(fits(request, task));
  task.error.reset();
  request.filter.error_code = "exit_1";
  EXPECT_FALSE(fits(request, task));
}

TEST(Bulk, tasks_that_are_as_they_should_become_are_not_meant) {
  EXPECT_TRUE(fits({.action = BulkAction::move, .to = "other"}, waiting()));
  EXPECT_FALSE(fits({.action = BulkAction::move, .to = "q"}, waiting()));
  EXPECT_TRUE(fits({.action = BulkAction::priority, .priority = 4}, waiting()));
  EXPECT_FALSE(fits({.action = BulkAction::priority, .priority = default_priority}, waiting()));
}

TEST(Bulk, internal_queues_are_meant_only_where_they_are_named) {
  BulkRequest request{.action = BulkAction::remove};
  EXPECT_TRUE(fits(request, waiting()));
  EXPECT_FALSE(fits(request, waiting("$webhooks")));
  request.filter.queue = "$webhooks";
  EXPECT_TRUE(fits(request, waiting("$webhooks")));
}

TEST(Bulk, internal_queues_may_be_retried_and_removed_from_and_bulk_itself_never) {
  for (std::size_t i = 0; i < bulk_action_count; ++i) {
    const auto action = static_cast<BulkAction>(i);
    const bool may = action == BulkAction::retry || action == BulkAction::remove;
    EXPECT_TRUE(may_touch(action, "webhooks"));
    EXPECT_EQ(may_touch(action, "$webhooks"), may);
    EXPECT_EQ(may_touch(action, "$alerts"), may);
    EXPECT_FALSE(may_touch(action, bulk_queue));
    EXPECT_FALSE(may_touch(action, "$anything"));
  }
}

}  // namespace
}  // namespace millrace
