// serve, config and keys, without a server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <fstream>
#include <sstream>

#include "access/key_book.h"
#include "cli/cli.h"
#include "store/store.h"
#include "tests/support/bare_host.h"
#include "tests/support/driver.h"
#include "tests/support/model_store.h"
#include "tests/support/temporary_directory.h"

namespace millrace::cli {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

// A command gets the store to keep; what it did there stays.
class Borrowed : public test::ModelStore {
 public:
  explicit Borrowed(test::ModelStore& owner) : ModelStore(owner), owner_(owner) {}
  Borrowed(const Borrowed&) = delete;
  ~Borrowed() override {
    if (flushed_) owner_ = *this;
  }
  Result<void> flush() override {
    flushed_ = true;
    return ModelStore::flush();
  }

 private:
  test::ModelStore& owner_;
  bool flushed_ = false;
};

class ServerCommands : public ::testing::Test {
 protected:
  Exit run(std::vector<std::string> arguments) {
    out_.str("");
    err_.str("");
    return cli::run(arguments, with_);
  }

  std::string file(const std::string& name, const std::string& text) {
    std::ofstream(directory_ / name) << text;
    return directory_ / name;
  }

  std::vector<access::Key> keys() {
    access::KeyBook book({});
    EXPECT_THAT(book.replace(test::must(store_.recall({.prefix = "key/"}, test::t0))), IsEmpty());
    return book.list();
  }

  test::TemporaryDirectory directory_;
  class TestHost : public test::BareHost {
   public:
    Result<std::unique_ptr<Store>> open_store(const StoreUrl&, Access, const Progress&,
                                              const OpeningWarning&) override {
      if (no_store) return std::unexpected(*no_store);
      return std::make_unique<Borrowed>(store);
    }
    Exit serve(const config::Config& config) override {
      served = config;
      return Exit::store;
    }

    test::ModelStore store;
    std::optional<Error> no_store;
    std::optional<config::Config> served;
  };

  TestHost host_;
  test::ModelStore& store_ = host_.store;
  std::optional<Error>& no_store_ = host_.no_store;
  std::optional<config::Config>& served_ = host_.served;
  ManualClock clock_{test::t0};
  std::istringstream in_;
  std::ostringstream out_;
  std::ostringstream err_;
  Surroundings with_{
      .in = in_, .out = out_, .err = err_, .clock = clock_, .host = host_, .version = "1.2.3"};
};

TEST_F(ServerCommands, help_teaches_with_examples) {
  const std::vector<std::vector<std::string>> commands = {
      {"serve"}, {"config"}, {"keys"}, {"keys", "create"}, {"keys", "list"}, {"keys", "revoke"}};
  for (auto command : commands) {
    command.emplace_back("--help");
    EXPECT_EQ(run(command), Exit::ok);
    EXPECT_THAT(out_.str(), HasSubstr("Example")) << command[0];
    EXPECT_THAT(err_.str(), IsEmpty());
  }
  run({"serve", "--help"});
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("--http-max-body SIZE"), HasSubstr("[32MiB]"),
                                HasSubstr("text|json"), Not(HasSubstr("--admin-key"))));
}

TEST_F(ServerCommands, serve_gets_what_is_in_force) {
  with_.environment = {{"MILLRACE_HTTP_THREADS", "3"}, {"MILLRACE_STORE", "a"}};
  with_.config_places = {file("millrace.toml", "[log]\nlevel = \"debug\"\n")};
  EXPECT_EQ(run({"serve", "--store", "b", "--http-max-body=1MiB"}), Exit::store);
  ASSERT_TRUE(served_);
  EXPECT_EQ(served_->settings.store, "b");
  EXPECT_EQ(served_->settings.http_threads, 3U);
  EXPECT_EQ(served_->settings.http_max_body.bytes, 1U << 20U);
  EXPECT_EQ(served_->settings.log_level, "debug");
}

TEST_F(ServerCommands, wrong_settings_are_usage_and_nothing_is_served) {
  const std::vector<std::vector<std::string>> bad = {{"serve", "--listen", "7070"},
                                                     {"serve", "--listen"},
                                                     {"serve", "extra"},
                                                     {"serve", "--admin-key", "x"},
                                                     {"serve", "--config", "/nowhere/at/all"},
                                                     {"serve", "--tls-key", "a"},
                                                     {"serve", "--store", "jurnal:x"},
                                                     {"config", "--http-threads", "many"},
                                                     {"config", "--config", "/"}};
  for (const auto& arguments : bad) {
    EXPECT_EQ(run(arguments), Exit::usage) << ::testing::PrintToString(arguments);
    EXPECT_THAT(err_.str(), HasSubstr("error: "));
    EXPECT_THAT(out_.str(), IsEmpty());
  }
  EXPECT_FALSE(served_);
  with_.environment = {{"MILLRACE_CONFIG", file("m.toml", "listn = 1\n[log]\nlevel = 2\n")}};
  EXPECT_EQ(run({"serve"}), Exit::usage);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("m.toml:1: there is no setting"),
                                HasSubstr("m.toml:3: log.level is 2")));
}

TEST_F(ServerCommands, mistyped_flags_and_commands_are_told_the_nearest_one) {
  EXPECT_EQ(run({"serve", "--listn", "x"}), Exit::usage);
  EXPECT_THAT(err_.str(), HasSubstr("there is no flag \"--listn\"; the nearest is --listen\nTry: "
                                    "millrace serve --help"));
  EXPECT_EQ(run({"serve", "--http-max-bdoy=1"}), Exit::usage);
  EXPECT_THAT(err_.str(), HasSubstr("the nearest is --http-max-body"));
  EXPECT_EQ(run({"keys", "creat"}), Exit::usage);
  EXPECT_THAT(err_.str(), HasSubstr("there is no command \"creat\"; the nearest is create\nTry: "
                                    "millrace keys --help"));
  EXPECT_EQ(run({"serv"}), Exit::usage);
  EXPECT_THAT(err_.str(), HasSubstr("the nearest is serve"));
  EXPECT_EQ(run({"keys"}), Exit::usage);
  EXPECT_EQ(run({"keys", "--name", "x"}), Exit::usage);
}

TEST_F(ServerCommands, config_shows_values_and_origins) {
  with_.environment = {{"MILLRACE_LISTEN", "127.0.0.1:1"}, {"MILLRACE_LISTN", "x"}};
  with_.config_places = {directory_ / "none", file("millrace.toml", "store = \"s\"\n")};
  EXPECT_EQ(run({"config", "--http-threads", "2"}), Exit::ok);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("MILLRACE_LISTEN\n"), HasSubstr("millrace.toml:1\n"),
                                HasSubstr("--http-threads\n"), HasSubstr("default\n")));
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("warning: Millrace knows no variable MILLRACE_LISTN"),
                                HasSubstr("settings file: " + (directory_ / "millrace.toml"))));
  EXPECT_EQ(run({"config", "--toml"}), Exit::ok);
  EXPECT_THAT(out_.str(), AllOf(StartsWith("# Settings"), HasSubstr("\nstore = \"s\"\n"),
                                HasSubstr("\nlisten = \"127.0.0.1:1\"\n")));
  file("again.toml", out_.str());
  with_.config_places = {"here", "there"};
  EXPECT_EQ(run({"config"}), Exit::ok);
  EXPECT_EQ(err_.str().substr(err_.str().find("no settings")),
            "no settings file; looked for here and there\n");
  with_.environment = {};
  EXPECT_EQ(run({"config", "--config", directory_ / "again.toml"}), Exit::ok);
  EXPECT_THAT(out_.str(), HasSubstr("127.0.0.1:1"));
}

TEST_F(ServerCommands, a_key_is_printed_alone_and_kept_as_a_hash) {
  EXPECT_EQ(run({"keys", "create", "--store", "d", "--name", "shop", "--scope", "put,read",
                 "--queue", "shop.*", "--expires", "90d", "--rate", "100/1s"}),
            Exit::ok)
      << err_.str();
  EXPECT_THAT(out_.str(), MatchesRegex("mr_[0-9a-f]+_[A-Za-z0-9_-]+\n"));
  const std::string text = out_.str().substr(0, out_.str().size() - 1);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("with put, read"), Not(HasSubstr(text.substr(20)))));
  ASSERT_EQ(keys().size(), 1U);
  const access::Key key = keys()[0];
  EXPECT_EQ(key.id, access::id_of(text));
  EXPECT_EQ(key.about.name, "shop");
  EXPECT_EQ(key.about.expires, test::t0 + 90 * 24h);
  EXPECT_EQ(key.about.rate, (Rate{100, 1s}));
  EXPECT_EQ(run({"keys", "list", "--store", "d"}), Exit::ok);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr(key.id), HasSubstr("shop.*"), HasSubstr("put, read"),
                                HasSubstr("100/1s"), Not(HasSubstr(text.substr(20)))));
  EXPECT_EQ(err_.str(), "1 key\n");
  clock_.advance(91 * 24h);
  run({"keys", "list", "--store", "d"});
  EXPECT_THAT(out_.str(), HasSubstr("expired"));
}

TEST_F(ServerCommands, a_revoked_key_is_gone_and_an_unknown_one_cannot_be_revoked) {
  run({"keys", "create", "--store", "d", "--name", "a", "--scope", "admin", "--expires",
       "2100-01-01T00:00:00Z"});
  const std::string id = keys()[0].id;
  EXPECT_EQ(run({"keys", "revoke", "0000", "--store", "d", "--yes"}), Exit::missing);
  EXPECT_THAT(err_.str(), HasSubstr("there is no key \"0000\"\n`millrace keys list`"));
  EXPECT_EQ(run({"keys", "revoke", "", "--store", "d", "--yes"}), Exit::missing);
  EXPECT_EQ(keys().size(), 1U);
  EXPECT_EQ(run({"keys", "revoke", id, "--store", "d"}), Exit::usage) << "there is no terminal";
  EXPECT_THAT(err_.str(), HasSubstr("Add --yes"));
  with_.in_terminal = true;
  in_.str("n\n");
  EXPECT_EQ(run({"keys", "revoke", id, "--store", "d"}), Exit::failed);
  EXPECT_EQ(keys().size(), 1U);
  in_.clear();
  in_.str("y\n");
  EXPECT_EQ(run({"keys", "revoke", id, "--store", "d"}), Exit::ok);
  EXPECT_THAT(keys(), IsEmpty());
}

TEST_F(ServerCommands, keys_without_one_that_may_do_all_are_warned_of) {
  run({"keys", "create", "--store", "d", "--name", "a", "--scope", "put"});
  EXPECT_THAT(err_.str(), HasSubstr("warning: no key has the scope admin"));
  run({"keys", "create", "--store", "d", "--name", "b", "--scope", "admin"});
  EXPECT_THAT(err_.str(), Not(HasSubstr("warning")));
  run({"keys", "create", "--store", "d", "--name", "c", "--scope", "put"});
  EXPECT_THAT(err_.str(), Not(HasSubstr("warning")));
}

TEST_F(ServerCommands, bad_keys_are_usage_and_change_nothing) {
  const std::vector<std::vector<std::string>> bad = {
      {"--scope", "put"},
      {"--name", "x"},
      {"--name", "", "--scope", "put"},
      {"--name", "x", "--scope", "root"},
      {"--name", "x", "--scope", "put", "--queue", "a b"},
      {"--name", "x", "--scope", "put", "--expires", "soon"},
      {"--name", "x", "--scope", "put", "--expires", "2001-01-01T00:00:00Z"},
      {"--name", "x", "--scope", "put", "--rate", "fast"},
      {"--name", "x", "--scope", "put", "--rate", "0/1s"},
      {"--name", "x", "--scope", "admin", "--queue", "a"}};
  for (auto arguments : bad) {
    arguments.insert(arguments.begin(), {"keys", "create", "--store", "d"});
    EXPECT_EQ(run(arguments), Exit::usage) << ::testing::PrintToString(arguments);
    EXPECT_THAT(out_.str(), IsEmpty());
  }
  EXPECT_THAT(keys(), IsEmpty());
}

TEST_F(ServerCommands, a_store_in_use_is_answered_with_the_command_for_its_server) {
  no_store_ = Error{ErrorCode::conflict, "./data is in use by process 7"};
  EXPECT_EQ(run({"keys", "create", "--store", "d", "--name", "it's", "--scope", "put,work",
                 "--queue", "a.*", "--rate", "5/1m"}),
            Exit::failed);
  EXPECT_THAT(
      err_.str(),
      AllOf(HasSubstr("error: ./data is in use by process 7\n"),
            HasSubstr(R"(millrace keys create --name 'it'\''s' --scope put,work --queue 'a.*' )"
                      "--rate 5/1m --server http://127.0.0.1:7070\n")));
  EXPECT_EQ(run({"keys", "revoke", "abc", "--store", "d", "--yes"}), Exit::failed);
  EXPECT_THAT(err_.str(),
              HasSubstr("millrace keys revoke abc --yes --server http://127.0.0.1:7070"));
  with_.environment = {{"MILLRACE_LISTEN", "[::1]:80"},
                       {"MILLRACE_TLS_CERTIFICATE", "a"},
                       {"MILLRACE_TLS_KEY", "b"}};
  EXPECT_EQ(run({"keys", "list", "--store", "d"}), Exit::failed);
  EXPECT_THAT(err_.str(), HasSubstr("millrace keys list --server https://[::1]:80"));
  no_store_ = Error{ErrorCode::corrupt, "damaged"};
  EXPECT_EQ(run({"keys", "list", "--store", "d"}), Exit::corrupt);
  EXPECT_THAT(err_.str(), Not(HasSubstr("--server")));
  EXPECT_EQ(run({"keys", "list", "--store", "d", "--server", "http://x"}), Exit::usage);
}

}  // namespace
}  // namespace millrace::cli
