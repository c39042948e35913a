// Operations on many tasks over HTTP: one server in whose process they are worked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/wire/bulk.h"
#include "tests/api/http_twins.h"
#include "tests/support/matchers.h"
#include "worker/bulk.h"

namespace millrace::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class HttpBulk : public HttpTwins {
 protected:
  // Works on what is there; in the same process as the server, as serve does.
  void work_on_all() {
    if (!worker_) {
      worker_.emplace(server.driver.clock, *server.driver.broker,
                      worker::WorkerOptions{.name = "$local-bulk", .internal = true},
                      std::vector<worker::QueueHandlers>{
                          {.queue = std::string(bulk_queue),
                           .acknowledge = Acknowledge::manual,
                           .any = worker::run_bulk(*server.driver.broker, *server.driver.broker,
                                                   stopping_, {})}});
    }
    while (must(worker_->step()) != 0) {
    }
  }
  Result<BulkOperation> start(const BulkRequest& request) {
    return wait_for_answer<BulkOperation>(
        [&](auto done) { http->start_bulk({.caller = {1}}, request, std::move(done)); });
  }
  Result<BulkOperation> look(TaskId id, Duration wait = {}) {
    return wait_for_answer<BulkOperation>(
        [&](auto done) { http->bulk_operation({.caller = {1}}, id, wait, std::move(done)); });
  }
  Result<wire::BulkPage> all(std::optional<TaskNumber> before = {}, std::uint32_t limit = 100) {
    return wait_for_answer<wire::BulkPage>(
        [&](auto done) { http->bulk_operations({.caller = {1}}, before, limit, std::move(done)); });
  }
  Result<BulkOperation> cancel(TaskId id) {
    return wait_for_answer<BulkOperation>(
        [&](auto done) { http->cancel_bulk({.caller = {1}}, id, "enough", std::move(done)); });
  }
  static BulkRequest move(std::string to) {
    BulkRequest request{.action = BulkAction::move, .to = std::move(to)};
    request.filter.queue = "emails";
    return request;
  }

 private:
  std::shared_ptr<std::atomic<bool>> stopping_ = std::make_shared<std::atomic<bool>>(false);
  std::optional<worker::Worker> worker_;
};

TEST_F(HttpBulk, one_is_begun_looked_at_and_ends) {
  const TaskId task = put_one();
  const auto begun = must(start(move("elsewhere")));
  EXPECT_EQ(begun.state, TaskState::queued);
  EXPECT_EQ(begun.request.action, BulkAction::move);
  EXPECT_EQ(begun.request.filter.queue, QueueRef("emails"));
  EXPECT_EQ(begun.request.to, QueueRef("elsewhere"));
  EXPECT_EQ(begun.created_at, t0);
  work_on_all();
  const auto ended = must(look(begun.id, 1min));
  EXPECT_EQ(ended.state, TaskState::completed);
  EXPECT_EQ(ended.progress.about, 1U);
  EXPECT_EQ(ended.progress.looked_at, 1U);
  EXPECT_EQ(ended.progress.matched, 1U);
  EXPECT_EQ(ended.progress.done, 1U);
  EXPECT_EQ(ended.progress.refused, 0U);
  EXPECT_EQ(ended.finished_at, t0);
  EXPECT_EQ(must(ask<Task>(*http,
                           [&](Broker& broker, auto done) {
                             broker.find({.caller = {1}}, task, std::move(done));
                           }))
                .queue,
            "elsewhere");
}

TEST_F(HttpBulk, one_that_is_begun_twice_with_an_id_is_there_once) {
  put_one();
  BulkRequest request = move("elsewhere");
  request.id = fresh_id();
  EXPECT_EQ(must(start(request)).id, request.id);
  EXPECT_EQ(must(start(request)).id, request.id);
  EXPECT_EQ(must(all()).operations.size(), 1U);
}

TEST_F(HttpBulk, the_id_of_a_task_is_not_that_of_an_operation) {
  BulkRequest request = move("elsewhere");
  request.id = put_one();
  EXPECT_THAT(start(request), FailsWith(ErrorCode::conflict));
  EXPECT_THAT(look(request.id), FailsWith(ErrorCode::not_found));
  EXPECT_THAT(cancel(request.id), FailsWith(ErrorCode::not_found));
  EXPECT_EQ(must(find(request.id)).state, TaskState::queued);
}

TEST_F(HttpBulk, they_are_listed_newest_first) {
  put_one();
  const TaskId first = must(start(move("a"))).id;
  const TaskId second = must(start(move("b"))).id;
  work_on_all();
  const TaskId third = must(start(move("c"))).id;
  const auto page = must(all({}, 2));
  ASSERT_EQ(page.operations.size(), 2U);
  EXPECT_EQ(page.operations[0].id, third);
  EXPECT_EQ(page.operations[0].state, TaskState::queued);
  EXPECT_EQ(page.operations[1].id, second);
  EXPECT_EQ(page.operations[1].state, TaskState::completed);
  const auto rest = must(all(page.next, 2));
  ASSERT_EQ(rest.operations.size(), 1U);
  EXPECT_EQ(rest.operations[0].id, first);
  EXPECT_EQ(rest.operations[0].progress.done, 1U);
  EXPECT_FALSE(rest.next);
}

TEST_F(HttpBulk, one_that_cannot_be_read_does_not_hide_the_others) {
  put_one();
  const TaskId good = must(start(move("a"))).id;
  NewTask bad;
  bad.queue = std::string(bulk_queue);
  bad.payload = "nonsense";
  std::vector<NewTask> tasks;
  tasks.push_back(std::move(bad));
  must(only(server.driver.try_put(std::move(tasks), {.caller = {1}, .internal = true})));
  const auto page = must(all());
  ASSERT_EQ(page.operations.size(), 1U);
  EXPECT_EQ(page.operations[0].id, good);
}

TEST_F(HttpBulk, a_new_queue_that_would_be_taken_for_a_number_is_refused_at_once) {
  put_one();
  EXPECT_THAT(start(move("17")), FailsWith(ErrorCode::invalid));
}

TEST_F(HttpBulk, one_that_waits_is_cancelled_at_once_and_one_that_ended_cannot_be) {
  put_one();
  const TaskId id = must(start(move("elsewhere"))).id;
  EXPECT_EQ(must(cancel(id)).state, TaskState::cancelled);
  EXPECT_THAT(cancel(id), FailsWith(ErrorCode::conflict));
  work_on_all();
  EXPECT_EQ(must(look(id)).progress.looked_at, 0U);
}

TEST_F(HttpBulk, queues_may_be_named_in_any_way_and_are_shown_by_name) {
  const auto made = both<Queue>([&](Broker& broker, auto done) {
    broker.put_queue({.caller = {1}}, queue("numbered", {.number = QueueNumber{5}}),
                     PutQueue::create, std::move(done));
  });
  must(made);
  put_one();
  BulkRequest request = move("");
  request.to = QueueNumber{5};
  EXPECT_EQ(must(start(request)).request.to, QueueRef("numbered"));
}

TEST_F(HttpBulk, a_bad_request_says_which_field_is_wrong) {
  put_one();
  BulkRequest request = move("elsewhere");
  request.filter.states = {TaskState::completed};
  const auto refused = start(request);
  ASSERT_THAT(refused, FailsWith(ErrorCode::invalid));
  EXPECT_THAT(refused.error().message, HasSubstr("completed"));
  EXPECT_THAT(start(BulkRequest{.action = BulkAction::cancel}), FailsWith(ErrorCode::invalid));
  EXPECT_THAT(start(move("$webhooks")), FailsWith(ErrorCode::invalid));
}

TEST_F(HttpBulk, a_server_that_is_away_is_told) {
  open({.url = "http://127.0.0.1:1"});
  EXPECT_THAT(start(move("elsewhere")), FailsWith(ErrorCode::unavailable));
  EXPECT_THAT(look(fresh_id()), FailsWith(ErrorCode::unavailable));
}

// ---- Moving single tasks -----------------------------------------------------------------------

TEST_F(HttpBulk, a_task_is_moved_as_in_this_process) {
  const TaskId id = put_one();
  const auto moved = [&](TaskUpdate update) {
    return must(both<Broker::States>([&](Broker& broker, auto done) {
             broker.update({.caller = {1}}, {update}, std::move(done));
           }))
        .front();
  };
  EXPECT_THAT(moved({.id = id, .queue = "elsewhere"}), IsOkAndHolds(TaskState::queued));
  EXPECT_EQ(must(find(id)).queue, "elsewhere");
  EXPECT_THAT(moved({.id = id, .queue = "$webhooks"}), FailsWith(ErrorCode::invalid));
  EXPECT_THAT(moved({.id = id, .queue = QueueNumber{77}}), FailsWith(ErrorCode::not_found));
  EXPECT_THAT(moved({.id = fresh_id(), .queue = "elsewhere"}), FailsWith(ErrorCode::not_found));
  EXPECT_THAT(moved({.id = id, .priority = 9, .queue = "emails"}), IsOkAndHolds(TaskState::queued));
  EXPECT_EQ(must(find(id)).priority, 9);
  take();
  EXPECT_THAT(moved({.id = id, .queue = "elsewhere"}), FailsWith(ErrorCode::conflict));
}

TEST_F(HttpBulk, a_held_task_is_moved_and_released) {
  const TaskId id = put_one({.held = true});
  const auto states = must(both<Broker::States>([&](Broker& broker, auto done) {
    std::vector<TaskUpdate> updates{{.id = id, .release = true, .queue = "elsewhere"}};
    broker.update({.caller = {1}}, std::move(updates), std::move(done));
  }));
  EXPECT_THAT(states.front(), IsOkAndHolds(TaskState::queued));
  // Two requests, so one version more.
  const auto moved = ask<Task>(
      *http, [&](Broker& broker, auto done) { broker.find({.caller = {1}}, id, std::move(done)); });
  EXPECT_EQ(must(moved).queue, "elsewhere");
}

}  // namespace
}  // namespace millrace::test
