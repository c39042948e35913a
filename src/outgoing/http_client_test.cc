#include "outgoing/http_client.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <future>
#include <latch>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/http_peer.h"

namespace millrace::outgoing {
namespace {

using namespace std::chrono_literals;
using test::HttpPeer;
using test::PeerConnection;
using test::PeerRequest;
using ::testing::HasSubstr;
using ::testing::Not;

void echo(const PeerRequest& request, PeerConnection& connection) {
  connection.answer(fmt::format("{} {} {}", request.method, request.target, request.body));
}

TEST(HttpClient, sends_what_it_is_told_and_brings_the_answer) {
  HttpPeer peer(echo);
  HttpClient client({.user_agent = "millrace/9"});
  auto reply = client.send({.method = "POST",
                            .url = peer.url("/a?b=c"),
                            .headers = {{"Content-Type", "text/plain"}, {"X-Empty", ""}},
                            .body = "words"});
  ASSERT_TRUE(reply.has_value()) << reply.error().message;
  EXPECT_EQ(reply->status, 200);
  EXPECT_EQ(reply->body, "POST /a?b=c words");
  EXPECT_EQ(reply->header("content-type"), "application/json");
  EXPECT_EQ(reply->header("not-there"), "");
  EXPECT_FALSE(reply->clipped);
  const auto request = peer.requests().at(0);
  EXPECT_EQ(request.headers.at("content-type"), "text/plain");
  EXPECT_EQ(request.headers.at("x-empty"), "");
  EXPECT_EQ(request.headers.at("user-agent"), "millrace/9");
  EXPECT_EQ(request.headers.at("host"), fmt::format("127.0.0.1:{}", peer.port()));
  EXPECT_THAT(request.head, HasSubstr("HTTP/1.1"));
}

TEST(HttpClient, an_answer_may_be_taken_as_it_comes) {
  std::latch seen(1);
  HttpPeer peer([&](const PeerRequest& request, PeerConnection& connection) {
    if (request.target == "/no") return connection.answer("because", "403 Forbidden");
    connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n");
    seen.wait();  // the first piece arrives while there is no second
    connection.send("3\r\ntwo\r\n0\r\n\r\n");
  });
  HttpClient client;
  std::string got;
  const auto take = [&](std::string_view piece) -> Result<void> {
    got += piece;
    if (got == "one") seen.count_down();
    return {};
  };
  auto reply = client.send({.url = peer.url("/"), .on_piece = take, .most = 2});
  ASSERT_TRUE(reply.has_value()) << reply.error().message;
  EXPECT_EQ(got, "onetwo");
  EXPECT_EQ(reply->body, "");

  // What is no good answer is no piece of it.
  reply = client.send({.url = peer.url("/no"), .on_piece = take});
  ASSERT_TRUE(reply.has_value()) << reply.error().message;
  EXPECT_EQ(reply->status, 403);
  EXPECT_EQ(reply->body, "because");
  EXPECT_EQ(got, "onetwo");

  reply = client.send({.url = peer.url("/"), .on_piece = [](std::string_view) -> Result<void> {
                         return fail(ErrorCode::conflict, "enough");
                       }});
  ASSERT_FALSE(reply.has_value());
  EXPECT_EQ(reply.error().code, ErrorCode::conflict);
  EXPECT_EQ(reply.error().message, "enough");
}

TEST(HttpClient, every_method_goes_as_it_is) {
  HttpPeer peer([](const PeerRequest& request, PeerConnection& connection) {
    if (request.method == "HEAD") {
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
    } else {
      echo(request, connection);
    }
  });
  HttpClient client;
  for (const char* method : {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "HEAD", "GET"}) {
    for (const char* body : {"", "body"}) {
      const bool is_head = std::string_view(method) == "HEAD";
      if (is_head && *body != '\0') continue;
      auto reply = client.send({.method = method, .url = peer.url("/x"), .body = body});
      ASSERT_TRUE(reply.has_value()) << method << ": " << reply.error().message;
      EXPECT_EQ(reply->body, is_head ? "" : fmt::format("{} /x {}", method, body));
    }
  }
  for (const PeerRequest& each : peer.requests()) {
    EXPECT_FALSE(each.headers.contains("expect"));
    EXPECT_FALSE(each.headers.contains("content-type")) << each.head;
    EXPECT_FALSE(each.headers.contains("transfer-encoding"));
    const bool wants_length = each.method == "POST" || each.method == "PUT" ||
                              each.method == "PATCH" || !each.body.empty();
    EXPECT_EQ(each.headers.contains("content-length"), wants_length) << each.head;
  }
  EXPECT_EQ(peer.connections(), 1U);
}

TEST(HttpClient, a_long_body_is_sent_without_asking_first) {
  HttpPeer peer([](const PeerRequest& request, PeerConnection& connection) {
    connection.answer(fmt::to_string(request.body.size()));
  });
  HttpClient client;
  auto reply =
      client.send({.method = "POST", .url = peer.url(), .body = std::string(5'000'000, 'x')});
  ASSERT_TRUE(reply.has_value()) << reply.error().message;
  EXPECT_EQ(reply->body, "5000000");
  EXPECT_FALSE(peer.requests().at(0).headers.contains("expect"));
}

TEST(HttpClient, a_path_goes_as_it_is) {
  HttpPeer peer(echo);
  HttpClient client;
  EXPECT_EQ(client.send({.url = peer.url("/a/../b/./%2e%2E/c")})->body, "GET /a/../b/./%2e%2E/c ");
}

TEST(HttpClient, connections_are_used_again_and_replaced_when_closed) {
  HttpPeer peer([](const PeerRequest& request, PeerConnection& connection) {
    echo(request, connection);
    if (request.target == "/last") connection.close();
  });
  HttpClient client;
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(client.send({.url = peer.url("/some")}).has_value());
  EXPECT_EQ(peer.connections(), 1U);
  ASSERT_TRUE(client.send({.url = peer.url("/last")}).has_value());
  auto after = client.send({.method = "POST", .url = peer.url("/after"), .body = "b"});
  ASSERT_TRUE(after.has_value()) << after.error().message;
  EXPECT_EQ(after->body, "POST /after b");
  EXPECT_EQ(peer.connections(), 2U);
}

TEST(HttpClient, reads_every_kind_of_body) {
  HttpPeer peer([](const PeerRequest& request, PeerConnection& connection) {
    if (request.target == "/chunked") {
      connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
      connection.send("7;x=y\r\n, world\r\n0\r\nX-Trailer: t\r\n\r\n");
    } else if (request.target == "/interim") {
      connection.send("HTTP/1.1 103 Early Hints\r\nLink: early\r\n\r\n");
      connection.send("HTTP/1.1 100 Continue\r\n\r\n");
      connection.answer("final", "201 Created", "X-Late: 1\r\n");
    } else if (request.target == "/to-the-end") {
      connection.send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil it ends");
      connection.close();
    } else {
      connection.send("HTTP/1.1 204 No Content\r\n\r\n");
    }
  });
  HttpClient client;
  EXPECT_EQ(client.send({.url = peer.url("/chunked")})->body, "hello, world");
  auto interim = client.send({.url = peer.url("/interim")});
  EXPECT_EQ(interim->status, 201);
  EXPECT_EQ(interim->body, "final");
  EXPECT_EQ(interim->header("x-late"), "1");
  EXPECT_EQ(interim->header("link"), "");
  EXPECT_EQ(client.send({.url = peer.url("/to-the-end")})->body, "until it ends");
  EXPECT_EQ(client.send({.url = peer.url("/nothing")})->status, 204);
}

TEST(HttpClient, redirects_are_answers_like_others) {
  HttpPeer peer([](const PeerRequest&, PeerConnection& connection) {
    connection.answer("", "302 Found", "Location: http://127.0.0.1:1/elsewhere\r\n");
  });
  HttpClient client;
  auto reply = client.send({.url = peer.url()});
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->status, 302);
  EXPECT_EQ(reply->header("location"), "http://127.0.0.1:1/elsewhere");
  EXPECT_EQ(peer.requests().size(), 1U);
}

TEST(HttpClient, many_at_once_share_the_connections_that_there_may_be) {
  constexpr int count = 200;
  HttpPeer peer(echo);
  std::latch all(count);
  std::atomic<int> right = 0;
  HttpClient client({.connections = 4});
  for (int i = 0; i < count; ++i) {
    client.send({.method = "POST", .url = peer.url("/n"), .body = fmt::to_string(i)},
                [&, i](Result<HttpReply> reply) {
                  if (reply && reply->body == fmt::format("POST /n {}", i)) ++right;
                  all.count_down();
                });
  }
  all.wait();
  EXPECT_EQ(right, count);
  EXPECT_LE(peer.connections(), 4U);
}

TEST(HttpClient, threads_may_share_it) {
  HttpPeer peer(echo);
  HttpClient client;
  std::atomic<int> right = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 50; ++i) {
          auto reply = client.send({.url = peer.url("/t")});
          if (reply && reply->body == "GET /t ") ++right;
        }
      });
    }
  }
  EXPECT_EQ(right, 200);
}

TEST(HttpClient, a_completion_may_ask_for_more) {
  HttpPeer peer(echo);
  std::promise<std::string> second;
  HttpClient client;
  client.send({.url = peer.url("/first")}, [&](Result<HttpReply>) {
    client.send({.url = peer.url("/second")},
                [&](Result<HttpReply> reply) { second.set_value(reply ? reply->body : ""); });
  });
  EXPECT_EQ(second.get_future().get(), "GET /second ");
}

TEST(HttpClient, proxies_of_the_environment_are_not_used) {
  HttpPeer peer(echo);
  HttpPeer proxy(echo);
  ::setenv("http_proxy", proxy.url().c_str(), 1);
  ::setenv("ALL_PROXY", proxy.url().c_str(), 1);
  HttpClient client;
  EXPECT_TRUE(client.send({.url = peer.url()}).has_value());
  ::unsetenv("http_proxy");
  ::unsetenv("ALL_PROXY");
  EXPECT_EQ(proxy.connections(), 0U);
}

}  // namespace
}  // namespace millrace::outgoing
