// Two brokers that are asked the same: one over HTTP, the other in this process. Their clocks stand
// still at the same moment, so what they answer must be the same.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <concepts>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "api/client/http_broker.h"
#include "api/wire/text_writer.h"
#include "api/wire/views.h"
#include "broker/wait_for_answer.h"
#include "tests/api/api_server.h"
#include "tests/support/broker_driver.h"
#include "tests/support/builders.h"
#include "tests/support/print.h"

namespace millrace::test {

// A task about which everything is said.
inline NewTask with_everything() {
  return {.type = "send",
          .payload = R"({"to":  1})",
          .content_type = "application/vnd.shop+json",
          .priority = 0,
          .start = t0 - 1s,
          .start_by = t0 + 1h,
          .timeout = 90s,
          .max_lost = unlimited,
          .retry = RetryRules{.base = 1s, .jitter = Jitter::none, .max_retries = 1},
          .unique = UniqueKey{.key = "k", .scope = UniqueScope::window, .window = 5s},
          .callback = Callback{.url = "https://example.org/hook", .events = 31, .max_attempts = 1},
          .keep_for = 1h,
          .client_id = "c",
          .request_id = "r",
          .group = "g",
          .metadata = R"({"m": {}})",
          .tags = {"a", "m\xc3\xbchle"},
          .parent = fresh_id()};
}

class HttpTwins : public ::testing::Test {
 protected:
  HttpTwins() { open(); }

  void open(HttpBrokerOptions options = {}) {
    if (options.url.empty()) options.url = "http://127.0.0.1:" + std::to_string(server.port());
    http = must(HttpBroker::open(server.driver.clock, std::move(options)));
  }

  template <class T, class Verb>
  static Result<T> ask(auto& broker, const Verb& verb) {
    return wait_for_answer<T>([&](Completion<T> done) { verb(broker, std::move(done)); });
  }
  // The same verb of both: what they answer must be equal, errors in their code.
  template <class T, class Verb>
  Result<T> both(const Verb& verb) {
    Result<T> far = ask<T>(*http, verb);
    Result<T> near = ask<T>(*local.broker, verb);
    EXPECT_EQ(far.has_value(), near.has_value())
        << (far ? "" : far.error().message) << (near ? "" : near.error().message);
    if (!far || !near) {
      if (!far && !near) {
        EXPECT_EQ(far.error().code, near.error().code) << far.error().message;
      }
      return far;
    }
    if constexpr (!std::is_void_v<T>) expect_same(*far, *near);
    return far;
  }

  template <class T>
  static void expect_same(const std::vector<Result<T>>& far, const std::vector<Result<T>>& near) {
    ASSERT_EQ(far.size(), near.size());
    for (std::size_t i = 0; i < far.size(); ++i) {
      ASSERT_EQ(far[i].has_value(), near[i].has_value());
      if (far[i]) {
        expect_same(*far[i], *near[i]);
      } else {
        EXPECT_EQ(far[i].error().code, near[i].error().code) << far[i].error().message;
        EXPECT_EQ(far[i].error().retry_after, near[i].error().retry_after);
      }
    }
  }
  static void expect_same(const WorkResult& far, const WorkResult& near) {
    expect_same(far.settled, near.settled);
    expect_same(far.extended, near.extended);
    expect_same(far.taken, near.taken);
  }
  static void expect_same(const TaskPage& far, const TaskPage& near) {
    EXPECT_EQ(far.tasks, near.tasks);
    EXPECT_EQ(far.next, near.next);
    EXPECT_EQ(far.looked_at, near.looked_at);
  }
  // The broker that makes a queue makes its id.
  static void expect_same(Queue far, const Queue& near) {
    far.settings.id = near.settings.id;
    EXPECT_EQ(far, near);
  }
  static void expect_same(const std::vector<QueueView>& far, const std::vector<QueueView>& near) {
    ASSERT_EQ(far.size(), near.size());
    for (std::size_t i = 0; i < far.size(); ++i) {
      expect_same(far[i].queue, near[i].queue);
      EXPECT_EQ(far[i].counts.queue, near[i].counts.queue);
      EXPECT_EQ(far[i].counts.number, near[i].counts.number);
      EXPECT_EQ(far[i].counts.oldest, near[i].counts.oldest);
      EXPECT_EQ(wire::stats_of(far[i]), wire::stats_of(near[i]));
    }
  }
  template <class T>
    requires std::equality_comparable<T>
  static void expect_same(const T& far, const T& near) {
    EXPECT_EQ(far, near);
  }
  // Everything that the API shows of it.
  template <class T>
    requires(!std::equality_comparable<T> && wire::HasFields<T>)
  static void expect_same(const T& far, const T& near) {
    EXPECT_EQ(wire::text_of(far), wire::text_of(near));
  }
  static void expect_same(const std::vector<WorkerView>& far, const std::vector<WorkerView>& near) {
    EXPECT_EQ(wire::text_of(far), wire::text_of(near));
  }

  // ---- Verbs that several tests need -----------------------------------------------------------

  std::vector<Result<Put>> put(const std::vector<NewTask>& tasks) {
    return must(both<std::vector<Result<Put>>>(
        [&](Broker& broker, auto done) { broker.put({.caller = {1}}, tasks, std::move(done)); }));
  }
  TaskId put_one(NewTask fields = {}) {
    NewTask task = test::task("emails", std::move(fields));
    const TaskId id = task.id;
    EXPECT_TRUE(put({std::move(task)}).front().has_value());
    return id;
  }
  Result<WorkResult> work(const WorkOrder& order) {
    return both<WorkResult>(
        [&](Broker& broker, auto done) { broker.work({.caller = {1}}, order, std::move(done)); });
  }
  std::vector<Lease> take(std::uint32_t most = 100) {
    WorkOrder order;
    order.takes.push_back({.worker = "w", .queues = {{std::string("emails"), most}}});
    return must(must(work(order)).taken.front());
  }
  Result<Settled> settle(const Lease& lease, Outcome outcome,
                         std::vector<NewTask> follow_ups = {}) {
    WorkOrder order;
    Report& report = order.reports.emplace_back();
    report.id = lease.id, report.token = lease.token;
    report.outcome = std::move(outcome), report.follow_ups = std::move(follow_ups);
    return must(work(order)).settled.front();
  }
  Result<Task> find(TaskRef task) {
    return both<Task>(
        [&](Broker& broker, auto done) { broker.find({.caller = {1}}, task, std::move(done)); });
  }
  // Waits for what another thread is about to do.
  template <class Condition>
  static void until(const Condition& condition) {
    while (!condition()) std::this_thread::yield();
  }
  void pass(Duration by) {
    server.driver.pass(by);
    local.pass(by);
  }

  ApiServer server;
  BrokerDriver local;
  std::unique_ptr<HttpBroker> http;
};

}  // namespace millrace::test
