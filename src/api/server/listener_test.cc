#include "api/server/listener.h"

#include <thread>

#include "tests/support/served.h"

namespace millrace::api {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr std::string_view get_a = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";

using ListenerTest = ServedTest;

TEST_F(ListenerTest, answers_requests_one_after_another_on_one_connection) {
  serve();
  Client client = connect();
  for (int i = 0; i < 3; ++i) {
    const Reply reply = client.ask(
        fmt::format("POST /t{} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nb{}", i, i));
    EXPECT_EQ(reply.status, 200U);
    EXPECT_EQ(reply.body, fmt::format("/t{}|b{}", i, i));
    EXPECT_FALSE(reply.headers.contains("connection"));
  }
  const ListenerCounts counts = listener_->counts();
  EXPECT_EQ(counts.open, 1U);
  EXPECT_EQ(counts.accepted, 1U);
  EXPECT_EQ(counts.requests, 3U);
}

TEST_F(ListenerTest, what_the_handler_knows_of_a_connection_stays_with_it) {
  serve();
  Client first = connect();
  first.ask(get_a);
  Client second = connect();
  second.ask(get_a);
  first.ask(get_a);
  second.close();
  ASSERT_TRUE(eventually([this] { return closed_.size() == 1; }));
  EXPECT_THAT(callers_, ::testing::ElementsAre(1U, 2U, 1U));
  EXPECT_EQ(closed_.front(), 2U);
}

TEST_F(ListenerTest, says_who_it_is_and_what_time) {
  serve();
  Client client = connect();
  Reply reply = client.ask(get_a);
  EXPECT_EQ(reply.headers["server"], "millrace");
  EXPECT_EQ(reply.headers["date"], "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(reply.headers["content-type"], "text/plain");
  EXPECT_EQ(reply.headers["content-length"], "3");
  clock_.advance(24h);
  EXPECT_EQ(client.ask(get_a).headers["date"], "Mon, 07 Nov 1994 08:49:37 GMT");
}

TEST_F(ListenerTest, hands_over_what_the_request_says) {
  serve();
  Client client = connect();
  client.ask(
      "DELETE /v1/tasks?limit=5 HTTP/1.1\r\nHost: x\r\ncontent-type: a/b\r\nACCEPT: c/d\r\n"
      "Authorization: Bearer k\r\nIdempotency-key: i\r\nX-Request-ID: r\r\n\r\n");
  ASSERT_TRUE(eventually([this] { return requests_.size() == 1; }));
  const HttpRequest& request = requests_.front();
  EXPECT_EQ(request.method, Method::remove);
  EXPECT_EQ(request.target, "/v1/tasks?limit=5");
  EXPECT_EQ(request.content_type, "a/b");
  EXPECT_EQ(request.accept, "c/d");
  EXPECT_EQ(request.authorization, "Bearer k");
  EXPECT_EQ(request.idempotency_key, "i");
  EXPECT_EQ(request.request_id, "r");
  EXPECT_EQ(request.remote, "127.0.0.1");
  EXPECT_EQ(callers_.front(), 1U);
}

TEST_F(ListenerTest, unknown_methods_are_left_to_the_routes) {
  serve();
  EXPECT_EQ(connect().ask("BREW /a HTTP/1.1\r\nHost: x\r\n\r\n").status, 200U);
  ASSERT_TRUE(eventually([this] { return requests_.size() == 1; }));
  EXPECT_EQ(requests_.front().method, Method::other);
}

TEST_F(ListenerTest, pipelined_requests_are_answered_in_order) {
  serve();
  Client client = connect();
  std::string all;
  for (int i = 0; i < 500; ++i) all += fmt::format("GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", i);
  std::jthread sender([&] { client.send(all); });
  for (int i = 0; i < 500; ++i) ASSERT_EQ(client.reply().body, fmt::format("/{}|", i));
}

TEST_F(ListenerTest, what_is_pipelined_behind_a_parked_request_waits) {
  serve();
  Client client = connect();
  client.send("GET /park HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\n");
  parked()({.body = "first"});
  EXPECT_EQ(client.reply().body, "first");
  EXPECT_EQ(client.reply().body, "/b|");
}

TEST_F(ListenerTest, bytes_may_be_split_anywhere) {
  serve();
  const std::string request =
      "POST /s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: t\r\n\r\n";
  Client client = connect();
  for (std::size_t at = 1; at < request.size(); ++at) {
    ASSERT_TRUE(client.send(request.substr(0, at)));
    ASSERT_TRUE(client.send(request.substr(at)));
    ASSERT_EQ(client.reply().body, "/s|abcde") << at;
  }
  for (const char c : request) ASSERT_TRUE(client.send({&c, 1}));
  EXPECT_EQ(client.reply().body, "/s|abcde");
}

TEST_F(ListenerTest, bodies_arrive_whole_whatever_their_size) {
  serve();
  Client client = connect();
  for (const std::size_t size : {0UL, 1UL, 4095UL, 65536UL, 1UL << 20, 8UL << 20}) {
    const std::string body(size, static_cast<char>('a' + size % 26));
    const Reply reply = client.ask(
        fmt::format("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{}", size, body));
    ASSERT_EQ(reply.body.size(), size + 3);
    EXPECT_TRUE(reply.body.ends_with(body));
  }
}

TEST_F(ListenerTest, expect_100_continue_is_answered_before_the_body_comes) {
  serve();
  Client client = connect();
  const Reply interim = client.ask(
      "POST /a HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(interim.status, 100U);
  EXPECT_EQ(client.ask("ok").body, "/a|ok");

  // A client that is not allowed gets its answer at once, and the connection ends: the body may or
  // may not follow.
  Reply denied = client.ask(
      "POST /deny HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(denied.status, 401U);
  EXPECT_EQ(denied.headers["connection"], "close");
  EXPECT_TRUE(client.ends());
}

TEST_F(ListenerTest, an_early_answer_keeps_the_connection_if_the_body_is_short) {
  serve();
  Client client = connect();
  EXPECT_EQ(client.ask("POST /deny HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello").status,
            401U);
  EXPECT_EQ(client.ask(get_a).status, 200U);
  const std::string much(1 << 20, 'x');
  Reply denied = client.ask(fmt::format(
      "POST /deny HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{}", much.size(), much));
  EXPECT_EQ(denied.status, 401U);
  EXPECT_EQ(denied.headers["connection"], "close");
  EXPECT_TRUE(client.ends());
}

TEST_F(ListenerTest, head_has_the_headers_of_get_and_no_body) {
  serve();
  Client client = connect();
  client.send("HEAD /a HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(client.reply(true).headers["content-length"], "3");
  EXPECT_EQ(client.ask(get_a).body, "/a|");
  Reply none = client.ask("GET /none HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(none.status, 204U);
  EXPECT_FALSE(none.headers.contains("content-length"));
  EXPECT_EQ(client.ask(get_a).body, "/a|");
}

TEST_F(ListenerTest, http_1_0_closes_unless_asked_to_stay) {
  serve();
  Client staying = connect();
  Reply reply = staying.ask("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(reply.headers["connection"], "keep-alive");
  reply = staying.ask("GET /a HTTP/1.0\r\n\r\n");
  EXPECT_EQ(reply.headers["connection"], "close");
  EXPECT_TRUE(staying.ends());
}

TEST_F(ListenerTest, either_side_may_end_the_connection_with_an_answer) {
  serve();
  Client one = connect();
  EXPECT_EQ(one.ask("GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").status, 200U);
  EXPECT_TRUE(one.ends());
  Client two = connect();
  EXPECT_EQ(two.ask("GET /last HTTP/1.1\r\nHost: x\r\n\r\n").headers["connection"], "close");
  EXPECT_TRUE(two.ends());
}

TEST_F(ListenerTest, headers_cannot_be_injected) {
  serve();
  Client client = connect();
  Reply reply = client.ask("GET /inject HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(reply.body, "x");
  EXPECT_FALSE(reply.headers.contains("evil"));
  EXPECT_FALSE(reply.headers.contains("transfer-encoding"));
  EXPECT_EQ(reply.headers["content-length"], "1");
  EXPECT_EQ(client.ask(get_a).body, "/a|");  // nothing of it was taken for another response
}

TEST_F(ListenerTest, a_handler_that_throws_or_forgets_answers_500) {
  serve();
  for (const std::string_view target : {"/throw", "/drop", "/plan-throws"}) {
    Client client = connect();
    Reply reply = client.ask(fmt::format("GET {} HTTP/1.1\r\nHost: x\r\n\r\n", target));
    EXPECT_EQ(reply.status, 500U) << target;
    EXPECT_EQ(reply.headers["content-type"], "application/problem+json");
  }
}

TEST_F(ListenerTest, many_answers_from_other_threads_reach_their_connections) {
  serve({}, {}, 2);
  std::vector<Client> clients;
  for (int i = 0; i < 64; ++i) clients.push_back(connect());
  for (int round = 0; round < 20; ++round) {
    for (std::size_t i = 0; i < clients.size(); ++i) {
      clients[i].send(
          fmt::format("POST /park HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n{:04}", i));
    }
    ASSERT_TRUE(eventually([this] { return parked_.size() == 64; }));
    const auto answer = [this] {
      for (int i = 0; i < 32; ++i) {
        locked([this] {
          const std::string body = std::move(requests_.back().body);
          requests_.pop_back();
          Respond respond = std::move(parked_.back());
          parked_.pop_back();
          respond({.body = body});
        });
      }
    };
    std::jthread other(answer);
    answer();
    for (std::size_t i = 0; i < clients.size(); ++i) {
      ASSERT_EQ(clients[i].reply().body, fmt::format("{:04}", i));
    }
  }
}

TEST_F(ListenerTest, an_address_that_is_none_or_taken_is_refused_with_the_reason) {
  serve();
  NoHandler handler;
  auto taken = Listener::start({.port = listener_->port()}, handler, clock_);
  ASSERT_FALSE(taken.has_value());
  EXPECT_EQ(taken.error().code, ErrorCode::conflict);
  EXPECT_THAT(taken.error().message,
              HasSubstr(fmt::format("127.0.0.1 port {}", listener_->port())));
  auto none = Listener::start({.address = "300.1.1.1", .port = 0}, handler, clock_);
  ASSERT_FALSE(none.has_value());
  EXPECT_THAT(none.error().message, HasSubstr("300.1.1.1"));
}

TEST_F(ListenerTest, the_limit_of_open_files_can_be_raised) {
  const auto raised = raise_open_files();
  ASSERT_TRUE(raised.has_value());
  EXPECT_GE(*raised, 256U);
}

}  // namespace
}  // namespace millrace::api
