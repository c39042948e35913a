// What others do between the steps of a request.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <utility>

#include "broker/wait_for_answer.h"
#include "store/store.h"
#include "tests/api/api_server.h"
#include "tests/api/slow_list_store.h"
#include "tests/support/driver.h"

namespace millrace::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Keys `all`, and `some` for the queue emails, which is the usual one.
ServerOptions restricted(std::unique_ptr<Store> store) {
  ServerOptions options;
  options.keys = {{.name = "all"}, {.name = "some", .queues = {"emails"}}};
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

// ---- Schedules that move to another queue ----

// The memory store; `after_read` is called once, after a schedule was read beside the rounds.
class HookedStore final : public ForwardingStore {
 public:
  HookedStore() : HookedStore(open_memory()) {}

  std::function<void()> after_read;
  std::atomic<bool> armed = false;

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

class MovedSchedule : public ::testing::TestWithParam<Request> {};

TEST_P(MovedSchedule, is_not_touched_by_a_key_that_may_not_touch_its_new_queue) {
  auto own = std::make_unique<HookedStore>();
  HookedStore& store = *own;
  ApiServer server(restricted(std::move(own)));
  LocalBroker& broker = *server.driver.broker;
  const Ask me{.caller = broker.new_caller()};
  const auto is_at = [&] {
    return must(wait_for_answer<std::vector<Schedule>>(
                    [&](auto done) { broker.schedules(me, "nightly", std::move(done)); }))
        .front();
  };
  server.must_post("/v1/schedules",
                   R"({"name":"nightly","rule":{"every_ms":1000},"task":{"queue":"emails"}})");
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
  const Reply reply = server.ask(GetParam());
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

}  // namespace
}  // namespace millrace::test
