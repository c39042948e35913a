#include "cli/work_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "core/uuid.h"

namespace millrace::cli {
namespace {

using namespace std::chrono_literals;

class WorkReportTest : public ::testing::Test {
 protected:
  void end(const Hook& hook, TaskState state, const Outcome& outcome) {
    hook({.task = task_, .state = state, .outcome = outcome});
  }

  ManualClock clock_{TimePoint{}};
  std::string said_;
  Lease task_{.id = {*uuid_from_text("01a1e03f-2d76-7677-b9dd-0d9d98455722")}, .queue = "emails"};
};

TEST_F(WorkReportTest, shows_what_a_command_writes_without_what_controls_a_terminal) {
  WorkReport report(clock_, [this](std::string_view lines) { said_ += lines; }, false);
  report.echo(task_, "sending to ann\x1b[2J");
  EXPECT_THAT(said_, ::testing::StartsWith("sending to ann"));
  EXPECT_THAT(said_, ::testing::Not(::testing::HasSubstr("\x1b")));
}

TEST_F(WorkReportTest, names_the_task_of_a_line_if_several_run) {
  WorkReport report(clock_, [this](std::string_view lines) { said_ += lines; }, true);
  report.echo(task_, "sending");
  EXPECT_EQ(said_, "98455722  sending\n");
}

TEST_F(WorkReportTest, an_end_without_a_beginning_is_not_told_twice) {
  WorkReport report(clock_, [this](std::string_view lines) { said_ += lines; }, false);
  worker::QueueHandlers queue{.queue = "emails", .any = [](std::span<Context* const>) {}};
  report.watch(queue);
  end(queue.on_completed, TaskState::completed, Done{});
  EXPECT_EQ(said_, "");
}

}  // namespace
}  // namespace millrace::cli
