// Keys for some queues: what they may do with theirs, and that they learn nothing of the others.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/api/api_server.h"

namespace millrace::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A server whose usual key is for the queues emails and shop.*; it may do there what such a key
// can.
ServerOptions restricted() {
  ServerOptions options;
  options.keys = {{.name = "all"}, confined_key("some", {"emails", "shop.*"})};
  options.key = "some";
  return options;
}

Request as_admin(Request request) {
  request.headers += by_key("all");
  return request;
}

// Beside `emails`, which the key may use: a queue with a task and a schedule. The task's id.
std::string hide_something(ApiServer& server) {
  const auto admin = [&](std::string target, std::string body) {
    return server
        .ask(as_admin({.method = "POST", .target = std::move(target), .body = std::move(body)}))
        .body;
  };
  admin("/v1/queues", R"({"name":"secret","number":9})");
  admin("/v1/queues", R"({"name":"emails","number":7})");
  admin("/v1/schedules",
        R"({"name":"nightly","rule":{"cron":"0 3 * * *"},"task":{"queue":"secret"}})");
  return member(admin("/v1/tasks", R"({"queue":"secret"})"), "id");
}

void expect_each(ApiServer& server, unsigned status, const std::vector<Request>& requests,
                 const ::testing::Matcher<std::string>& body) {
  for (const Request& request : requests) {
    const Reply reply = server.ask(request);
    EXPECT_EQ(reply.status, status)
        << request.method << " " << request.target << " " << request.body << "\n"
        << reply.body;
    EXPECT_THAT(reply.body, body);
  }
  EXPECT_EQ(server.driver.queue("secret").counts.total(), 1U);
  EXPECT_EQ(server.driver.queue("emails").counts.total(), 0U);
}

TEST(ConfinedKeys, are_refused_the_names_of_others) {
  ApiServer server(restricted());
  hide_something(server);
  expect_each(server, 403,
              {{"POST", "/v1/tasks", R"({"queue":"secret"})"},
               {"POST", "/v1/queues/secret/tasks", "{}"},
               {"POST", "/v1/take", R"({"queue":"secret"})"},
               {"POST", "/v1/workers/w/beat", R"({"processors":1,"queues":[{"queue":"secret"}]})"},
               {"GET", "/v1/tasks"},
               {"GET", "/v1/tasks?queue=secret"},
               {"GET", "/v1/dead"},
               {"GET", "/v1/dead?queue=secret"},
               {"GET", "/v1/queues/secret"},
               {"GET", "/v1/queues/secret/stats"},
               {"GET", "/v1/schedules?queue=secret"}},
              HasSubstr("queue"));
}

TEST(ConfinedKeys, administrate_nothing) {
  ApiServer server(restricted());
  const std::string hidden = hide_something(server);
  expect_each(server, 403,
              {{"POST", "/v1/tasks/" + hidden + "/retry"},
               {"POST", "/v1/tasks/" + hidden + "/redeliver"},
               {"DELETE", "/v1/tasks/" + hidden},
               {"POST", "/v1/dead/retry", R"({"all":true,"queue":"emails"})"},
               {"POST", "/v1/dead/remove", fmt::format(R"({{"ids":["{}"]}})", hidden)},
               {"POST", "/v1/queues", R"({"name":"shop.new"})"},
               {"PUT", "/v1/queues/9", "{}"},
               {"PATCH", "/v1/queues/emails", R"({"max_depth":1})"},
               {"DELETE", "/v1/queues/emails"},
               {"POST", "/v1/queues/emails/clear"},
               {"POST", "/v1/schedules",
                R"({"name":"x","rule":{"every_ms":1000},"task":{"queue":"emails"}})"},
               {"DELETE", "/v1/schedules/nightly"},
               {"POST", "/v1/schedules/nightly/run"}},
              HasSubstr("admin"));
}

TEST(ConfinedKeys, do_not_learn_what_is_elsewhere) {
  ApiServer server(restricted());
  const std::string hidden = hide_something(server);
  expect_each(server, 404,
              {{"POST", "/v1/tasks", R"([{"queue":"emails"},{"queue":9}])"},
               {"POST", "/v1/queues/9/tasks", "{}"},
               {"POST", "/v1/work", R"({"take":{"queues":[{"queue":"emails"},{"queue":9}]}})"},
               {"POST", "/v1/tasks/" + hidden + "/settle",
                R"({"token":"0000010000000001","outcome":"done"})"},
               {"POST", "/v1/tasks/" + hidden + "/extend", R"({"token":"0000010000000001"})"},
               {"GET", "/v1/dead?queue=9"},
               {"GET", "/v1/tasks/" + hidden},
               {"GET", "/v1/tasks/1"},
               {"GET", "/v1/tasks/" + hidden + "/result"},
               {"GET", "/v1/tasks/" + hidden + "/explain"},
               {"POST", "/v1/tasks/" + hidden + "/cancel"},
               {"POST", "/v1/tasks/" + hidden + "/release"},
               {"PATCH", "/v1/tasks/" + hidden, R"({"priority":1})"},
               {"GET", "/v1/queues/9"},
               {"GET", "/v1/schedules/nightly"},
               {"GET", "/v1/schedules/nightly/next"}},
              Not(HasSubstr("secret")));
  for (const auto* part :
       {R"({{"settle":[{{"id":"{}","token":"0000010000000001","outcome":"done"}}]}})",
        R"({{"extend":[{{"id":"{}","token":"0000010000000001"}}]}})"}) {
    const Reply reply = server.post("/v1/work", fmt::format(fmt::runtime(part), hidden));
    EXPECT_THAT(reply.body, HasSubstr("not_found"));
  }
  EXPECT_EQ(server.driver.queue("secret").counts.total(), 1U);
  EXPECT_EQ(server.driver.queue("emails").counts.total(), 0U);
}

TEST(ConfinedKeys, work_with_theirs) {
  ApiServer server(restricted());
  server.ask(as_admin({"POST", "/v1/queues", R"({"name":"secret"})"}));
  server.ask(as_admin({"POST", "/v1/queues", R"({"name":"emails","number":7})"}));
  const auto [id, token] = server.taken();
  const std::string settle = fmt::format(R"({{"settle":[{{"id":"{}","token":"{}","outcome":"done",
                      "follow_ups":[{{"queue":"QUEUE"}}]}}]}})",
                                         id, token);
  const auto with_queue = [&](std::string_view queue) {
    std::string body = settle;
    return body.replace(body.find("QUEUE"), 5, queue);
  };
  const Reply refused = server.post("/v1/work", with_queue("secret"));
  EXPECT_EQ(refused.status, 403U);
  // So that a worker can tell it from a key that was withdrawn, whose results it keeps.
  EXPECT_THAT(refused.body, HasSubstr(R"("field":"follow_ups")"));
  EXPECT_EQ(server.post("/v1/work", with_queue("shop.orders")).status, 200U);
  EXPECT_EQ(server.post("/v1/queues/7/tasks", "{}").status, 201U);
  EXPECT_EQ(server
                .ask(as_admin({"POST", "/v1/workers/w1/beat",
                               R"({"processors":1,"queues":[{"queue":"emails"},
                                     {"queue":"secret"}]})"}))
                .status,
            200U);
  const std::string worker = server.ask({.target = "/v1/workers/w1"}).body;
  EXPECT_THAT(worker, HasSubstr(R"("report":{"processors":1,"queues":[{"queue":"emails")"));
  EXPECT_EQ(worker.find("secret"), std::string::npos);
  EXPECT_EQ(server.ask({.target = "/v1/tasks?queue=emails"}).status, 200U);
  EXPECT_EQ(server.ask({.target = "/v1/tasks/" + id}).status, 200U);
  for (const auto* path : {"/v1/queues", "/v1/stats"}) {
    const std::string all = server.ask({.target = path}).body;
    EXPECT_THAT(all, HasSubstr("emails"));
    EXPECT_EQ(all.find("secret"), std::string::npos);
  }
  const Reply lines = server.ask({.method = "POST",
                                  .target = "/v1/tasks",
                                  .body = "{\"queue\":\"secret\"}\n{\"queue\":7}\n"
                                          "{\"queue\":\"emails\"}\n",
                                  .content_type = "application/x-ndjson"});
  EXPECT_THAT(lines.body, HasSubstr(R"({"line":1,"error":{"code":"forbidden")"));
  EXPECT_THAT(lines.body, HasSubstr(R"({"line":2,"error":{"code":"forbidden")"));
  EXPECT_THAT(lines.body, HasSubstr(R"("put":1,)"));
}

TEST(ConfinedKeys, what_is_let_in_by_its_head_is_what_is_handled) {
  ApiServer server(restricted());
  const auto put_into = [](const std::string& queue, const std::string& key) {
    return text_of({.method = "POST",
                    .target = "/v1/queues/" + queue + "/tasks",
                    .body = "{}",
                    .headers = by_key(key)});
  };
  RawClient client = server.connect();
  client.send(put_into("secret", "all") + put_into("secret", "some") + put_into("emails", "some"));
  EXPECT_EQ(client.reply().status, 201U);
  EXPECT_EQ(client.reply().status, 403U);
  EXPECT_EQ(client.reply().status, 201U);
  // Nothing that comes behind the head changes on whose behalf it is.
  client.send(
      fmt::format("POST /v1/queues/secret/tasks HTTP/1.1\r\nHost: localhost\r\n{}"
                  "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
                  "2\r\n{{}}\r\n0\r\n{}\r\n",
                  by_key("some"), by_key("all")));
  EXPECT_EQ(client.reply().status, 403U);
  EXPECT_EQ(server.driver.queue("secret").counts.total(), 1U);
}

}  // namespace
}  // namespace millrace::test
