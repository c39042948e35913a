// What goes wrong between an HTTP client and the other side, and what is said about it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "outgoing/http_client.h"
#include "tests/support/http_peer.h"
#include "tests/support/temporary_directory.h"

namespace millrace::outgoing {
namespace {

using namespace std::chrono_literals;
using test::HttpPeer;
using test::PeerConnection;
using test::PeerRequest;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

void say_ok(const PeerRequest&, PeerConnection& connection) {
  connection.answer("ok");
}

void say_nothing(const PeerRequest&, PeerConnection& connection) {
  connection.wait_until_gone();
}

Error error_of(Result<HttpReply> reply) {
  if (reply) return {.code = {}, .message = fmt::format("an answer: {}", reply->status)};
  return reply.error();
}

TEST(HttpFailure, no_listener) {
  std::uint16_t port = 0;
  {
    HttpPeer peer(say_ok);
    port = peer.port();
  }
  HttpClient client;
  const Error error =
      error_of(client.send({.url = fmt::format("http://user:pass@127.0.0.1:{}/secret", port),
                            .headers = {{"Authorization", "Bearer mr_secret"}}}));
  EXPECT_EQ(error.code, ErrorCode::unavailable);
  EXPECT_EQ(error.message,
            fmt::format("could not connect to 127.0.0.1:{}: connection refused", port));
}

TEST(HttpFailure, an_unknown_name) {
  HttpClient client;
  const Error error = error_of(client.send({.url = "http://no-such-host.invalid/"}));
  EXPECT_EQ(error.code, ErrorCode::unavailable);
  EXPECT_THAT(error.message, HasSubstr("no-such-host.invalid:80"));
}

TEST(HttpFailure, no_answer_in_time) {
  HttpPeer peer(say_nothing);
  HttpClient client;
  const Error error = error_of(client.send({.url = peer.url(), .timeout = 30ms}));
  EXPECT_EQ(error.code, ErrorCode::unavailable);
  EXPECT_EQ(error.message, fmt::format("127.0.0.1:{} did not answer in 30 ms", peer.port()));
}

TEST(HttpFailure, an_answer_that_does_not_end_in_time) {
  HttpPeer peer([](const PeerRequest&, PeerConnection& connection) {
    connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
    connection.wait_until_gone();
  });
  HttpClient client;
  const Error error = error_of(client.send({.url = peer.url(), .timeout = 30ms}));
  EXPECT_EQ(error.code, ErrorCode::unavailable);
  EXPECT_THAT(error.message, HasSubstr("did not finish its answer in 30 ms"));
}

TEST(HttpFailure, time_runs_also_while_no_connection_is_free) {
  HttpPeer peer(say_nothing);
  std::promise<void> first_is_done;  // outlives the client, which answers at its end
  HttpClient client({.connections = 1});
  client.send({.url = peer.url("/first"), .timeout = 10s},
              [&](Result<HttpReply>) { first_is_done.set_value(); });
  ASSERT_TRUE(peer.wait_for_requests(1));
  const Error error = error_of(client.send({.url = peer.url("/second"), .timeout = 30ms}));
  EXPECT_EQ(error.code, ErrorCode::unavailable);
  EXPECT_THAT(error.message, HasSubstr("none of 1 connections became free within 30 ms"));
  EXPECT_EQ(first_is_done.get_future().wait_for(0s), std::future_status::timeout);
  EXPECT_EQ(peer.requests().size(), 1U);
}

TEST(HttpFailure, a_timeout_of_nothing_is_short_and_not_endless) {
  HttpPeer peer(say_nothing);
  HttpClient client;
  EXPECT_EQ(error_of(client.send({.url = peer.url(), .timeout = 0ms})).code,
            ErrorCode::unavailable);
}

TEST(HttpFailure, a_timeout_of_for_ever_is_possible) {
  HttpPeer peer(say_ok);
  HttpClient client;
  EXPECT_TRUE(client.send({.url = peer.url(), .timeout = Duration::max()}).has_value());
}

TEST(HttpFailure, a_connection_that_is_cut) {
  HttpPeer peer([](const PeerRequest& request, PeerConnection& connection) {
    if (request.target == "/half") {
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
    } else if (request.target == "/half-chunk") {
      connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel");
    } else if (request.target == "/half-head") {
      connection.send("HTTP/1.1 200 OK\r\nContent-Le");
    }
    if (request.target == "/reset") {
      connection.reset();
    } else {
      connection.close();
    }
  });
  for (const char* path : {"/nothing", "/half", "/half-chunk", "/reset"}) {
    HttpClient client;
    const Error error = error_of(client.send({.url = peer.url(path)}));
    EXPECT_EQ(error.code, ErrorCode::unavailable) << path << ": " << error.message;
    EXPECT_THAT(error.message,
                AllOf(HasSubstr(fmt::format("127.0.0.1:{}", peer.port())),
                      AnyOf(HasSubstr("was lost before"), HasSubstr("without an answer"))))
        << path;
  }
  EXPECT_EQ(peer.requests().size(), 4U);  // nothing was repeated: each connection was new
}

TEST(HttpFailure, an_answer_that_is_not_http) {
  HttpPeer peer([](const PeerRequest&, PeerConnection& connection) {
    connection.send("SSH-2.0-OpenSSH_9.2\r\n\r\n");
    connection.close();
  });
  HttpClient client;
  const Error error = error_of(client.send({.url = peer.url()}));
  EXPECT_EQ(error.code, ErrorCode::unavailable);
  EXPECT_THAT(error.message, HasSubstr("did not answer with HTTP"));
}

TEST(HttpFailure, a_body_that_is_too_long_is_refused_or_clipped) {
  HttpPeer peer([](const PeerRequest& request, PeerConnection& connection) {
    if (request.target == "/endless") {
      connection.send("HTTP/1.1 200 OK\r\n\r\n");
      for (int i = 0; i < 1000; ++i) connection.send(std::string(1000, 'x'));
      connection.close();
    } else {
      connection.answer(std::string(1000, 'x'));
    }
  });
  HttpClient client;
  EXPECT_EQ(client.send({.url = peer.url(), .most = 1000})->body.size(), 1000U);
  for (const char* path : {"/", "/endless"}) {
    const Error error = error_of(client.send({.url = peer.url(path), .most = 999}));
    EXPECT_EQ(error.code, ErrorCode::too_large);
    EXPECT_THAT(error.message, HasSubstr("more than 999 bytes"));
    auto clipped = client.send({.url = peer.url(path), .most = 999, .clip = true});
    ASSERT_TRUE(clipped.has_value()) << clipped.error().message;
    EXPECT_EQ(clipped->status, 200);
    EXPECT_EQ(clipped->body, std::string(999, 'x'));
    EXPECT_TRUE(clipped->clipped);
  }
  EXPECT_EQ(client.send({.url = peer.url(), .most = 0, .clip = true})->body, "");
}

TEST(HttpFailure, endless_headers_are_refused) {
  HttpPeer peer([](const PeerRequest&, PeerConnection& connection) {
    connection.send("HTTP/1.1 200 OK\r\n");
    for (int i = 0; i < 1000; ++i) {
      connection.send(fmt::format("X-Header-{}: {}\r\n", i, std::string(1000, 'x')));
    }
    connection.close();
  });
  HttpClient client;
  const Error error = error_of(client.send({.url = peer.url()}));
  EXPECT_EQ(error.code, ErrorCode::too_large) << error.message;
  EXPECT_THAT(error.message, HasSubstr("of headers"));
}

TEST(HttpFailure, what_cannot_be_sent_is_invalid) {
  HttpClient client;
  for (const char* url :
       {"", "/path", "http://", "ftp://example.org/", "file:///etc/passwd", "gopher://127.0.0.1/",
        "http://127.0.0.1:99999/", "http://a b/", "http://127.0.0.1/\r\nX: y", "http://[::1/",
        "javascript:alert(1)", "http://user:pass@:x/"}) {
    const Error error = error_of(client.send({.url = url, .timeout = 2s}));
    EXPECT_EQ(error.code, ErrorCode::invalid) << url << ": " << error.message;
    EXPECT_THAT(error.message, AllOf(HasSubstr("allowed are"), Not(HasSubstr("pass@")))) << url;
  }
  EXPECT_EQ(error_of(client.send({.url = std::string("http://127.0.0.1\0x/", 19)})).code,
            ErrorCode::invalid);
}

TEST(HttpFailure, nothing_can_be_smuggled_into_the_head) {
  HttpPeer peer(say_ok);
  HttpClient client;
  const auto refusal = [&](std::string method, std::string name, std::string value) {
    const Error error = error_of(
        client.send({.method = std::move(method), .url = peer.url(), .headers = {{name, value}}}));
    return error.code == ErrorCode::invalid ? error.message : "sent: " + error.message;
  };
  EXPECT_THAT(refusal("GET / HTTP/1.1\r\nX: y\r\n", "A", "b"), HasSubstr("not an HTTP method"));
  EXPECT_THAT(refusal("", "A", "b"), HasSubstr("not an HTTP method"));
  EXPECT_THAT(refusal("GET", "A: b\r\nC", "d"), HasSubstr("not a header name"));
  EXPECT_THAT(refusal("GET", "", "d"), HasSubstr("not a header name"));
  EXPECT_THAT(refusal("GET", "Authorization", "Bearer mr_x\r\nC: d"),
              AllOf(HasSubstr("Authorization"), Not(HasSubstr("mr_x"))));
  EXPECT_THAT(refusal("GET", "A", std::string("b\0c", 3)), HasSubstr("control character"));
  EXPECT_TRUE(peer.requests().empty());
}

TEST(HttpFailure, a_request_can_be_given_up) {
  HttpPeer peer(say_nothing);
  std::stop_source source;
  std::promise<Error> given_up;
  HttpClient client;
  client.send({.url = peer.url(), .stop = source.get_token()},
              [&](Result<HttpReply> reply) { given_up.set_value(error_of(std::move(reply))); });
  ASSERT_TRUE(peer.wait_for_requests(1));
  source.request_stop();
  const Error error = given_up.get_future().get();
  EXPECT_EQ(error.code, ErrorCode::unavailable);
  EXPECT_THAT(error.message, HasSubstr("cancelled"));
  EXPECT_THAT(error_of(client.send({.url = peer.url(), .stop = source.get_token()})).message,
              HasSubstr("before it was sent"));
  EXPECT_EQ(peer.requests().size(), 1U);
}

TEST(HttpFailure, giving_up_what_was_answered_changes_nothing) {
  HttpPeer peer(say_ok);
  HttpClient client;
  for (int i = 0; i < 100; ++i) {
    std::stop_source source;
    std::promise<Result<HttpReply>> promise;
    auto answer = promise.get_future();
    client.send({.url = peer.url(), .stop = source.get_token()},
                [promise = std::move(promise)](Result<HttpReply> reply) mutable {
                  promise.set_value(std::move(reply));
                });
    if (i % 2 == 0) answer.wait();
    source.request_stop();
    const auto reply = answer.get();
    EXPECT_TRUE(reply.has_value() || i % 2 != 0);
  }
  EXPECT_EQ(client.send({.url = peer.url()})->body, "ok");
}

TEST(HttpFailure, what_is_under_way_ends_with_the_client) {
  HttpPeer peer(say_nothing);
  auto client = std::make_unique<HttpClient>();
  std::atomic<int> ended = 0;
  std::atomic<int> ended_late = 0;
  HttpClient& again = *client;
  for (int i = 0; i < 5; ++i) {
    client->send({.url = peer.url()}, [&](Result<HttpReply> reply) {
      if (error_of(std::move(reply)).code == ErrorCode::unavailable) ++ended;
      again.send({.url = peer.url()}, [&](Result<HttpReply> late) {
        if (error_of(std::move(late)).code == ErrorCode::unavailable) ++ended_late;
      });
    });
  }
  ASSERT_TRUE(peer.wait_for_requests(5));
  client.reset();
  EXPECT_EQ(ended, 5);
  EXPECT_EQ(ended_late, 5);
}

// ---- Addresses ---------------------------------------------------------------------------------

TEST(HttpFailure, addresses_that_are_not_allowed_are_never_connected_to) {
  HttpPeer peer(say_ok);
  HttpClient client({.guard = {.allow_private = false}});
  for (const char* host :
       {"127.0.0.1", "localhost", "2130706433", "0x7f.1", "0177.0.0.1", "127.1", "0", "0.0.0.0",
        "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]", "10.0.0.1",
        "169.254.169.254", "[fe80::1]", "user@127.0.0.1"}) {
    const Error error =
        error_of(client.send({.url = fmt::format("http://{}:{}/", host, peer.port())}));
    EXPECT_EQ(error.code, ErrorCode::invalid) << host << ": " << error.message;
    EXPECT_THAT(error.message, HasSubstr("may not be called")) << host;
  }
  EXPECT_EQ(peer.connections(), 0U);
}

TEST(HttpFailure, addresses_that_are_allowed_nevertheless_are_connected_to) {
  HttpPeer peer(say_ok);
  HttpClient client({.guard = {.allow_private = false, .allowed = {*parse_range("127.0.0.0/8")}}});
  for (const char* host : {"127.0.0.1", "localhost", "0x7f.1"}) {
    auto reply = client.send({.url = fmt::format("http://{}:{}/", host, peer.port())});
    EXPECT_TRUE(reply.has_value()) << host << ": " << error_of(std::move(reply)).message;
  }
}

// ---- TLS ---------------------------------------------------------------------------------------

TEST(HttpFailure, certificates_are_looked_at) {
  test::TemporaryDirectory directory;
  const test::PeerCertificate files{.certificate_file = directory / "peer.pem",
                                    .key_file = directory / "peer.key"};
  test::write_certificate(files, "peer.example");
  HttpPeer peer(say_ok, files);

  HttpClient client;
  const Error unknown = error_of(client.send({.url = peer.url()}));
  EXPECT_EQ(unknown.code, ErrorCode::unavailable);
  EXPECT_THAT(unknown.message, AllOf(HasSubstr("cannot be trusted"), HasSubstr("self-signed")));

  HttpClient helpful({.unknown_authority = "; name its authority"});
  EXPECT_THAT(error_of(helpful.send({.url = peer.url()})).message,
              HasSubstr("; name its authority"));

  HttpClient trusting(
      {.ca_file = files.certificate_file, .unknown_authority = "; name its authority"});
  auto reply = trusting.send({.url = peer.url()});
  ASSERT_TRUE(reply.has_value()) << reply.error().message;
  EXPECT_EQ(reply->body, "ok");
  const Error other_name =
      error_of(trusting.send({.url = fmt::format("https://localhost:{}/", peer.port())}));
  EXPECT_EQ(other_name.code, ErrorCode::unavailable);
  EXPECT_THAT(other_name.message,
              AllOf(HasSubstr("cannot be trusted"), Not(HasSubstr("; name its authority"))));

  HttpClient lost({.ca_file = directory / "not-there.pem"});
  EXPECT_EQ(error_of(lost.send({.url = peer.url()})).code, ErrorCode::invalid);
}

TEST(HttpFailure, tls_with_who_does_not_speak_it) {
  HttpPeer peer(say_ok);
  HttpClient client;
  const Error error = error_of(
      client.send({.url = fmt::format("https://127.0.0.1:{}/", peer.port()), .timeout = 200ms}));
  EXPECT_EQ(error.code, ErrorCode::unavailable);
  EXPECT_THAT(error.message, HasSubstr(fmt::format("127.0.0.1:{}", peer.port())));
}

}  // namespace
}  // namespace millrace::outgoing
