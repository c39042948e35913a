#include "broker/manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/broker_driver.h"

namespace millrace {
namespace {

using namespace millrace::test;
using namespace std::chrono_literals;
using ::testing::HasSubstr;

LocalBrokerOptions with_manager() {
  LocalBrokerOptions options;
  options.rules.manager = true;
  return options;
}

// A worker that does what it is told, but no work.
struct Obedient {
  WorkerReport report;

  Obedient(std::string name, std::uint32_t processors, const std::vector<std::string>& queues) {
    report = {.worker = std::move(name), .processors = processors};
    for (const auto& queue : queues) {
      report.queues.push_back({.queue = queue, .processors = processors, .most = processors});
    }
  }

  Instructions beat(BrokerDriver& driver) {
    auto told = driver.wait<Instructions>(
        [&](auto done) { driver.broker->beat(driver.ask(), report, std::move(done)); });
    if (!told) give_up(told.error().message, Where::current());
    if (told->assignments) {
      for (const Assignment& each : *told->assignments) of(each.queue).processors = each.processors;
    }
    return *told;
  }
  QueueReport& of(std::string_view queue) {
    return *std::ranges::find(report.queues, queue, &QueueReport::queue);
  }
  void did(std::string_view queue, std::uint64_t tasks, Duration time) {
    of(queue).handled += tasks;
    of(queue).busy_time += time;
  }
};

void put_many(BrokerDriver& driver, const std::string& queue, std::size_t count) {
  for (std::size_t done = 0; done < count; done += 1000) {
    ASSERT_TRUE(driver.try_put(std::vector<NewTask>(std::min<std::size_t>(1000, count - done),
                                                    NewTask{.queue = queue, .payload = "1"})));
  }
}

// S1-054, S1-082, S1-083
TEST(Manager, tells_workers_where_their_processors_should_go) {
  BrokerDriver driver(with_manager());
  put_many(driver, "many", 9'000);
  put_many(driver, "few", 300);
  Obedient worker("w", 8, {"many", "few"});
  worker.did("many", 10, 10s);
  worker.did("few", 10, 10s);
  EXPECT_FALSE(worker.beat(driver).assignments);  // not known yet
  driver.live(5s);
  EXPECT_TRUE(worker.beat(driver).assignments);
  for (int i = 0; i < 4; ++i) {
    driver.live(5s);
    worker.beat(driver);
  }
  EXPECT_EQ(worker.of("many").processors, 8U);
  EXPECT_LE(worker.of("few").processors, 3U);
  EXPECT_GE(worker.of("few").processors, 1U);
  // All is as it should be: nothing to say (S1-055).
  driver.live(5s);
  EXPECT_FALSE(worker.beat(driver).assignments);
  EXPECT_THAT(driver.logged.lines(),
              ::testing::Contains(HasSubstr("more to do than 8 processors can")));
}

TEST(Manager, speaks_of_reported_queues_only) {
  BrokerDriver driver(with_manager());
  put_many(driver, "many", 9'000);
  put_many(driver, "few", 300);
  Obedient worker("w", 8, {"many", "few"});
  worker.did("many", 10, 10s);
  worker.did("few", 10, 10s);
  worker.beat(driver);
  driver.live(5s);
  Obedient namesake("w", 8, {"few", "new"});
  const auto told = namesake.beat(driver);
  ASSERT_TRUE(told.assignments);
  EXPECT_THAT(*told.assignments, ::testing::ElementsAre(Assignment{"few", 4}));
}

TEST(Manager, says_nothing_while_there_is_enough) {
  BrokerDriver driver(with_manager());
  put_many(driver, "a", 3);
  Obedient worker("w", 8, {"a", "not-made-yet"});
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(worker.beat(driver).assignments);
    driver.live(5s);
  }
}

TEST(Manager, workers_that_fall_silent_are_not_counted_on) {
  BrokerDriver driver(with_manager());
  put_many(driver, "a", 5'000);
  put_many(driver, "b", 5'000);
  Obedient one("one", 8, {"a", "b"});
  Obedient other("other", 8, {"a", "b"});
  for (auto* worker : {&one, &other}) {
    worker->did("a", 10, 10s);
    worker->did("b", 10, 10s);
  }
  for (int i = 0; i < 6; ++i) {
    one.beat(driver);
    other.beat(driver);
    driver.live(5s);
  }
  // Each prefers its own queue, so neither can do without the other.
  EXPECT_NE(one.of("a").processors > one.of("b").processors,
            other.of("a").processors > other.of("b").processors);
  for (int i = 0; i < 12; ++i) {
    one.beat(driver);
    driver.live(5s);
  }
  EXPECT_GE(one.of("a").processors, 1U);
  EXPECT_GE(one.of("b").processors, 1U);
}

TEST(Manager, workers_that_stop_are_not_counted_on) {
  BrokerDriver driver(with_manager());
  put_many(driver, "a", 9'000);
  Obedient one("one", 8, {"a"});
  Obedient other("other", 90, {"a"});
  one.did("a", 10, 10s);
  other.report.stopping = true;
  one.beat(driver);
  EXPECT_FALSE(other.beat(driver).assignments);
  driver.live(5s);
  EXPECT_THAT(driver.logged.lines(),
              ::testing::Contains(HasSubstr("more to do than 8 processors can")));
}

TEST(Manager, paused_queues_need_no_processors) {
  BrokerDriver driver(with_manager());
  driver.put_queue({.name = "paused", .paused_until = never});
  put_many(driver, "paused", 5'000);
  put_many(driver, "a", 10);
  Obedient worker("w", 4, {"paused", "a"});
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(worker.beat(driver).assignments);
    driver.live(5s);
  }
}

TEST(Manager, how_many_processors_are_desired) {
  BrokerDriver plain;
  put_many(plain, "a", 1'000);
  plain.live(10s);
  EXPECT_EQ(plain.broker->desired_processors(), 0U);

  // Even without workers, so that a tool can start the first: 0.1 s per task, until more is known.
  BrokerDriver driver(with_manager());
  put_many(driver, "a", 1'000);
  driver.live(5s);
  EXPECT_EQ(driver.broker->desired_processors(), 10U);
  Obedient worker("w", 4, {"a"});
  worker.did("a", 100, 100s);
  worker.beat(driver);
  driver.live(5s);
  EXPECT_EQ(driver.broker->desired_processors(), 100U);
  // Its rate allows no more than twenty of these at once.
  driver.put_queue({.name = "a", .process_rate = Rate{.max = 20, .per = 1s}});
  driver.live(5s);
  EXPECT_EQ(driver.broker->desired_processors(), 20U);
  driver.put_queue({.name = "a", .max_concurrent = 7});
  driver.live(5s);
  EXPECT_EQ(driver.broker->desired_processors(), 7U);
}

TEST(Manager, a_worker_that_was_restarted_is_understood) {
  BrokerDriver driver(with_manager());
  put_many(driver, "a", 1'000);
  Obedient worker("w", 4, {"a"});
  worker.did("a", 1'000'000, 1'000'000s);
  worker.beat(driver);
  driver.live(5s);
  Obedient again("w", 4, {"a"});
  again.did("a", 10, 10s);
  again.beat(driver);
  driver.live(5s);
  EXPECT_EQ(driver.broker->desired_processors(), 100U);
}

}  // namespace
}  // namespace millrace
