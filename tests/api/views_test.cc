// What a page shows of queues, schedules and workers: by type, by page, and to whom.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "tests/api/api_server.h"

namespace millrace::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Keys `shop` and `all`; a request without a key is let in as `all`.
ServerOptions with_shop_key() {
  ServerOptions options;
  options.keys = {{.name = "all"}, confined_key("shop", {"shop"})};
  options.key = "all";
  return options;
}

const std::string as_shop = by_key("shop");

std::string schedule(const std::string& name, const std::string& queue) {
  return R"({"name":")" + name + R"(","rule":{"every_ms":60000},"task":{"queue":)" + queue + "}}";
}

TEST(Views, types_of_a_queue_have_counts_rates_and_percentiles) {
  ServerOptions options;
  options.history = true;
  ApiServer server(std::move(options));
  server.settled(R"("outcome":"done","result":1)");
  server.driver.pass(10s);
  const Reply reply = server.ask({.target = "/v1/queues/emails/types"});
  ASSERT_EQ(reply.status, 200U) << reply.body;
  EXPECT_THAT(reply.body, HasSubstr(R"("total":{"type":"","put":1,"taken":1,"completed":1)"));
  // The queue is ten seconds old, so the rate is of these and not of the quarter of an hour.
  EXPECT_THAT(reply.body, HasSubstr(R"("rates":{"put":0.1,"take":0.1,"finish":0.1)"));
  EXPECT_THAT(reply.body, HasSubstr(R"("run_ms":{"p50":)"));
}

TEST(Views, rates_of_a_queue_with_a_past_from_before_it_was_made_are_over_that_time) {
  ServerOptions options;
  options.history = true;
  ApiServer server(std::move(options));
  server.driver.broker->run_services();
  server.settled(R"("outcome":"done","result":1)");
  server.driver.live(5min);
  ASSERT_EQ(server.ask({"DELETE", "/v1/queues/emails?force=true"}).status, 202U);
  server.driver.live(10s);
  ASSERT_EQ(server.ask({.target = "/v1/queues/emails"}).status, 404U);
  ASSERT_EQ(server.ask({"PUT", "/v1/queues/emails", "{}"}).status, 200U);
  const Reply reply = server.ask({.target = "/v1/queues/emails/types"});
  ASSERT_EQ(reply.status, 200U) << reply.body;
  EXPECT_THAT(reply.body, HasSubstr(R"("completed":1)"));
  EXPECT_THAT(reply.body, HasSubstr(R"("rates":{"put":0.003)"));  // not one per second
}

TEST(Views, types_are_for_keys_of_that_queue) {
  ApiServer server(with_shop_key());
  server.put();
  server.must_post("/v1/tasks", R"({"queue":"shop"})");
  EXPECT_EQ(server.ask({.target = "/v1/queues/emails/types", .headers = as_shop}).status, 403U);
  EXPECT_EQ(server.ask({.target = "/v1/queues/shop/types", .headers = as_shop}).status, 200U);
}

TEST(Views, schedules_of_a_queue_whatever_they_call_it) {
  ApiServer server(with_shop_key());
  server.must_post("/v1/queues", R"({"name":"shop","number":7})");
  server.must_post("/v1/schedules", schedule("a", R"("shop")"));
  server.must_post("/v1/schedules", schedule("b", "7"));
  server.must_post("/v1/schedules", schedule("c", R"("emails")"));
  for (const auto* queue : {"shop", "7"}) {
    const Reply reply = server.ask({.target = std::string("/v1/schedules?queue=") + queue});
    EXPECT_THAT(reply.body, HasSubstr(R"("name":"a")"));
    EXPECT_THAT(reply.body, HasSubstr(R"("name":"b")"));
    EXPECT_THAT(reply.body, Not(HasSubstr(R"("name":"c")")));
  }
  EXPECT_EQ(server.ask({.target = "/v1/schedules?queue=nowhere"}).body, R"({"schedules":[]})");
  EXPECT_EQ(server.ask({.target = "/v1/schedules?queue=emails", .headers = as_shop}).status, 403U);
  EXPECT_THAT(server.ask({.target = "/v1/schedules", .headers = as_shop}).body,
              Not(HasSubstr(R"("name":"c")")));
}

TEST(Views, schedules_come_in_pages) {
  ApiServer server;
  for (const auto* name : {"b", "c", "a"}) {
    server.must_post("/v1/schedules", schedule(name, R"("q")"));
  }
  EXPECT_THAT(server.ask({.target = "/v1/schedules"}).body, Not(HasSubstr("next\":\"b")));
  const Reply first = server.ask({.target = "/v1/schedules?limit=2"});
  EXPECT_THAT(first.body, HasSubstr(R"("next":"b"})"));
  EXPECT_THAT(first.body, Not(HasSubstr(R"("name":"c")")));
  const Reply second = server.ask({.target = "/v1/schedules?limit=2&cursor=b"});
  EXPECT_THAT(second.body, HasSubstr(R"("name":"c")"));
  EXPECT_THAT(second.body, Not(HasSubstr(R"("name":"b")")));
  EXPECT_THAT(second.body, Not(HasSubstr(R"("next":"c")")));
}

TEST(Views, workers_show_their_tasks_to_keys_that_may_read_them) {
  ApiServer server(with_shop_key());
  server.must_post("/v1/tasks", R"({"queue":"emails","type":"letter"})");
  server.must_post("/v1/tasks", R"({"queue":"shop","type":"order"})");
  server.must_post(
      "/v1/take",
      R"({"worker":"w","queues":[{"queue":"emails","most":5},{"queue":"shop","most":5}]})");
  const Reply all = server.ask({.target = "/v1/workers"});
  EXPECT_THAT(all.body, HasSubstr(R"("type":"letter")"));
  EXPECT_THAT(all.body, HasSubstr(R"("type":"order")"));
  EXPECT_THAT(all.body, HasSubstr(R"("manager":{"enabled":false,"desired":0})"));
  const Reply some = server.ask({.target = "/v1/workers", .headers = as_shop});
  EXPECT_THAT(some.body, Not(HasSubstr("letter")));
  EXPECT_THAT(some.body, HasSubstr(R"("type":"order")"));
  EXPECT_THAT(some.body, Not(HasSubstr("manager")));
}

}  // namespace
}  // namespace millrace::test
