// What LocalBroker shows to whoever watches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "broker/local_broker.h"
#include "store/faulty.h"
#include "tests/support/broker_driver.h"
#include "tests/support/matchers.h"

namespace millrace {
namespace {

using namespace millrace::test;
using ::testing::SizeIs;

Observed observe(BrokerDriver& d) {
  return must(d.wait<Observed>([&](auto done) { d.broker->observe(d.ask(), std::move(done)); }));
}

TEST(LocalEyes, a_scrape_sees_queues_workers_and_leases) {
  BrokerDriver d;
  d.put({.queue = "q"});
  d.put({.queue = "q"});
  d.take_one("q");
  const Observed seen = observe(d);
  ASSERT_THAT(seen.queues, SizeIs(4));  // with $alerts, $bulk and $webhooks
  EXPECT_EQ(seen.queues.back().queue.settings.name, "q");
  EXPECT_EQ(seen.queues.back().figures.put, 2U);
  EXPECT_EQ(seen.queues.back().counts.ready(), 1U);
  EXPECT_EQ(seen.workers.seen, 1U);
  EXPECT_EQ(seen.workers.holding, 1U);
  EXPECT_EQ(seen.leases, 1U);
  EXPECT_EQ(seen.at, d.now());
  EXPECT_EQ(seen.traits.name, d.store->traits().name);
  EXPECT_FALSE(seen.failure);
}

TEST(LocalEyes, anybody_inside_may_call_the_store) {
  BrokerDriver d;
  const Put put = d.put({.queue = "q"});
  const auto found = d.wait<Task>([&](auto done) {
    d.broker->with_store<Task>(
        d.ask(), [&](Store& store, TimePoint) { return store.find(put.id); }, std::move(done));
  });
  EXPECT_EQ(must(found).queue, "q");
}

}  // namespace
}  // namespace millrace
