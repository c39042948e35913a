#include "log/format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

namespace millrace {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

constexpr TimePoint moment =
    std::chrono::sys_days{std::chrono::year{2026} / 1 / 2} + 3h + 4min + 5s + 678ms;

std::string text(const LogEntry& entry) {
  return format_line(entry, moment, LogFormat::text);
}
std::string json(const LogEntry& entry) {
  return format_line(entry, moment, LogFormat::json);
}

TEST(LogFormat, a_line_of_text) {
  EXPECT_EQ(text({LogLevel::info,
                  "listening",
                  {{"address", "127.0.0.1:7070"}, {"tasks", std::int64_t{3}}, {"tls", false}}}),
            "2026-01-02T03:04:05.678Z INFO  listening address=127.0.0.1:7070 tasks=3 tls=false\n");
  EXPECT_EQ(text({LogLevel::error, "", {{"took", 0.25}, {"why", "a b"}, {"nothing", ""}}}),
            "2026-01-02T03:04:05.678Z ERROR  took=0.25 why=\"a b\" nothing=\"\"\n");
  EXPECT_THAT(text({LogLevel::warning, "x"}), HasSubstr("Z WARN  x\n"));
  EXPECT_THAT(text({LogLevel::debug, "x"}), HasSubstr("Z DEBUG x\n"));
}

TEST(LogFormat, a_line_of_json) {
  EXPECT_EQ(json({LogLevel::warning,
                  "say \"hi\"",
                  {{"n", std::int64_t{-3}}, {"share", 0.5}, {"ok", true}, {"path", "a\\b"}}}),
            R"({"time":"2026-01-02T03:04:05.678Z","level":"warning","message":"say \"hi\"",)"
            R"("n":-3,"share":0.5,"ok":true,"path":"a\\b"})"
            "\n");
  EXPECT_THAT(json({LogLevel::info, "x", {{"d", std::numeric_limits<double>::infinity()}}}),
              HasSubstr("\"d\":null"));
}

TEST(LogFormat, whatever_comes_from_outside_stays_on_its_line_and_harmless) {
  const std::string evil = "a\nINFO forged\r\x1b[2J\x7f\xc2\x9b\xff\xe2\x82 \"q\" caf\xc3\xa9";
  for (const std::string& line :
       {text({LogLevel::info, evil}), text({LogLevel::info, "m", {{"k", evil}}}),
        json({LogLevel::info, evil}), json({LogLevel::info, "m", {{"k", evil}}})}) {
    EXPECT_EQ(std::ranges::count(line, '\n'), 1) << line;
    EXPECT_TRUE(line.ends_with('\n'));
    for (const char c : line) EXPECT_FALSE((c >= 0 && c < ' ' && c != '\n') || c == 0x7f) << line;
    EXPECT_THAT(line, HasSubstr("caf\xc3\xa9")) << "letters of any language stay";
    EXPECT_THAT(line, Not(HasSubstr("\xff")));
    EXPECT_THAT(line, Not(HasSubstr("\xc2\x9b"))) << "a control sequence introducer";
  }
  EXPECT_EQ(text({LogLevel::info, "a\nb\tc\x01\\"}),
            "2026-01-02T03:04:05.678Z INFO  a\\nb\\tc\\x01\\\\\n");
  EXPECT_THAT(text({LogLevel::info, "m", {{"k", "a=\"b\""}}}), HasSubstr("k=\"a=\\\"b\\\"\""));
  EXPECT_THAT(json({LogLevel::info, "\n"}), HasSubstr("\\u000a"));
}

TEST(LogFormat, nothing_turns_the_direction_of_writing) {
  for (const std::string& mark :
       {std::string("\u200e"), std::string("\u200f"), std::string("\u202a"), std::string("\u202e"),
        std::string("\u2066"), std::string("\u2069")}) {
    EXPECT_THAT(text({LogLevel::info, "a" + mark + "b"}), Not(HasSubstr(mark)));
    EXPECT_THAT(json({LogLevel::info, "m", {{"k", mark}}}), Not(HasSubstr(mark)));
  }
  for (const std::string& fine : {std::string("\u2010"), std::string("\u2030"),
                                  std::string("\u2065"), std::string("\u20ac")}) {
    EXPECT_THAT(text({LogLevel::info, fine}), HasSubstr(fine));
  }
  EXPECT_THAT(text({LogLevel::info, "a\u202eb"}), HasSubstr("a\\xe2\\x80\\xaeb"));
  // Some viewers begin a new line there.
  EXPECT_THAT(text({LogLevel::info, "a\u2028b"}), HasSubstr("a\\xe2\\x80\\xa8b"));
  EXPECT_THAT(text({LogLevel::info, "a\u2029b"}), HasSubstr("a\\xe2\\x80\\xa9b"));
  EXPECT_THAT(text({LogLevel::info, "a\u0085b"}), HasSubstr("a\\xc2\\x85b"));
}

TEST(LogFormat, the_secret_of_a_key_never_gets_out) {
  const std::string key = "mr_0123456789abcdef_AAAA-BBBB_CCCC";
  for (const std::string& line :
       {text({LogLevel::info, "header Bearer " + key + ", refused"}),
        text({LogLevel::info, "m", {{"k", key}}}), json({LogLevel::info, key}),
        json({LogLevel::info, "m", {{"k", "x" + key + "/" + key}}})}) {
    EXPECT_THAT(line, HasSubstr("mr_0123456789abcdef_***"));
    EXPECT_THAT(line, Not(HasSubstr("AAAA"))) << line;
    EXPECT_THAT(line, Not(HasSubstr("CCCC"))) << line;
  }
  EXPECT_THAT(text({LogLevel::info, "mr_ mr_x mr_0123 mr_mr_0123456789abcdef_s end"}),
              HasSubstr("mr_ mr_x mr_0123 mr_mr_0123456789abcdef_*** end"));
}

TEST(LogFormat, endless_text_is_cut) {
  EXPECT_LT(text({LogLevel::info, std::string(10'000'000, 'x')}).size(), 20'000U);
  EXPECT_LT(json({LogLevel::info, "m", {{"k", std::string(10'000'000, '\xff')}}}).size(), 110'000U);
}

TEST(LogFormat, colours_only_where_asked_for) {
  const LogEntry entry{LogLevel::error, "x"};
  EXPECT_THAT(format_line(entry, moment, LogFormat::text, true), HasSubstr("\x1b[1;31mERROR"));
  EXPECT_THAT(format_line(entry, moment, LogFormat::json, true), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace millrace
