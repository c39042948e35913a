// What a browser gets of the program; dashboard/tests has what it makes of that.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <cstdlib>

#include "tests/e2e/program.h"
#include "tests/e2e/server.h"

namespace millrace::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Reply browse(const ServerProcess& server, const std::string& path, const std::string& more = {},
             bool tls = false) {
  RawClient client = server.connect(tls);
  return client.ask(
      fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\n{}\r\n", path, more));
}

TEST(Dashboard, shadows_nothing_of_the_api) {
  ServerProcess server({"--store", "memory:"});
  ASSERT_TRUE(server.ready()) << server.said();
  for (const auto* path : {"/v1/queues", "/openapi.json", "/health", "/ready"}) {
    const Reply reply = browse(server, path);
    EXPECT_EQ(reply.status, 200U) << path;
    EXPECT_EQ(reply.headers.at("content-type"), "application/json") << path;
  }
  EXPECT_THAT(browse(server, "/metrics").headers.at("content-type"), HasSubstr("text/plain"));
  EXPECT_EQ(browse(server, "/v1/nope").status, 404U);
  EXPECT_THAT(server.ask({.path = "/"}).body, HasSubstr("/openapi.json"));
  EXPECT_EQ(server.ask({.path = "/tasks"}).status, 404U) << "programs are not given pages";
  EXPECT_EQ(browse(server, "/").headers.at("x-content-type-options"), "nosniff");
}

TEST(Dashboard, can_be_switched_off) {
  ServerProcess server({"--store", "memory:", "--dashboard-enabled", "false"});
  ASSERT_TRUE(server.ready()) << server.said();
  EXPECT_EQ(browse(server, "/").status, 404U);
  EXPECT_EQ(browse(server, "/v1/queues").status, 200U);
}

// S3-054
TEST(Dashboard, the_api_is_there_with_and_without_the_base_path) {
  ServerProcess server({"--store", "memory:", "--http-base-path", "/admin/queues"});
  ASSERT_TRUE(server.ready()) << server.said();
  for (const auto* path : {"/admin/queues/v1/queues", "/v1/queues",
                           "/admin/queues/v1/tasks?limit=5", "/admin/queues/health"}) {
    EXPECT_EQ(browse(server, path).status, 200U) << path;
  }
  EXPECT_EQ(server.ask({.path = "/admin/queuesx/v1/queues"}).status, 404U);
  ServerProcess refused({"--store", "memory:", "--http-base-path", "admin/"});
  EXPECT_EQ(refused.exit(), 2);
  EXPECT_THAT(refused.said(), HasSubstr("http.base_path"));
}

TEST(Dashboard, cookies_are_for_tls_only_where_there_is_tls) {
  const TemporaryDirectory directory;
  const std::string command =
      "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=x "
      "-keyout " +
      (directory / "key.pem") + " -out " + (directory / "certificate.pem") + " 2>/dev/null";
  ASSERT_EQ(std::system(command.c_str()), 0) << "openssl is needed";
  const std::string key(40, 'k');
  ServerProcess server({"--store", "memory:", "--tls-certificate", directory / "certificate.pem",
                        "--tls-key", directory / "key.pem"},
                       {{"MILLRACE_ADMIN_KEY", key}});
  ASSERT_TRUE(server.ready()) << server.said();
  RawClient client = server.connect(true);
  const std::string body = fmt::format(R"({{"key":"{}"}})", key);
  const Reply signed_in =
      client.ask(fmt::format("POST /v1/session HTTP/1.1\r\nHost: localhost\r\nX-Requested-By: t\r\n"
                             "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
                             body.size(), body));
  ASSERT_EQ(signed_in.status, 200U) << signed_in.body;
  const std::string cookie = signed_in.headers.at("set-cookie");
  EXPECT_THAT(cookie, AllOf(HasSubstr("; HttpOnly"), HasSubstr("; SameSite=Strict"),
                            HasSubstr("; Secure")));
  const std::string sent = fmt::format("Cookie: {}\r\n", cookie.substr(0, cookie.find(';')));
  EXPECT_EQ(browse(server, "/v1/queues", sent, true).status, 200U);
  EXPECT_EQ(browse(server, "/v1/queues", {}, true).status, 401U);
}

}  // namespace
}  // namespace millrace::test
