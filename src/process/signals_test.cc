#include "process/signals.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>
#include <latch>
#include <thread>

namespace millrace {
namespace {

using namespace std::chrono_literals;

TEST(Signals, tell_to_stop_to_reload_and_nothing) {
  Signals signals({SIGHUP, SIGTTIN, SIGTTOU, SIGCHLD});
  EXPECT_EQ(signals.wait(0ms), SignalKind::nothing);
  EXPECT_EQ(signals.wait(-1s), SignalKind::nothing);
  raise(SIGHUP);
  EXPECT_EQ(signals.wait(1min), SignalKind::reload);
  raise(SIGTERM);
  EXPECT_EQ(signals.wait(1min), SignalKind::stop);
  raise(SIGINT);
  EXPECT_EQ(signals.wait(1min), SignalKind::stop);
  raise(SIGTTIN);
  raise(SIGTTOU);
  raise(SIGCHLD);
  EXPECT_EQ(signals.wait(1min), SignalKind::more);
  EXPECT_EQ(signals.wait(1min), SignalKind::fewer);
  EXPECT_EQ(signals.wait(1min), SignalKind::child);
  raise(SIGPIPE);
  EXPECT_EQ(signals.wait(0ms), SignalKind::nothing);
}

TEST(Signals, another_thread_ends_a_wait) {
  Signals signals({SIGHUP, SIGTTIN, SIGTTOU, SIGCHLD});
  std::thread other([&] { signals.wake(); });
  EXPECT_EQ(signals.wait(1min), SignalKind::woken);
  other.join();
  EXPECT_EQ(signals.wait(0ms), SignalKind::nothing);
  signals.wake();
  signals.wake();
  EXPECT_EQ(signals.wait(1min), SignalKind::woken) << "before the wait counts too";
}

TEST(Signals, a_signal_is_heard_before_the_wakes_around_it_are_forgotten) {
  Signals signals;
  signals.wake();
  raise(SIGTERM);
  signals.wake();
  EXPECT_EQ(signals.wait(1min), SignalKind::stop);
  EXPECT_EQ(signals.wait(1min), SignalKind::woken);
  EXPECT_EQ(signals.wait(0ms), SignalKind::nothing);
}

TEST(Signals, are_heard_by_threads_that_were_there_before) {
  std::latch made(1);
  std::latch raised(1);
  std::thread older([&] {
    made.wait();
    kill(getpid(), SIGINT);
    raised.count_down();
  });
  Signals signals;
  made.count_down();
  raised.wait();
  EXPECT_EQ(signals.wait(1min), SignalKind::stop);
  older.join();
}

TEST(SignalsDeathTest, do_what_they_did_before_once_the_object_is_gone) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        {
          const Signals signals;
        }
        raise(SIGTERM);
      },
      ::testing::KilledBySignal(SIGTERM), "");
}

TEST(SignalsDeathTest, the_next_one_ends_the_process_at_once) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const int signal : {SIGTERM, SIGINT}) {
    EXPECT_EXIT(
        {
          Signals signals({SIGHUP, SIGTTIN, SIGTTOU, SIGCHLD});
          signals.exit_on_the_next();
          raise(signal);
        },
        ::testing::ExitedWithCode(128 + signal), "");
  }
}

}  // namespace
}  // namespace millrace
