#include "process/supervisor.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <mutex>

#include "tests/support/temporary_directory.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using namespace std::chrono_literals;

class SupervisorTest : public ::testing::Test {
 protected:
  Supervisor make(std::vector<std::string> command) {
    return Supervisor(clock_, {.command = std::move(command),
                               .environment = {{"MILLRACE_TEST_WORD", "hello"}},
                               .log = {.write = [this](const LogEntry& entry) {
                                 std::string line = entry.message;
                                 for (const auto& [name, value] : entry.facts) {
                                   if (const auto* number = std::get_if<std::int64_t>(&value)) {
                                     line +=
                                         ' ' + std::string(name) + '=' + std::to_string(*number);
                                   }
                                 }
                                 lines_.push_back(line);
                               }}});
  }

  // Until the child has ended; it stays to be found by tend().
  static void wait_for_end(pid_t pid) {
    siginfo_t info = {};
    waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT);
  }

  std::string last_line() const { return lines_.empty() ? "" : lines_.back(); }

  ManualClock clock_;
  std::vector<std::string> lines_;
};

// S0-140, S3-073
TEST_F(SupervisorTest, replaces_at_once_who_dies_and_says_how_it_died) {
  Supervisor supervisor = make({"sleep", "1000"});
  supervisor.set_count(2);
  supervisor.tend();
  ASSERT_THAT(supervisor.pids(), SizeIs(2));
  const pid_t first = supervisor.pids()[0];
  const pid_t second = supervisor.pids()[1];
  kill(first, SIGKILL);
  wait_for_end(first);
  supervisor.tend();
  ASSERT_THAT(supervisor.pids(), SizeIs(2));
  EXPECT_NE(supervisor.pids()[0], first);
  EXPECT_EQ(supervisor.pids()[1], second);
  EXPECT_THAT(lines_, ::testing::Contains("worker process died and is replaced process=" +
                                          std::to_string(first) + " code=0 signal=9 pause_ms=0"));
}

TEST_F(SupervisorTest, who_dies_again_and_again_waits_longer_each_time) {
  Supervisor supervisor = make({"sh", "-c", "exit 3"});
  supervisor.set_count(1);
  const auto die = [&] {
    EXPECT_EQ(supervisor.running(), 1U);
    wait_for_end(supervisor.pids()[0]);
    return supervisor.tend();
  };
  supervisor.tend();
  die();  // the first is replaced at once
  EXPECT_THAT(last_line(), HasSubstr("started"));
  EXPECT_EQ(die(), 1s);
  EXPECT_THAT(last_line(), HasSubstr("code=3 signal=0 pause_ms=1000"));
  EXPECT_EQ(supervisor.running(), 0U);
  clock_.advance(999ms);
  EXPECT_EQ(supervisor.tend(), 1ms);
  EXPECT_EQ(supervisor.running(), 0U);
  clock_.advance(1ms);
  supervisor.tend();
  EXPECT_EQ(die(), 2s);
  for (int i = 0; i < 8; ++i) {
    clock_.advance(30s);
    supervisor.tend();
    die();
  }
  EXPECT_THAT(last_line(), HasSubstr("pause_ms=30000"));
}

TEST_F(SupervisorTest, who_has_lasted_is_forgiven_its_past) {
  Supervisor supervisor = make({"sleep", "1000"});
  supervisor.set_count(1);
  const auto kill_it = [&] {
    const pid_t pid = supervisor.pids().at(0);
    kill(pid, SIGKILL);
    wait_for_end(pid);
    supervisor.tend();
  };
  supervisor.tend();
  kill_it();
  kill_it();
  EXPECT_EQ(supervisor.running(), 0U);
  clock_.advance(1s);
  supervisor.tend();
  clock_.advance(60s);
  kill_it();
  EXPECT_EQ(supervisor.running(), 1U) << "at once again";
}

TEST_F(SupervisorTest, the_number_can_change_while_they_run) {
  Supervisor supervisor = make({"sleep", "1000"});
  supervisor.set_count(3);
  supervisor.tend();
  const auto before = supervisor.pids();
  supervisor.set_count(1);
  wait_for_end(before[1]);
  wait_for_end(before[2]);
  supervisor.tend();
  EXPECT_THAT(supervisor.pids(), ElementsAre(before[0]));
  supervisor.set_count(2);
  supervisor.tend();
  EXPECT_THAT(supervisor.pids(), SizeIs(2));
}

TEST_F(SupervisorTest, stops_all_and_replaces_none_then) {
  Supervisor supervisor = make({"sleep", "1000"});
  supervisor.set_count(2);
  supervisor.tend();
  const auto before = supervisor.pids();
  supervisor.stop();
  for (const pid_t pid : before) wait_for_end(pid);
  supervisor.tend();
  EXPECT_EQ(supervisor.running(), 0U);
}

TEST_F(SupervisorTest, what_cannot_be_started_is_tried_again_later) {
  Supervisor supervisor = make({"/no/such/program"});
  supervisor.set_count(1);
  EXPECT_EQ(supervisor.tend(), 1s);
  EXPECT_EQ(last_line(), "a worker process could not be started");
  clock_.advance(1s);
  EXPECT_EQ(supervisor.tend(), 2s);
}

TEST_F(SupervisorTest, a_child_has_none_of_our_files) {
  const test::TemporaryDirectory directory;
  const std::string file = directory / "seen";
  const int ours = open("/dev/null", O_RDONLY);  // without O_CLOEXEC, as libraries do it
  Supervisor supervisor =
      make({"sh", "-c", "ls /proc/self/fd | grep -cx " + std::to_string(ours) + " > " + file});
  supervisor.set_count(1);
  supervisor.tend();
  wait_for_end(supervisor.pids().at(0));
  close(ours);
  std::ifstream seen(file);
  int count = -1;
  seen >> count;
  EXPECT_EQ(count, ours == 3 ? 1 : 0) << "ls itself opens the first that is free";
}

TEST_F(SupervisorTest, a_child_has_its_variables_and_fresh_signals) {
  const test::TemporaryDirectory directory;
  const std::string file = directory.path() + "/seen";
  struct sigaction before = {};
  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &before);
  Supervisor supervisor =
      make({"sh", "-c",
            "echo $MILLRACE_TEST_WORD > " + file + "; grep SigIgn /proc/self/status >> " + file});
  supervisor.set_count(1);
  supervisor.tend();
  wait_for_end(supervisor.pids().at(0));
  sigaction(SIGPIPE, &before, nullptr);
  std::ifstream seen(file);
  std::string word;
  std::string name;
  std::string ignored;
  seen >> word >> name >> ignored;
  EXPECT_EQ(word, "hello");
  EXPECT_EQ(std::stoull(ignored, nullptr, 16) & (1ULL << (SIGPIPE - 1)), 0U) << ignored;
}

}  // namespace
}  // namespace millrace
