// What others do between the steps of a request.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "broker/wait_for_answer.h"
#include "store/store.h"
#include "tests/api/api_server.h"
#include "tests/api/slow_list_store.h"
#include "tests/support/driver.h"

namespace millrace::test {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Keys `all`, and `some` for the queue emails, which is the usual one.
ServerOptions restricted(std::unique_ptr<Store> store) {
  ServerOptions options;
  options.keys = {{.name = "all"}, confined_key("some", {"emails"})};
  options.key = "some";
  options.store = std::move(store);
  return options;
}

// ---- Reads that take long ----

TEST(Races, heartbeats_and_results_of_restricted_keys_do_not_wait_for_lists) {
  auto own = std::make_unique<SlowListStore>();
  SlowListStore& store = *own;
  ApiServer server(restricted(std::move(own)));
  const auto [id, token] = server.taken();
  store.hold();
  RawClient reader = server.connect();
  ASSERT_TRUE(
      reader.send(text_of({.target = "/v1/tasks?queue=emails", .headers = server.with_key("")})));
  store.wait_for_list();
  RawClient worker = server.connect();
  worker.wait_at_most(std::chrono::seconds(5));
  const auto post = [&](const std::string& what, const std::string& more) {
    return worker
        .ask(text_of({.method = "POST",
                      .target = "/v1/tasks/" + id + what,
                      .body = fmt::format(R"({{"token":"{}"{}}})", token, more),
                      .headers = server.with_key("")}))
        .status;
  };
  EXPECT_EQ(post("/extend", ""), 200U);
  EXPECT_EQ(post("/settle", R"(,"outcome":"done")"), 200U);
  store.let_go();
  EXPECT_EQ(reader.reply().status, 200U);
}

TEST(Races, puts_are_stored_while_an_export_reads) {
  auto own = std::make_unique<SlowListStore>();
  SlowListStore& store = *own;
  ServerOptions options;
  options.store = std::move(own);
  ApiServer server(std::move(options));
  server.put();
  store.hold();
  RawClient reader = server.connect();
  ASSERT_TRUE(reader.send(text_of({.target = "/v1/export"})));
  store.wait_for_list();
  RawClient putter = server.connect();
  putter.wait_at_most(std::chrono::seconds(5));
  const Reply put = putter.ask(
      text_of({.method = "POST", .target = "/v1/tasks", .body = R"({"queue":"emails"})"}));
  store.let_go();
  EXPECT_EQ(put.status, 201U) << "an export that reads must not keep puts waiting";
  EXPECT_THAT(reader.reply().body, HasSubstr("\"end\""));
}

// ---- Tasks and schedules that move to another queue ----

// The memory store; `after_read` is called once, after a task or a schedule was read beside the
// rounds.
class HookedStore final : public ForwardingStore {
 public:
  HookedStore() : HookedStore(open_memory()) {}

  std::function<void()> after_read;
  std::atomic<bool> armed = false;

  // So that the hook can make requests that read.
  Traits traits() const override {
    Traits all = ForwardingStore::traits();
    all.readers = 2;
    return all;
  }
  Result<std::vector<Result<Task>>> find(std::span<const TaskRef> tasks, Parts parts) override {
    auto found = ForwardingStore::find(tasks, parts);
    if (armed.exchange(false)) after_read();
    return found;
  }
  Result<std::vector<Schedule>> schedules(const std::optional<std::string>& name) override {
    auto found = ForwardingStore::schedules(name);
    if (name && armed.exchange(false)) after_read();
    return found;
  }

 private:
  explicit HookedStore(std::unique_ptr<Store> memory)
      : ForwardingStore(*memory), memory_(std::move(memory)) {}

  std::unique_ptr<Store> memory_;
};

struct Touch {
  std::string method;
  std::string target;  // {} is the id of the task, here and in the body
  std::string body = {};
};

class MovedTask : public ::testing::TestWithParam<Touch> {};

TEST_P(MovedTask, is_not_touched_by_a_key_that_may_not_touch_its_new_queue) {
  auto own = std::make_unique<HookedStore>();
  HookedStore& store = *own;
  ApiServer server(restricted(std::move(own)));
  LocalBroker& broker = *server.driver.broker;
  const std::string id = server.put(R"(,"held":true)");
  const TaskRef task = must(api::task_from_text(id));
  store.after_read = [&] {
    const auto moved = wait_for_answer<Broker::States>([&](auto done) {
      broker.update({.caller = broker.new_caller()},
                    {{.id = std::get<TaskId>(task), .queue = "secret"}}, std::move(done));
    });
    EXPECT_TRUE(moved && moved->front());
  };
  store.armed = true;
  const auto with_id = [&](std::string text) {
    const auto at = text.find("{}");
    return at == text.npos ? text : text.replace(at, 2, id);
  };
  const Touch& touch = GetParam();
  const Reply reply = server.ask({touch.method, with_id(touch.target), with_id(touch.body)});
  EXPECT_FALSE(store.armed);
  EXPECT_THAT(reply.body, HasSubstr("there is no task " + id));
  EXPECT_THAT(reply.body, ::testing::Not(HasSubstr("secret")));
  const Task stored = server.driver.find(task);
  EXPECT_EQ(stored.queue, "secret");
  EXPECT_EQ(stored.state, TaskState::created);
  EXPECT_EQ(stored.priority, default_priority);
}

INSTANTIATE_TEST_SUITE_P(
    Routes, MovedTask,
    ::testing::Values(Touch{"POST", "/v1/tasks/{}/cancel"}, Touch{"POST", "/v1/tasks/{}/release"},
                      Touch{"PATCH", "/v1/tasks/{}", R"({"priority":9})"},
                      Touch{"PATCH", "/v1/tasks/{}", R"({"delay_ms":3600000})"},
                      Touch{"POST", "/v1/tasks/1/cancel"},
                      Touch{"POST", "/v1/tasks/actions", R"({"action":"cancel","ids":["{}"]})"},
                      Touch{"POST", "/v1/tasks/actions",
                            R"({"action":"priority","priority":9,"ids":["{}"]})"}),
    [](const auto& at) { return std::to_string(at.index) + at.param.method; });

class MovedSchedule : public ::testing::TestWithParam<Request> {};

TEST_P(MovedSchedule, is_not_touched_by_a_key_that_may_not_touch_its_new_queue) {
  auto own = std::make_unique<HookedStore>();
  HookedStore& store = *own;
  ApiServer server(restricted(std::move(own)));
  // No such key can be made: only administrators change schedules, and these are not confined. The
  // schedules are guarded all the same.
  server.book.add({.id = key_id("odd"),
                   .about = {.name = "odd",
                             .scopes = access::Scopes(std::vector{access::Scope::admin}),
                             .queues = {"emails"}},
                   .created_at = t0,
                   .hash = access::hash_of(key_text("odd"))});
  LocalBroker& broker = *server.driver.broker;
  const Ask me{.caller = broker.new_caller()};
  const auto is_at = [&] {
    return must(wait_for_answer<std::vector<Schedule>>(
                    [&](auto done) { broker.schedules(me, "nightly", std::move(done)); }))
        .front();
  };
  must(server.driver.try_put_schedule(
      {.name = "nightly", .rule = {.every = 1s}, .task = {.queue = "emails"}}));
  store.after_read = [&] {
    must(wait_for_answer<Schedule>([&](auto done) {
      ScheduleChange move = [](Schedule& schedule) -> Result<void> {
        schedule.task.queue = "secret";
        return {};
      };
      broker.change_schedule(me, "nightly", std::move(move), std::move(done));
    }));
  };
  store.armed = true;
  Request request = GetParam();
  request.headers = by_key("odd");
  const Reply reply = server.ask(request);
  EXPECT_EQ(reply.status, 404U) << reply.body;
  EXPECT_FALSE(store.armed);
  EXPECT_EQ(is_at().task.queue, QueueRef("secret"));
  EXPECT_FALSE(is_at().paused);
  EXPECT_EQ(server.driver.queue("secret").counts.total(), 0U);
}

INSTANTIATE_TEST_SUITE_P(
    Routes, MovedSchedule,
    ::testing::Values(Request{"PATCH", "/v1/schedules/nightly", R"({"paused":true})"},
                      Request{"POST", "/v1/schedules/nightly/pause"},
                      Request{"PUT", "/v1/schedules/nightly",
                              R"({"rule":{"every_ms":5000},"task":{"queue":"emails"}})"},
                      Request{"DELETE", "/v1/schedules/nightly"},
                      Request{"POST", "/v1/schedules/nightly/run"}),
    [](const auto& at) { return std::to_string(at.index) + at.param.method; });

// ---- Queues that are removed, or cannot be read, after they were changed ----

// The memory store, whose queues cannot be counted while the test says so.
class UncountedStore final : public ForwardingStore {
 public:
  UncountedStore() : UncountedStore(open_memory()) {}

  std::atomic<bool> gone = false;

  Result<std::vector<QueueCounts>> counts(const std::optional<QueueRef>& queue,
                                          TimePoint now) override {
    if (gone) return fail(ErrorCode::not_found, "the queue is gone");
    return ForwardingStore::counts(queue, now);
  }

 private:
  explicit UncountedStore(std::unique_ptr<Store> memory)
      : ForwardingStore(*memory), memory_(std::move(memory)) {}

  std::unique_ptr<Store> memory_;
};

TEST(Races, a_stored_change_of_a_queue_is_answered_whatever_becomes_of_the_queue) {
  auto own = std::make_unique<UncountedStore>();
  UncountedStore& store = *own;
  ServerOptions options;
  options.store = std::move(own);
  ApiServer server(std::move(options));
  server.put();
  EXPECT_THAT(server.ask({"PATCH", "/v1/queues/emails", R"({"max_depth":4})"}).body,
              AllOf(HasSubstr(R"("max_depth":4)"), HasSubstr(R"("total":1)")));
  store.gone = true;
  for (const Request& request :
       std::vector<Request>{{"POST", "/v1/queues", R"({"name":"new","max_depth":5})"},
                            {"PUT", "/v1/queues/emails", R"({"max_depth":5})"},
                            {"PATCH", "/v1/queues/emails", R"({"max_depth":5})"},
                            {"POST", "/v1/queues/emails/pause"}}) {
    const Reply reply = server.ask(request);
    EXPECT_EQ(reply.status, request.target == "/v1/queues" ? 201U : 200U) << request.target;
    EXPECT_THAT(reply.body, AllOf(HasSubstr(R"("max_depth":5)"), HasSubstr(R"("counts":{)")));
  }
}

// ---- Tasks that cannot be read after a put ----

// The memory store, whose tasks cannot be read while the test says so.
class UnreadableStore final : public ForwardingStore {
 public:
  UnreadableStore() : UnreadableStore(open_memory()) {}

  std::atomic<bool> unreadable = false;

  Result<std::vector<Result<Task>>> find(std::span<const TaskRef> tasks, Parts parts) override {
    if (unreadable) return fail(ErrorCode::unavailable, "the disk does not answer");
    return ForwardingStore::find(tasks, parts);
  }

 private:
  explicit UnreadableStore(std::unique_ptr<Store> memory)
      : ForwardingStore(*memory), memory_(std::move(memory)) {}

  std::unique_ptr<Store> memory_;
};

TEST(Races, a_put_of_a_restricted_key_is_answered_whatever_can_be_read) {
  auto own = std::make_unique<UnreadableStore>();
  UnreadableStore& store = *own;
  ApiServer server(restricted(std::move(own)));
  const std::string id = server.put();
  const std::string again = fmt::format(R"({{"queue":"emails","id":"{}"}})", id);
  const Request once{"POST", "/v1/tasks", R"({"queue":"emails"})", "application/json",
                     "Idempotency-Key: k\r\n"};
  EXPECT_EQ(server.ask(once).status, 201U);
  store.unreadable = true;
  EXPECT_EQ(server.ask(once).status, 200U);
  EXPECT_EQ(server.post("/v1/tasks", again).status, 200U);
  const Reply list = server.post("/v1/tasks", "[" + again + R"(,{"queue":"emails"}])");
  EXPECT_THAT(list.body, AllOf(HasSubstr(R"("existing":true)"), HasSubstr(R"("existing":false)")));
  store.unreadable = false;
  EXPECT_EQ(server.driver.queue("emails").counts.total(), 3U);
}

}  // namespace
}  // namespace millrace::test
