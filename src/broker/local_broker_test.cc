#include "broker/local_broker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/broker_driver.h"
#include "tests/support/matchers.h"

namespace millrace {
namespace {

using namespace millrace::test;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

NewTask plain(const std::string& queue, NewTask fields = {}) {
  fields.queue = queue;
  return fields;
}

TEST(LocalBroker, a_task_goes_from_put_to_done) {
  BrokerDriver d;
  const Put put = d.put(plain("emails", {.payload = "hello"}));
  EXPECT_FALSE(put.id.value.is_nil());
  EXPECT_EQ(put.state, TaskState::queued);
  const Lease lease = d.take_one("emails");
  EXPECT_EQ(lease.id, put.id);
  EXPECT_EQ(lease.payload, "hello");
  EXPECT_EQ(d.settle(lease, Done{"result"}).state, TaskState::completed);
  EXPECT_EQ(d.find(put.id).result, "result");
  const QueueView view = d.queue("emails");
  EXPECT_EQ(view.figures.put, 1U);
  EXPECT_EQ(view.figures.taken, 1U);
  EXPECT_EQ(view.figures.completed, 1U);
  EXPECT_EQ(view.counts.of(TaskState::completed), 1U);
}

TEST(LocalBroker, a_take_of_an_unknown_queue_creates_it) {
  BrokerDriver d;
  EXPECT_THAT(d.take("emails"), IsEmpty());
  EXPECT_FALSE(d.queue("emails").queue.settings.id.is_nil());
}

}  // namespace
}  // namespace millrace
