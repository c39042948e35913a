#include "cli/signals.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <thread>

namespace millrace::cli {
namespace {

using namespace std::chrono_literals;

TEST(Signals, tell_to_stop_to_reload_and_nothing) {
  Signals signals;
  EXPECT_EQ(signals.wait(0ms), Told::nothing);
  EXPECT_EQ(signals.wait(-1s), Told::nothing);
  raise(SIGHUP);
  EXPECT_EQ(signals.wait(1min), Told::reload);
  raise(SIGTERM);
  EXPECT_EQ(signals.wait(1min), Told::stop);
  raise(SIGINT);
  EXPECT_EQ(signals.wait(1min), Told::stop);
  raise(SIGPIPE);
  EXPECT_EQ(signals.wait(0ms), Told::nothing);
}

TEST(Signals, another_thread_ends_a_wait) {
  Signals signals;
  std::thread other([&] { signals.wake(); });
  EXPECT_EQ(signals.wait(1min), Told::woken);
  other.join();
  EXPECT_EQ(signals.wait(0ms), Told::nothing);
  signals.wake();
  signals.wake();
  EXPECT_EQ(signals.wait(1min), Told::woken) << "before the wait counts too";
}

TEST(SignalsDeathTest, the_next_one_ends_the_process_at_once) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const int signal : {SIGTERM, SIGINT}) {
    EXPECT_EXIT(
        {
          Signals signals;
          signals.exit_on_the_next();
          raise(signal);
        },
        ::testing::ExitedWithCode(128 + signal), "");
  }
}

}  // namespace
}  // namespace millrace::cli
