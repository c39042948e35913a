#include "api/wire/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "tests/support/builders.h"

namespace millrace::wire {
namespace {

using namespace std::chrono_literals;
using test::t0;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(HistoryText, nonsense_is_refused) {
  EXPECT_FALSE(history_from("[]").has_value());
  EXPECT_FALSE(history_from(R"({"step_ms":1})").has_value());
}

TEST(HistoryText, history_comes_back_as_it_was) {
  History history{.step = 1h};
  history.points.push_back({.at = t0,
                            .put = 1,
                            .taken = 2,
                            .completed = 3,
                            .failed = 4,
                            .retried = 5,
                            .lost = 6,
                            .cancelled = 7,
                            .wait_p50 = 0.5,
                            .wait_p95 = 1.5,
                            .wait_p99 = 2.0,
                            .run_p50 = 0.25,
                            .run_p95 = 4.0,
                            .run_p99 = 8.0,
                            .waiting = 8,
                            .running = 9});
  history.points.push_back({.at = t0 + 1h});
  history.total = {.put = 10, .failed = 2, .wait_p50 = 0.75, .run_p99 = 3.0};
  history.series.push_back({.name = "q", .put = {1, 0}, .completed = {3, 0}, .failed = {4, 0}});
  const std::string text = text_of(history);
  EXPECT_THAT(text, HasSubstr(R"("waiting":8,"running":9)"));
  EXPECT_THAT(text_of(history, false), Not(HasSubstr("waiting")));
  EXPECT_THAT(text, HasSubstr(R"({"step_ms":3600000,"points":[{"at":)"));
  EXPECT_THAT(text, HasSubstr(R"("wait_ms":{"p50":500,"p95":1500,"p99":2000})"));
  const auto back = history_from(text);
  ASSERT_TRUE(back.has_value()) << back.error().message;
  EXPECT_EQ(back->step, history.step);
  EXPECT_EQ(back->points, history.points);
  EXPECT_EQ(back->total, history.total);
  EXPECT_EQ(back->series, history.series);
}

}  // namespace
}  // namespace millrace::wire
