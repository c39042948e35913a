#include "broker/delivery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <millrace/value.h>

#include <string>

#include "core/transition.h"
#include "payload/delivery_payload.h"
#include "tests/support/builders.h"
#include "tests/support/driver.h"

namespace millrace {
namespace {

using namespace std::chrono_literals;
using test::must;
using test::t0;

TaskId some_task() {
  TaskId id;
  id.value.bytes[0] = 1;
  return id;
}

// The body that is sent.
template <class Event>
std::string body_of(const Event& event) {
  const std::string text = payload_of(event);
  EXPECT_TRUE(parse_json(text)) << text;
  return must(parse_delivery(text)).body;
}

class WebhookTest : public ::testing::Test {
 protected:
  WebhookEvent event{.url = "https://example.org/hook", .task = some_task(), .queue = "q"};
};

// S0-121
TEST_F(WebhookTest, tells_of_a_completed_task) {
  event.type = "t";
  event.client_id = "c";
  event.result = R"({"n":1.0})";
  EXPECT_EQ(payload_of(event),
            R"({"url":"https://example.org/hook",)"
            R"("about":{"queue":"q","type":"t","state":"completed","clientId":"c"},)"
            R"("body":{"status":"completed","taskId":"01000000-0000-0000-0000-000000000000",)"
            R"("result":{"n":1.0}}})");
}

TEST_F(WebhookTest, has_the_result_as_it_is_or_says_that_it_has_not) {
  const std::string head =
      R"({"status":"completed","taskId":"01000000-0000-0000-0000-000000000000",)";
  EXPECT_EQ(body_of(event), head + R"("result":null})");
  event.result = R"( [1.0, 1e2] )";
  EXPECT_EQ(body_of(event), head + R"("result": [1.0, 1e2] })");
  event.result = "not \"json\"";
  EXPECT_EQ(body_of(event), head + R"("result":"not \"json\""})");
  event.result = "\xff";
  EXPECT_EQ(body_of(event), head + R"("result_base64":"/w=="})");
  event.result_left_out = true;
  EXPECT_EQ(body_of(event), head + R"("resultLeftOut":true})");
}

// S0-122
TEST_F(WebhookTest, tells_of_a_failed_task) {
  event.error =
      TaskError{.code = "timeout", .message = "too \"slow\"", .details = "d", .stack = "s"};
  for (const auto state : {TaskState::failed, TaskState::dead, TaskState::retrying}) {
    event.state = state;
    EXPECT_EQ(body_of(event),
              R"({"status":"failed","taskId":"01000000-0000-0000-0000-000000000000",)"
              R"("error":{"message":"too \"slow\"","code":"timeout"}})");
    EXPECT_EQ(must(parse_delivery(payload_of(event))).state, name_of(state));
  }
  event.state = TaskState::cancelled;
  event.error->code = "cancelled";
  EXPECT_EQ(body_of(event),
            R"({"status":"cancelled","taskId":"01000000-0000-0000-0000-000000000000",)"
            R"("error":{"message":"too \"slow\"","code":"cancelled"}})");
}

TEST_F(WebhookTest, hands_every_text_about_the_task_to_the_delivery) {
  event.type = "t";
  event.client_id = "c";
  event.request_id = "r";
  EXPECT_EQ(must(parse_delivery(payload_of(event))),
            (DeliveryPayload{.url = "https://example.org/hook",
                             .queue = "q",
                             .type = "t",
                             .state = "completed",
                             .client_id = "c",
                             .request_id = "r",
                             .body = body_of(event)}));
}

// S0-155, S0-161, S3-062
TEST(AlertPayload, tells_of_a_task) {
  const AlertEvent event{.facts = {.title = "Job permanently failed: t"},
                         .message = "Task failed after maximum retries",
                         .task = some_task(),
                         .queue = "q",
                         .type = "t",
                         .error = TaskError{.code = "timeout", .message = "too slow"},
                         .retries = 3,
                         .at = t0};
  EXPECT_EQ(payload_of(event),
            R"({"body":{"level":"error","title":"Job permanently failed: t",)"
            R"("message":"Task failed after maximum retries","kind":"task_dead","resolved":false,)"
            R"("taskId":"01000000-0000-0000-0000-000000000000","type":"t","queue":"q",)"
            R"("error":{"message":"too slow","code":"timeout"},"retries":3,"heldBack":0,)"
            R"("timestamp":"2030-01-01T00:00:00.000Z"}})");
}

TEST(AlertPayload, tells_of_a_queue) {
  const AlertEvent event{.facts = {.kind = AlertKind::queue_deep,
                                   .level = LogLevel::warning,
                                   .title = "Queue over its depth: q",
                                   .held_back = 2,
                                   .since = t0 - 1h},
                         .message = "1001 tasks wait",
                         .queue = "q",
                         .at = t0};
  EXPECT_EQ(body_of(event), R"({"level":"warning","title":"Queue over its depth: q",)"
                            R"("message":"1001 tasks wait","kind":"queue_deep","resolved":false,)"
                            R"("queue":"q","heldBack":2,"since":"2029-12-31T23:00:00.000Z",)"
                            R"("timestamp":"2030-01-01T00:00:00.000Z"})");
}

}  // namespace
}  // namespace millrace
