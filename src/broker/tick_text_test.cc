#include "broker/tick_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/builders.h"
#include "tests/support/matchers.h"

namespace millrace {
namespace {

using namespace millrace::test;
using ::testing::HasSubstr;

// D-23
TEST(TickText, fills_in_the_tick_and_what_is_before_and_after_it) {
  EXPECT_THAT(with_tick(R"({"at":"{{tick}}","older_than":"{{tick-24h}}","by":"{{tick+90m}}"})", t0),
              IsOkAndHolds(R"({"at":"2030-01-01T00:00:00.000Z",)"
                           R"("older_than":"2029-12-31T00:00:00.000Z",)"
                           R"("by":"2030-01-01T01:30:00.000Z"})"));
  EXPECT_THAT(with_tick("[{{tick_ms}},{{tick_ms-1s}}]", t0),
              IsOkAndHolds("[1893456000000,1893455999000]"));
}

TEST(TickText, leaves_everything_else_alone) {
  for (const char* text :
       {"", "tick", "{{tick", "{{ticker}}", "{{ tick }}", "{tick}", "{{other}}", "{{tick_msx}}",
        "{{tick and a text that is much longer than any placeholder could ever be}}"}) {
    EXPECT_THAT(with_tick(text, t0), IsOkAndHolds(text));
  }
  EXPECT_THAT(with_tick("{{tick{{tick_ms}}", t0), IsOkAndHolds("{{tick1893456000000"));
}

TEST(TickText, refuses_what_looks_like_a_duration_and_is_none) {
  EXPECT_THAT(with_tick("{{tick-}}", t0), FailsWith(ErrorCode::invalid));
  EXPECT_THAT(with_tick("{{tick+1y}}", t0), FailsWith(ErrorCode::invalid, HasSubstr("tick+1y")));
  EXPECT_THAT(with_tick("{{tick--1h}}", t0), FailsWith(ErrorCode::invalid));
}

TEST(TickText, stays_within_the_years_that_have_a_text) {
  EXPECT_THAT(with_tick("{{tick+3652059d}}", t0), IsOkAndHolds("9999-12-31T23:59:59.999Z"));
}

}  // namespace
}  // namespace millrace
