#include "log/log_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <latch>
#include <string>
#include <thread>
#include <vector>

namespace millrace {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(LogWriter, lines_come_whole_and_in_order_from_every_thread) {
  ManualClock clock;
  std::string written;
  LogWriter writer(clock, {}, [&](std::string_view lines) { written += lines; });
  constexpr int each = 500;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([log = writer.log(), t] {
      for (int i = 0; i < each; ++i) {
        log(LogLevel::info, "line", {{"thread", std::int64_t{t}}, {"number", std::int64_t{i}}});
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(writer.stop(std::chrono::seconds(60)));
  std::vector<int> next(4);
  std::size_t lines = 0;
  for (std::size_t at = 0; at < written.size(); ++lines) {
    const std::size_t end = written.find('\n', at);
    const std::string line = written.substr(at, end - at);
    at = end + 1;
    int thread = -1;
    int number = -1;
    ASSERT_EQ(std::sscanf(line.c_str(), "1970-01-01T00:00:00.000Z INFO  line thread=%d number=%d",
                          &thread, &number),
              2)
        << line;
    EXPECT_EQ(number, next[static_cast<std::size_t>(thread)]++);
  }
  EXPECT_EQ(lines, 4U * each);
}

TEST(LogWriter, a_blocked_sink_blocks_no_caller_and_dropped_lines_are_counted) {
  ManualClock clock;
  std::latch blocked(1);
  std::latch open(1);
  std::string written;
  bool first = true;
  LogWriter writer(clock, {.most_bytes = 1000}, [&](std::string_view lines) {
    if (std::exchange(first, false)) {
      blocked.count_down();
      open.wait();
    }
    written += lines;
  });
  const Log log = writer.log();
  log(LogLevel::info, "the first");
  blocked.wait();
  for (int i = 0; i < 1000; ++i) log(LogLevel::info, "one of many");  // would hang here
  EXPECT_FALSE(LogWriter(clock, {}, [](std::string_view) {}).log().wants(LogLevel::debug));
  open.count_down();
  EXPECT_TRUE(writer.stop(std::chrono::seconds(60)));
  const auto kept = (1000 / std::string("1970-01-01T00:00:00.000Z INFO  one of many\n").size());
  EXPECT_THAT(written, HasSubstr("WARN  " + std::to_string(1000 - kept) + " log lines"));
  EXPECT_LT(written.size(), 1300U);
}

TEST(LogWriter, a_sink_that_never_comes_back_is_left_alone) {
  ManualClock clock;
  // Shared with the thread that is left behind.
  auto open = std::make_shared<std::latch>(1);
  auto gone = std::make_shared<std::latch>(1);
  {
    LogWriter writer(clock, {}, [open, gone](std::string_view) {
      open->wait();
      gone->count_down();
    });
    writer.log()(LogLevel::info, "x");
    EXPECT_FALSE(writer.stop(Duration(1)));
  }
  open->count_down();
  gone->wait();
}

TEST(LogWriter, after_the_stop_entries_go_nowhere) {
  ManualClock clock;
  std::string written;
  Log log;
  {
    LogWriter writer(clock, {.least = LogLevel::warning},
                     [&](std::string_view lines) { written += lines; });
    log = writer.log();
    log(LogLevel::warning, "before");
    log(LogLevel::info, "unimportant");
    writer.plain("for people\n");
  }
  log(LogLevel::error, "after");
  EXPECT_THAT(written, HasSubstr("before\nfor people\n"));
  EXPECT_THAT(written, Not(HasSubstr("after")));
  EXPECT_THAT(written, Not(HasSubstr("unimportant")));
}

}  // namespace
}  // namespace millrace
