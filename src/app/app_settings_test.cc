// What a program says of its queues and schedules, and what is stored.
#include <millrace/app.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <vector>

#include "app/open_broker.h"
#include "app/plan.h"
#include "broker/wait_for_answer.h"
#include "core/clock.h"
#include "store/store.h"
#include "tests/support/driver.h"
#include "tests/support/temporary_directory.h"

namespace millrace {
namespace {

using namespace std::chrono_literals;
using test::must;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

const TimePoint monday = std::chrono::sys_days(std::chrono::year(2026) / 1 / 5);

struct Email {
  std::string to;
};
MILLRACE_FIELDS(Email, to)

class AppSettings : public ::testing::Test {
 protected:
  AppOptions options() {
    return {.log = [this](std::string_view line) { lines.emplace_back(line); },
            .virtual_time = monday};
  }
  // One start of the program, with this handler.
  void start(Duration timeout, bool overwrite = false) {
    AppOptions with = options();
    with.overwrite_settings = overwrite;
    App app(url, with);
    app.handle<Email>("emails", {.timeout = timeout}, [](const Email&) {});
    must(app.step(monday));
    app.stop();
  }
  // ... and with this schedule.
  void start_with(const std::string& cron) {
    lines.clear();
    App app(url, options());
    app.cron(cron, "nightly", [] {});
    must(app.step(monday));
    app.stop();
  }
  // The schedule between two starts, after an operator has made this change.
  Schedule stored(ScheduleChange change = nullptr) {
    ManualClock clock(monday);
    Opened opened = must(open_broker(clock, url, {.virtual_time = true}));
    const Ask ask{.caller = {1}};
    if (change) {
      must(wait_for_answer<Schedule>([&](auto done) {
        opened.schedules().change_schedule(ask, "nightly", std::move(change), std::move(done));
      }));
    }
    auto found = must(wait_for_answer<std::vector<Schedule>>(
        [&](auto done) { opened.schedules().schedules(ask, "nightly", std::move(done)); }));
    EXPECT_TRUE(opened.close(monday).has_value());
    return found.front();
  }

  const test::TemporaryDirectory directory;
  const std::string url = "journal:" + directory.path();
  std::vector<std::string> lines;
};

TEST_F(AppSettings, stored_settings_hold_over_those_of_the_program_unless_it_says_otherwise) {
  start(30s);
  start(40s);
  EXPECT_EQ(must(Client(url).settings("emails")).timeout, 30s);
  EXPECT_THAT(lines, Contains(HasSubstr("stored settings of queue emails")));
  lines.clear();
  start(30s);
  EXPECT_THAT(lines, Not(Contains(HasSubstr("stored settings"))));
  start(40s, true);
  lines.clear();
  start(40s);
  EXPECT_THAT(lines, Not(Contains(HasSubstr("stored settings"))));
}

TEST_F(AppSettings, an_unchanged_schedule_is_not_written_again) {
  start_with("0 2 * * *");
  const Schedule first = stored();
  start_with("0 2 * * *");
  EXPECT_EQ(stored(), first);
  EXPECT_THAT(lines, Not(Contains(HasSubstr("schedule nightly"))));
}

TEST_F(AppSettings, a_pause_outlasts_restarts_and_is_told) {
  start_with("0 2 * * *");
  stored([](Schedule& to) -> Result<void> {
    to.paused = true;
    return {};
  });
  start_with("0 2 * * *");
  EXPECT_TRUE(stored().paused);
  EXPECT_THAT(lines, Contains(HasSubstr("schedule nightly is paused")));
  start_with("0 3 * * *");
  EXPECT_TRUE(stored().paused);
  EXPECT_EQ(stored().rule.cron, "0 3 * * *");
}

TEST_F(AppSettings, the_program_says_when_a_schedule_fires_and_what_it_puts) {
  start_with("0 2 * * *");
  stored([](Schedule& to) -> Result<void> {
    to.rule.cron = "0 4 * * *", to.task.priority = 9;
    return {};
  });
  start_with("0 3 * * *");
  EXPECT_EQ(stored().rule.cron, "0 3 * * *");
  EXPECT_EQ(stored().task.priority, default_priority);
  EXPECT_EQ(stored().next, monday + 3h);
  EXPECT_THAT(lines, Contains(HasSubstr("schedule nightly differed")));
}

// The change is decided on what is stored when it is made, which may be newer than what was read.
TEST(AppPlan, applies_only_to_queues_that_were_not_configured) {
  const PlannedQueue planned{.options = {.timeout = 30s}};
  QueueSettings settings{.name = "q", .number = QueueNumber{4}};
  EXPECT_EQ(apply_unless_configured(planned, false, settings), Applied::all);
  EXPECT_EQ(settings.timeout, 30s);
  EXPECT_EQ(apply_unless_configured(planned, false, settings), Applied::nothing);
  QueueSettings configured{.name = "q", .max_depth = 5};
  EXPECT_EQ(apply_unless_configured(planned, false, configured), Applied::none);
  EXPECT_EQ(configured, (QueueSettings{.name = "q", .max_depth = 5}));
  EXPECT_EQ(apply_unless_configured(planned, true, configured), Applied::all);
  EXPECT_EQ(configured.timeout, 30s);
}

}  // namespace
}  // namespace millrace
