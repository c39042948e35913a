#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/address.h"
#include "config/settings.h"
#include "config/size.h"
#include "core/retry.h"
#include "tests/support/matchers.h"

namespace millrace::config {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Size, numbers_with_and_without_units) {
  const std::vector<std::pair<std::string, std::uint64_t>> good = {{"0", 0},
                                                                   {"4096", 4096},
                                                                   {"1B", 1},
                                                                   {"64KiB", 65536},
                                                                   {"8MiB", 8U << 20U},
                                                                   {"8mib", 8U << 20U},
                                                                   {"1.5GiB", 3ULL << 29U},
                                                                   {"10MB", 10'000'000},
                                                                   {"1kB", 1000},
                                                                   {"2TiB", 2ULL << 40U},
                                                                   {"0.5KiB", 512}};
  for (const auto& [text, bytes] : good) {
    const auto size = parse_size(text);
    ASSERT_TRUE(size) << text << ": " << size.error().message;
    EXPECT_EQ(size->bytes, bytes) << text;
    EXPECT_EQ(parse_size(to_text(*size)), *size) << text;
  }
  EXPECT_EQ(to_text(Size{8U << 20U}), "8MiB");
  EXPECT_EQ(to_text(Size{1025}), "1025");
  EXPECT_EQ(to_text(Size{0}), "0");
}

TEST(Size, anything_else_is_refused_with_an_example) {
  const std::vector<std::string> bad = {"",
                                        " ",
                                        "MiB",
                                        "-1",
                                        "1 MiB",
                                        "1..5MiB",
                                        "1.5",
                                        ".5MiB",
                                        "5.MiB",
                                        "8Mib ",
                                        "8MiBs",
                                        "8M",
                                        "0x10",
                                        "1e3",
                                        "0.3B",
                                        std::string(19, '9'),
                                        "18446744073709551616",
                                        "999999999999TiB",
                                        std::string("8\0MiB", 5),
                                        "\xff"};
  for (const auto& text : bad) {
    const auto size = parse_size(text);
    ASSERT_FALSE(size) << text;
    EXPECT_THAT(size.error().message, HasSubstr("8MiB"));
  }
}

TEST(Address, good_ones_come_back_as_they_went_in) {
  for (const char* text :
       {"127.0.0.1:7070", "0.0.0.0:0", "[::1]:65535", "[::]:80", "[2001:db8::8a2e:370:7334]:7070",
        "[::ffff:10.0.0.1]:1", "[1:2:3:4:5:6:7:8]:9"}) {
    const auto address = parse_address(text);
    ASSERT_TRUE(address) << text << ": " << address.error().message;
    EXPECT_EQ(to_text(*address), text);
  }
  EXPECT_EQ(parse_address("localhost:1")->host, "127.0.0.1");
}

TEST(Address, bad_ones_are_told_how_to_write_it) {
  for (const char* text : {"",
                           "7070",
                           ":7070",
                           "127.0.0.1",
                           "127.0.0.1:",
                           "127.0.0.1:65536",
                           "127.0.0.1:-1",
                           "127.0.0.1:7070 ",
                           "256.0.0.1:1",
                           "1.2.3:1",
                           "1.2.3.4.5:1",
                           "01.2.3.4:1",
                           "::1:7070",
                           "[::1]",
                           "[]:1",
                           "[127.0.0.1]:1",
                           "[1:2:3]:1",
                           "[1::2::3]:1",
                           "[12345::]:1",
                           "[1:2:3:4:5:6:7:8::]:1",
                           "[:1:2:3:4:5:6:7]:1",
                           "example.com:80",
                           "[fe80::1%eth0]:80",
                           "*:80",
                           "127.0.0.1:70x"}) {
    const auto address = parse_address(text);
    ASSERT_FALSE(address) << text;
    EXPECT_THAT(address.error().message, AllOf(HasSubstr("127.0.0.1:7070"), HasSubstr("[::1]")));
  }
  EXPECT_THAT(parse_address("::1:70").error().message, HasSubstr("brackets"));
}

TEST(Address, only_this_machine) {
  for (const char* host : {"127.0.0.1", "127.8.9.1", "::1", "0:0:0:0:0:0:0:1", "0::0001"}) {
    EXPECT_TRUE(is_loopback(host)) << host;
  }
  for (const char* host : {"0.0.0.0", "::", "10.0.0.1", "::2", "1::1", "::ffff:127.0.0.1", "::1:1",
                           "128.0.0.1", "localhost", "127.evil.com", "", "2001:db8::1"}) {
    EXPECT_FALSE(is_loopback(host)) << host;
  }
}

TEST(Settings, every_one_has_a_default_help_and_an_example_that_are_allowed) {
  for (const Setting& each : all_settings()) {
    Settings settings;
    EXPECT_TRUE(assign(settings, each, text_of({}, each))) << each.key;
    EXPECT_EQ(settings, Settings{}) << each.key;
    EXPECT_TRUE(assign(settings, each, each.example)) << each.key;
    EXPECT_NE(settings, Settings{}) << each.key << ": the example is the default";
    EXPECT_EQ(text_of(settings, each), each.example) << each.key;
    EXPECT_GT(each.help.size(), 10U) << each.key;
    EXPECT_LE(each.help.size(), 90U) << each.key << ": one line";
    EXPECT_EQ(find_setting(each.key), &each);
    EXPECT_NE(allowed(each), "");
  }
  EXPECT_TRUE(disagreements({}).empty());
  EXPECT_EQ(find_setting("http"), nullptr);
}

TEST(Settings, names_follow_from_the_key) {
  const Setting& setting = *find_setting("http.max_body");
  EXPECT_EQ(environment_name(setting), "MILLRACE_HTTP_MAX_BODY");
  EXPECT_EQ(flag_name(setting), "--http-max-body");
}

TEST(Settings, what_is_not_allowed_changes_nothing_and_says_what_is) {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"listen", "7070"},
      {"log.level", "INFO"},
      {"log.level", ""},
      {"log.format", "xml"},
      {"http.threads", "-1"},
      {"http.threads", "257"},
      {"http.threads", "4.0"},
      {"http.threads", "4 "},
      {"http.threads", "4294967297"},
      {"http.max_body", "1"},
      {"http.max_body", "2GiB"},
      {"http.max_body", "8"},
      {"http.idle_timeout", "75"},
      {"http.idle_timeout", "1ms"},
      {"http.idle_timeout", "-5s"},
      {"http.max_connections", "0"},
      {"queues.create_unknown", "yes"},
      {"queues.create_unknown", ""},
      {"retry.factor", "0.5"},
      {"retry.factor", "nan"},
      {"retry.factor", "inf"},
      {"retry.jitter_share", "1.01"},
      {"retry.max_retries", "-1"},
      {"retry.max_retries", "many"},
      {"retry.cap", "20000d"},
      {"store", "a\nb"},
      {"store", "\xff"},
      {"store", std::string(5000, 'a')},
      {"shutdown.timeout_exit_code", "256"}};
  for (const auto& [key, text] : bad) {
    Settings settings;
    const auto done = assign(settings, *find_setting(key), text);
    ASSERT_FALSE(done) << key << " = " << text;
    EXPECT_THAT(done.error().message, HasSubstr(key));
    EXPECT_EQ(done.error().code, ErrorCode::invalid);
  }
  Settings settings;
  EXPECT_EQ(assign(settings, *find_setting("http.threads"), "four").error().message,
            "http.threads is \"four\"; allowed is a whole number from 0 to 256, such as 2");
  EXPECT_EQ(assign(settings, *find_setting("http.max_body"), "1B").error().message,
            "http.max_body is \"1B\"; allowed is a size from 1KiB to 1GiB, such as 64MiB");
  EXPECT_EQ(assign(settings, *find_setting("log.level"), "loud").error().message,
            "log.level is \"loud\"; allowed is debug, info, warning or error");
  EXPECT_THAT(assign(settings, *find_setting("admin_key"), "hush\n").error().message,
              ::testing::Not(HasSubstr("hush")));
}

TEST(Settings, disagreements_between_values) {
  EXPECT_THAT(disagreements({.tls_certificate = "a"})[0].message, HasSubstr("tls.key is not"));
  EXPECT_THAT(disagreements({.tls_key = "a"})[0].message, HasSubstr("tls.certificate is not"));
  EXPECT_THAT(disagreements({.store = "jurnal:x"})[0].message, HasSubstr("not a kind of store"));
  for (const auto* address : {"9090", "example.org:9090", ":", "127.0.0.1:99999"}) {
    EXPECT_THAT(disagreements({.metrics_listen = address})[0].message, HasSubstr("metrics.listen"));
  }
  EXPECT_TRUE(disagreements({.metrics_listen = "[::1]:0"}).empty());
  const auto found = disagreements({.admin_key = "too short"});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0].message, AllOf(HasSubstr("openssl rand"), HasSubstr("9 characters")));
  EXPECT_EQ(disagreements({.admin_key = std::string(40, ' ')}).size(), 1U);
  EXPECT_TRUE(disagreements({.admin_key = std::string(32, 'x')}).empty());
}

// S0-145…149: the defaults are those of the Claude proxy.
TEST(Settings, the_retry_policy_by_default_is_the_built_in_one) {
  EXPECT_EQ(retry_policy_of({}), RetryPolicy{});
  const RetryPolicy policy = retry_policy_of({.retry_backoff = "fixed",
                                              .retry_jitter = "additive",
                                              .retry_max_retries = {unlimited},
                                              .retry_retryable = "listed"});
  EXPECT_EQ(policy.backoff, Backoff::fixed);
  EXPECT_EQ(policy.jitter, Jitter::additive);
  EXPECT_EQ(policy.retryable, Retryable::listed);
  EXPECT_EQ(policy.max_retries, unlimited);
  EXPECT_EQ(log_level_of({.log_level = "warning"}), LogLevel::warning);
}

std::vector<Duration> delays_of(const RetryPolicy& policy, std::uint32_t retries) {
  std::vector<Duration> delays;
  for (std::uint32_t i = 0; i < retries; ++i) delays.push_back(retry_delay(policy, i, 0.5));
  return delays;
}

// S0-097, S2-025, S3-056…059, S4-046, C-03
TEST(Settings, a_retry_preset_is_the_policy_of_another_system) {
  const auto with = [](std::string preset) {
    Settings settings;
    EXPECT_THAT(assign(settings, *find_setting("retry.preset"), preset), test::IsOk());
    EXPECT_TRUE(disagreements(settings).empty());
    return retry_policy_of(settings);
  };
  EXPECT_THAT(delays_of(with("claude-proxy-plain"), 4), ElementsAre(30s, 60s, 120s, 240s));
  EXPECT_EQ(with("claude-proxy-plain").retryable, Retryable::listed);
  EXPECT_THAT(delays_of(with("claude-proxy"), 3), ElementsAre(30s, 60s, 120s));
  EXPECT_EQ(with("claude-proxy").jitter_share, 0.2);
  EXPECT_THAT(delays_of(with("contract-queue"), 4), ElementsAre(1s, 2s, 4s, 8s));
  EXPECT_EQ(with("contract-queue").max_retries, unlimited);
  EXPECT_THAT(delays_of(with("mtask"), 3), ElementsAre(2100ms, 4200ms, 8400ms));
  EXPECT_THAT(delays_of(with("bullmq-sms"), 2), ElementsAre(1s, 2s));
  EXPECT_EQ(with("bullmq-sms").max_retries, 2U);
  EXPECT_THAT(delays_of(with("bullmq-email"), 4), ElementsAre(2s, 4s, 8s, 16s));
  EXPECT_EQ(with("bullmq-email").max_retries, 4U);
  EXPECT_THAT(delays_of(with("bullmq-image"), 1), ElementsAre(5s));
  EXPECT_EQ(with("bullmq-image").max_retries, 1U);
  EXPECT_EQ(with("bullmq-cleanup").max_retries, 0U);
  EXPECT_THAT(delays_of(with("postgres-manager"), 3), ElementsAre(10s, 20s, 40s));
  EXPECT_EQ(delays_of(with("postgres-manager"), 10).back(), 1h);
  EXPECT_EQ(with("none"), RetryPolicy{});
}

TEST(Settings, a_retry_preset_is_a_whole_policy) {
  const auto found = disagreements({.retry_preset = "mtask", .retry_base = 2s});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0].message, AllOf(HasSubstr("\"mtask\""), HasSubstr("take it out")));
  Settings settings;
  EXPECT_FALSE(assign(settings, *find_setting("retry.preset"), "fast"));
}

}  // namespace
}  // namespace millrace::config
