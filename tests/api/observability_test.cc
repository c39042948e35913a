// Metrics, events and history over HTTP: what keys may see, and what the client makes of it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "api/wire/events.h"
#include "tests/api/http_twins.h"

namespace millrace::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Reads a stream of events as curl would.
class Events {
 public:
  Events(ApiServer& server, const std::string& query, const std::string& headers = {})
      : server_(server), client_(server.connect()) {
    client_.wait_at_most(5s);
    client_.send(fmt::format("GET /v1/events{} HTTP/1.0\r\nHost: localhost\r\n{}\r\n", query,
                             server.with_key(headers)));
    head = client_.read_until("\r\n\r\n");
    greeting = client_.read_until("\n\n");
  }
  // The next block.
  std::string next() { return client_.read_until("\n\n"); }
  RawClient& client() { return client_; }

  std::string head;
  std::string greeting;

 private:
  ApiServer& server_;
  RawClient client_;
};

// S4-042
TEST(Observability, events_are_streamed_as_they_happen) {
  ApiServer server;
  Events events(server, "?queue=emails");
  EXPECT_THAT(events.head, HasSubstr("200 OK"));
  EXPECT_THAT(events.head, HasSubstr("Content-Type: text/event-stream"));
  EXPECT_THAT(events.head, HasSubstr("Cache-Control: no-store"));
  EXPECT_THAT(events.greeting, HasSubstr("retry:"));
  const std::string id = server.put(R"(,"type":"welcome","client_id":"c1")");
  std::string put = events.next();
  EXPECT_THAT(put, HasSubstr("event: put\ndata: {\"id\":\"" + id + "\""));
  EXPECT_THAT(put, HasSubstr(R"("queue":"emails","type":"welcome","client_id":"c1")"));
  server.must_post("/v1/take", R"({"worker":"w1","queue":"emails"})");
  server.driver.pass(100ms);
  server.api.event_streams().tick();
  const std::string taken = events.next();
  EXPECT_THAT(taken, HasSubstr("event: taken\n"));
  EXPECT_THAT(taken, HasSubstr(R"("worker":"w1")"));
  EXPECT_EQ(server.api.event_streams().count(), 1U);
}

TEST(Observability, a_reader_that_comes_back_misses_nothing) {
  ApiServer server;
  std::string last;
  {
    Events events(server, "");
    server.put();
    const std::string put = events.next();
    last = put.substr(4, put.find('\n') - 4);
  }
  const std::string missed = server.put();
  for (const bool by_header : {true, false}) {
    Events events(server, by_header ? "" : "?after=" + last,
                  by_header ? "Last-Event-ID: " + last + "\r\n" : "");
    EXPECT_THAT(events.next(), HasSubstr(missed));
  }
  // From an earlier run of the server, or from elsewhere.
  for (const auto* stale : {"1-1", "nonsense"}) {
    Events events(server, "", fmt::format("Last-Event-ID: {}\r\n", stale));
    EXPECT_THAT(events.next(), HasSubstr("event: reset\n"));
  }
}

ServerOptions for_shop_only() {
  ServerOptions options;
  options.history = true;
  options.keys = {{.name = "all"}, confined_key("shop", {"shop"})};
  options.key = "all";
  return options;
}

TEST(Observability, a_key_for_some_queues_sees_those_only) {
  ApiServer server(for_shop_only());
  const std::string shop = by_key("shop");
  Events events(server, "", shop);
  server.put();
  const std::string id = member(server.must_post("/v1/tasks", R"({"queue":"shop"})"), "id");
  server.driver.pass(100ms);
  server.api.event_streams().tick();
  EXPECT_THAT(events.next(), HasSubstr(id));
  for (const auto* target : {"/v1/events?queue=emails", "/v1/history?queue=emails", "/metrics"}) {
    EXPECT_EQ(server.ask({.target = target, .headers = shop}).status, 403U) << target;
  }
  EXPECT_EQ(server.ask({.target = "/v1/history?queue=shop", .headers = shop}).status, 200U);
  const std::string past = server.ask({.target = "/v1/history?by=queue", .headers = shop}).body;
  EXPECT_THAT(past, HasSubstr(R"("put":1,)"));
  EXPECT_THAT(past, HasSubstr(R"("name":"shop")"));
  EXPECT_THAT(past, Not(HasSubstr("emails")));
  const std::string all = server.ask({.target = "/v1/history?by=queue"}).body;
  EXPECT_THAT(all, HasSubstr(R"("put":2,)"));
  EXPECT_THAT(all, HasSubstr("emails"));
}

TEST(Observability, a_key_for_some_queues_sees_what_is_wrong_with_those_only) {
  ServerOptions options = for_shop_only();
  options.alerter = AlerterOptions{.limits = {.depth = 1, .disk_free = 50},
                                   .disk = [] { return DiskSpace{.free = 5, .total = 100}; }};
  ApiServer server(std::move(options));
  for (const auto* queue : {"shop", "shop", "emails", "emails"}) {
    server.must_post(fmt::format("/v1/queues/{}/tasks", queue), "{}");
  }
  server.driver.live(11s);
  const std::string shop = by_key("shop");
  const std::string seen = server.ask({.target = "/v1/alerts", .headers = shop}).body;
  EXPECT_THAT(seen, HasSubstr(R"("queue":"shop")"));
  EXPECT_THAT(seen, HasSubstr(R"("total":1)"));
  EXPECT_THAT(seen, Not(HasSubstr("emails")));
  EXPECT_THAT(seen, Not(HasSubstr("disk")));
  EXPECT_THAT(server.ask({.target = "/v1/server", .headers = shop}).body, Not(HasSubstr("disk")));
  EXPECT_THAT(server.ask({.target = "/v1/server"}).body, HasSubstr(R"("disk":{"free":5)"));
  EXPECT_THAT(server.ask({.target = "/v1/alerts"}).body, HasSubstr(R"("total":3)"));
}

TEST(Observability, a_stream_ends_with_its_key) {
  ServerOptions options;
  options.keys = {{.name = "ops"}, {.name = "reader", .scopes = {access::Scope::read}}};
  options.key = "reader";
  ApiServer server(std::move(options));
  Events events(server, "");
  while (server.driver.broker->events().waiting() == 0) std::this_thread::yield();
  server.book.forget(key_id("reader"));
  server.driver.pass(15s);
  server.api.event_streams().tick();
  EXPECT_TRUE(events.client().ends());
}

TEST(Observability, a_stream_does_not_use_up_what_its_key_may_ask_for) {
  ServerOptions options;
  options.keys = {{.name = "once", .rate = Rate{.max = 1, .per = 1h}}};
  options.key = "once";
  ApiServer server(std::move(options));
  Events events(server, "");
  EXPECT_EQ(server.ask({.target = "/v1/stats"}).status, 429U);
  for (int i = 0; i < 2; ++i) {
    while (server.driver.broker->events().waiting() == 0) std::this_thread::yield();
    server.driver.pass(15s);
    server.api.event_streams().tick();
    ASSERT_THAT(events.next(), HasSubstr(":")) << "a sign of life, not the end";
  }
}

TEST(Observability, there_are_so_many_streams_and_no_more) {
  ServerOptions options;
  options.api.streams.most = 1;
  ApiServer server(std::move(options));
  Events events(server, "");
  const Reply refused = server.ask({.target = "/v1/events"});
  EXPECT_EQ(refused.status, 503U);
  EXPECT_TRUE(refused.headers.contains("retry-after"));
  EXPECT_THAT(refused.body, HasSubstr("events.max_streams"));
  events.client().close();
  while (server.api.event_streams().count() != 0) std::this_thread::yield();
  EXPECT_EQ(server.ask({.method = "HEAD", .target = "/v1/events"}).status, 200U);
}

// S3-069, S0-179, S0-177
TEST(Observability, metrics_are_as_they_are_at_the_moment) {
  ApiServer server({.api = {.metrics_compat = true}});
  Reply reply = server.ask({.target = "/metrics"});
  EXPECT_EQ(reply.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_THAT(reply.body, Not(HasSubstr("emails")));
  server.put();
  server.put();
  reply = server.ask({.target = "/metrics"});
  EXPECT_THAT(reply.body, HasSubstr("millrace_queue_tasks{queue=\"emails\",state=\"queued\"} 2\n"));
  EXPECT_THAT(reply.body, HasSubstr("bullmq_queue_size{queue=\"emails\",status=\"waiting\"} 2\n"));
  EXPECT_THAT(reply.body, HasSubstr("millrace_http_request_duration_seconds_count{operation="
                                    "\"putTasks\",status=\"2xx\"} 2\n"));
  server.driver.pass(30s);
  server.ask({.method = "POST", .target = "/v1/tasks", .body = "{"});
  server.ask({.target = "/nowhere"});
  server.must_post("/v1/take", R"({"worker":"w","queue":"emails","wait_ms":1000})");
  reply = server.ask({.target = "/metrics"});
  EXPECT_THAT(reply.body, HasSubstr("bullmq_queue_size{queue=\"emails\",status=\"active\"} 1\n"));
  EXPECT_THAT(reply.body, HasSubstr("millrace_queue_oldest_ready_seconds{queue=\"emails\"} 30\n"));
  EXPECT_THAT(reply.body, HasSubstr("{operation=\"putTasks\",status=\"4xx\"} 1\n"));
  EXPECT_THAT(reply.body, HasSubstr("{operation=\"none\",status=\"4xx\"} 1\n"));
  EXPECT_THAT(reply.body, HasSubstr("millrace_http_long_polls_total{operation=\"take\"} 1\n"));
  EXPECT_THAT(reply.body, HasSubstr("millrace_task_wait_duration_seconds_count{queue=\"emails\""));
}

TEST(Observability, streams_of_lines_are_counted_when_they_end) {
  ApiServer server;
  ASSERT_EQ(
      server.ask({"POST", "/v1/tasks", "{\"queue\":\"emails\"}\n", "application/x-ndjson"}).status,
      200U);
  const Reply exported = server.ask({.target = "/v1/export"});
  ASSERT_EQ(exported.status, 200U);
  ASSERT_EQ(server.ask({"POST", "/v1/import", exported.body, "application/x-ndjson"}).status, 200U);
  const std::string text = server.ask({.target = "/metrics"}).body;
  for (const auto* operation : {"putTasks", "exportLines", "importLines"}) {
    EXPECT_THAT(text, HasSubstr(std::string("millrace_http_long_polls_total{operation=\"") +
                                operation + "\"} 1\n"));
  }
  EXPECT_THAT(text, Not(HasSubstr("seconds_count{operation=\"putTasks\"")));
}

TEST(Observability, the_port_for_metrics_has_nothing_else) {
  ServerOptions options;
  options.started = false;
  options.keys = {{.name = "ops"}};
  ApiServer server(std::move(options));
  const auto started =
      api::Listener::start({.port = 0}, server.api.metrics_port(), server.driver.clock);
  ASSERT_TRUE(started.has_value());
  ApiClient port((*started)->port());
  Reply reply = port.ask({.target = "/metrics"});
  EXPECT_EQ(reply.status, 200U);
  EXPECT_THAT(reply.body, HasSubstr("\nmillrace_ready 0\n"));
  EXPECT_EQ(port.ask({.target = "/health"}).status, 200U);
  EXPECT_EQ(port.ask({.target = "/ready"}).status, 503U);
  server.api.start(*server.driver.broker);
  reply = port.ask({.target = "/metrics?x=1"});
  EXPECT_THAT(reply.body, HasSubstr("\nmillrace_ready 1\n"));
  EXPECT_THAT(reply.body, HasSubstr("\nmillrace_store_up 1\n"));
  EXPECT_EQ(port.ask({.target = "/ready"}).status, 200U);
  for (const auto* target : {"/", "/v1/tasks", "/v1/events", "/openapi.json", "/metrics/x"}) {
    EXPECT_EQ(port.ask({.target = target}).status, 404U) << target;
  }
  EXPECT_EQ(port.post("/metrics", "").status, 405U);
  EXPECT_EQ(port.post("/metrics", "long").status, 405U);
}

// ---- The client --------------------------------------------------------------------------------

TEST_F(HttpTwins, the_client_reads_metrics_and_history) {
  put_one();
  const auto metrics = wait_for_answer<std::string>(
      [&](Completion<std::string> done) { http->metrics({}, std::move(done)); });
  ASSERT_TRUE(metrics.has_value()) << metrics.error().message;
  EXPECT_THAT(*metrics, HasSubstr("millrace_queue_tasks{queue=\"emails\",state=\"queued\"} 1\n"));
  const auto history = wait_for_answer<History>([&](Completion<History> done) {
    http->history({},
                  {.queue = "emails", .type = "a b&c", .step = 1h, .from = t0, .until = t0 + 1h},
                  std::move(done));
  });
  ASSERT_TRUE(history.has_value()) << history.error().message;
  EXPECT_EQ(history->step, 1h);
}

TEST_F(HttpTwins, the_client_is_told_what_happens) {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<wire::StreamedEvent> all;
  std::optional<Result<std::string>> over;
  http->events(
      {.caller = {7}}, {.queue = "emails"}, "",
      [&](const wire::StreamedEvent& news) -> Result<void> {
        const std::lock_guard lock(mutex);
        all.push_back(news);
        changed.notify_all();
        if (all.size() == 2) return fail(ErrorCode::conflict, "enough");
        return {};
      },
      [&](Result<std::string> end) {
        const std::lock_guard lock(mutex);
        over = std::move(end);
        changed.notify_all();
      });
  until([&] { return server.driver.broker->events().waiting() == 1; });
  const TaskId id = put_one({.type = "welcome"});
  std::unique_lock lock(mutex);
  ASSERT_TRUE(changed.wait_for(lock, 10s, [&] { return all.size() == 1; }));
  ASSERT_TRUE(all[0].event.has_value());
  EXPECT_EQ(all[0].event->what, EventKind::put);
  EXPECT_EQ(all[0].event->id, id);
  EXPECT_EQ(all[0].event->type, "welcome");
  EXPECT_EQ(all[0].event->state, TaskState::queued);
  lock.unlock();
  put_one();
  pass(100ms);
  server.api.event_streams().tick();
  lock.lock();
  ASSERT_TRUE(changed.wait_for(lock, 10s, [&] { return over.has_value(); }));
  ASSERT_FALSE(over->has_value());
  EXPECT_EQ(over->error().message, "enough");
  lock.unlock();

  // And goes on after what it has seen.
  std::optional<Result<std::string>> refused;
  const auto again = wait_for_answer<std::string>([&](Completion<std::string> done) {
    http->events(
        {}, {}, all[0].id,
        [&](const wire::StreamedEvent& news) -> Result<void> {
          return fail(ErrorCode::conflict, news.event ? "event" : "none");
        },
        std::move(done));
  });
  EXPECT_EQ(again.error().message, "event");
  const auto wrong = wait_for_answer<std::string>([&](Completion<std::string> done) {
    http->events(
        {}, {}, "nonsense", [](const wire::StreamedEvent&) -> Result<void> { return {}; },
        std::move(done));
  });
  EXPECT_EQ(wrong.error().code, ErrorCode::invalid);
}

}  // namespace
}  // namespace millrace::test
