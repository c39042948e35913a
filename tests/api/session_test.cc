// Signing in with a browser, over sockets: the cookie, what it is good for, and who cannot use it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/server/stored_keys.h"
#include "api/server/stored_sessions.h"
#include "tests/api/api_server.h"

namespace millrace::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

constexpr const char* ours = "X-Requested-By: dashboard\r\n";

class SessionTest : public ::testing::Test {
 protected:
  // Makes a key by one that has the scope admin: its id and text.
  std::pair<std::string, std::string> make_key(const std::string& scopes) {
    const Reply reply = server_.ask({.method = "POST",
                                     .target = "/v1/keys",
                                     .body = fmt::format(R"({{"name":"k","scopes":[{}]}})", scopes),
                                     .headers = admin_.empty() ? "" : by_key_text(admin_)});
    EXPECT_EQ(reply.status, 201U) << reply.body;
    return {member(reply.body, "id"), member(reply.body, "secret")};
  }
  void guard() { admin_ = make_key(R"("admin")").second; }
  Reply sign_in(const std::string& key, const std::string& more = {},
                const std::string& host = "localhost", const std::string& path = "/") {
    return server_.ask({.method = "POST",
                        .target = "/v1/session",
                        .body = fmt::format(R"({{"key":"{}","path":"{}"}})", key, path),
                        .headers = ours + more,
                        .host = host});
  }
  // name=value of the cookie, as browsers send it.
  static std::string cookie_of(const Reply& reply) {
    const std::string& set = reply.headers.at("set-cookie");
    return fmt::format("Cookie: a=b; {}; c=d\r\n", set.substr(0, set.find(';')));
  }
  unsigned status(const std::string& method, const std::string& target, const std::string& headers,
                  const std::string& body = {}) {
    return server_.ask({.method = method, .target = target, .body = body, .headers = headers})
        .status;
  }

  ApiServer server_;
  std::string admin_;
};

TEST_F(SessionTest, a_server_without_keys_allows_every_caller_everything) {
  const Reply reply = server_.ask({.target = "/v1/session"});
  EXPECT_EQ(reply.status, 200U);
  EXPECT_EQ(reply.body,
            R"({"needs_key":false,"signed_in":false,"scopes":["put","work","read","admin"]})");
  EXPECT_EQ(reply.headers.at("cache-control"), "no-store");
}

// S3-055
TEST_F(SessionTest, a_key_becomes_a_cookie_that_may_do_what_the_key_may) {
  guard();
  const auto [id, key] = make_key(R"("read")");
  EXPECT_EQ(server_.ask({.target = "/v1/session"}).body,
            R"({"needs_key":true,"signed_in":false,"scopes":[]})");
  const Reply signed_in = sign_in(key);
  ASSERT_EQ(signed_in.status, 200U) << signed_in.body;
  EXPECT_THAT(signed_in.body, HasSubstr(R"("signed_in":true,"scopes":["read"])"));
  EXPECT_THAT(signed_in.body, Not(HasSubstr("mr_")));
  EXPECT_THAT(signed_in.headers.at("set-cookie"),
              MatchesRegex("millrace_session=ms_[0-9a-f]{16}_[A-Za-z0-9_-]{43}; Path=/; "
                           "Max-Age=43200; HttpOnly; SameSite=Strict"));
  const std::string cookie = cookie_of(signed_in);
  EXPECT_EQ(server_.ask({.target = "/v1/session", .headers = cookie}).body, signed_in.body);
  EXPECT_EQ(status("GET", "/v1/stats", ""), 401U);
  EXPECT_EQ(status("GET", "/v1/stats", cookie), 200U);
  EXPECT_EQ(status("POST", "/v1/tasks", cookie + ours, R"({"queue":"a"})"), 403U) << "no scope";
  EXPECT_EQ(status("GET", "/v1/stats", "Cookie: millrace_session=ms_nonsense\r\n"), 401U);
  EXPECT_EQ(status("GET", "/v1/stats", cookie + by_key_text("mr_wrong")), 401U)
      << "a key goes first";
}

TEST_F(SessionTest, what_is_changed_with_a_cookie_must_come_from_our_page) {
  guard();
  const std::string cookie = cookie_of(sign_in(admin_));
  const std::string body = R"({"queue":"a"})";
  EXPECT_EQ(status("POST", "/v1/tasks", cookie, body), 403U);
  EXPECT_EQ(status("DELETE", "/v1/queues/a", cookie), 403U);
  EXPECT_EQ(status("POST", "/v1/tasks", cookie + "Origin: https://evil.example\r\n", body), 403U);
  EXPECT_EQ(status("POST", "/v1/tasks", cookie + ours, body), 201U);
  EXPECT_EQ(status("POST", "/v1/tasks", cookie + ours + "Origin: https://behind.proxy\r\n", body),
            201U);
  EXPECT_EQ(status("POST", "/v1/tasks", by_key_text(admin_), body), 201U)
      << "a key does not come by itself";
  const Request sneaky{
      .method = "POST", .target = "/v1/session", .body = fmt::format(R"({{"key":"{}"}})", admin_)};
  EXPECT_EQ(server_.ask(sneaky).status, 403U) << "a page of another site signs no user in";
  EXPECT_EQ(status("DELETE", "/v1/session", cookie), 403U);
}

TEST_F(SessionTest, behind_a_proxy_that_asks_for_passwords_the_cookie_counts) {
  const std::string basic = "Authorization: Basic YWRhOnNlY3JldA==\r\n";
  guard();
  EXPECT_EQ(server_.ask({.target = "/v1/session", .headers = basic}).body,
            R"({"needs_key":true,"signed_in":false,"scopes":[]})");
  const Reply signed_in = sign_in(admin_, basic);
  ASSERT_EQ(signed_in.status, 200U) << signed_in.body;
  const std::string both = cookie_of(signed_in) + basic;
  EXPECT_EQ(server_.ask({.target = "/v1/session", .headers = both}).body, signed_in.body);
  EXPECT_EQ(status("GET", "/v1/stats", both), 200U);
  EXPECT_EQ(status("POST", "/v1/tasks/actions", both + ours,
                   R"({"action":"retry","ids":["01890a5d-ac96-774b-bcce-b302099a8057"]})"),
            200U)
      << "the second check of the session agrees with the first";
  EXPECT_EQ(status("POST", "/v1/tasks", both, R"({"queue":"a"})"), 403U);
  EXPECT_EQ(status("GET", "/v1/stats", basic), 401U) << "a password is no key";
  RawClient reader = server_.connect();
  reader.send(text_of({.target = "/v1/events", .headers = both}));
  EXPECT_THAT(reader.read_until("id: "), HasSubstr("200 OK"));
}

TEST_F(SessionTest, it_ends_by_signing_out_with_its_key_and_with_time) {
  guard();
  const auto [id, key] = make_key(R"("admin")");
  const std::string first = cookie_of(sign_in(key));
  const Reply out =
      server_.ask({.method = "DELETE", .target = "/v1/session", .headers = first + ours});
  EXPECT_EQ(out.status, 204U);
  EXPECT_THAT(out.headers.at("set-cookie"), HasSubstr("millrace_session=; Path=/; Max-Age=0"));
  EXPECT_EQ(status("GET", "/v1/stats", first), 401U);
  EXPECT_EQ(status("DELETE", "/v1/session", first + ours), 204U) << "again is no error";

  const std::string second = cookie_of(sign_in(key));
  EXPECT_EQ(status("GET", "/v1/stats", second), 200U);
  EXPECT_EQ(status("DELETE", "/v1/keys/" + id, by_key_text(admin_)), 204U);
  EXPECT_EQ(status("GET", "/v1/stats", second), 401U);

  const std::string third = cookie_of(sign_in(admin_));
  server_.driver.clock.advance(12h - 1s);
  EXPECT_EQ(status("GET", "/v1/stats", third), 200U);
  server_.driver.clock.advance(1s);
  EXPECT_EQ(status("GET", "/v1/stats", third), 401U);
}

TEST_F(SessionTest, the_cookie_is_for_its_server_its_path_and_for_tls_where_there_is_some) {
  guard();
  EXPECT_THAT(sign_in(admin_, {}, "localhost:7070").headers.at("set-cookie"),
              HasSubstr("millrace_session_7070=ms_"));
  EXPECT_THAT(sign_in(admin_, {}, "[::1]:7071").headers.at("set-cookie"),
              HasSubstr("millrace_session_7071=ms_"));
  EXPECT_THAT(sign_in(admin_, "X-Forwarded-Proto: https\r\n").headers.at("set-cookie"),
              HasSubstr("; Secure"));
  EXPECT_THAT(sign_in(admin_, {}, "h", "/admin/queues/").headers.at("set-cookie"),
              HasSubstr("; Path=/admin/queues/;"));
  EXPECT_THAT(sign_in(admin_, {}, "h", "/my%20team/(jobs)/").headers.at("set-cookie"),
              HasSubstr("; Path=/my%20team/(jobs)/;"));
  for (const auto* path : {"admin", "//x", "/a; Domain=example.org", "/a b", "/a/../b"}) {
    EXPECT_EQ(sign_in(admin_, {}, "h", path).status, 422U) << path;
  }
}

TEST_F(SessionTest, who_guesses_keys_has_to_wait) {
  guard();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(sign_in("mr_guess").status, 401U);
  const Reply limited = sign_in("mr_guess");
  EXPECT_EQ(limited.status, 429U);
  EXPECT_TRUE(limited.headers.contains("retry-after"));
  EXPECT_EQ(sign_in(admin_).status, 200U) << "others behind the same proxy have the right one";
  EXPECT_EQ(sign_in("mr_guess").status, 429U);
  server_.driver.clock.advance(2min);
  EXPECT_EQ(sign_in("mr_guess").status, 401U);
}

TEST_F(SessionTest, after_too_many_guesses_of_a_chosen_key_the_client_has_to_wait) {
  access::KeyBook book({.admin_key = "correct horse"});
  api::StoredKeys keys(book, server_.driver.clock, Log{});
  api::StoredSessions sessions(keys, server_.driver.clock, Log{});
  const auto status_of = [&](const std::string& key) {
    const auto answer = server_.driver.wait<unsigned>([&](auto done) {
      sessions.sign_in(*server_.driver.broker, {.key = key, .path = "/", .remote = "10.0.0.7"},
                       [done = std::move(done)](auto signed_in) mutable {
                         done(signed_in ? 200U : signed_in.error().status);
                       });
    });
    return answer.value_or(0);
  };
  EXPECT_EQ(status_of("correct horse"), 200U);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(status_of("battery staple"), 401U);
  EXPECT_EQ(status_of("correct horse"), 429U);
  server_.driver.clock.advance(2min);
  EXPECT_EQ(status_of("correct horse"), 200U);
}

TEST_F(SessionTest, it_outlives_the_server_that_made_it) {
  guard();
  const std::string cookie = cookie_of(sign_in(admin_));
  api::StoredSessions fresh(server_.keys, server_.driver.clock, Log{});
  const api::HttpRequest head{.host = "localhost", .cookie = cookie.substr(8, cookie.size() - 10)};
  EXPECT_FALSE(fresh.check(head, api::Scope::read));
  fresh.reload(*server_.driver.broker);
  for (int i = 0; i < 2000 && !fresh.check(head, api::Scope::read); ++i) {
    server_.ask({.target = "/v1/stats", .headers = by_key_text(admin_)});
  }
  const auto access = fresh.check(head, api::Scope::read);
  ASSERT_TRUE(access) << access.error().detail;
  EXPECT_TRUE(access->session);
  EXPECT_EQ(access->name(), "k");
}

TEST_F(SessionTest, events_end_soon_after_the_session_does) {
  guard();
  const std::string cookie = cookie_of(sign_in(admin_));
  RawClient reader = server_.connect();
  reader.send(text_of({.target = "/v1/events", .headers = cookie}));
  EXPECT_THAT(reader.read_until("id: "), HasSubstr("200 OK"));
  EXPECT_EQ(status("DELETE", "/v1/session", cookie + ours), 204U);
  server_.driver.clock.advance(15s);
  server_.api.event_streams().tick();
  EXPECT_THAT(reader.read_until("\r\n0\r\n\r\n"), Not(HasSubstr("event:")));
}

}  // namespace
}  // namespace millrace::test
