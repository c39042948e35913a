// An operation on many tasks, of a server that is killed in the middle of it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "api/client/http_broker.h"
#include "broker/wait_for_answer.h"
#include "core/transition.h"
#include "tests/e2e/server.h"
#include "tests/support/driver.h"
#include "tests/support/temporary_directory.h"

namespace millrace::test {
namespace {

class BulkServer : public ::testing::Test {
 protected:
  void serve() {
    http_.reset();
    server_ =
        std::make_unique<ServerProcess>(std::vector<std::string>{"--store", directory_ / "data"});
    ASSERT_TRUE(server_->ready()) << server_->said();
    http_ = must(
        HttpBroker::open(clock_, {.url = fmt::format("http://127.0.0.1:{}", server_->port())}));
  }
  void kill() {
    server_->signal(SIGKILL);
    server_->exit();
    serve();
  }

  template <class T, class Verb>
  Result<T> ask(const Verb& verb) {
    return wait_for_answer<T>([&](auto done) { verb(Ask{.caller = {1}}, std::move(done)); });
  }
  std::set<TaskId> put(std::size_t count, const std::string& queue, const std::string& type) {
    std::set<TaskId> ids;
    while (ids.size() < count) {
      std::vector<NewTask> tasks(1000, NewTask{.queue = queue, .type = type, .payload = "{}"});
      const auto puts = must(ask<std::vector<Result<Put>>>(
          [&](Ask by, auto done) { http_->put(by, std::move(tasks), std::move(done)); }));
      for (const auto& put : puts) ids.insert(must(put).id);
    }
    return ids;
  }
  BulkOperation start(const BulkRequest& request) {
    return must(ask<BulkOperation>(
        [&](Ask by, auto done) { http_->start_bulk(by, request, std::move(done)); }));
  }
  BulkOperation look(TaskId id, Duration wait = {}) {
    return must(ask<BulkOperation>(
        [&](Ask by, auto done) { http_->bulk_operation(by, id, wait, std::move(done)); }));
  }
  // Every task of a queue with its version.
  std::map<TaskId, std::uint64_t> all(const std::string& queue) {
    std::map<TaskId, std::uint64_t> tasks;
    ListRequest request{.queue = queue, .limit = 1000};
    for (;;) {
      const auto page = must(
          ask<TaskPage>([&](Ask by, auto done) { http_->list(by, request, std::move(done)); }));
      for (const Task& task : page.tasks) tasks[task.id] = task.version.value;
      if (!page.next) return tasks;
      request.before = page.next;
    }
  }

  SystemClock clock_;
  TemporaryDirectory directory_;
  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<HttpBroker> http_;
};

std::set<TaskId> ids_of(const std::map<TaskId, std::uint64_t>& tasks) {
  std::set<TaskId> ids;
  for (const auto& [id, version] : tasks) ids.insert(id);
  return ids;
}

TEST_F(BulkServer, goes_on_with_a_move_of_fifty_thousand_tasks_after_it_was_killed) {
  serve();
  const auto meant = put(40'000, "crowded", "slow");
  const auto others = put(10'000, "crowded", "quick");
  BulkRequest request{.action = BulkAction::move, .to = "quiet"};
  request.filter = {.queue = "crowded", .type = "slow"};

  request.dry_run = true;
  const auto told = look(start(request).id, 1min);
  ASSERT_EQ(told.state, TaskState::completed);
  EXPECT_EQ(told.progress.matched, meant.size());
  EXPECT_EQ(told.progress.looked_at, meant.size() + others.size());

  request.dry_run = false;
  const TaskId id = start(request).id;
  int kills = 0;
  for (const std::uint64_t from : {1'000U, 15'000U, 30'000U}) {
    BulkOperation seen = look(id);
    while (seen.progress.done < from && !is_final(seen.state)) seen = look(id);
    if (is_final(seen.state)) break;
    kill();
    ++kills;
  }
  EXPECT_GE(kills, 1) << "it ended before anybody could kill it";
  const auto ended = look(id, 2min);
  EXPECT_EQ(ended.state, TaskState::completed);
  EXPECT_EQ(ended.progress.matched, told.progress.matched);
  EXPECT_EQ(ended.progress.done, told.progress.matched);
  EXPECT_EQ(ended.progress.refused, 0U) << ended.progress.refusal;

  // A put makes the first version of a task, and a move the second.
  const auto moved = all("quiet");
  EXPECT_EQ(ids_of(moved), meant);
  for (const auto& [task, version] : moved) ASSERT_EQ(version, 2U);
  const auto stayed = all("crowded");
  EXPECT_EQ(ids_of(stayed), others);
  for (const auto& [task, version] : stayed) ASSERT_EQ(version, 1U);
}

TEST_F(BulkServer, counts_exactly_what_an_operation_did_that_is_cancelled_and_keeps_the_reason) {
  serve();
  put(40'000, "crowded", "slow");
  BulkRequest request{.action = BulkAction::move, .to = "quiet"};
  request.filter.queue = "crowded";
  const TaskId id = start(request).id;
  while (look(id).progress.done < 3'000) {
  }
  must(ask<BulkOperation>(
      [&](Ask by, auto done) { http_->cancel_bulk(by, id, "a mistake", std::move(done)); }));
  const auto ended = look(id, 1min);
  EXPECT_EQ(ended.state, TaskState::cancelled) << "it ended before anybody could cancel it";
  EXPECT_EQ(ended.progress.done, all("quiet").size());
  ASSERT_TRUE(ended.error);
  EXPECT_EQ(ended.error->message, "a mistake");
}

TEST_F(BulkServer, stops_in_time_in_the_middle_of_one_and_goes_on_after_it_is_started_again) {
  serve();
  const auto meant = put(20'000, "crowded", "slow");
  BulkRequest request{.action = BulkAction::cancel};
  request.filter.queue = "crowded";
  const TaskId id = start(request).id;
  server_->signal(SIGTERM);
  EXPECT_EQ(server_->exit(), 0) << server_->said();
  serve();
  const auto ended = look(id, 2min);
  EXPECT_EQ(ended.state, TaskState::completed);
  EXPECT_EQ(ended.progress.done, meant.size());
}

}  // namespace
}  // namespace millrace::test
