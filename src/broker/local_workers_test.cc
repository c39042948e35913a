#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "broker/wait_for_answer.h"
#include "tests/support/broker_driver.h"

namespace millrace {
namespace {

using namespace millrace::test;
using namespace std::chrono_literals;

Result<Instructions> beat(BrokerDriver& driver, WorkerReport report, bool internal = false) {
  return wait_for_answer<Instructions>([&](auto done) {
    driver.broker->beat({.caller = driver.broker->new_caller(), .internal = internal},
                        std::move(report), std::move(done));
  });
}

std::vector<WorkerView> workers(BrokerDriver& driver) {
  return *wait_for_answer<std::vector<WorkerView>>(
      [&](auto done) { driver.broker->workers({}, std::move(done)); });
}

TEST(LocalWorkers, the_last_report_of_a_worker_is_shown) {
  BrokerDriver driver;
  ASSERT_TRUE(beat(driver, {.worker = "w", .processors = 4}));
  driver.pass(5s);
  ASSERT_TRUE(beat(driver, {.worker = "w",
                            .processors = 8,
                            .queues = {{.queue = "emails", .most = 5, .busy = 2, .handled = 7}}}));
  const auto seen = workers(driver);
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].name, "w");
  EXPECT_EQ(seen[0].first_seen, t0);
  EXPECT_EQ(seen[0].last_seen, t0 + 5s);
  ASSERT_TRUE(seen[0].report);
  EXPECT_EQ(seen[0].report->processors, 8U);
  EXPECT_EQ(seen[0].report->queues[0].handled, 7U);
}

TEST(LocalWorkers, long_errors_are_cut) {
  BrokerDriver driver;
  ASSERT_TRUE(beat(driver, {.worker = "w",
                            .processors = 1,
                            .queues = {{.queue = "a", .last_error = std::string(100'000, 'x')}}}));
  EXPECT_EQ(workers(driver)[0].report->queues[0].last_error, std::string(500, 'x'));
}

TEST(LocalWorkers, reports_that_make_no_sense_are_refused) {
  BrokerDriver driver;
  const auto refusal = [&](WorkerReport report) {
    const auto told = beat(driver, std::move(report));
    if (told) return std::string("nothing was wrong");
    return told.error().message;
  };
  EXPECT_EQ(refusal({.worker = ""}), "a beat needs the worker's name");
  EXPECT_EQ(refusal({.worker = "$local"}),
            "worker $local begins with $, which is reserved for workers inside the server");
  EXPECT_THAT(refusal({.worker = "a\nb"}), ::testing::HasSubstr("worker"));
  EXPECT_EQ(refusal({.worker = "w", .processors = 100'001}),
            "processors is 100001; allowed are 0 to 100000");
  EXPECT_EQ(refusal({.worker = "w", .queues = {{.queue = "a", .most = 100'001}}}),
            "most is 100001; allowed are 0 to 100000");
  EXPECT_EQ(refusal({.worker = "w", .queues = {{.queue = "a"}, {.queue = "a"}}}),
            "queue \"a\" is reported twice; once is enough");
  EXPECT_THAT(refusal({.worker = "w", .queues = {{.queue = "a b"}}}),
              ::testing::HasSubstr("queue name"));
  EXPECT_THAT(refusal({.worker = "w", .queues = {{.queue = "$webhooks"}}}),
              ::testing::HasSubstr("queue name"));
  EXPECT_THAT(refusal({.worker = "w", .queues = {{.queue = "a", .busy_time = -1ms}}}),
              ::testing::HasSubstr("busy time"));
  EXPECT_THAT(refusal({.worker = "w", .queues = std::vector<QueueReport>(1001)}),
              ::testing::HasSubstr("queues"));
  EXPECT_TRUE(workers(driver).empty());
  EXPECT_TRUE(beat(driver, {.worker = "$local-1", .queues = {{.queue = "$webhooks"}}}, true));
}

// S1-084, S1-055
TEST(LocalWorkers, without_a_manager_there_are_no_instructions) {
  BrokerDriver driver;
  for (int i = 0; i < 10; ++i) {
    driver.live(5s);
    const auto told =
        beat(driver, {.worker = "w", .processors = 1, .queues = {{.queue = "a", .most = 1}}});
    ASSERT_TRUE(told);
    EXPECT_FALSE(told->assignments);
  }
}

TEST(LocalWorkers, what_the_manager_decided_is_shown) {
  LocalBrokerOptions options;
  options.rules.manager = true;
  BrokerDriver driver(options);
  const auto report = [] {
    return WorkerReport{.worker = "w",
                        .processors = 2,
                        .queues = {{.queue = "a", .processors = 2, .most = 2},
                                   {.queue = "b", .processors = 1, .most = 1}}};
  };
  ASSERT_TRUE(beat(driver, report()));
  EXPECT_TRUE(workers(driver)[0].assignments.empty());
  driver.live(6s);
  ASSERT_TRUE(beat(driver, report()));
  const auto assignments = workers(driver)[0].assignments;
  ASSERT_EQ(assignments.size(), 2U);
  EXPECT_EQ(assignments[0], (Assignment{.queue = "a", .processors = 2}));
  EXPECT_EQ(assignments[1], (Assignment{.queue = "b", .processors = 1}));
  EXPECT_TRUE(driver.broker->manager_view().enabled);
  EXPECT_FALSE(BrokerDriver().broker->manager_view().enabled);
}

}  // namespace
}  // namespace millrace
