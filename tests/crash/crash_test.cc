// The store under load in a real process, killed with SIGKILL again and again: nothing that was
// acknowledged is lost, no caller gets a task that another one holds, and ended tasks stay ended.
//
//   crash_test --kills=300
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "core/clock.h"
#include "disk/real_disk.h"
#include "store/embedded/journal/journal.h"
#include "store/store.h"
#include "tests/crash/ledger.h"
#include "tests/random/dice.h"
#include "tests/support/temporary_directory.h"

namespace millrace::test {

int kills = 12;  // set by --kills

namespace {

// A child at work; its facts are read as they come.
class Child {
 public:
  Child(const std::string& directory, std::uint64_t seed) {
    int ends[2] = {};
    if (pipe2(ends, O_CLOEXEC) != 0) std::abort();
    process_ = fork();
    if (process_ == 0) {
      dup2(ends[1], STDOUT_FILENO);
      const auto text = std::to_string(seed);
      execl(MILLRACE_CRASH_CHILD, "crash_child", directory.c_str(), text.c_str(), nullptr);
      _exit(127);
    }
    close(ends[1]);
    facts_ = ends[0];
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (process_ > 0) end();
    close(facts_);
  }

  // The next whole line; false: there are no more.
  bool next(std::string& line) {
    while (true) {
      const auto end = unread_.find('\n');
      if (end != std::string::npos) {
        line = unread_.substr(0, end);
        unread_.erase(0, end + 1);
        return true;
      }
      char bytes[65536];
      const auto got = read(facts_, bytes, sizeof(bytes));
      if (got <= 0) return false;
      unread_.append(bytes, static_cast<std::size_t>(got));
    }
  }

  void kill_now() { kill(process_, SIGKILL); }

  // How it ended.
  int end() {
    kill_now();
    int status = 0;
    waitpid(process_, &status, 0);
    process_ = 0;
    return status;
  }

 private:
  pid_t process_ = 0;
  int facts_ = -1;
  std::string unread_;
};

class Crash : public ::testing::Test {
 protected:
  // One life of the child: runs until it told so many facts, and reads what it told until the
  // signal came.
  void live(std::uint64_t seed, std::uint32_t facts) {
    Child child(directory_, seed);
    std::string line;
    for (std::uint32_t heard = 0; heard < facts && child.next(line); ++heard) ledger_.note(line);
    child.kill_now();
    while (child.next(line)) ledger_.note(line);
    const int status = child.end();
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        << "the child ended by itself: " << ledger_.complaint();
  }

  void check(bool all) {
    auto disk = open_directory(directory_, DirectoryMode::make);
    ASSERT_TRUE(disk) << disk.error().message;
    auto store = open_journal(
        std::move(*disk), {.segment_size = 256 * 1024, .cache_size = 32 * 1024, .hash_seed = 1});
    ASSERT_TRUE(store) << store.error().message;
    ledger_.check(**store, all, SystemClock().now());
    const auto flushed = (*store)->flush();
    ASSERT_TRUE(flushed) << flushed.error().message;
    ASSERT_EQ(ledger_.complaint(), "");
  }

  TemporaryDirectory temporary_;
  const std::string& directory_ = temporary_.path();
  Ledger ledger_;
};

// S0-191, S1-001
TEST_F(Crash, nothing_acknowledged_is_lost) {
  Dice dice(std::random_device{}());
  constexpr int look_at_all_every = 10;
  for (int life = 1; life <= kills; ++life) {
    SCOPED_TRACE("life " + std::to_string(life));
    // Sometimes while it opens; mostly in the middle of its work. The first one gets something
    // done.
    const auto facts = life == 1          ? dice.between(500U, 1500U)
                       : dice.percent(15) ? dice.between(1U, 3U)
                                          : dice.between(10U, 1500U);
    ASSERT_NO_FATAL_FAILURE(live(static_cast<std::uint64_t>(life), facts));
    ASSERT_NO_FATAL_FAILURE(check(life % look_at_all_every == 0 || life == kills));
  }
  std::cout << kills << " kills: " << ledger_.tasks() << " tasks, " << ledger_.taken()
            << " leases, " << ledger_.completed() << " completed\n";
  EXPECT_GT(ledger_.completed(), 0U);
}

}  // namespace

}  // namespace millrace::test

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const std::string flag = "--kills=";
    if (!argument.starts_with(flag)) {
      std::cerr << "unknown argument " << argument << "; there is only --kills=NUMBER\n";
      return 2;
    }
    millrace::test::kills = std::stoi(argument.substr(flag.size()));
  }
  return RUN_ALL_TESTS();
}
