#include "core/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <vector>

namespace millrace {
namespace {

using std::chrono::hours;
using testing::HasSubstr;
using testing::IsEmpty;

// Empty if there is nothing wrong; else "code: message".
std::string verdict(const Result<void>& result) {
  if (result) return "";
  return std::string(name_of(result.error().code)) + ": " + result.error().message;
}

TEST(Check, an_error_has_the_field_beside_the_words_of_its_message) {
  const auto error = check::number({"retry base", "retry.base_ms"}, 6, 2, 5).error();
  EXPECT_EQ(error.message, "retry base is 6; allowed are 2 to 5");
  EXPECT_EQ(error.field, "retry.base_ms");
  EXPECT_EQ(check::size("payload", 6, 5).error().field, "payload");
  EXPECT_EQ(check::text({"client id", "client_id"}, "\x01", 5).error().field, "client_id");
}

TEST(Check, an_error_of_a_part_is_one_of_the_whole) {
  EXPECT_EQ(inside("task", Error{.field = "retry.base_ms"}).field, "task.retry.base_ms");
  EXPECT_EQ(inside("tags[3]", Error{}).field, "tags[3]");
  EXPECT_TRUE(inside("task", Result<void>{}));
}

TEST(Check, both_ends_of_a_range_belong_to_it) {
  EXPECT_THAT(verdict(check::size("x", 5, 5)), IsEmpty());
  EXPECT_EQ(verdict(check::size("x", 6, 5)), "too_large: x has 6 bytes; at most 5 are allowed");
  EXPECT_THAT(verdict(check::count("xs", 5, 5)), IsEmpty());
  EXPECT_EQ(verdict(check::count("xs", 6, 5)),
            "too_large: 6 xs are too many; at most 5 are allowed");
  for (const std::uint64_t good : {2U, 3U, 5U}) {
    EXPECT_THAT(verdict(check::number("x", good, 2, 5)), IsEmpty());
  }
  EXPECT_EQ(verdict(check::number("x", 1, 2, 5)), "invalid: x is 1; allowed are 2 to 5");
  EXPECT_EQ(verdict(check::number("x", 6, 2, 5)), "invalid: x is 6; allowed are 2 to 5");
  EXPECT_THAT(verdict(check::duration("x", hours(1), hours(1), hours(1))), IsEmpty());
  EXPECT_EQ(verdict(check::duration("x", hours(2), hours(0), hours(1))),
            "invalid: x is 2h; allowed are 0s to 1h");
}

TEST(Check, text_is_well_formed_utf8) {
  const std::vector<std::string> good = {"\u00e9", "\u07ff", "\u0800",     "\u20ac",
                                         "\ud7ff", "\ue000", "\U00010000", "\U0010ffff"};
  for (const std::string& text : good) {
    EXPECT_THAT(verdict(check::text("group", "a" + text + "z", 255)), IsEmpty()) << text;
  }
  const std::vector<std::string> bad = {
      "\x80",         "\xc0\x80",         "\xc1\xbf",         "\xc3",
      "\xc3(",        "\xe0\x9f\xbf",     "\xe2\x82",         "\xe2\x28\xa1",
      "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
      "\xff",         "\xf0\x9f\x98"};
  for (const std::string& text : bad) {
    EXPECT_THAT(verdict(check::text("group", "a" + text, 255)), HasSubstr("at position 2"));
  }
}

TEST(Check, a_unique_key_has_a_key_and_a_window_where_its_scope_says_so) {
  const auto unique = [](const UniqueKey& key) { return verdict(check::unique(key)); };
  EXPECT_THAT(unique({.key = ""}), HasSubstr("invalid: unique key is empty"));
  EXPECT_THAT(unique({.key = std::string(256, 'k')}), HasSubstr("too_large: unique key has 256"));
  EXPECT_THAT(unique({.key = "k", .scope = UniqueScope::until_started}), IsEmpty());
  EXPECT_THAT(unique({.key = "k", .scope = UniqueScope::window, .window = hours(24)}), IsEmpty());
  EXPECT_EQ(unique({.key = "k", .scope = UniqueScope::window}),
            "invalid: unique window is 0s; allowed are 1ms to 10 years");
  EXPECT_EQ(unique({.key = "k", .window = hours(1)}),
            "invalid: unique window is 1h without the scope `window`; leave it out, or choose "
            "that scope");
  EXPECT_EQ(unique({.key = "k", .scope = UniqueScope(3)}),
            "invalid: unique scope is 3; allowed are 0 to 2");
}

TEST(Check, a_callback_has_a_web_address_events_and_attempts) {
  const auto callback = [](const Callback& c) { return verdict(check::callback(c)); };
  EXPECT_THAT(callback({.url = "http://example.com/"}), IsEmpty());
  EXPECT_THAT(callback({.url = ""}), HasSubstr("callback url \"\" is not usable"));
  EXPECT_THAT(callback({.url = "ftp://example.com/"}), HasSubstr("http:// and https://"));
  EXPECT_THAT(callback({.url = "http://example.com/a b"}), HasSubstr("without spaces"));
  EXPECT_THAT(callback({.url = "http://example.com/\r\n"}), HasSubstr("control characters"));
  for (const auto* good :
       {"HTTP://example.com", "HttpS://a:b@example.com:65535?x", "http://[::1]:80/", "http://[::1]",
        "http://10.0.0.1:1#x", "https://example.com/a:0/"}) {
    EXPECT_THAT(callback({.url = good}), IsEmpty()) << good;
  }
  for (const auto* bad : {"http://", "http:///path", "http://:80", "http://a:0", "http://a:65536",
                          "http://a:", "http://a:8o", "http://a:-1", "http://[::1", "http://[]",
                          "http://[::1]:99999", "http:/a", "xhttp://a"}) {
    EXPECT_THAT(callback({.url = bad}), HasSubstr("1 to 65535")) << bad;
  }
  EXPECT_THAT(callback({.url = "http://" + std::string(2048, 'a')}), HasSubstr("too_large"));
  EXPECT_THAT(callback({.url = "http://a", .events = 31}), IsEmpty());
  EXPECT_THAT(callback({.url = "http://a", .events = 0}), HasSubstr("callback events is 0"));
  EXPECT_THAT(callback({.url = "http://a", .events = 32}), HasSubstr("callback events is 32"));
  EXPECT_THAT(callback({.url = "http://a", .max_attempts = 0}), HasSubstr("allowed are 1 to 100"));
}

TEST(Check, retry_rules_are_in_range) {
  const auto with = [](auto change) {
    RetryRules rules;
    change(rules);
    return verdict(check::rules(rules));
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_THAT(with([](RetryRules& r) {
                r.backoff = Backoff::fixed;
                r.base = Duration::zero();
                r.factor = 1.0;
                r.cap = limits::max_delay;
                r.jitter = Jitter::none;
                r.jitter_share = 1.0;
                r.max_retries = 0;
                r.retryable = Retryable::listed;
              }),
              IsEmpty());
  EXPECT_EQ(with([](RetryRules& r) { r.base = Duration(-1); }),
            "invalid: retry base is -1ms; allowed are 0s to 10 years");
  EXPECT_THAT(with([](RetryRules& r) { r.base = Duration::max(); }), HasSubstr("retry base"));
  EXPECT_THAT(with([](RetryRules& r) { r.cap = Duration(-1); }), HasSubstr("retry cap is -1ms"));
  EXPECT_EQ(with([](RetryRules& r) { r.factor = 0.5; }),
            "invalid: retry factor is 0.5; allowed are finite numbers from 1");
  EXPECT_THAT(with([=](RetryRules& r) { r.factor = nan; }), HasSubstr("retry factor is nan"));
  EXPECT_THAT(with([=](RetryRules& r) { r.factor = inf; }), HasSubstr("retry factor is inf"));
  EXPECT_THAT(with([](RetryRules& r) { r.jitter_share = 1.1; }), HasSubstr("allowed are 0 to 1"));
  EXPECT_THAT(with([](RetryRules& r) { r.jitter_share = -0.1; }), HasSubstr("jitter_share"));
  EXPECT_THAT(with([=](RetryRules& r) { r.jitter_share = nan; }), HasSubstr("jitter_share"));
  EXPECT_THAT(with([](RetryRules& r) { r.backoff = Backoff(2); }), HasSubstr("retry backoff is 2"));
  EXPECT_THAT(with([](RetryRules& r) { r.jitter = Jitter(3); }), HasSubstr("retry jitter is 3"));
  EXPECT_THAT(with([](RetryRules& r) { r.retryable = Retryable(2); }), HasSubstr("retryable is 2"));
}

}  // namespace
}  // namespace millrace
