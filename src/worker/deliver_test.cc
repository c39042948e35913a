// Webhooks and alerts with a broker, a worker and a real HTTP receiver.
#include "worker/deliver.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "outgoing/http_client.h"
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
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

outgoing::Secret secret(char c) {
  return {std::string(32, c)};
}

class DeliverTest : public ::testing::Test {
 protected:
  DeliverTest() {
    LocalBrokerOptions rules;
    rules.rules.alerts = true;
    driver.emplace(rules);
  }
  BrokerDriver& d() { return *driver; }

  // A task whose webhook goes to the peer; it has ended.
  TaskId ended(std::uint32_t attempts = 3, const std::string& path = "/hook?token=hush") {
    const Put put = d().put({.queue = "q",
                             .type = "t",
                             .callback = Callback{.url = url.empty() ? peer.url(path) : url + path,
                                                  .max_attempts = attempts},
                             .client_id = "c",
                             .request_id = "r"});
    d().settle(d().take_one("q"), Done{R"({"n":1.0})"});
    return put.id;
  }
  std::size_t step() {
    if (!worker) {
      std::vector<QueueHandlers> queues(2);
      queues[0] = {.queue = "$webhooks",
                   .any = deliver_webhooks(*d().broker, client, options, lines.log())};
      queues[1] = {.queue = "$alerts",
                   .any = deliver_alerts(client, alerts_url, options, lines.log())};
      worker.emplace(d().clock, *d().broker, WorkerOptions{.name = "$local-d", .internal = true},
                     std::move(queues));
    }
    return must(worker->step());
  }
  // Until everything has been tried as often as it may be.
  void run_all() {
    for (int i = 0; i < 20; ++i) {
      while (step() != 0) continue;
      d().live(10min, 1min);
    }
  }
  Task webhook() { return d().all("$webhooks").front(); }

  void answer(const PeerRequest&, PeerConnection& connection) {
    if (status == 0) return connection.wait_until_gone();
    connection.answer("thanks", fmt::format("{} Answer", status.load()), headers);
  }

  std::atomic<int> status = 200;
  std::string headers = {};
  HttpPeer peer{[this](const PeerRequest& request, PeerConnection& connection) {
    answer(request, connection);
  }};
  std::string url = {};
  std::string alerts_url = {};
  DeliverOptions options = {.secrets = {secret('n'), secret('o')}, .timeout = 5s};
  LogLines lines;
  HttpClient client;
  std::optional<BrokerDriver> driver;
  std::optional<Worker> worker;
};

// S0-121, S0-136
TEST_F(DeliverTest, a_webhook_is_posted_with_its_headers_and_its_body_as_it_is) {
  const TaskId task = ended();
  EXPECT_EQ(step(), 1U);
  ASSERT_THAT(peer.requests(), SizeIs(1));
  const PeerRequest request = peer.requests().front();
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.target, "/hook?token=hush");
  const std::string id = to_text(task.value);
  EXPECT_EQ(request.body,
            fmt::format(R"({{"status":"completed","taskId":"{}","result":{{"n":1.0}}}})", id));
  auto sent = request.headers;
  EXPECT_EQ(sent["content-type"], "application/json");
  EXPECT_EQ(sent["x-task-id"], id);
  EXPECT_EQ(sent["x-task-queue"], "q");
  EXPECT_EQ(sent["x-task-type"], "t");
  EXPECT_EQ(sent["x-task-state"], "completed");
  EXPECT_EQ(sent["x-client-id"], "c");
  EXPECT_EQ(sent["x-request-id"], "r");
  EXPECT_EQ(sent["webhook-id"], to_text(webhook().id.value));
  EXPECT_EQ(sent["webhook-timestamp"], fmt::format("{}", d().now().time_since_epoch() / 1s));
  EXPECT_EQ(sent["webhook-signature"],
            outgoing::sign(options.secrets, sent["webhook-id"], d().now(), request.body));
  EXPECT_THAT(sent["webhook-signature"], HasSubstr(" v1,"));  // old and new
  EXPECT_EQ(webhook().state, TaskState::completed);
  EXPECT_EQ(webhook().result, "");
}

// S0-055
TEST_F(DeliverTest, what_came_of_it_is_noted_on_the_task) {
  const TaskId task = ended();
  EXPECT_EQ(d().find(task).delivery, std::nullopt);
  step();
  EXPECT_EQ(d().find(task).delivery, (DeliveryNote{.attempts = 1, .last_status = "200"}));
}

// S0-056, S0-138
TEST_F(DeliverTest, a_receiver_that_is_ill_is_tried_as_often_as_the_callback_says) {
  status = 503;
  const TaskId task = ended();
  step();
  EXPECT_EQ(webhook().state, TaskState::retrying);
  EXPECT_GT(webhook().start, d().now() + 20s);
  EXPECT_EQ(d().find(task).delivery, (DeliveryNote{.attempts = 1, .last_status = "503"}));
  run_all();
  EXPECT_EQ(webhook().state, TaskState::dead);
  EXPECT_EQ(webhook().error->code, "http_503");
  EXPECT_EQ(d().find(task).delivery, (DeliveryNote{.attempts = 3, .last_status = "503"}));
  ASSERT_THAT(peer.requests(), SizeIs(3));
  // The same message, signed at another time.
  auto first = peer.requests()[0].headers;
  auto last = peer.requests()[2].headers;
  EXPECT_EQ(first["webhook-id"], last["webhook-id"]);
  EXPECT_NE(first["webhook-signature"], last["webhook-signature"]);
  EXPECT_EQ(d().find(task).state, TaskState::completed);
}

TEST_F(DeliverTest, a_redelivery_goes_on_counting) {
  status = 500;
  const TaskId task = ended(1);
  run_all();
  EXPECT_EQ(d().find(task).delivery, (DeliveryNote{.attempts = 1, .last_status = "500"}));
  status = 204;
  must(d().wait<Put>([&](auto done) { d().broker->redeliver(d().ask(), task, std::move(done)); }));
  run_all();
  EXPECT_EQ(d().find(task).delivery, (DeliveryNote{.attempts = 2, .last_status = "204"}));
  EXPECT_EQ(peer.requests()[0].body, peer.requests()[1].body);
}

TEST_F(DeliverTest, retry_after_is_heeded) {
  status = 429;
  headers = "Retry-After: 300\r\n";
  ended();
  step();
  EXPECT_EQ(webhook().start, d().now() + 300s);
}

TEST_F(DeliverTest, an_answer_that_will_not_change_is_final) {
  for (const int each : {400, 404, 410, 302, 308}) {
    status = each;
    headers = fmt::format("Location: {}\r\n", peer.url("/elsewhere"));
    const TaskId task = ended();
    run_all();
    EXPECT_EQ(webhook().state, TaskState::failed) << each;
    EXPECT_EQ(d().find(task).delivery->last_status, fmt::format("{}", each));
  }
  ASSERT_THAT(peer.requests(), SizeIs(5));
  for (const PeerRequest& request : peer.requests()) {
    EXPECT_THAT(request.target, Not(HasSubstr("elsewhere")));
  }
  EXPECT_THAT(webhook().error->message, HasSubstr("redirects are not followed"));
}

TEST_F(DeliverTest, a_receiver_that_is_away_is_tried_again) {
  {
    HttpPeer gone([](const PeerRequest&, PeerConnection&) {});
    url = fmt::format("http://127.0.0.1:{}", gone.port());
  }
  const TaskId task = ended();
  step();
  EXPECT_EQ(webhook().state, TaskState::retrying);
  EXPECT_EQ(webhook().error->code, "connection_error");
  EXPECT_THAT(d().find(task).delivery->last_status, HasSubstr("connection refused"));
}

// S0-137
TEST_F(DeliverTest, a_receiver_that_does_not_answer_in_time_is_tried_again) {
  EXPECT_EQ(DeliverOptions{}.timeout, 10s);
  options.timeout = 100ms;
  status = 0;
  ended();
  step();
  EXPECT_EQ(webhook().state, TaskState::retrying);
  EXPECT_THAT(webhook().error->message, HasSubstr("did not answer in 100 ms"));
}

TEST_F(DeliverTest, private_addresses_are_refused_unless_they_are_allowed) {
  HttpClient guarded({.guard = {.allow_private = false}});
  HttpClient open(
      {.guard = {.allow_private = false, .allowed = {*outgoing::parse_range("127.0.0.0/8")}}});
  const auto send = [&](HttpClient& by) {
    return deliver(by, {.id = fresh_id(), .url = peer.url(), .body = "{}"}, options, d().now(), {});
  };
  const Delivered refused = send(guarded);
  EXPECT_EQ(std::get<Failed>(refused.outcome).retryable, false);
  EXPECT_EQ(peer.connections(), 0U);
  EXPECT_THAT(refused.status, HasSubstr("the address is not allowed"));
  EXPECT_THAT(refused.status, Not(HasSubstr("127.0.0.1")));
  EXPECT_THAT(std::get<Failed>(refused.outcome).error.message, HasSubstr("127.0.0.1"));
  EXPECT_TRUE(std::holds_alternative<Done>(send(open).outcome));
}

TEST_F(DeliverTest, a_task_that_is_gone_does_not_keep_its_webhook_from_going_out) {
  const TaskId task = ended();
  must(d().wait<Broker::States>(
      [&](auto done) { d().broker->remove(d().ask(), {task}, std::move(done)); }));
  step();
  EXPECT_EQ(webhook().state, TaskState::completed);
  EXPECT_THAT(peer.requests(), SizeIs(1));
}

TEST_F(DeliverTest, what_is_no_delivery_fails_at_once) {
  const Ask inside{.caller = {2}, .internal = true};
  for (const auto* payload : {"", "1", "{}", "{", R"({"url":"http://x"})", R"({"body":{}})",
                              R"({"url":7,"body":{}})", R"({"url":"","body":{}})"}) {
    must(
        only(d().try_put({{.queue = "$webhooks", .type = "webhook", .payload = payload}}, inside)));
    step();
    EXPECT_EQ(webhook().state, TaskState::failed) << payload;
    EXPECT_EQ(webhook().error->code, "invalid_payload") << payload;
  }
  EXPECT_EQ(peer.connections(), 0U);
}

TEST_F(DeliverTest, an_id_that_fits_no_header_is_encoded) {
  const Lease lease{.payload = R"({"url":"http://x","about":{"clientId":"a\r\nX-Evil: 1",)"
                               R"("requestId":"\u00e4","type":7,"more":[1]},"body":{"a":1}})"};
  const Delivery delivery = must(webhook_of(lease));
  EXPECT_EQ(delivery.body, R"({"a":1})");
  EXPECT_THAT(delivery.headers,
              ElementsAre(testing::Pair("Content-Type", "application/json"),
                          testing::Pair("X-Task-ID", testing::_),
                          testing::Pair("X-Client-ID", "UTF-8''a%0D%0AX-Evil%3A%201"),
                          testing::Pair("X-Request-ID", "UTF-8''%C3%A4")));
}

TEST_F(DeliverTest, a_body_may_look_like_its_envelope) {
  const Lease lease{.payload = R"({"url":"http://x/\"body\":","body":{"body":"\"body\":{}"}})"};
  EXPECT_EQ(must(webhook_of(lease)).body, R"({"body":"\"body\":{}"})");
}

TEST_F(DeliverTest, logs_tell_where_it_went_and_no_secrets) {
  for (const int each : {200, 500, 404}) {
    status = each;
    ended();
    step();
  }
  ASSERT_THAT(lines.lines(), SizeIs(3));
  EXPECT_THAT(lines.lines(), Each(AllOf(HasSubstr("http://127.0.0.1"), Not(HasSubstr("hook?")),
                                        Not(HasSubstr("hush")))));
}

TEST(Origin, is_what_may_be_logged) {
  EXPECT_EQ(origin_of("https://u:p@example.org:8443/a/b?c#d"), "https://example.org:8443");
  EXPECT_EQ(origin_of("http://x?secret"), "http://x");
  EXPECT_EQ(origin_of("http://a@b@c/"), "http://c");
  EXPECT_EQ(origin_of("secret"), "an invalid address");
}

// ---- Alerts
// --------------------------------------------------------------------------------------

// S0-161
TEST_F(DeliverTest, alerts_go_to_their_address) {
  alerts_url = peer.url("/alerts");
  const Put put = d().put({.queue = "q", .retry = RetryRules{.max_retries = 0}});
  d().settle(d().take_one("q"), Failed{error("no", "boom")});
  EXPECT_EQ(step(), 1U);
  ASSERT_THAT(peer.requests(), SizeIs(1));
  auto request = peer.requests().front();
  EXPECT_EQ(request.target, "/alerts");
  EXPECT_THAT(request.body, StartsWith(R"({"level":"error",)"));
  EXPECT_THAT(request.body, HasSubstr(R"("message":"Task failed after maximum retries")"));
  EXPECT_EQ(request.headers["x-task-id"], to_text(put.id.value));
  EXPECT_THAT(request.headers["webhook-signature"], HasSubstr("v1,"));
  EXPECT_EQ(d().all("$alerts").front().state, TaskState::completed);
}

TEST_F(DeliverTest, alerts_without_an_address_are_done) {
  d().put({.queue = "q", .retry = RetryRules{.max_retries = 0}});
  d().settle(d().take_one("q"), Failed{error("no", "boom")});
  EXPECT_EQ(step(), 1U);
  EXPECT_EQ(d().all("$alerts").front().state, TaskState::completed);
  EXPECT_EQ(peer.connections(), 0U);
}

TEST_F(DeliverTest, an_alert_that_is_not_taken_is_tried_again) {
  status = 500;
  alerts_url = peer.url("/alerts");
  d().put({.queue = "q", .retry = RetryRules{.max_retries = 0}});
  d().settle(d().take_one("q"), Failed{error("no", "boom")});
  run_all();
  EXPECT_THAT(peer.requests(), SizeIs(3));
  EXPECT_THAT(d().all("$alerts"), SizeIs(1));
}

// ---- Stopping
// ------------------------------------------------------------------------------------

TEST_F(DeliverTest, a_worker_that_stops_gives_back_what_is_under_way) {
  status = 0;
  SystemClock clock;
  const auto store = open_memory();
  LocalBroker broker(clock, *store);
  const auto put = [&](std::vector<NewTask> tasks) {
    return wait_for_answer<std::vector<Result<Put>>>([&](auto done) {
      broker.put({.caller = {1}, .internal = true}, std::move(tasks), std::move(done));
    });
  };
  const std::string payload = fmt::format(R"({{"url":"{}","body":{{}}}})", peer.url());
  const Put webhook = must(only(put({{.queue = "$webhooks", .payload = payload}})));
  std::vector<QueueHandlers> queues(1);
  queues[0] = {.queue = "$webhooks",
               .any = deliver_webhooks(broker, client, {.timeout = 20s}, lines.log())};
  Worker running(clock, broker, {.name = "$local-d", .internal = true}, std::move(queues));
  running.start();
  ASSERT_TRUE(peer.wait_for_requests(1));
  running.shutdown();
  running.graceful_stop(2s);
  const Task task = must(wait_for_answer<Task>([&](auto done) {
    broker.find({.caller = {1}, .internal = true}, webhook.id, std::move(done));
  }));
  EXPECT_EQ(task.state, TaskState::queued);
  EXPECT_EQ(task.counters.retries, 0U);
}

}  // namespace
}  // namespace millrace::worker
