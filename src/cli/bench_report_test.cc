#include "cli/bench_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::cli {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(LatencyBook, is_exact_for_small_ones_and_near_for_all) {
  LatencyBook book;
  EXPECT_EQ(book.at(0.5), 0us);
  for (int us = 0; us <= 100; ++us) book.note(std::chrono::microseconds(us));
  EXPECT_EQ(book.at(0), 0us);
  EXPECT_EQ(book.at(0.5), 50us);
  EXPECT_EQ(book.at(0.99), 99us);
  EXPECT_EQ(book.at(1), 100us);
  EXPECT_EQ(book.most(), 100us);
  for (std::int64_t us = 1; us < 1'000'000'000'000; us = us * 3 + 1) {
    LatencyBook one;
    one.note(std::chrono::microseconds(us));
    const auto told = static_cast<double>(one.at(0.5).count());
    EXPECT_LE(told, static_cast<double>(us));
    EXPECT_GE(told, static_cast<double>(us) * 0.98) << us;
    EXPECT_EQ(one.most().count(), us);
  }
}

TEST(LatencyBook, takes_anything) {
  LatencyBook book;
  book.note(-5us);
  book.note(std::chrono::microseconds::max());
  EXPECT_EQ(book.count(), 2U);
  EXPECT_EQ(book.at(0), 0us);
  EXPECT_GT(book.at(1), 1h);
}

BenchReport example() {
  BenchReport report{.url = "http://127.0.0.1:7070",
                     .host = "laptop",
                     .server = {.version = "0.2.0",
                                .store = {.name = "journal", .durability = Durability::synced}}};
  report.put = BenchPhase{.tasks = 100'000, .took = 1250ms};
  report.work = BenchPhase{.tasks = 99'999, .errors = 1, .took = 2s};
  for (int i = 0; i < 100; ++i) {
    report.put->round_trips.note(4ms);
    report.work->round_trips.note(16ms);
  }
  report.trickle = BenchTrickle{};
  report.trickle->puts.note(350us);
  report.trickle->starts.note(96us);
  report.client_cpu = 2s;
  return report;
}

TEST(BenchReport, tells_what_was_measured_and_from_where) {
  EXPECT_EQ(text_of(example(), {}), R"(100,000 tasks of 200 bytes, 100 per request, 8 connections
http://127.0.0.1:7070, millrace 0.2.0, journal, synced

                        TASKS    TIME  TASKS/S      P50      P99      MAX  ERRORS
put                   100,000  1.25 s   80,000  4.00 ms  4.00 ms  4.00 ms       0
work                   99,999  2.00 s   50,000  16.0 ms  16.0 ms  16.0 ms       1
one at a time: put          1                   0.35 ms  0.35 ms  0.35 ms       0
one at a time: start        1                   0.10 ms  0.10 ms  0.10 ms       0

Measured from laptop over 8 connections, network and client included.
P50, P99 and MAX are round trips of requests with up to 100 tasks each.
put: tasks acknowledged, that is synced to disk.
work: tasks taken and settled by a worker that does nothing; real handlers add their own time.
one at a time: from sending a put until it was acknowledged, and until a waiting worker
had the task.
This client used 2.00 s of processor time, 10.0 µs per task put or worked.
)");
}

TEST(BenchReport, says_nothing_of_what_was_not_measured) {
  BenchReport report = example();
  report.work.reset(), report.trickle.reset();
  report.client_cpu = 100ms;
  report.stopped = true;
  report.server.store = {.name = "memory", .durability = Durability::none};
  const std::string text = text_of(report, {});
  EXPECT_THAT(text, AllOf(HasSubstr("kept in memory only"), HasSubstr("Stopped before the end")));
  EXPECT_THAT(text, AllOf(Not(HasSubstr("work:")), Not(HasSubstr("one at a time")),
                          Not(HasSubstr("processors all the time"))));
}

TEST(BenchReport, nothing_done_is_no_division_by_zero) {
  BenchReport report = example();
  report.put = BenchPhase{}, report.work = BenchPhase{}, report.trickle = BenchTrickle{};
  EXPECT_THAT(text_of(report, {}), HasSubstr("0.0"));
  EXPECT_THAT(json_of(report), HasSubstr(R"("rate":0)"));
}

TEST(BenchReport, json_has_the_same) {
  EXPECT_THAT(
      json_of(example()),
      AllOf(HasSubstr(R"("server":{"version":"0.2.0","store":"journal","durability":"synced"})"),
            HasSubstr(R"("put":{"tasks":100000,"seconds":1.25,"rate":80000)"),
            HasSubstr(R"("errors":1)"), HasSubstr(R"("client_cpu_seconds":2)"),
            HasSubstr(R"("stopped":false)"), HasSubstr(R"("start_ms":{"p50":0.096)")));
}

}  // namespace
}  // namespace millrace::cli
