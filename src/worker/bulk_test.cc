// Operations on many tasks, worked over a broker and a store that run.
#include "worker/bulk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "api/wire/bulk.h"
#include "store/store.h"
#include "tests/support/broker_driver.h"
#include "tests/support/forwarding_broker.h"
#include "tests/support/matchers.h"

namespace millrace::worker {
namespace {

using namespace millrace::test;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// The verbs of a broker, whose answers may be lost.
class Verbs final : public BulkVerbs {
 public:
  // A restart replaces the broker.
  explicit Verbs(std::function<LocalBroker&()> broker) : broker_(std::move(broker)) {}

  void act(Ask ask, BulkBatch batch, Completion<Broker::States> done) override {
    if (before_act) before_act(batch);
    if (stuck) return stuck->set_value(std::move(done));
    if (fail_acts > 0 && --fail_acts == 0) {
      return done(fail(ErrorCode::unavailable, "the answer was lost"));
    }
    broker_().act(ask, std::move(batch), [this, done = std::move(done)](auto states) mutable {
      if (lose_answers > 0 && --lose_answers == 0) {
        return done(fail(ErrorCode::unavailable, "the answer was lost"));
      }
      done(std::move(states));
    });
  }
  void remember(Ask ask, Remember request, Completion<Memo> done) override {
    if (request.value) progress_ = must(wire::progress_from(*request.value));
    broker_().remember(ask, std::move(request), std::move(done));
  }
  void recall(Ask ask, Recall request, Completion<std::vector<Memo>> done) override {
    broker_().recall(ask, std::move(request), std::move(done));
  }

  const BulkProgress& last() const { return progress_; }

  std::function<void(const BulkBatch&)> before_act;
  int fail_acts = 0;     // the n-th call is not made
  int lose_answers = 0;  // the n-th call is made, and its answer is lost
  std::promise<Completion<Broker::States>>* stuck = nullptr;  // gets the first, which waits

 private:
  std::function<LocalBroker&()> broker_;
  BulkProgress progress_;
};

std::string result(std::uint64_t looked_at, std::uint64_t matched, std::uint64_t done,
                   std::uint64_t refused) {
  return wire::result_text(
      {.looked_at = looked_at, .matched = matched, .done = done, .refused = refused});
}

Ask inside() {
  return {.caller = {1}, .internal = true};
}

class BulkTest : public ::testing::Test {
 protected:
  TaskId start(const BulkRequest& request) { return start(wire::bulk_text(request)); }
  TaskId start(std::string payload) {
    NewTask task;
    task.queue = std::string(bulk_queue);
    task.payload = std::move(payload);
    return must(only(d.try_put({std::move(task)}, inside()))).id;
  }
  Worker& worker() {
    if (!worker_) {
      worker_.emplace(d.clock, *d.broker, WorkerOptions{.name = "$local-bulk", .internal = true},
                      std::vector<QueueHandlers>{
                          {.queue = std::string(bulk_queue),
                           .acknowledge = Acknowledge::manual,
                           .any = run_bulk(*d.broker, verbs, stopping, d.logged.log())}});
    }
    return *worker_;
  }
  // Runs the operation to its end; `tries` is how often it may take up again.
  Task run(TaskId id, int tries = 1) {
    for (int i = 0; i < tries && !is_final(d.find(id).state); ++i) {
      if (i > 0) d.live(2min, 10s);
      must(worker().step());
    }
    return d.find(id);
  }
  std::vector<TaskId> put(std::size_t count, const std::string& queue = "q", NewTask fields = {}) {
    std::vector<TaskId> ids;
    fields.queue = queue;
    while (ids.size() < count) {
      const auto some = std::min<std::size_t>(1000, count - ids.size());
      for (const auto& put : must(d.try_put(std::vector<NewTask>(some, fields)))) {
        ids.push_back(must(put).id);
      }
    }
    return ids;
  }
  void kill(std::size_t count, const std::string& queue = "q") {
    put(count, queue);
    for (std::size_t left = count; left > 0;) {
      WorkOrder order;
      for (const Lease& lease : d.take(queue)) {
        order.reports.push_back({lease.id, lease.token, Failed{error("no"), false}});
      }
      left -= order.reports.size();
      must(d.try_work(std::move(order)));
    }
  }
  std::vector<Memo> memos() {
    return must(d.wait<std::vector<Memo>>([&](auto done) {
      d.broker->recall(d.ask(), {.prefix = std::string(bulk_memos)}, std::move(done));
    }));
  }
  std::uint64_t in(const std::string& queue, TaskState state = TaskState::queued) {
    return d.queue(queue).counts.of(state);
  }
  static BulkRequest move(std::string from, std::string to) {
    BulkRequest request{.action = BulkAction::move, .to = std::move(to)};
    request.filter.queue = std::move(from);
    return request;
  }

  BrokerDriver d;
  Verbs verbs{[this]() -> LocalBroker& { return *d.broker; }};
  std::shared_ptr<std::atomic<bool>> stopping = std::make_shared<std::atomic<bool>>(false);
  std::optional<Worker> worker_;
};

TEST_F(BulkTest, everything_that_fits_is_acted_on_once_and_nothing_else) {
  put(2500, "q", {.type = "a"});
  put(10, "q", {.type = "b"});
  put(10, "other", {.type = "a"});
  BulkRequest request = move("q", "new");
  request.filter.type = "a";
  const Task ended = run(start(request));
  EXPECT_EQ(ended.state, TaskState::completed);
  EXPECT_EQ(ended.result, result(2510, 2500, 2500, 0));
  EXPECT_EQ(in("new"), 2500U);
  EXPECT_EQ(in("q"), 10U);
  EXPECT_EQ(in("other"), 10U);
  EXPECT_EQ(verbs.last().about, 2510U);
  EXPECT_FALSE(verbs.last().before);
}

TEST_F(BulkTest, a_dry_run_says_the_same_number_and_touches_nothing) {
  put(1500, "q", {.type = "a"});
  put(20, "q", {.type = "b"});
  BulkRequest request = move("q", "new");
  request.filter.type = "a";
  request.dry_run = true;
  EXPECT_EQ(run(start(request)).result, result(1520, 1500, 0, 0));
  EXPECT_EQ(in("q"), 1520U);
  request.dry_run = false;
  EXPECT_EQ(run(start(request)).result, result(1520, 1500, 1500, 0));
}

TEST_F(BulkTest, tasks_that_come_later_are_never_touched) {
  put(5);
  const TaskId id = start(move("q", "new"));
  const auto later = put(5);
  EXPECT_EQ(run(id).result, result(5, 5, 5, 0));
  for (const TaskId& task : later) EXPECT_EQ(d.find(task).queue, "q");
}

TEST_F(BulkTest, every_action_does_its_work) {
  put(3);
  BulkRequest request{.action = BulkAction::priority, .priority = 9};
  request.filter.queue = "q";
  EXPECT_EQ(run(start(request)).result, result(3, 3, 3, 0));
  EXPECT_EQ(run(start(request)).result, result(3, 0, 0, 0));  // they have it already
  EXPECT_EQ(d.find(d.all("q").front().id).priority, 9);
  request = {.action = BulkAction::cancel, .reason = "enough"};
  request.filter.queue = "q";
  EXPECT_EQ(run(start(request)).result, result(3, 3, 3, 0));
  EXPECT_EQ(in("q", TaskState::cancelled), 3U);
  EXPECT_EQ(d.all("q").front().error->message, "enough");
  request = {.action = BulkAction::retry};
  request.filter = {.queue = "q", .states = {TaskState::cancelled}};
  EXPECT_EQ(run(start(request)).result, result(3, 3, 3, 0));
  EXPECT_EQ(in("q"), 3U);
  request = {.action = BulkAction::remove};
  request.filter.queue = "q";
  EXPECT_EQ(run(start(request)).result, result(3, 3, 3, 0));
  EXPECT_EQ(d.queue("q").counts.total(), 0U);
}

TEST_F(BulkTest, internal_queues_are_not_matched_unless_they_are_named) {
  put(2);
  must(d.try_put({{.queue = "$webhooks"}}, inside()));
  BulkRequest request{.action = BulkAction::remove};
  request.filter.states = {TaskState::queued};
  // It looks at the webhook, but not at itself: it runs.
  EXPECT_EQ(run(start(request)).result, result(3, 2, 2, 0));
  EXPECT_THAT(d.all("$webhooks"), SizeIs(1));
  request.filter.queue = "$webhooks";
  EXPECT_EQ(run(start(request)).result, result(1, 1, 1, 0));
}

TEST_F(BulkTest, what_changes_between_look_and_act_is_counted_as_refused) {
  put(5);
  verbs.before_act = [&](const BulkBatch&) {
    if (in("q", TaskState::processing) == 0) d.take("q", 2);
  };
  const Task ended = run(start(move("q", "new")));
  EXPECT_EQ(verbs.last().done, 3U);
  EXPECT_EQ(verbs.last().refused, 2U);
  EXPECT_EQ(ended.result, wire::result_text(verbs.last()));
  EXPECT_THAT(verbs.last().refusal, HasSubstr("processing"));
  EXPECT_EQ(in("new"), 3U);
}

TEST_F(BulkTest, large_tasks_go_in_smaller_pieces) {
  put(12, "q", {.payload = std::string(1'000'000, 'x')});
  std::vector<std::size_t> sizes;
  verbs.before_act = [&](const BulkBatch& batch) { sizes.push_back(batch.tasks.size()); };
  EXPECT_EQ(run(start(move("q", "new"))).result, result(12, 12, 12, 0));
  EXPECT_EQ(sizes, (std::vector<std::size_t>{12, 7, 2}));
}

// ---- Interrupted -------------------------------------------------------------------------------

// At every step, whether the act was made or not: the numbers at the end are those of a run that
// nothing disturbed.
TEST_F(BulkTest, an_operation_that_is_interrupted_goes_on_and_counts_each_task_once) {
  for (int nth = 1; nth <= 5; ++nth) {
    for (const bool made : {false, true}) {
      const std::string from = "q" + std::to_string(nth) + (made ? "m" : "n");
      put(1100, from);
      (made ? verbs.lose_answers : verbs.fail_acts) = nth;
      const Task ended = run(start(move(from, "to-" + from)), 2);
      EXPECT_EQ(ended.state, TaskState::completed);
      EXPECT_EQ(ended.result, result(1100, 1100, 1100, 0)) << from;
      EXPECT_EQ(in("to-" + from), 1100U);
    }
  }
}

TEST_F(BulkTest, every_action_may_be_interrupted) {
  struct Try {
    BulkRequest request;
    TaskState before = TaskState::queued;
  };
  const std::vector<Try> all = {{{.action = BulkAction::cancel}},
                                {{.action = BulkAction::retry}, TaskState::failed},
                                {{.action = BulkAction::remove}},
                                {{.action = BulkAction::priority, .priority = 9}},
                                {{.action = BulkAction::move, .to = "new"}}};
  for (const Try& one : all) {
    const std::string queue = "q-" + std::string(name_of(one.request.action));
    if (one.before == TaskState::failed) {
      kill(600, queue);
    } else {
      put(600, queue);
    }
    BulkRequest request = one.request;
    request.filter.queue = queue;
    verbs.lose_answers = 2;
    EXPECT_EQ(run(start(request), 2).result, result(600, 600, 600, 0)) << queue;
  }
}

// It was retried, ran, and is dead once more before the retry was noted.
TEST_F(BulkTest, nothing_is_retried_twice) {
  kill(3);
  BulkRequest request{.action = BulkAction::retry};
  request.filter.queue = "q";
  const TaskId id = start(request);
  verbs.lose_answers = 1;
  must(worker().step());
  EXPECT_EQ(in("q"), 3U);
  d.pass(1s);
  for (const Lease& lease : d.take("q")) d.settle(lease, Failed{error("again"), false});
  const Task ended = run(id, 3);
  EXPECT_EQ(ended.result, result(3, 3, 3, 0));
  EXPECT_EQ(in("q", TaskState::failed), 3U);
  EXPECT_EQ(in("q"), 0U);
}

// A webhook of a dead letter may be delivered at any time, and its note is a new version.
TEST_F(BulkTest, a_retry_that_was_interrupted_is_made_though_a_webhook_was_delivered_meanwhile) {
  kill(3);
  BulkRequest request{.action = BulkAction::retry};
  request.filter.queue = "q";
  const TaskId id = start(request);
  verbs.fail_acts = 1;
  must(worker().step());
  EXPECT_EQ(in("q", TaskState::failed), 3U);
  for (const Task& task : d.all("q")) {
    std::vector<TaskUpdate> notes{{.id = task.id, .delivery_attempt = "200"}};
    must(only(d.wait<Broker::States>(
        [&](auto done) { d.broker->update(d.ask(), std::move(notes), std::move(done)); })));
  }
  EXPECT_EQ(run(id, 3).result, result(3, 3, 3, 0));
  EXPECT_EQ(in("q"), 3U);
}

// As if it came from another store.
TEST_F(BulkTest, one_whose_progress_is_beyond_its_own_number_does_not_touch_newer_tasks) {
  put(5);
  const TaskId id = start(move("q", "new"));
  const auto later = put(5);
  const std::string memo = wire::progress_text({.about = 5, .before = TaskNumber{1000}});
  Remember request{.key = std::string(bulk_memos) + to_text(id.value), .value = memo};
  must(d.wait<Memo>(
      [&](auto done) { d.broker->remember(inside(), std::move(request), std::move(done)); }));
  EXPECT_EQ(run(id).result, result(5, 5, 5, 0));
  for (const TaskId& task : later) EXPECT_EQ(d.find(task).queue, "q");
}

// The ids were free once they were removed.
TEST_F(BulkTest, a_new_task_with_the_id_of_a_removed_one_is_not_touched) {
  std::vector<NewTask> tasks;
  for (int i = 0; i < 3; ++i) tasks.push_back(task("q"));
  for (const auto& put : must(d.try_put(tasks))) must(put);
  BulkRequest request{.action = BulkAction::remove};
  request.filter.queue = "q";
  const TaskId id = start(request);
  verbs.lose_answers = 1;
  must(worker().step());
  EXPECT_EQ(in("q"), 0U);
  tasks.pop_back();
  for (const auto& put : must(d.try_put(tasks))) must(put);
  EXPECT_EQ(run(id, 3).result, result(3, 3, 3, 0));
  EXPECT_EQ(in("q"), 2U);
}

TEST_F(BulkTest, a_restart_of_everything_loses_nothing) {
  put(2300);
  const TaskId id = start(move("q", "new"));
  verbs.fail_acts = 6;  // in the middle of the second page
  must(worker().step());
  EXPECT_EQ(d.find(id).state, TaskState::retrying);
  worker_.reset();
  d.restart();
  const Task ended = run(id, 3);
  EXPECT_EQ(ended.result, result(2300, 2300, 2300, 0));
  EXPECT_EQ(in("new"), 2300U);
}

TEST_F(BulkTest, one_that_is_cancelled_ends_before_its_next_page_and_keeps_its_counts) {
  put(2500);
  const TaskId id = start(move("q", "new"));
  int acts = 0;
  verbs.before_act = [&](const BulkBatch&) {
    if (++acts == 5) must(d.try_cancel(id, "enough", inside()));
  };
  const Task ended = run(id);
  EXPECT_EQ(ended.state, TaskState::cancelled);
  EXPECT_EQ(in("new"), 2000U);
  EXPECT_EQ(in("q"), 500U);
  EXPECT_EQ(verbs.last().done, 2000U);
  EXPECT_THAT(verbs.last().pending, SizeIs(0));
  EXPECT_EQ(ended.error->message, "cancelled while it was running");
  EXPECT_THAT(memos(), SizeIs(1)) << "nothing else says how far it came";
}

TEST_F(BulkTest, one_that_is_cancelled_keeps_the_reason_that_was_remembered) {
  put(1500);
  const TaskId id = start(move("q", "new"));
  verbs.before_act = [&](const BulkBatch&) {
    Remember why{.key = std::string(bulk_reasons) + to_text(id.value), .value = "a mistake"};
    must(d.wait<Memo>(
        [&](auto done) { d.broker->remember(inside(), std::move(why), std::move(done)); }));
    must(d.try_cancel(id, "enough", inside()));
  };
  EXPECT_EQ(run(id).error->message, "a mistake");
  EXPECT_THAT(memos(), SizeIs(1));
}

TEST_F(BulkTest, a_stop_gives_the_operation_back_after_its_page) {
  put(2500);
  const TaskId id = start(move("q", "new"));
  verbs.before_act = [&](const BulkBatch&) { *stopping = true; };
  must(worker().step());
  EXPECT_EQ(d.find(id).state, TaskState::queued);
  EXPECT_EQ(in("new"), 1000U);
  *stopping = false;
  verbs.before_act = nullptr;
  EXPECT_EQ(run(id).result, result(2500, 2500, 2500, 0));
}

// ---- Going wrong -------------------------------------------------------------------------------

TEST_F(BulkTest, one_that_cannot_be_read_fails_for_good) {
  const Task ended = run(start(std::string("nonsense")));
  EXPECT_EQ(ended.state, TaskState::failed);
}

TEST_F(BulkTest, one_whose_queue_is_gone_fails_for_good) {
  const Task ended = run(start(move("nowhere", "new")));
  EXPECT_EQ(ended.state, TaskState::failed);
  EXPECT_THAT(ended.error->message, HasSubstr("nowhere"));
}

TEST_F(BulkTest, finished_operations_are_kept_for_a_week) {
  put(1);
  const TaskId id = run(start(move("q", "new"))).id;
  EXPECT_THAT(memos(), SizeIs(0)) << "its result says it all";
  d.live(24h * 7 - 1h, 1h);
  EXPECT_TRUE(d.try_find(id));
  d.live(2h, 1h);
  EXPECT_THAT(d.try_find(id), FailsWith(ErrorCode::not_found));
  EXPECT_THAT(memos(), SizeIs(0));
}

// With threads of its own, beside puts.
TEST(BulkWorker, works_by_itself_and_stops) {
  SystemClock clock;
  auto store = open_memory();
  LocalBroker broker(clock, *store);
  const auto put = [&](NewTask task, bool internal) {
    std::vector<NewTask> tasks;
    tasks.push_back(std::move(task));
    return must(must(wait_for_answer<std::vector<Result<Put>>>([&](auto done) {
                  broker.put({.caller = {1}, .internal = internal}, std::move(tasks),
                             std::move(done));
                })).front())
        .id;
  };
  for (int i = 0; i < 100; ++i) put({.queue = "q"}, false);
  BulkWorker worker(clock, broker, broker, {});
  BulkRequest request{.action = BulkAction::move, .to = "new"};
  request.filter.queue = "q";
  NewTask task;
  task.queue = std::string(bulk_queue);
  task.payload = wire::bulk_text(request);
  const TaskId id = put(std::move(task), true);
  const auto ended = must(wait_for_answer<Task>(
      [&](auto done) { broker.await({.caller = {1}}, id, 30s, std::move(done)); }));
  EXPECT_EQ(ended.result, result(100, 100, 100, 0));
  worker.stop(10s);
  worker.stop(10s);
  EXPECT_TRUE(worker.wait_until_left(10s));
}

// Who ends the process must know when the broker may go.
TEST(BulkWorker, a_handler_that_was_given_up_is_waited_for) {
  SystemClock clock;
  auto store = open_memory();
  LocalBroker broker(clock, *store);
  Verbs verbs([&]() -> LocalBroker& { return broker; });
  std::promise<Completion<Broker::States>> stuck;
  verbs.stuck = &stuck;
  BulkRequest request{.action = BulkAction::move, .to = "new"};
  request.filter.queue = "q";
  std::vector<NewTask> tasks(2);
  tasks[0].queue = "q";
  tasks[1].queue = std::string(bulk_queue);
  tasks[1].payload = wire::bulk_text(request);
  must(wait_for_answer<std::vector<Result<Put>>>([&](auto done) {
    broker.put({.caller = {1}, .internal = true}, std::move(tasks), std::move(done));
  }));
  BulkWorker worker(clock, broker, verbs, {});
  auto answer = stuck.get_future().get();
  worker.stop(20ms);
  EXPECT_FALSE(worker.wait_until_left(1ms));
  broker.stop();
  answer(fail(ErrorCode::unavailable, "the broker has stopped"));
  EXPECT_TRUE(worker.wait_until_left(30s));
}

}  // namespace
}  // namespace millrace::worker
