#include "postgres/failure.h"

#include <gmock/gmock.h>

#include "postgres/backoff.h"
#include "postgres/conninfo.h"
#include "postgres/schema.h"

namespace millrace::postgres {
namespace {

using namespace std::chrono_literals;

ErrorCode code_of(const std::string& state) {
  return error_of({.state = state, .message = "m"}, "do it").code;
}

TEST(Failures, become_errors_by_their_state) {
  for (const std::string state : {"57P01", "57P02", "57P03", "08006", "08P01", "53300", "57014",
                                  "55P03", "40001", "40P01", "25006", "26000"}) {
    EXPECT_EQ(code_of(state), ErrorCode::unavailable) << state;
  }
  EXPECT_EQ(code_of("53100"), ErrorCode::limited);
  EXPECT_TRUE(error_of({.state = "53100"}, "put").no_space);
  EXPECT_EQ(code_of("53200"), ErrorCode::limited);
  EXPECT_FALSE(error_of({.state = "53200"}, "put").no_space);
  EXPECT_EQ(code_of("54000"), ErrorCode::too_large);
  for (const std::string state : {"42P01", "23505", "22012", "XX000", ""}) {
    EXPECT_EQ(code_of(state), ErrorCode::internal) << state;
  }
  EXPECT_EQ(error_of({.state = "XX000", .lost = true}, "put").code, ErrorCode::unavailable);
}

TEST(Failures, of_several_lines_are_told_as_sentences_of_one) {
  EXPECT_EQ(one_line("refused\n\tIs it  running?\nfailed: \n no\n"),
            "refused. Is it running? failed: no");
  EXPECT_EQ(one_line("\n"), "");
}

TEST(Failures, say_what_was_done_and_what_the_server_said) {
  EXPECT_EQ(
      error_of({.state = "42P01", .message = "relation \"x\" does not exist"}, "take").message,
      "cannot take: PostgreSQL says: relation \"x\" does not exist (SQLSTATE 42P01)");
  EXPECT_EQ(error_of({.message = "no connection", .lost = true}, "take").message,
            "cannot take: no connection");
}

TEST(Failures, only_collisions_may_be_repeated_and_never_lost_transactions) {
  EXPECT_TRUE(may_repeat({.state = "40001"}));
  EXPECT_TRUE(may_repeat({.state = "40P01"}));
  EXPECT_TRUE(may_repeat({.state = "26000"}));
  EXPECT_FALSE(may_repeat({.state = "40001", .lost = true}));
  EXPECT_FALSE(may_repeat({.state = "57014"}));
  EXPECT_FALSE(may_repeat({}));
}

TEST(Schema, names_are_plain) {
  for (const std::string name : {"millrace", "a", "_b", "x1_y"}) EXPECT_TRUE(check_schema(name));
  for (const std::string name :
       {"", "1a", "A", "a-b", "a.b", "a\"b", "a'b", "a b", "pg_mine", "\xC3\xA9"}) {
    EXPECT_FALSE(check_schema(name)) << name;
  }
  EXPECT_FALSE(check_schema(std::string(64, 'a')));
  EXPECT_TRUE(check_schema(std::string(63, 'a')));
}

TEST(Schema, replaces_the_one_written_in_sql) {
  const auto put = [](std::string_view text) { return with_schema(text, "s"); };
  EXPECT_EQ(put("select * from millrace.a, millrace.b"), "select * from \"s\".a, \"s\".b");
  EXPECT_EQ(put("millrace.a"), "\"s\".a");
  EXPECT_EQ(put("select 'millrace.a'::regclass"), "select '\"s\".a'::regclass");
  EXPECT_EQ(put("(millrace.f(1))"), "(\"s\".f(1))");
  EXPECT_EQ(put("create schema \"millrace\";"), "create schema \"s\";");
  EXPECT_EQ(put("\"millrace\".a"), "\"s\".a");
  for (const std::string_view same : {"my_millrace.a", "x.millrace.a", "millrace", "$millrace.a",
                                      "\"millrace.a\"", "millraces.a", "", "'millrace'"}) {
    EXPECT_EQ(put(same), same);
  }
}

TEST(Backoffs, double_up_to_the_longest_and_begin_anew_after_success) {
  Backoff backoff;
  EXPECT_TRUE(backoff.may_try(0ns));
  std::chrono::nanoseconds now = 1h;
  for (const auto pause : {100ms, 200ms, 400ms, 800ms, 1600ms, 3200ms, 5000ms, 5000ms}) {
    backoff.failed(now, 0.0);
    EXPECT_EQ(backoff.wait(now), pause / 2) << "the least";
    now += pause / 2;
    EXPECT_FALSE(backoff.may_try(now - 1ns));
    EXPECT_TRUE(backoff.may_try(now));
    EXPECT_EQ(backoff.wait(now), 0ns);
  }
  EXPECT_EQ(backoff.failures(), 8u);
  backoff.succeeded();
  EXPECT_EQ(backoff.failures(), 0u);
  EXPECT_TRUE(backoff.may_try(0ns));
  backoff.failed(now, 0.999);
  EXPECT_GT(backoff.wait(now), 99ms);
  EXPECT_LE(backoff.wait(now), 100ms);
}

}  // namespace
}  // namespace millrace::postgres
