// Every verb over HTTP, beside the same verb of a LocalBroker.
#include <fmt/format.h>

#include <atomic>
#include <future>

#include "tests/api/http_twins.h"

namespace millrace::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Ask me{.caller = {1}};

// ---- Hot path ----------------------------------------------------------------------------------

TEST_F(HttpTwins, a_task_with_everything_is_the_same_wherever_it_was_put) {
  const TaskId id = put_one(with_everything());
  EXPECT_EQ(must(find(id)).tags.size(), 2U);
  const Lease lease = take().at(0);
  EXPECT_EQ(lease.payload, R"({"to":  1})");
  must(find(id));
  TaskError error{.code = "smtp", .message = "m", .details = R"({"d":1})", .stack = "s"};
  must(settle(lease, Failed{.error = error}));
  EXPECT_EQ(must(find(id)).state, TaskState::retrying);
  pass(1min);
  must(settle(take().at(0), Failed{.error = error}));
  const Task task = must(find(id));
  EXPECT_EQ(task.state, TaskState::dead);
  EXPECT_EQ(task.history.size(), 2U);
  must(find(task.number));
}

// S1-013
TEST_F(HttpTwins, puts_have_a_result_each) {
  const TaskId id = fresh_id();
  put({task("emails", {.id = id}), task("emails", {.id = id, .priority = 3}),
       task("emails", {.priority = 42}), task("$secret"), task("no such name"),
       task("emails", {.held = true}), task("emails", {.delay = 5s}),
       task("emails", {.payload = std::string((1 << 20) + 1, 'x')})});
}

TEST_F(HttpTwins, payloads_arrive_byte_for_byte) {
  std::vector<NewTask> tasks;
  for (const char* payload :
       {"null", " 5 ", "no json", "\xff\xfe", "\x01", "[1]\n", "\"\\ud800\""}) {
    tasks.push_back(task("emails", {.payload = payload}));
  }
  put(tasks);
  const auto leases = take();
  ASSERT_EQ(leases.size(), tasks.size());
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    EXPECT_EQ(leases[i].payload, tasks[i].payload);
    EXPECT_EQ(leases[i].content_type, "");
    must(settle(leases[i], Done{.result = tasks[i].payload}));
    EXPECT_EQ(must(find(leases[i].id)).result, tasks[i].payload);
  }
}

// S0-010, S0-013
TEST_F(HttpTwins, a_task_without_an_id_gets_one) {
  const auto puts = must(ask<std::vector<Result<Put>>>(*http, [](Broker& broker, auto done) {
    std::vector<NewTask> tasks(3, NewTask{.queue = std::string("emails")});
    broker.put(me, std::move(tasks), std::move(done));
  }));
  ASSERT_EQ(puts.size(), 3U);
  EXPECT_NE(puts[0]->id, puts[1]->id);
  EXPECT_FALSE(puts[0]->existing);
  for (const auto& put : puts) {
    const Task there = must(ask<Task>(
        *http, [&](Broker& broker, auto done) { broker.find(me, put->id, std::move(done)); }));
    EXPECT_EQ(there.id, put->id);
  }
}

TEST_F(HttpTwins, no_tasks_are_put_without_a_request) {
  open({.url = "http://127.0.0.1:1"});
  EXPECT_TRUE(must(ask<std::vector<Result<Put>>>(*http, [](Broker& broker, auto done) {
                broker.put(me, {}, std::move(done));
              })).empty());
}

TEST_F(HttpTwins, more_than_a_request_can_hold_is_put_in_several) {
  std::vector<NewTask> tasks;
  for (int i = 0; i < 12; ++i) {
    tasks.push_back(task("emails", {.payload = std::string(1 << 20, i % 2 == 0 ? '\x01' : 'x')}));
  }
  for (const auto& each : put(tasks)) EXPECT_TRUE(each.has_value());
  const auto leases = take();
  ASSERT_EQ(leases.size(), 12U);
  WorkOrder order;
  for (const Lease& lease : leases) {
    Report& report = order.reports.emplace_back();
    report.id = lease.id, report.token = lease.token;
    report.outcome = Done{.result = lease.payload};
  }
  order.extensions = {{.id = leases[0].id, .token = leases[0].token}};
  order.takes = {{.worker = "w", .queues = {{std::string("emails"), 1}}}};
  const auto result = must(work(order));
  EXPECT_EQ(result.settled.size(), 12U);
  EXPECT_EQ(result.extended.size(), 1U);
  EXPECT_EQ(result.taken.size(), 1U);
  EXPECT_EQ(must(find(leases[11].id)).result.size(), std::size_t{1} << 20);
}

// S1-011, S1-012
TEST_F(HttpTwins, every_outcome_means_the_same) {
  for (int i = 0; i < 7; ++i) put_one();
  const auto leases = take();
  ASSERT_EQ(leases.size(), 7U);
  must(settle(leases[0], Done{.result = R"({"ok":true})"}, {task("emails", with_everything())}));
  must(settle(leases[1], Failed{.error = error("hopeless"), .retryable = false}));
  must(settle(leases[2], RetryAt{.at = t0 + 5s, .error = error("soon")}));
  must(settle(leases[3], Snooze{.until = t0 + 7s}));
  must(settle(leases[4], Cancel{.reason = "enough"}));
  must(settle(leases[5], GiveBack{}));
  for (const Lease& lease : leases) must(find(lease.id));
  // Once more, and with another token.
  EXPECT_EQ(must(settle(leases[0], Done{})).status, SettleStatus::already);
  Lease stale = leases[6];
  stale.token.value += 1000;
  EXPECT_EQ(settle(stale, Done{}).error().code, ErrorCode::lease_lost);
  stale.id = fresh_id();
  EXPECT_EQ(settle(stale, Done{}).error().code, ErrorCode::not_found);
}

TEST_F(HttpTwins, leases_are_extended) {
  const TaskId id = put_one();
  const Lease lease = take().at(0);
  pass(5s);
  WorkOrder order;
  order.extensions = {
      {.id = id, .token = lease.token, .lease = 2min, .progress = 12.5, .log = {"a", "b"}},
      {.id = fresh_id(), .token = lease.token}};
  must(work(order));
  EXPECT_EQ(must(find(id)).log.size(), 2U);
  must(both<Broker::States>(
      [&](Broker& broker, auto done) { broker.cancel(me, {id}, "stop", std::move(done)); }));
  order.extensions.pop_back();
  EXPECT_TRUE(must(work(order)).extended[0]->cancel_requested);
}

// S1-010
TEST_F(HttpTwins, several_takes_are_answered_each) {
  put({task("emails"), task("texts"), task("texts")});
  WorkOrder order;
  order.takes = {{.worker = "w", .queues = {{std::string("emails"), 5}}},
                 {.worker = "w", .queues = {{std::string("texts"), 1}}, .lease = 7s},
                 {.worker = "w", .queues = {}},
                 {.worker = "w", .queues = {{std::string("texts"), 5}}}};
  const auto result = must(work(order));
  ASSERT_EQ(result.taken.size(), 4U);
  EXPECT_EQ(result.taken[1]->at(0).until, t0 + 7s);
  EXPECT_EQ(result.taken[3]->size(), 1U);
}

TEST_F(HttpTwins, a_take_waits_for_tasks) {
  server.driver.put_queue(queue("emails"));
  std::promise<std::size_t> promise;
  auto taken = promise.get_future();
  WorkOrder order;
  order.takes = {{.worker = "w", .queues = {{std::string("emails"), 5}}}};
  order.wait = 10min;  // as long as the server allows
  http->work({.caller = http->new_caller()}, order,
             [promise = std::move(promise)](const Result<WorkResult>& result) mutable {
               promise.set_value(result && result->taken[0] ? result->taken[0]->size() : 99);
             });
  until([&] { return server.driver.broker->stats().rounds.parked == 1; });
  must(only(ask<std::vector<Result<Put>>>(*http, [](Broker& broker, auto done) {
    broker.put(me, {task("emails")}, std::move(done));
  })));
  EXPECT_EQ(taken.get(), 1U);
}

TEST_F(HttpTwins, what_a_caller_does_not_want_any_more_is_given_back) {
  const TaskId id = put_one();
  WorkResult result;
  result.taken.emplace_back(take());
  ASSERT_EQ(result.taken[0]->size(), 1U);
  http->give_back(result);
  until([&] { return server.driver.find(id).state == TaskState::queued; });
  EXPECT_EQ(server.driver.find(id).counters.retries, 0U);
}

TEST_F(HttpTwins, who_leaves_is_not_answered_and_loses_nothing) {
  server.driver.put_queue(queue("emails"));
  open({.timeout = 1h});
  const CallerId caller = http->new_caller();
  auto alive = std::make_shared<int>();
  const std::weak_ptr<int> watch = alive;
  std::atomic<bool> called = false;
  WorkOrder order;
  order.takes = {{.worker = "leaving", .queues = {{std::string("emails"), 5}}}};
  order.wait = 1min;
  http->work({.caller = caller}, order,
             [&called, alive = std::move(alive)](const Result<WorkResult>&) { called = true; });
  until([&] { return server.driver.broker->stats().rounds.parked == 1; });
  http->leave(caller);
  // The poll goes on, since an answer on its way could not be told from one that came; what it
  // brings is given back.
  const TaskId id = server.driver.put(task("emails")).id;
  until([&] { return watch.expired(); });  // the completion is destroyed uncalled
  EXPECT_FALSE(called);
  until([&] { return server.driver.find(id).state == TaskState::queued; });
  EXPECT_EQ(server.driver.find(id).counters.attempts, 0U) << "nothing is charged";
  EXPECT_EQ(server.driver.broker->stats().rounds.parked, 0U);
}

// ---- Tasks -------------------------------------------------------------------------------------

TEST_F(HttpTwins, tasks_are_found_or_not) {
  const TaskId id = put_one();
  EXPECT_EQ(must(find(id)).id, id);
  EXPECT_EQ(must(find(TaskNumber{1})).id, id);
  EXPECT_EQ(find(fresh_id()).error().code, ErrorCode::not_found);
  EXPECT_EQ(find(TaskNumber{99}).error().code, ErrorCode::not_found);
}

TEST_F(HttpTwins, a_result_is_awaited) {
  const TaskId id = put_one();
  // Upkeep, which answers those who wait, runs when told to.
  const auto await = [&](Broker& broker, Duration wait) {
    std::promise<Result<Task>> promise;
    auto answer = promise.get_future();
    broker.await(
        {.caller = broker.new_caller()}, id, wait,
        [promise = std::move(promise)](Result<Task> task) mutable { promise.set_value(task); });
    until([&] {
      server.driver.broker->run_services(), local.broker->run_services();
      return answer.wait_for(0s) == std::future_status::ready;
    });
    return must(answer.get());
  };
  EXPECT_EQ(await(*http, 0ms), await(*local.broker, 0ms));
  EXPECT_EQ(await(*http, 0ms).state, TaskState::queued);
  std::promise<TaskState> state;
  auto ended = state.get_future();
  http->await({.caller = http->new_caller()}, id, 10min,
              [state = std::move(state)](const Result<Task>& task) mutable {
                state.set_value(task ? task->state : TaskState::created);
              });
  must(settle(take().at(0), Done{}));
  until([&] {
    server.driver.broker->run_services();
    return ended.wait_for(0s) == std::future_status::ready;
  });
  EXPECT_EQ(ended.get(), TaskState::completed);
  EXPECT_EQ(await(*http, 1min), await(*local.broker, 1min));
}

TEST_F(HttpTwins, lists_are_filtered_and_paged) {
  for (int i = 0; i < 5; ++i) {
    put_one({.type = i % 2 == 0 ? "even" : "odd:more",
             .payload = "1",
             .priority = 7,
             .client_id = "c d",
             .group = "g+h",
             .tags = {"t%"}});
  }
  put({task("other")});
  const auto list = [&](const ListRequest& request) {
    return must(both<TaskPage>(
        [&](Broker& broker, auto done) { broker.list(me, request, std::move(done)); }));
  };
  EXPECT_EQ(list({}).tasks.size(), 6U);
  EXPECT_EQ(list({.queue = std::string("emails"), .detail = Detail::full}).tasks.at(0).payload,
            "1");
  EXPECT_EQ(list({.type = "odd:more"}).tasks.size(), 2U);
  EXPECT_EQ(list({.client_id = "c d", .group = "g+h", .tag = "t%", .priority = 7}).tasks.size(),
            5U);
  EXPECT_EQ(list({.states = {TaskState::queued, TaskState::dead}}).tasks.size(), 6U);
  EXPECT_EQ(list({.states = {TaskState::dead}}).tasks.size(), 0U);
  EXPECT_EQ(list({.created_from = t0, .created_until = t0 + 1ms}).tasks.size(), 6U);
  EXPECT_EQ(list({.created_until = t0}).tasks.size(), 0U);
  const TaskPage page = list({.limit = 4});
  ASSERT_TRUE(page.next.has_value());
  EXPECT_EQ(list({.before = page.next, .limit = 4}).tasks.size(), 2U);
  const auto refused = both<TaskPage>([&](Broker& broker, auto done) {
    broker.list(me, {.queue = std::string("nowhere")}, std::move(done));
  });
  EXPECT_EQ(refused.error().code, ErrorCode::not_found);
}

TEST_F(HttpTwins, tasks_are_explained) {
  const TaskId id = put_one({.delay = 5s});
  const auto explain = [&](TaskRef which) {
    return both<Explanation>(
        [&](Broker& broker, auto done) { broker.explain(me, which, std::move(done)); });
  };
  EXPECT_EQ(must(explain(id)).gate, Gate::not_due);
  EXPECT_EQ(explain(fresh_id()).error().code, ErrorCode::not_found);
}

TEST_F(HttpTwins, many_tasks_are_cancelled_retried_and_removed) {
  std::vector<TaskId> ids;
  for (int i = 0; i < 30; ++i) ids.push_back(put_one());
  ids.push_back(fresh_id());
  const auto states = [&](auto verb) { return must(both<Broker::States>(verb)); };
  const auto cancelled = states([&](Broker& broker, auto done) {
    broker.cancel(me, ids, "not \"wanted\"", std::move(done));
  });
  EXPECT_EQ(cancelled.size(), 31U);
  EXPECT_EQ(must(find(ids[0])).error->message, "not \"wanted\"");
  states([&](Broker& broker, auto done) { broker.cancel(me, {ids[0]}, {}, std::move(done)); });
  states([&](Broker& broker, auto done) { broker.retry(me, ids, std::move(done)); });
  states([&](Broker& broker, auto done) { broker.retry(me, {ids[0]}, std::move(done)); });
  EXPECT_EQ(must(find(ids[7])).state, TaskState::queued);
  take(1);
  const auto removed =
      states([&](Broker& broker, auto done) { broker.remove(me, ids, std::move(done)); });
  EXPECT_EQ(removed[3], TaskState::queued);
  EXPECT_EQ(find(ids[3]).error().code, ErrorCode::not_found);
  states([&](Broker& broker, auto done) { broker.cancel(me, {}, {}, std::move(done)); });
}

TEST_F(HttpTwins, tasks_are_changed) {
  const TaskId held = put_one({.held = true});
  const TaskId waiting = put_one();
  const TaskId both_at_once = put_one({.held = true});
  const auto update = [&](const std::vector<TaskUpdate>& updates) {
    return must(both<Broker::States>(
        [&](Broker& broker, auto done) { broker.update(me, updates, std::move(done)); }));
  };
  update({{.id = held, .release = true},
          {.id = waiting, .priority = 9, .start = t0 + 5s},
          {.id = waiting, .release = true},
          {.id = fresh_id(), .priority = 1},
          {.id = held, .priority = 77}});
  update({{.id = both_at_once, .priority = 2, .release = true}});
  EXPECT_EQ(must(find(held)).state, TaskState::queued);
  EXPECT_EQ(must(find(waiting)).priority, 9);
  EXPECT_EQ(must(find(waiting)).start, t0 + 5s);
  EXPECT_EQ(server.driver.find(both_at_once).state, TaskState::queued);
  const auto noted = must(ask<Broker::States>(*http, [&](Broker& broker, auto done) {
    broker.update(me, {{.id = held, .delivery_attempt = "200"}}, std::move(done));
  }));
  EXPECT_EQ(noted[0].error().code, ErrorCode::invalid);
}

TEST_F(HttpTwins, dead_letters_are_handled) {
  const auto die = [&](int count, const char* type) {
    for (int i = 0; i < count; ++i) put_one({.type = type});
    for (const Lease& lease : take()) {
      must(settle(lease, Failed{.error = error("hopeless"), .retryable = false}));
    }
  };
  die(3, "a"), die(2, "b");
  const auto retry = [&](const DeadLetters& which) {
    return both<Handled>([&](Broker& broker, auto done) {
      broker.handle_dead(me, which, DeadAction::retry, std::move(done));
    });
  };
  const auto remove = [&](const DeadLetters& which) {
    return both<Handled>([&](Broker& broker, auto done) {
      broker.handle_dead(me, which, DeadAction::remove, std::move(done));
    });
  };
  EXPECT_EQ(must(retry({.queue = std::string("emails"), .type = "b"})).done, 2U);
  const TaskId one = must(both<TaskPage>([&](Broker& broker, auto done) {
                       broker.list(me, {.states = {TaskState::failed}}, std::move(done));
                     }))
                         .tasks.at(0)
                         .id;
  const auto handled = must(retry({.ids = {one, fresh_id()}}));
  EXPECT_EQ(handled.done, 1U);
  EXPECT_EQ(handled.refused, 1U);
  EXPECT_EQ(must(remove({})).done, 2U);
  EXPECT_EQ(retry({.queue = std::string("nowhere")}).error().code, ErrorCode::not_found);
}

// ---- Shared ------------------------------------------------------------------------------------

TEST_F(HttpTwins, workers_are_shown) {
  put_one();
  take();
  EXPECT_EQ(must(both<std::vector<WorkerView>>(
                     [&](Broker& broker, auto done) { broker.workers(me, std::move(done)); }))
                .at(0)
                .holding,
            1U);
}

TEST_F(HttpTwins, workers_report_and_are_told) {
  put_one();
  take();
  WorkerReport report{.worker = "w", .processors = 8};
  report.queues = {{.queue = "emails", .processors = 3, .most = 4, .busy = 1}};
  report.queues[0].handled = 7, report.queues[0].busy_time = 5s;
  report.queues[0].last_error = "m";
  const auto beat = [&](const WorkerReport& what) {
    return both<Instructions>(
        [&](Broker& broker, auto done) { broker.beat(me, what, std::move(done)); });
  };
  must(beat(report));
  const auto workers = must(both<std::vector<WorkerView>>(
      [&](Broker& broker, auto done) { broker.workers(me, std::move(done)); }));
  EXPECT_EQ(workers.at(0).report->worker, "w");
  EXPECT_EQ(workers.at(0).report->queues.at(0).busy_time, 5s);
  report.worker = "a / b?";  // whatever its name
  must(beat(report));
  report.worker = "$local";
  EXPECT_EQ(beat(report).error().code, ErrorCode::invalid);
}

TEST_F(HttpTwins, webhooks_are_delivered_once_more) {
  const TaskId id = put_one({.callback = Callback{.url = "https://example.org/hook"}});
  const auto redeliver = [&](TaskId which) {
    return ask<Put>(
        *http, [&](Broker& broker, auto done) { broker.redeliver(me, which, std::move(done)); });
  };
  EXPECT_EQ(redeliver(id).error().code, ErrorCode::conflict);
  must(settle(take().at(0), Done{}));
  EXPECT_EQ(must(redeliver(id)).state, TaskState::queued);
  EXPECT_EQ(redeliver(fresh_id()).error().code, ErrorCode::not_found);
}

TEST_F(HttpTwins, the_server_says_who_it_is) {
  EXPECT_EQ(http->traits().name, "server");
  const auto info =
      must(wait_for_answer<wire::ServerInfo>([&](auto done) { http->check(std::move(done)); }));
  EXPECT_EQ(info.version, "0");
  EXPECT_EQ(http->traits().name, local.broker->traits().name);
  EXPECT_EQ(http->traits().leases_survive, local.broker->traits().leases_survive);
  EXPECT_FALSE(http->failure().has_value());
  EXPECT_EQ(http->now(), t0);
}

TEST_F(HttpTwins, what_is_internal_to_a_server_is_refused) {
  const auto internal = ask<Task>(*http, [](Broker& broker, auto done) {
    broker.find({.internal = true}, TaskNumber{1}, std::move(done));
  });
  EXPECT_EQ(internal.error().code, ErrorCode::invalid);
}

TEST_F(HttpTwins, a_deadline_that_has_passed_is_told_before_anything_is_sent) {
  const auto late = ask<std::vector<Result<Put>>>(*http, [](Broker& broker, auto done) {
    broker.put({.caller = {1}, .deadline = t0}, {task("emails")}, std::move(done));
  });
  EXPECT_EQ(late.error().code, ErrorCode::unavailable);
  EXPECT_FALSE(server.driver.try_find(TaskNumber{1}).has_value());
}

}  // namespace
}  // namespace millrace::test
