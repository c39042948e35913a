#include <millrace/app.h>

#include <gmock/gmock.h>
#include <atomic>
#include <future>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/raw_client.h"
#include "tests/support/temporary_directory.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using namespace std::chrono_literals;

const TimePoint monday = std::chrono::sys_days(std::chrono::year(2026) / 1 / 5);

struct Email {
  std::string to;
  std::string subject;
};
MILLRACE_FIELDS(Email, to, subject)

struct Sent {
  int number = 0;
};
MILLRACE_FIELDS(Sent, number)

const RetryRules quick{.base = 10s, .jitter = Jitter::none, .max_retries = 2};

AppOptions in_virtual_time() {
  return {.log = [](std::string_view) {}, .virtual_time = monday};
}
AppOptions quiet() {
  return {.idle = 50ms, .log = [](std::string_view) {}};
}

template <class T>
T must(Result<T> result) {
  if (!result) throw Failure(result.error());
  return std::move(*result);
}

void must(const Result<void>& result) {
  if (!result) throw Failure(result.error());
}

// Everything due on the way, at its moment.
Stepped step_to(App& app, TimePoint now) {
  return must(app.step(now));
}

// S2-011, S2-039, S2-019, S2-020, S2-022, S2-032, S2-037, S2-055, S2-056, S2-057
TEST(App, a_call_of_the_handle_puts_a_task_that_the_handler_runs) {
  App app("memory:", in_virtual_time());
  std::vector<std::string> seen;
  const auto emails = app.handle<Email>("emails", [&](const Email& email, Context& task) {
    seen.push_back(email.to + " " + email.subject);
    task.progress(100);
    return Sent{7};
  });
  const Put put = emails({"ann@example.com", "Hi"}, {.priority = 8, .delay = 5s});
  EXPECT_EQ(put.state, TaskState::delayed);
  step_to(app, monday + 4s);
  EXPECT_TRUE(seen.empty());
  EXPECT_EQ(step_to(app, monday + 5s).runs, 1U);
  EXPECT_THAT(seen, ElementsAre("ann@example.com Hi"));
  const Task task = must(app.client().find(put.id));
  EXPECT_EQ(task.state, TaskState::completed);
  EXPECT_EQ(task.result, R"({"number":7})");
  EXPECT_EQ(task.priority, 8);
  EXPECT_THAT(to_text(put.id), SizeIs(36));
}

// S2-057, S2-023, S2-024, S2-025, S2-036, S3-042
TEST(App, failures_are_retried_at_their_moments_and_end_as_dead_letters) {
  App app("memory:", in_virtual_time());
  std::vector<Duration> tries;
  std::vector<std::string> hooks;
  const auto hook = [&](std::string name) {
    return
        [&hooks, name](const TaskEvent& event) { hooks.push_back(name + " " + event.task.type); };
  };
  HandlerOptions options{.retry = quick};
  options.on_requeued = hook("requeued");
  options.on_dead = hook("dead");
  options.on_completed = hook("completed");
  options.on_failed = hook("failed");
  const auto emails = app.handle<Email>("emails", options, [&](const Email&, Context& task) {
    tries.push_back(task.now() - monday);
    throw std::runtime_error("no route to host");
  });
  const Put put = emails({"a", "b"}, {.type = "greeting"});
  step_to(app, monday + 1h);
  EXPECT_THAT(tries, ElementsAre(0s, 10s, 30s));
  EXPECT_THAT(hooks, ElementsAre("requeued greeting", "requeued greeting", "dead greeting"));
  const Task task = must(app.client().find(put.id));
  EXPECT_EQ(task.state, TaskState::dead);
  ASSERT_TRUE(task.error);
  EXPECT_EQ(task.error->message, "no route to host");
  EXPECT_EQ(task.error->code, "task_processing_error");
}

// S2-041, S2-042, S2-043
TEST(App, dead_letters_are_listed_retried_and_cleared) {
  App app("memory:", in_virtual_time());
  bool fails = true;
  const auto emails = app.handle<Email>("emails", [&](const Email&) -> Outcome {
    if (fails) return Failed{{.code = "no_user", .message = "no such user"}, false};
    return Done{"1"};
  });
  const Put first = emails({"a", "1"});
  emails({"b", "2"});
  step_to(app, monday);
  const auto dead = must(app.client().dead({.queue = "emails"}));
  ASSERT_THAT(dead, SizeIs(2));
  EXPECT_EQ(dead[1].id, first.id);
  EXPECT_EQ(dead[1].error->code, "no_user");
  EXPECT_EQ(dead[1].payload, R"({"to":"a","subject":"1"})");
  fails = false;
  EXPECT_EQ(must(app.client().retry(first.id)), TaskState::queued);
  step_to(app, monday + 1s);
  EXPECT_EQ(must(app.client().find(first.id)).state, TaskState::completed);
  EXPECT_EQ(must(app.client().clear_dead({.queue = "emails"})), 1U);
  EXPECT_THAT(must(app.client().dead()), SizeIs(0));
  EXPECT_EQ(app.client().retry(first.id).error().code, ErrorCode::conflict);
}

// S2-028, S2-029, S2-038
TEST(App, functions_run_by_the_clock) {
  App app("memory:", in_virtual_time());
  int cleanups = 0;
  std::vector<std::string> reports;
  app.every(300s, "cleanup", [&] { ++cleanups; });
  app.cron("0 2 * * *", "nightly-report", {.zone = "Europe/Moscow"},
           [&](Context& task) { reports.push_back(std::to_string((task.now() - monday) / 1h)); });
  step_to(app, monday + 48h);
  EXPECT_EQ(cleanups, 48 * 12);
  // 02:00 in Moscow is 23:00 in UTC.
  EXPECT_THAT(reports, ElementsAre("23", "47"));
}

// S2-031
TEST(App, an_error_in_a_scheduled_function_is_a_failed_task_and_the_next_tick_comes) {
  App app("memory:", in_virtual_time());
  int runs = 0;
  app.every(1h, "sweep", [&] {
    if (++runs == 1) throw std::runtime_error("boom");
  });
  step_to(app, monday + 3h);
  EXPECT_GE(runs, 4);
  const auto counts = must(app.client().counts("sweep"));
  EXPECT_EQ(counts.of(TaskState::dead) + counts.of(TaskState::failed), 0U) << "retried well";
}

// S2-035, S3-041
TEST(App, no_more_tasks_are_started_than_the_rate_allows) {
  App app("memory:", in_virtual_time());
  std::vector<Duration> starts;
  const auto emails = app.handle<Email>(
      "emails", {.concurrency = 5, .process_rate = {10, 1s}},
      [&](const Email&, Context& task) { starts.push_back(task.now() - monday); });
  for (int i = 0; i < 35; ++i) emails({"a", "b"});
  step_to(app, monday + 10s);
  ASSERT_THAT(starts, SizeIs(35));
  for (std::size_t i = 10; i < starts.size(); ++i) {
    EXPECT_GE(starts[i] - starts[i - 10], 1s) << "from start " << i - 10;
  }
  EXPECT_LE(starts.back(), 4s);
}

// S0-035, S0-123, S3-038
TEST(App, handlers_by_type_and_unknown_types) {
  App app("memory:", in_virtual_time());
  std::vector<std::string> seen;
  app.queue("notifications", {.concurrency = 5});
  const auto sms = app.handle_type<Email>("notifications", "send-sms",
                                          [&](const Email&) { seen.push_back("sms"); });
  const auto email = app.handle_type<Email>("notifications", "send-email",
                                            [&](const Email&) { seen.push_back("email"); });
  email({"a", "b"});
  sms({"a", "b"});
  const Put unknown = must(app.client().put("notifications", Email{"a", "b"}, {.type = "fax"}));
  step_to(app, monday);
  EXPECT_THAT(seen, ElementsAre("email", "sms"));
  const Task task = must(app.client().find(unknown.id));
  EXPECT_EQ(task.state, TaskState::failed);
  EXPECT_EQ(task.error->message, "Unsupported task type: fax");
}

// S2-050
TEST(App, a_payload_of_another_shape_fails_at_once_and_says_where) {
  App app("memory:", in_virtual_time());
  app.handle<Email>("emails", [](const Email&) {});
  const Put put = must(app.client().put({.queue = "emails", .payload = R"({"to":7})"}));
  step_to(app, monday + 1h);
  const Task task = must(app.client().find(put.id));
  EXPECT_EQ(task.state, TaskState::failed);
  EXPECT_EQ(task.counters.deliveries, 1U);
  EXPECT_EQ(task.error->code, "invalid_payload");
  EXPECT_THAT(task.error->message, HasSubstr("to must be text"));
}

// S1-007, S1-053, S1-067, S1-069, S1-070, S1-071, S1-072
TEST(App, a_batch_handler_settles_each_task_as_it_likes) {
  App app("memory:", in_virtual_time());
  std::vector<std::size_t> batches;
  const auto emails = app.handle_batch<Email>(
      "emails", {.batch_size = 4, .retry = quick}, [&](std::span<Item<Email>> items) {
        batches.push_back(items.size());
        for (auto& item : items) {
          if (item.payload.to == "later") {
            std::ignore = item.task.settle(RetryAt{item.task.now() + 30s, {.message = "busy"}});
          } else if (item.payload.to == "never") {
            std::ignore = item.task.settle(Failed{{.message = "no such user"}, false});
          }
        }
      });
  emails({"ann", "1"});
  const Put later_on = emails({"later", "2"});
  const Put never_ever = emails({"never", "3"});
  for (int i = 0; i < 3; ++i) emails({"bob", "4"});
  step_to(app, monday);
  EXPECT_THAT(batches, ElementsAre(4U, 2U));
  EXPECT_EQ(must(app.client().find(later_on.id)).start, monday + 30s);
  EXPECT_EQ(must(app.client().find(never_ever.id)).state, TaskState::failed);
  const HandlerStats stats = app.stats("emails");
  EXPECT_EQ(stats.processed, 4U) << "those that succeeded";
  EXPECT_EQ(stats.errors, 2U);
  EXPECT_EQ(stats.retried, 1U);
  EXPECT_EQ(stats.last_error, "no such user");
  EXPECT_EQ(must(app.client().counts("emails")).of(TaskState::completed), 4U);
}

TEST(App, follow_ups_are_put_with_the_end_of_their_task_or_not_at_all) {
  App app("memory:", in_virtual_time());
  int welcomed = 0;
  bool fails = true;
  app.handle<Email>("welcome", [&](const Email&) { ++welcomed; });
  const auto signups =
      app.handle<Email>("signups", {.retry = quick}, [&](const Email& email, Context& task) {
        must(task.put("welcome", email));
        if (std::exchange(fails, false)) throw std::runtime_error("not yet");
      });
  signups({"ann", "hi"});
  step_to(app, monday + 5s);
  EXPECT_EQ(welcomed, 0) << "a failed run puts nothing";
  step_to(app, monday + 10s);
  EXPECT_EQ(welcomed, 1);
}

// S2-040
TEST(App, a_paused_queue_waits) {
  App app("memory:", in_virtual_time());
  std::vector<Duration> runs;
  const auto emails = app.handle<Email>(
      "emails", [&](const Email&, Context& task) { runs.push_back(task.now() - monday); });
  step_to(app, monday);
  must(app.client().pause("emails", 60s));
  emails({"a", "b"});
  step_to(app, monday + 59s);
  EXPECT_THAT(runs, SizeIs(0));
  step_to(app, monday + 2min);
  EXPECT_THAT(runs, ElementsAre(60s));
}

// S2-021, S2-034
TEST(App, a_handler_that_waits_too_long_is_told_and_counts_as_timed_out) {
  App app("memory:", in_virtual_time());
  StopReason reason = StopReason::none;
  const auto emails =
      app.handle<Email>("emails", {.timeout = 30s, .retry = RetryRules{.max_retries = 0}},
                        [&](const Email&, Context& task) {
                          EXPECT_FALSE(task.wait_for(45s));
                          reason = task.stop_reason();
                          throw std::runtime_error("given up");
                        });
  const Put put = emails({"a", "b"});
  step_to(app, monday + 1h);
  EXPECT_EQ(reason, StopReason::timed_out);
  const Task task = must(app.client().find(put.id));
  EXPECT_EQ(task.state, TaskState::dead);
  EXPECT_EQ(task.error->code, "timeout");
}

// S0-189, S2-044, S1-077, S1-078, S1-079, S1-080, S1-081
TEST(App, reports_its_metrics) {
  App app("memory:", in_virtual_time());
  const auto emails =
      app.handle<Email>("emails", {.retry = quick}, [&](const Email& email, Context& task) {
        task.wait_for(2s);
        if (email.to == "bad") throw std::runtime_error("x");
      });
  emails({"a", "b"});
  emails({"bad", "b"});
  step_to(app, monday + 4s);
  const QueueMetrics metrics = app.metrics("emails");
  EXPECT_EQ(metrics.completed, 1U);
  EXPECT_EQ(metrics.failed, 1U);
  EXPECT_EQ(metrics.retried, 1U);
  EXPECT_DOUBLE_EQ(metrics.avg_seconds, 2.0);
  const std::string text = app.metrics_text();
  EXPECT_THAT(text, HasSubstr("millrace_worker_completed_total{queue=\"emails\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("millrace_worker_handled_total{queue=\"emails\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("queue_tasks_in_progress{queue_num=\"emails\"} 0\n"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "queue_job_processor_cycle_duration_seconds_bucket{queue_num=\"emails\",le=\"10\"}"));
  EXPECT_THAT(text, HasSubstr("# TYPE queue_running_workers gauge\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE queue_running_job_processors gauge\n"));
}

// S1-003, S2-018, S2-027, S2-033, S2-045, S1-051, S1-064, S1-088
TEST(App, works_on_threads_until_it_is_stopped) {
  App app("memory:", quiet());
  std::atomic<int> running = 0;
  std::atomic<int> most = 0;
  std::atomic<int> done = 0;
  std::promise<void> all;
  const auto emails =
      app.handle<Email>("emails", {.concurrency = 3}, [&](const Email&, Context& task) {
        const int now = ++running;
        int before = most.load();
        while (before < now && !most.compare_exchange_weak(before, now)) {
        }
        task.wait_for(1ms);
        --running;
        if (++done == 50) all.set_value();
      });
  for (int i = 0; i < 50; ++i) emails({"a", "b"});
  must(app.start());
  ASSERT_EQ(all.get_future().wait_for(30s), std::future_status::ready);
  EXPECT_EQ(app.stop(), 0);
  EXPECT_LE(most.load(), 3);
  EXPECT_EQ(done.load(), 50);
  EXPECT_EQ(app.metrics("emails").completed, 50U);
}

TEST(App, a_stop_from_elsewhere_ends_a_run) {
  App app("memory:", quiet());
  std::promise<void> running;
  const auto emails = app.handle<Email>("emails", [&](const Email&) { running.set_value(); });
  emails({"a", "b"});
  std::thread elsewhere([&] {
    running.get_future().wait();
    EXPECT_EQ(app.stop(), 0);
  });
  EXPECT_EQ(app.run(), 0);
  elsewhere.join();
}

// S2-049
TEST(App, what_was_running_or_waiting_is_worked_by_the_next_process) {
  const test::TemporaryDirectory directory;
  const std::string url = "journal:" + directory.path();
  TaskId id;
  {
    App app(url, quiet());
    const auto emails = app.handle<Email>("emails", [&](const Email&) {});
    id = emails({"a", "b"}, {.delay = 1ms}).id;
  }
  App app(url, quiet());
  std::promise<TaskId> ran;
  app.handle<Email>("emails", [&](const Email&, Context& task) { ran.set_value(task.id()); });
  must(app.start());
  auto future = ran.get_future();
  ASSERT_EQ(future.wait_for(30s), std::future_status::ready);
  EXPECT_EQ(future.get(), id);
  EXPECT_EQ(app.stop(), 0);
}

// S1-035, S0-189, S2-049
TEST(App, a_task_that_backs_off_is_stored_and_tried_on_time_after_a_restart) {
  const test::TemporaryDirectory directory;
  const std::string url = "journal:" + directory.path();
  TaskId id;
  {
    App app(url, in_virtual_time());
    const auto emails = app.handle<Email>(
        "emails", {.retry = quick}, [](const Email&) { throw std::runtime_error("not now"); });
    id = emails({"a", "b"}).id;
    step_to(app, monday + 3s);
    EXPECT_EQ(must(app.client().find(id)).state, TaskState::retrying);
  }
  AppOptions later_on = in_virtual_time();
  later_on.virtual_time = monday + 5s;
  App app(url, later_on);
  std::vector<Duration> runs;
  app.handle<Email>("emails", [&](const Email& email, Context& task) {
    EXPECT_EQ(task.id(), id);
    EXPECT_EQ(email.to, "a");
    EXPECT_EQ(email.subject, "b");
    EXPECT_EQ(task.attempt(), 2U);
    EXPECT_EQ(task.previous_start(), monday);
    runs.push_back(task.now() - monday);
  });
  step_to(app, monday + 1min);
  EXPECT_THAT(runs, ElementsAre(10s));
  EXPECT_EQ(must(app.client().find(id)).state, TaskState::completed);
}

// S3-072, C-21
TEST(App, a_critical_task_runs_in_place_where_the_store_is_away_and_others_are_an_error) {
  // No server listens there.
  AppOptions options = quiet();
  options.server_wait = {};
  App app("http://127.0.0.1:1", options);
  std::vector<std::string> sent;
  bool fails = false;
  const auto codes =
      app.handle<Email>("codes", {.critical = true}, [&](const Email& email, Context& task) {
        if (fails) throw std::runtime_error("no network at all");
        sent.push_back(email.to);
        task.progress(50);
      });
  const auto letters =
      app.handle<Email>("letters", [&](const Email&) { sent.push_back("letter"); });
  const Put put = codes({"ann", "1234"}, {.delay = 5s});
  EXPECT_THAT(sent, ElementsAre("ann"));
  EXPECT_EQ(put.state, TaskState::completed);
  EXPECT_EQ(put.number, TaskNumber{});
  EXPECT_EQ(letters.put({"bob", "hi"}).error().code, ErrorCode::unavailable);
  fails = true;
  EXPECT_EQ(codes.put({"ann", "1234"}).error().code, ErrorCode::unavailable)
      << "what did not work in place was not put either";
  EXPECT_THROW(letters({"bob", "hi"}), Failure);
}

// S1-003, S1-006, S1-085
TEST(App, its_metrics_can_be_read_from_a_port_of_its_own) {
  std::promise<std::string> told;
  AppOptions options = quiet();
  options.metrics = "127.0.0.1:0";
  options.log = [&](std::string_view line) {
    const auto at = line.find("port=");
    if (at != line.npos) told.set_value(std::string(line.substr(at + 5)));
  };
  EXPECT_EQ(HandlerOptions{}.concurrency, 1U);
  App app("memory:", options);
  app.handle<Email>("emails", [](const Email&) {});
  must(app.start());
  const auto port = static_cast<std::uint16_t>(std::stoi(told.get_future().get()));
  test::RawClient client(port);
  client.send("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const test::Reply reply = client.reply();
  EXPECT_EQ(reply.status, 200U);
  EXPECT_THAT(reply.body, HasSubstr("queue_running_job_processors 1\n"));
  EXPECT_THAT(reply.body, HasSubstr("millrace_worker_concurrency{queue=\"emails\"} 1\n"));
  client.send("GET /other HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(client.reply().status, 404U);
  client.send("DELETE /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(client.reply().status, 405U);
  std::vector<test::RawClient> idle;
  for (int i = 0; i < 31; ++i) idle.emplace_back(port);
  EXPECT_EQ(test::RawClient(port).reply().status, 503U) << "the files of the program are not taken";
  App wrong("memory:", {.metrics = "9100", .log = [](std::string_view) {}});
  EXPECT_THAT(wrong.start().error().message, HasSubstr("such as 127.0.0.1:9100"));
}

// S1-063, S2-045
TEST(App, a_handler_may_end_it_all) {
  App app("memory:", quiet());
  const auto emails = app.handle<Email>("emails", [&](const Email&) { app.shutdown(); });
  emails({"a", "b"});
  EXPECT_EQ(app.run(), 0);
}

TEST(App, a_handler_that_does_not_stop_in_time_has_its_task_given_back) {
  std::promise<void> let_go;
  std::atomic<bool> left = false;
  AppOptions options = quiet();
  options.shutdown_timeout = 2s;  // a quarter of it is for giving back, which a busy disk needs
  options.shutdown_timeout_exit_code = 7;
  const test::TemporaryDirectory directory;
  const std::string url = "journal:" + directory.path();
  TaskId id;
  {
    App app(url, options);
    std::promise<void> running;
    const auto emails = app.handle<Email>("emails", {.grace = 10ms}, [&](const Email&) {
      running.set_value();
      let_go.get_future().wait();
      left = true;
    });
    id = emails({"a", "b"}).id;
    must(app.start());
    running.get_future().wait();
    EXPECT_EQ(app.stop(), 7);
  }
  Client client(url);
  const Task task = must(client.find(id));
  EXPECT_EQ(task.state, TaskState::queued);
  EXPECT_EQ(task.counters.retries, 0U) << "nothing is charged";
  let_go.set_value();
  while (!left) std::this_thread::yield();
}

// S2-050
TEST(App, what_makes_no_sense_is_told_before_it_starts) {
  EXPECT_THROW(App("ftp://nonsense"), Failure);
  EXPECT_THROW(App("127.0.0.1:7070"), Failure);
  EXPECT_THROW(App("http://127.0.0.1:1", in_virtual_time()), Failure);
  App app("memory:", in_virtual_time());
  app.handle<Email>("emails", [](const Email&) {});
  EXPECT_THROW(app.handle<Email>("emails", [](const Email&) {}), Failure);
  app.handle_type<Email>("typed", "a", [](const Email&) {});
  EXPECT_THROW(app.handle_batch<Email>("typed", {}, [](std::span<Item<Email>>) {}), Failure);
  app.handle_batch<Email>("batches", {}, [](std::span<Item<Email>>) {});
  EXPECT_THROW(app.handle_type<Email>("batches", "a", [](const Email&) {}), Failure);
  EXPECT_EQ(app.start().error().code, ErrorCode::invalid);
  step_to(app, monday);
  EXPECT_THROW(app.handle<Email>("more", [](const Email&) {}), Failure);
  App real("memory:", quiet());
  EXPECT_THAT(real.step(monday).error().message, HasSubstr("virtual_time"));
  App bad("memory:", in_virtual_time());
  bad.cron("61 * * * *", "wrong", [] {});
  EXPECT_THAT(bad.step(monday).error().message, HasSubstr("schedule wrong"));
}

}  // namespace
}  // namespace millrace
