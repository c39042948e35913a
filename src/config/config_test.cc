#include "config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::config {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Config from_file(std::string text) {
  return read_config({.file = File{.name = "millrace.toml", .text = std::move(text)}});
}

const Origin& origin(const Config& config, std::string_view key) {
  return config.origins[static_cast<std::size_t>(find_setting(key) - all_settings().data())];
}

TEST(Config, without_sources_everything_is_the_default) {
  const Config config = read_config({});
  EXPECT_EQ(config.settings, Settings{});
  EXPECT_THAT(config.problems, IsEmpty());
  EXPECT_EQ(to_text(config.settings.listen), "127.0.0.1:7070");
  EXPECT_EQ(origin(config, "listen").where, "default");
}

// C-26
TEST(Config, flags_win_over_the_environment_over_the_file_over_defaults) {
  const Config config = read_config({.file = File{"millrace.toml",
                                                  "store = \"f\"\n\n[http]\nthreads = 1\n"
                                                  "idle_timeout = \"5s\"\nmax_body = 2048\n"},
                                     .environment = {{"MILLRACE_HTTP_THREADS", "2"},
                                                     {"MILLRACE_HTTP_IDLE_TIMEOUT", "6s"},
                                                     {"PATH", "/bin"}},
                                     .flags = {{"http.idle_timeout", "7s"}}});
  EXPECT_THAT(config.problems, IsEmpty());
  EXPECT_EQ(config.settings.store, "f");
  EXPECT_EQ(config.settings.http_threads, 2U);
  EXPECT_EQ(config.settings.http_idle_timeout, std::chrono::seconds(7));
  EXPECT_EQ(config.settings.http_max_body.bytes, 2048U);
  EXPECT_EQ(origin(config, "store"), (Origin{From::file, "millrace.toml:1"}));
  EXPECT_EQ(origin(config, "http.max_body"), (Origin{From::file, "millrace.toml:6"}));
  EXPECT_EQ(origin(config, "http.threads"), (Origin{From::environment, "MILLRACE_HTTP_THREADS"}));
  EXPECT_EQ(origin(config, "http.idle_timeout"), (Origin{From::flag, "--http-idle-timeout"}));
  EXPECT_EQ(origin(config, "log.level"), Origin{});
}

TEST(Config, dotted_keys_and_inline_tables_are_tables_too) {
  const Config config = from_file("http.threads = 3\nlog = { level = \"debug\" }\n");
  EXPECT_THAT(config.problems, IsEmpty());
  EXPECT_EQ(config.settings.http_threads, 3U);
  EXPECT_EQ(config.settings.log_level, "debug");
}

TEST(Config, every_problem_names_its_place_and_all_are_told_at_once) {
  const Config config = read_config({.file = File{"/etc/m.toml",
                                                  "listn = \"127.0.0.1:1\"\n"
                                                  "[http]\n"
                                                  "threads = \"4\"\n"
                                                  "idle_timeout = 75\n"
                                                  "max_boddy = \"8MiB\"\n"
                                                  "[log]\n"
                                                  "level = \"loud\"\n"},
                                     .environment = {{"MILLRACE_STORE", "jurnal:x"}},
                                     .flags = {{"http.max_body", "huge"}}});
  EXPECT_THAT(
      config.problems,
      ElementsAre("/etc/m.toml:1: there is no setting \"listn\"; the nearest is listen. `millrace "
                  "config` lists all",
                  "/etc/m.toml:3: http.threads is \"4\"; it must be a whole number without quotes: "
                  "http.threads = 2",
                  "/etc/m.toml:4: http.idle_timeout is 75; it must be a duration with its unit, in "
                  "quotes: http.idle_timeout = \"2m\"",
                  HasSubstr("/etc/m.toml:5: there is no setting \"http.max_boddy\"; the nearest is "
                            "http.max_body"),
                  "/etc/m.toml:7: log.level is \"loud\"; allowed is debug, info, warning or error",
                  HasSubstr("--http-max-body: http.max_body: \"huge\" is not a size"),
                  HasSubstr("MILLRACE_STORE: store: jurnal: is not a kind of store")));
}

TEST(Config, what_is_not_toml_names_the_line) {
  for (const char* text : {"listen = \n", "[http\n", "a = 1\na = 2\n", "= 3", "listen = 'x", "\x01",
                           "\xff\xfe", "[a]\n[a]\n", "[:]", "[[:", "x = 99999999999999999999\n"}) {
    const Config config = from_file(text);
    ASSERT_FALSE(config.problems.empty()) << text;
    EXPECT_THAT(config.problems[0], HasSubstr("millrace.toml:")) << text;
    for (const char c : config.problems[0]) EXPECT_GE(static_cast<unsigned char>(c), ' ') << text;
  }
  EXPECT_THAT(from_file("store = \"a\"\nlisten = \n").problems[0],
              HasSubstr("millrace.toml:2: this is not TOML"));
}

TEST(Config, values_of_the_wrong_kind) {
  for (const char* text :
       {"listen = 7070", "listen = [\"127.0.0.1:7070\"]", "store = true", "store = 1.5",
        "queues.create_unknown = 1", "queues.create_unknown = \"true\"", "http.threads = 1.0",
        "http.threads = true", "retry.factor = \"2\"", "retry.max_retries = 1.5",
        "http.max_body = true", "http = 1", "listen.port = 1", "store = 1979-05-27",
        "log.level = 07:32:00", "[[http]]\nthreads = 1", "[store]\n[store.x]\na=1"}) {
    const Config config = from_file(text);
    EXPECT_EQ(config.problems.size(), 1U) << text;
    EXPECT_EQ(config.settings, Settings{}) << text;
  }
}

TEST(Config, numbers_of_the_right_kind) {
  EXPECT_EQ(from_file("retry.max_retries = \"unlimited\"").settings.retry_max_retries.value,
            unlimited);
  EXPECT_EQ(from_file("retry.max_retries = 7").settings.retry_max_retries.value, 7U);
  EXPECT_EQ(from_file("retry.factor = 3").settings.retry_factor, 3.0);
  EXPECT_EQ(from_file("retry.factor = 1.25").settings.retry_factor, 1.25);
  EXPECT_EQ(from_file("http.threads = -1").problems.size(), 1U);
}

TEST(Config, only_a_mistyped_variable_is_worth_a_remark) {
  const Config config = read_config({.environment = {{"MILLRACE_LISTN", "x"},
                                                     {"MILLRACE_SERVICE_HOST", "10.0.0.1"},
                                                     {"MILLRACE_PORT", "tcp://10.0.0.1:7070"},
                                                     {"MILLRACE_CONFIG", "a"},
                                                     {"MILLRACE_JOBS", "4"},
                                                     {"MILLRACE_" + std::string(5000, 'X'), ""},
                                                     {"MILLRACE_", ""}}});
  EXPECT_THAT(config.problems, IsEmpty());
  EXPECT_THAT(
      config.remarks,
      ElementsAre("Millrace knows no variable MILLRACE_LISTN; did you mean MILLRACE_LISTEN?"));
}

TEST(Config, the_table_shows_values_and_origins_and_no_secrets) {
  const std::string secret(40, 's');
  const Config config = read_config({.file = File{"m.toml", "http.max_body = \"16MiB\""},
                                     .environment = {{"MILLRACE_ADMIN_KEY", secret}}});
  const std::string table = as_table(config);
  EXPECT_THAT(table, AllOf(HasSubstr("http.max_body               16MiB           m.toml:1\n"),
                           HasSubstr("listen                      127.0.0.1:7070  default\n"),
                           HasSubstr("(secret)        MILLRACE_ADMIN_KEY\n"),
                           HasSubstr("tls.key                     -  "), Not(HasSubstr(secret))));
  EXPECT_THAT(as_toml(config), Not(HasSubstr(secret)));
}

TEST(Config, the_file_it_prints_means_what_is_in_force) {
  Sources sources{.flags = {{"store", "journal:./a \"b\" \\c?sync=never"}}};
  for (const Setting& each : all_settings()) {
    // A preset is a whole policy, and contradicts every other retry setting.
    if (each.key != "store" && each.key != "retry.preset" && !each.secret) {
      sources.flags.emplace_back(each.key, std::string(each.example));
    }
  }
  const Sources preset{.flags = {{"retry.preset", "mtask"}}};
  for (const Config& config : {read_config({}), read_config(sources), read_config(preset)}) {
    EXPECT_THAT(config.problems, IsEmpty());
    const std::string text = as_toml(config);
    const Config again = from_file(text);
    EXPECT_THAT(again.problems, IsEmpty()) << text;
    EXPECT_EQ(again.settings, config.settings) << text;
  }
  EXPECT_THAT(as_toml(read_config({})),
              AllOf(HasSubstr("\n[http]\n"), HasSubstr("\n# max_body = \"32MiB\"\n"),
                    HasSubstr("MILLRACE_HTTP_MAX_BODY")));
}

TEST(Config, a_printed_file_with_its_comments_removed_holds_the_defaults) {
  std::string text = as_toml(read_config({}));
  for (const Setting& each : all_settings()) {
    const std::size_t dot = each.key.rfind('.');
    const std::string name(dot == each.key.npos ? each.key : each.key.substr(dot + 1));
    const std::size_t at = text.find("\n# " + name + " = ");
    ASSERT_NE(at, std::string::npos) << each.key;
    if (!each.secret) text.erase(at + 1, 2);
  }
  const Config config = from_file(text);
  EXPECT_THAT(config.problems, IsEmpty()) << text;
  EXPECT_EQ(config.settings, Settings{});
}

TEST(Config, an_address_for_alerts_must_be_one_and_is_not_shown) {
  const auto problems = [](std::string_view url) {
    return read_config({.environment = {{"MILLRACE_ALERTS_URL", std::string(url)}}}).problems;
  };
  EXPECT_THAT(problems("https://hooks.example.org/T0/secret"), IsEmpty());
  for (const auto* url : {"hooks.example.org/secret", "ftp://x/secret", "http://x/secret part"}) {
    EXPECT_THAT(problems(url), ElementsAre(AllOf(HasSubstr("alerts.url"), HasSubstr("https://"),
                                                 Not(HasSubstr("secret")))));
  }
}

TEST(Config, the_password_in_the_url_of_a_store_is_not_shown) {
  const Config config =
      read_config({.environment = {{"MILLRACE_STORE", "postgres://ann:hunter2@db/app"}}});
  EXPECT_EQ(config.settings.store, "postgres://ann:hunter2@db/app");
  EXPECT_THAT(as_table(config),
              AllOf(HasSubstr("postgres://ann:***@db/app"), Not(HasSubstr("hunter2"))));
  EXPECT_THAT(as_toml(config), AllOf(HasSubstr("# store = \"postgres://ann:***@db/app\" (its "
                                               "password is not printed; set by MILLRACE_STORE)"),
                                     Not(HasSubstr("hunter2"))));
}

TEST(Config, a_secret_of_the_wrong_kind_is_not_shown) {
  EXPECT_THAT(from_file("admin_key = 123456").problems,
              ElementsAre(AllOf(HasSubstr("admin_key"), Not(HasSubstr("123456")))));
}

}  // namespace
}  // namespace millrace::config
