#include "worker/endpoint.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "store/store.h"
#include "tests/support/broker_driver.h"
#include "tests/support/http_peer.h"
#include "tests/support/matchers.h"
#include "worker/handlers.h"
#include "worker/worker.h"

namespace millrace::worker {
namespace {

using namespace millrace::test;
using outgoing::HttpClient;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class EndpointTest : public ::testing::Test {
 protected:
  Task run(NewTask task = {}) {
    task.queue = "q";
    const Put put = d.put(std::move(task));
    if (options.url.empty()) options.url = peer.url("/work");
    std::vector<QueueHandlers> queues(1);
    queues[0] = {.queue = "q", .any = call_endpoint(client, options)};
    Worker worker(d.clock, *d.broker, {.name = "w"}, std::move(queues));
    must(worker.step());
    return d.find(put.id);
  }

  std::atomic<int> status = 200;
  std::string body = R"({"ok":1.0})";
  std::string headers = {};
  HttpPeer peer{[this](const PeerRequest&, PeerConnection& connection) {
    if (status == 0) return connection.wait_until_gone();
    connection.answer(body, fmt::format("{} Answer", status.load()), headers);
  }};
  EndpointOptions options = {};
  HttpClient client;
  BrokerDriver d;
};

TEST_F(EndpointTest, a_task_is_posted_and_the_answer_is_its_result) {
  options.headers = {{"Authorization", "Bearer t"}};
  const Task task = run({.type = "t",
                         .payload = R"({"n":1.0})",
                         .timeout = 20s,
                         .client_id = "\u00e4",
                         .request_id = "r"});
  EXPECT_EQ(task.state, TaskState::completed);
  EXPECT_EQ(task.result, R"({"ok":1.0})");
  ASSERT_THAT(peer.requests(), SizeIs(1));
  PeerRequest request = peer.requests().front();
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.body, R"({"n":1.0})");
  EXPECT_EQ(request.headers["content-type"], "application/json");
  EXPECT_EQ(request.headers["x-task-id"], to_text(task.id.value));
  EXPECT_EQ(request.headers["x-task-type"], "t");
  EXPECT_EQ(request.headers["x-task-queue"], "q");
  EXPECT_EQ(request.headers["x-task-attempt"], "1");
  EXPECT_EQ(request.headers["x-request-id"], "r");
  EXPECT_EQ(request.headers["millrace-deadline"], "2030-01-01T00:00:20.000Z");
  EXPECT_EQ(request.headers["authorization"], "Bearer t");
  EXPECT_EQ(request.headers["x-client-id"], "UTF-8''%C3%A4");
  EXPECT_THAT(request.head, Not(HasSubstr("webhook-")));
}

TEST_F(EndpointTest, bytes_keep_their_content_type_and_may_be_signed) {
  options.secrets = {{std::string(32, 's')}};
  const std::string payload("\x82\x00\xff", 3);
  const Task task = run({.payload = payload, .content_type = "application/msgpack"});
  PeerRequest request = peer.requests().front();
  EXPECT_EQ(request.body, payload);
  EXPECT_EQ(request.headers["content-type"], "application/msgpack");
  EXPECT_EQ(request.headers["webhook-id"], to_text(task.id.value));
  EXPECT_EQ(request.headers["webhook-signature"],
            outgoing::sign(options.secrets, to_text(task.id.value), d.now(), payload));
}

TEST_F(EndpointTest, the_next_attempt_says_that_it_is_one) {
  status = 503;
  const Task task = run();
  EXPECT_EQ(task.state, TaskState::retrying);
  EXPECT_EQ(task.error->code, "http_503");
  d.live(5min, 10s);
  status = 200;
  run();
  EXPECT_EQ(peer.requests()[1].headers["x-task-attempt"], "2");
  EXPECT_EQ(d.find(task.id).state, TaskState::completed);
}

TEST_F(EndpointTest, retry_after_is_heeded) {
  status = 429;
  headers = "Retry-After: 90\r\n";
  EXPECT_EQ(run().start, d.now() + 90s);
}

TEST_F(EndpointTest, other_refusals_are_final_and_show_why) {
  status = 404;
  body = "no such user";
  const Task task = run();
  EXPECT_EQ(task.state, TaskState::failed);
  EXPECT_EQ(task.error->code, "http_404");
  EXPECT_EQ(task.error->message, "the endpoint answered 404: no such user");
}

// S0-155
TEST(Endpoint, a_key_that_is_not_taken_is_an_authentication_error) {
  const Outcome outcome = outcome_of(outgoing::HttpReply{.status = 401}, t0);
  EXPECT_EQ(std::get<Failed>(outcome).error.code, "authentication_error");
  EXPECT_EQ(std::get<Failed>(outcome).retryable, false);
}

TEST_F(EndpointTest, an_endpoint_that_is_away_is_a_connection_error_and_tried_again) {
  options.url = "http://127.0.0.1:1/";
  const Task task = run();
  EXPECT_EQ(task.state, TaskState::retrying);
  EXPECT_EQ(task.error->code, "connection_error");
}

TEST_F(EndpointTest, an_address_that_is_none_is_final) {
  options.url = "nonsense://";
  EXPECT_EQ(run().state, TaskState::failed);
}

TEST_F(EndpointTest, an_answer_that_is_no_result_any_more_is_final) {
  body = std::string(limits::max_result + 1, 'x');
  const Task task = run();
  EXPECT_EQ(task.state, TaskState::failed);
  EXPECT_EQ(task.error->code, "answer_too_large");
  body.resize(limits::usual_task_size + 1);
  const Task refused = run();
  EXPECT_EQ(refused.state, TaskState::failed) << "another run would answer as much";
  EXPECT_EQ(refused.error->code, "settlement_refused");
  EXPECT_THAT(refused.error->message, HasSubstr("its max_task_size"));
  body.pop_back();
  EXPECT_EQ(run().state, TaskState::completed);
}

TEST_F(EndpointTest, a_request_lasts_as_long_as_its_task_may) {
  EXPECT_EQ(request_of(options, {}, 1, std::nullopt, t0).timeout, 30s);
  EXPECT_EQ(request_of(options, {}, 1, t0 + 5s, t0).timeout, 5s);
  EXPECT_EQ(request_of(options, {}, 1, t0 - 5s, t0).timeout, 1ms);
  options.timeout = 50ms;
  status = 0;
  EXPECT_EQ(run().error->code, "connection_error");
}

TEST_F(EndpointTest, a_worker_that_stops_gives_the_task_back) {
  status = 0;
  SystemClock clock;
  const auto store = open_memory();
  LocalBroker broker(clock, *store);
  const Ask ask{.caller = {1}};
  const Put put = must(only(wait_for_answer<std::vector<Result<Put>>>(
      [&](auto done) { broker.put(ask, {{.queue = "q"}}, std::move(done)); })));
  std::vector<QueueHandlers> queues(1);
  options.url = peer.url();
  queues[0] = {.queue = "q", .any = call_endpoint(client, options)};
  Worker worker(clock, broker, {.name = "w"}, std::move(queues));
  worker.start();
  ASSERT_TRUE(peer.wait_for_requests(1));
  worker.shutdown();
  worker.graceful_stop(2s);
  const Task task =
      must(wait_for_answer<Task>([&](auto done) { broker.find(ask, put.id, std::move(done)); }));
  EXPECT_EQ(task.state, TaskState::queued);
  EXPECT_EQ(task.counters.retries, 0U);
}

}  // namespace
}  // namespace millrace::worker
