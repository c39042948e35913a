// Who gets in: keys, scopes, TLS, addresses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <cstdlib>

#include "tests/e2e/program.h"
#include "tests/e2e/server.h"

namespace millrace::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Guarded : public ::testing::Test {
 protected:
  std::string make_key(std::vector<std::string> more) {
    more.insert(more.begin(), {"keys", "create", "--store", data_, "--name", "test"});
    const Ran made = run_program(more);
    EXPECT_EQ(made.exit, 0) << made.err;
    return made.out.substr(0, made.out.find('\n'));
  }

  // A certificate for `name`, signed by itself.
  void make_certificate(const std::string& name) const {
    const std::string command =
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=" +
        name + " -addext subjectAltName=IP:127.0.0.1 -keyout " + (directory_ / "key.pem") +
        " -out " + (directory_ / "certificate.pem") + " 2>/dev/null";
    ASSERT_EQ(std::system(command.c_str()), 0) << "openssl is needed";
  }

  TemporaryDirectory directory_;
  const std::string data_ = directory_ / "data";
};

TEST_F(Guarded, an_address_that_others_reach_needs_a_key_first) {
  ServerProcess open({"--no-listen", "--listen", "0.0.0.0:0", "--store", data_});
  EXPECT_EQ(open.exit(), 1);
  EXPECT_THAT(open.said(), AllOf(HasSubstr("error: other machines can reach 0.0.0.0:0"),
                                 HasSubstr("millrace keys create --store " + data_)));
  const std::string key = make_key({"--scope", "admin"});
  ServerProcess guarded({"--no-listen", "--listen", "0.0.0.0:0", "--store", data_});
  ASSERT_TRUE(guarded.ready()) << guarded.said();
  EXPECT_EQ(guarded.ask({.path = "/v1/queues"}).status, 401U);
  EXPECT_EQ(guarded.ask({.path = "/v1/queues", .key = key}).status, 200U);
}

TEST_F(Guarded, an_admin_key_of_the_environment_will_do) {
  const std::string key(40, 'x');
  ServerProcess server({"--no-listen", "--listen", "0.0.0.0:0", "--store", "memory:"},
                       {{"MILLRACE_ADMIN_KEY", key}});
  ASSERT_TRUE(server.ready()) << server.said();
  EXPECT_EQ(server.ask({.path = "/v1/queues"}).status, 401U);
  EXPECT_EQ(server.ask({.path = "/v1/queues", .key = key}).status, 200U);
  server.signal(SIGTERM);
  EXPECT_EQ(server.exit(), 0);
  EXPECT_THAT(server.said(), Not(HasSubstr(key)));
}

TEST_F(Guarded, each_scope_opens_its_own_doors_and_health_is_open) {
  const std::string put_key = make_key({"--scope", "put", "--queue", "shop.*"});
  const std::string read_key = make_key({"--scope", "read"});
  ServerProcess server({"--store", data_});
  ASSERT_TRUE(server.ready()) << server.said();
  EXPECT_THAT(server.said(), HasSubstr("keys=needed"));
  for (const char* open : {"/health", "/ready", "/openapi.json"}) {
    EXPECT_EQ(server.ask({.path = open}).status, 200U) << open;
  }
  const Asked put{.method = "POST", .path = "/v1/queues/shop.mail/tasks", .body = "{}"};
  const auto with = [](Asked asked, const std::string& key) {
    asked.key = key;
    return asked;
  };
  const Reply without = server.ask(put);
  EXPECT_EQ(without.status, 401U);
  EXPECT_THAT(without.body, HasSubstr("Authorization: Bearer"));
  EXPECT_EQ(server.ask(with(put, put_key + "x")).status, 401U);
  EXPECT_EQ(server.ask(with(put, read_key)).status, 403U);
  EXPECT_EQ(server.ask(with(put, put_key)).status, 201U);
  EXPECT_EQ(
      server.ask({.method = "POST", .path = "/v1/queues/mail/tasks", .body = "{}", .key = put_key})
          .status,
      403U)
      << "not one of its queues";
  EXPECT_EQ(server.ask({.path = "/v1/queues", .key = put_key}).status, 403U);
  EXPECT_EQ(server.ask({.path = "/v1/queues", .key = read_key}).status, 200U);
  EXPECT_EQ(server.ask({.path = "/v1/keys", .key = read_key}).status, 403U);
  EXPECT_THAT(server.said(), Not(HasSubstr(put_key.substr(20))));
}

TEST_F(Guarded, keys_are_made_and_revoked_over_http_and_hold_at_once) {
  const auto create = [](std::string body, std::string key = {}) {
    return Asked{
        .method = "POST", .path = "/v1/keys", .body = std::move(body), .key = std::move(key)};
  };
  std::string admin;
  std::string reader;
  {
    ServerProcess server({"--store", data_});
    ASSERT_TRUE(server.ready()) << server.said();
    const Reply locked_out = server.ask(create(R"({"name":"r","scopes":["read"]})"));
    EXPECT_EQ(locked_out.status, 422U) << locked_out.body;
    EXPECT_THAT(locked_out.body, HasSubstr("scope admin first"));
    const Reply made = server.ask(create(R"({"name":"ops","scopes":["admin"]})"));
    ASSERT_EQ(made.status, 201U) << made.body;
    admin = field(made.body, "secret");
    EXPECT_EQ(server.ask({.path = "/v1/queues"}).status, 401U) << "from now on";
    const Reply second = server.ask(
        create(R"({"name":"r","scopes":["read"],"rate":{"max":3,"per_ms":3600000}})", admin));
    ASSERT_EQ(second.status, 201U) << second.body;
    reader = field(second.body, "secret");
    for (const char* bad :
         {R"({"name":"r","scopes":["root"]})", R"({"name":"","scopes":["read"]})",
          R"({"scopes":["read"]})", R"({"name":"r","scopes":["read"],"queues":["a b"]})",
          R"({"name":"r","scopes":["read"],"expires":"2001-01-01T00:00:00Z"})"}) {
      EXPECT_EQ(server.ask(create(bad, admin)).status, 422U) << bad;
    }
    EXPECT_EQ(server.ask(create("{", admin)).status, 400U);
    const Reply list = server.ask({.path = "/v1/keys", .key = admin});
    EXPECT_THAT(list.body, AllOf(HasSubstr("\"name\":\"ops\""), HasSubstr("\"name\":\"r\""),
                                 Not(HasSubstr(admin.substr(20)))));
    EXPECT_EQ(server.ask({.path = "/v1/queues", .key = reader}).status, 200U);
    EXPECT_EQ(server.ask({.path = "/v1/queues", .key = reader}).status, 200U);
    EXPECT_EQ(server.ask({.path = "/v1/queues", .key = reader}).status, 200U);
    const Reply limited = server.ask({.path = "/v1/queues", .key = reader});
    EXPECT_EQ(limited.status, 429U);
    EXPECT_TRUE(limited.headers.contains("retry-after"));
    server.signal(SIGTERM);
    EXPECT_EQ(server.exit(), 0);
    EXPECT_THAT(server.said(), AllOf(HasSubstr("API key made"), Not(HasSubstr(admin.substr(20)))));
  }
  ServerProcess server({"--store", data_});
  ASSERT_TRUE(server.ready()) << server.said();
  EXPECT_EQ(server.ask({.path = "/v1/queues", .key = reader}).status, 200U);
  const std::string path = "/v1/keys/" + reader.substr(3, 16);
  EXPECT_EQ(server.ask({.method = "DELETE", .path = path, .key = admin}).status, 204U);
  EXPECT_EQ(server.ask({.path = "/v1/queues", .key = reader}).status, 401U);
  EXPECT_EQ(server.ask({.method = "DELETE", .path = path, .key = admin}).status, 404U);
}

TEST_F(Guarded, keys_of_a_store_in_use_are_the_servers_business) {
  ServerProcess server({"--store", data_});
  ASSERT_TRUE(server.ready()) << server.said();
  const Ran refused =
      run_program({"keys", "create", "--store", data_, "--name", "x", "--scope", "admin"});
  EXPECT_EQ(refused.exit, 1);
  EXPECT_THAT(refused.err,
              AllOf(HasSubstr("in use"),
                    HasSubstr("millrace keys create --name x --scope admin --server http://")));
}

TEST_F(Guarded, a_private_authority_is_trusted_where_it_is_named) {
  make_certificate("private");
  const std::string file = directory_ / "certificate.pem";
  ServerProcess server(
      {"--store", data_, "--tls-certificate", file, "--tls-key", directory_ / "key.pem"});
  ASSERT_TRUE(server.ready()) << server.said();
  const std::string url = "https://127.0.0.1:" + std::to_string(server.port());
  const Ran unknown = run_program({"queues", "--server", url});
  EXPECT_EQ(unknown.exit, 6);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("cannot be trusted"), HasSubstr("--ca-file")));
  EXPECT_EQ(run_program({"put", "q", "1", "--server", url}).exit, 6) << "at once";
  const Ran useless = run_program({"work", "--server", url, "--until-empty", "q", "--", "cat"});
  EXPECT_EQ(useless.exit, 1) << "it does not wait for what will not come";
  EXPECT_THAT(useless.err, HasSubstr("--ca-file"));
  EXPECT_EQ(run_program({"put", "q", "1", "--server", url, "--ca-file", file}).exit, 0);
  const Ran worked = run_program(
      {"work", "--server", url, "--ca-file", file, "--until-empty", "-v", "q", "--", "cat"});
  EXPECT_EQ(worked.exit, 0) << worked.err;
  EXPECT_THAT(worked.err, HasSubstr("done "));
}

TEST_F(Guarded, https_with_a_certificate_that_is_read_again_on_a_signal) {
  make_certificate("first");
  const std::vector<std::string> tls = {"--store",           data_,
                                        "--tls-certificate", directory_ / "certificate.pem",
                                        "--tls-key",         directory_ / "key.pem"};
  ServerProcess server(tls);
  ASSERT_TRUE(server.ready()) << server.said();
  RawClient client = server.connect(true);
  EXPECT_THAT(client.peer_name(), HasSubstr("first"));
  EXPECT_EQ(client.ask(bytes_of({.path = "/health"})).status, 200U);
  make_certificate("second");
  server.signal(SIGHUP);
  ASSERT_TRUE(server.says("TLS files read again")) << server.said();
  EXPECT_THAT(server.connect(true).peer_name(), HasSubstr("second"));
  write_file(directory_ / "key.pem", "nonsense");
  server.signal(SIGHUP);
  ASSERT_TRUE(server.says("the old ones stay in use")) << server.said();
  EXPECT_THAT(server.connect(true).peer_name(), HasSubstr("second"));
  server.signal(SIGTERM);
  EXPECT_EQ(server.exit(), 0) << server.said();
  ServerProcess broken(tls);
  EXPECT_EQ(broken.exit(), 1);
  EXPECT_THAT(broken.said(), HasSubstr("key.pem"));
}

}  // namespace
}  // namespace millrace::test
