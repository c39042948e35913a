// Webhooks and alerts that a real server sends to a receiver that really answers.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/e2e/server.h"
#include "tests/support/http_peer.h"

namespace millrace::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const std::string secret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";

class Callbacks : public ::testing::Test {
 protected:
  static Asked post(std::string path, std::string body = {}) {
    return {.method = "POST", .path = std::move(path), .body = std::move(body)};
  }
  // A task that calls back and ends with `outcome`; its id.
  std::string ended(const ServerProcess& server, const std::string& outcome,
                    const std::string& more = {}) {
    const std::string callback =
        fmt::format(R"({{"callback":{{"url":"{}"}}{}}})", peer.url("/hook?token=hush"), more);
    const std::string id = field(server.ask(post("/v1/queues/mail/tasks", callback)).body, "id");
    const Reply taken = server.ask(post("/v1/take", R"({"worker":"w","queue":"mail"})"));
    const Reply settled = server.ask(
        post("/v1/tasks/" + id + "/settle",
             fmt::format(R"({{"token":"{}",{}}})", field(taken.body, "token"), outcome)));
    EXPECT_EQ(settled.status, 200U) << settled.body;
    return id;
  }

  HttpPeer peer{[](const PeerRequest&, PeerConnection& connection) { connection.answer("ok"); }};
};

// S0-117, S0-121, S0-122, S0-136
TEST_F(Callbacks, are_delivered_noted_and_delivered_again_at_wish) {
  ServerProcess server(
      {"--store", "memory:", "--log-level", "debug"},
      {{"MILLRACE_WEBHOOKS_ALLOW_PRIVATE", "127.0.0.0/8"}, {"MILLRACE_WEBHOOKS_SECRET", secret}});
  ASSERT_TRUE(server.ready());
  const std::string id = ended(server, R"("outcome":"done","result":{"n":1.0})");
  ASSERT_TRUE(peer.wait_for_requests(1));
  PeerRequest request = peer.requests().front();
  EXPECT_EQ(request.body,
            fmt::format(R"({{"status":"completed","taskId":"{}","result":{{"n":1.0}}}})", id));
  EXPECT_EQ(request.headers["x-task-id"], id);
  EXPECT_THAT(request.headers["webhook-signature"], StartsWith("v1,"));
  EXPECT_THAT(request.headers["user-agent"], StartsWith("millrace/"));
  ASSERT_TRUE(server.says("webhook delivered to"));
  EXPECT_THAT(server.ask({.path = "/v1/tasks/" + id}).body,
              HasSubstr(R"("delivery":{"attempts":1,"last_status":"200"})"));
  EXPECT_EQ(server.ask(post("/v1/tasks/" + id + "/redeliver")).status, 201U);
  ASSERT_TRUE(peer.wait_for_requests(2));
  EXPECT_EQ(peer.requests()[1].body, request.body);

  ended(server, R"("outcome":"failed","retryable":false,"error":{"message":"m","code":"c"})");
  ASSERT_TRUE(peer.wait_for_requests(3));
  EXPECT_THAT(peer.requests()[2].body, HasSubstr(R"("error":{"message":"m","code":"c"}})"));
  server.signal(SIGTERM);
  EXPECT_EQ(server.exit(), 0);
  EXPECT_THAT(server.said(), AllOf(Not(HasSubstr("hush")), Not(HasSubstr("MDEyMzQ1"))));
}

TEST_F(Callbacks, do_not_go_to_private_addresses_unless_that_is_allowed) {
  ServerProcess server({"--store", "memory:"});
  ASSERT_TRUE(server.ready());
  const std::string id = ended(server, R"("outcome":"done")");
  ASSERT_TRUE(server.says("webhook not delivered to http://127.0.0.1"));
  EXPECT_THAT(server.ask({.path = "/v1/tasks/" + id}).body,
              AllOf(HasSubstr(R"("delivery":{"attempts":1,)"), HasSubstr("127.0.0.1")));
  EXPECT_EQ(peer.connections(), 0U);
}

// S0-161, S3-062
TEST_F(Callbacks, alerts_go_where_they_should_even_to_a_private_address) {
  ServerProcess server({"--store", "memory:"}, {{"MILLRACE_ALERTS_URL", peer.url("/alerts")}});
  ASSERT_TRUE(server.ready());
  const std::string id =
      field(server.ask(post("/v1/queues/mail/tasks", R"({"type":"welcome","max_retries":0})")).body,
            "id");
  const Reply taken = server.ask(post("/v1/take", R"({"worker":"w","queue":"mail"})"));
  server.ask(post("/v1/tasks/" + id + "/settle",
                  fmt::format(R"({{"token":"{}","outcome":"failed","error":{{"message":"m"}}}})",
                              field(taken.body, "token"))));
  ASSERT_TRUE(peer.wait_for_requests(1));
  const PeerRequest request = peer.requests().front();
  EXPECT_EQ(request.target, "/alerts");
  EXPECT_THAT(request.body,
              AllOf(HasSubstr(R"("level":"error")"),
                    HasSubstr(R"("title":"Job permanently failed: welcome")"),
                    HasSubstr(R"("message":"Task failed after maximum retries")"), HasSubstr(id)));
}

TEST_F(Callbacks, settings_that_mean_nothing_are_refused_at_the_start_and_secrets_not_shown) {
  const auto refused = [](const std::string& name, const std::string& value) {
    ServerProcess server({"--store", "memory:"}, {{name, value}});
    EXPECT_FALSE(server.says("no such words"));
    EXPECT_NE(server.exit(), 0);
    return server.said();
  };
  EXPECT_THAT(refused("MILLRACE_WEBHOOKS_ALLOW_PRIVATE", "10.0.0.0/8,everything"),
              AllOf(HasSubstr("webhooks.allow_private"), HasSubstr("everything")));
  EXPECT_THAT(
      refused("MILLRACE_WEBHOOKS_SECRET", "hush-hush"),
      AllOf(HasSubstr("webhooks.secret"), HasSubstr("openssl rand"), Not(HasSubstr("hush-hush"))));
  EXPECT_THAT(refused("MILLRACE_ALERTS_URL", "example.org/hush"),
              AllOf(HasSubstr("alerts.url"), Not(HasSubstr("hush"))));
}

TEST_F(Callbacks, a_server_that_stops_does_not_wait_long_for_a_receiver) {
  HttpPeer slow(
      [](const PeerRequest&, PeerConnection& connection) { connection.wait_until_gone(); });
  ServerProcess server({"--store", "memory:"}, {{"MILLRACE_WEBHOOKS_ALLOW_PRIVATE", "true"}});
  ASSERT_TRUE(server.ready());
  server.ask(post("/v1/queues/mail/tasks",
                  fmt::format(R"({{"callback":{{"url":"{}"}},"held":true}})", slow.url())));
  const Reply list = server.ask({.path = "/v1/tasks?queue=mail"});
  server.ask(post("/v1/tasks/" + field(list.body, "id") + "/cancel"));
  ASSERT_TRUE(slow.wait_for_requests(1));
  server.signal(SIGTERM);
  EXPECT_EQ(server.exit(), 0);
}

}  // namespace
}  // namespace millrace::test
