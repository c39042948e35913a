// Workers that die, stand still or lose their connection in the middle of a task:
// another worker runs it again, and the server refuses what the first one reports afterwards.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <utility>

#include "tests/e2e/program.h"
#include "tests/e2e/server.h"
#include "tests/support/tcp_proxy.h"

namespace millrace::test {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

// Whether there is something to read before a minute is over.
bool readable(int file) {
  pollfd waiting{.fd = file, .events = POLLIN, .revents = 0};
  return poll(&waiting, 1, 60'000) == 1;
}

// `millrace work`, in the background.
class WorkProcess {
 public:
  WorkProcess(std::uint16_t port, const std::string& name, const std::string& script) {
    const std::string url = fmt::format("http://127.0.0.1:{}", port);
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    errors_ = ends[0];
    process_ = fork();
    if (process_ == 0) {
      dup2(ends[1], STDERR_FILENO);
      execl(MILLRACE_PROGRAM, "millrace", "work", "--server", url.c_str(), "--name", name.c_str(),
            "mail", "--", "sh", "-c", script.c_str(), nullptr);
      _exit(127);
    }
    close(ends[1]);
  }
  WorkProcess(const WorkProcess&) = delete;
  WorkProcess& operator=(const WorkProcess&) = delete;
  ~WorkProcess() {
    signal(SIGCONT);
    signal(SIGTERM);
    if (process_ != 0) waitpid(process_, nullptr, 0);
    close(errors_);
  }

  void signal(int number) const {
    if (process_ != 0) kill(process_, number);
  }
  void die() {
    signal(SIGKILL);
    waitpid(std::exchange(process_, 0), nullptr, 0);
  }
  // Reads its log until it has this text.
  bool says(const std::string& text) {
    while (said_.find(text) == std::string::npos) {
      std::array<char, 4096> buffer;
      const ssize_t got = readable(errors_) ? read(errors_, buffer.data(), buffer.size()) : 0;
      if (got <= 0) return false;
      said_.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return true;
  }
  const std::string& said() const { return said_; }

 private:
  pid_t process_ = 0;
  int errors_ = -1;
  std::string said_;
};

class LostWorkers : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server_.ready()) << server_.said();
    const Reply made = server_.ask({.method = "PUT",
                                    .path = "/v1/queues/mail",
                                    .body = R"({"lease_ms":1000,"max_lost":100})"});
    ASSERT_LT(made.status, 300U) << made.body;
    ASSERT_EQ(mkfifo((directory_ / "began").c_str(), 0600), 0);
    began_ = open((directory_ / "began").c_str(), O_RDWR | O_CLOEXEC);
  }
  void TearDown() override { close(began_); }

  // The first run waits until the file `go` is there and says who it was; later runs say so at
  // once.
  std::string script(const std::string& name) const {
    return fmt::format(
        "if mkdir {0}/$MILLRACE_TASK_ID; then echo > {0}/began; "
        "while [ ! -e {0}/go ]; do sleep 0.05; done; fi; "
        "echo '\"{1}\"'",
        directory_.path(), name);
  }
  std::string put() const {
    return field(
        server_.ask({.method = "POST", .path = "/v1/queues/mail/tasks", .body = "{}"}).body, "id");
  }
  Reply find(const std::string& id, const std::string& wait = "0s") const {
    return server_.ask({.path = "/v1/tasks/" + id + "?wait=" + wait});
  }
  // Until the script runs.
  bool begun() const {
    char word = 0;
    return readable(began_) && read(began_, &word, 1) == 1;
  }
  // The server looks for a while before it calls anybody lost; the answer waits for that.
  std::string result(const std::string& id) const {
    for (int i = 0; i < 3; ++i) {
      const Reply reply = find(id, "30s");
      if (field(reply.body, "state") == "completed") return reply.body;
    }
    return "it never ended";
  }
  void let_go() const { write_file(directory_ / "go", ""); }

  TemporaryDirectory directory_;
  int began_ = -1;
  ServerProcess server_{{"--store", directory_ / "data"}};
};

// S2-048
TEST_F(LostWorkers, the_task_of_one_that_is_killed_is_worked_again) {
  WorkProcess first(server_.port(), "first", script("first"));
  const std::string id = put();
  ASSERT_TRUE(begun()) << first.said();
  first.die();
  WorkProcess second(server_.port(), "second", script("second"));
  const std::string task = result(id);
  EXPECT_THAT(task, HasSubstr(R"("result":"second")"));
  EXPECT_EQ(field(task, "lost"), "1") << task;
  let_go();
}

TEST_F(LostWorkers, one_that_stood_still_longer_than_its_lease_is_not_heard_afterwards) {
  WorkProcess first(server_.port(), "first", script("first"));
  const std::string id = put();
  ASSERT_TRUE(begun()) << first.said();
  first.signal(SIGSTOP);
  WorkProcess second(server_.port(), "second", script("second"));
  EXPECT_THAT(result(id), HasSubstr(R"("result":"second")"));
  let_go();
  first.signal(SIGCONT);
  EXPECT_TRUE(first.says("lost")) << first.said();
  EXPECT_THAT(find(id).body, HasSubstr(R"("result":"second")")) << "the first one was not heard";
}

TEST_F(LostWorkers, one_whose_connection_is_cut_goes_on_when_it_is_back_but_not_with_that_task) {
  TcpProxy cable(server_.port());
  WorkProcess first(cable.port(), "first", script("first"));
  const std::string id = put();
  ASSERT_TRUE(begun()) << first.said();
  cable.cut();
  {
    WorkProcess second(server_.port(), "second", script("second"));
    EXPECT_THAT(result(id), HasSubstr(R"("result":"second")"));
  }
  let_go();
  cable.heal();
  const std::string next = put();
  EXPECT_THAT(result(next), HasSubstr(R"("result":"first")")) << first.said();
  EXPECT_THAT(find(id).body, HasSubstr(R"("result":"second")"));
}

}  // namespace
}  // namespace millrace::test
