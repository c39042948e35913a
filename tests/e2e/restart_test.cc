// A server that goes away in the middle of the work and comes back: its workers and those who put
// go on, and no task is lost.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <millrace/app.h>
#include <signal.h>

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/e2e/server.h"
#include "tests/support/builders.h"
#include "tests/support/temporary_directory.h"

namespace millrace::test {
namespace {

struct Letter {
  int number = 0;
};
MILLRACE_FIELDS(Letter, number)

class Restart : public ::testing::TestWithParam<int> {
 protected:
  static constexpr int count = 400;

  void serve() {
    const std::string listen = fmt::format("127.0.0.1:{}", port_);
    server_ = std::make_unique<ServerProcess>(std::vector<std::string>{
        "--no-listen", "--store", directory_ / "data", "--listen", listen});
    ASSERT_TRUE(server_->ready()) << server_->said();
    port_ = server_->port();
  }
  std::string url() const { return fmt::format("http://127.0.0.1:{}", port_); }

  void handled(int number) {
    const std::scoped_lock lock(mutex_);
    ++runs_[number];
    changed_.notify_all();
  }
  // Until handlers have seen so many different tasks.
  bool sees(std::size_t tasks) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 120s, [&] { return runs_.size() >= tasks; });
  }

  // Puts every letter until it is told that it is stored; an id makes that safe.
  void put_all() {
    Client client(url());
    for (int number = 0; number < count; ++number) {
      NewTask task = test::task("letters", {.payload = fmt::format(R"({{"number":{}}})", number)});
      ids_.push_back(task.id);
      while (!client.put(task)) std::this_thread::yield();
    }
  }

  TemporaryDirectory directory_;
  std::uint16_t port_ = 0;
  std::unique_ptr<ServerProcess> server_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int, int> runs_;
  std::vector<TaskId> ids_;
};

// S0-005, S1-001, S2-048
TEST_P(Restart, of_a_server_loses_no_task) {
  serve();
  // What was given to a worker whose answer never came is free again when its lease ends.
  server_->ask({.method = "PUT", .path = "/v1/queues/letters", .body = R"({"lease_ms":5000})"});
  App app(url(), {.idle = 100ms, .error_pause = 50ms, .longest_pause = 200ms, .log = [](auto) {}});
  app.handle<Letter>("letters", {.concurrency = 4},
                     [&](const Letter& letter) { handled(letter.number); });
  ASSERT_TRUE(app.start().has_value());
  std::jthread putting([this] { put_all(); });
  ASSERT_TRUE(sees(count / 4));
  server_->signal(GetParam());
  server_->exit();
  serve();
  ASSERT_TRUE(sees(count));
  putting.join();

  Client client(url());
  for (const TaskId& id : ids_) {
    const auto task = client.await(id, 120s);
    ASSERT_TRUE(task.has_value()) << task.error().message;
    EXPECT_EQ(task->state, TaskState::completed);
  }
  EXPECT_EQ(app.stop(), 0);
  // What ran twice was running or on its way when the server went.
  int twice = 0;
  for (const auto& [number, runs] : runs_) twice += runs > 1 ? 1 : 0;
  EXPECT_LE(twice, 16);
}

INSTANTIATE_TEST_SUITE_P(Signal, Restart, ::testing::Values(SIGTERM, SIGKILL),
                         [](const auto& test) { return test.param == SIGKILL ? "kill" : "stop"; });

}  // namespace
}  // namespace millrace::test
