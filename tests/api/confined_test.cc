// What a key may not do, see or learn: internal queues, queues of others, and after it was revoked.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/clock.h"
#include "core/uuid.h"
#include "tests/api/api_server.h"

namespace millrace::test {
namespace {

using access::Scope;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// The usual key is for emails, and may not administrate; `shop` is another such key.
ServerOptions confined() {
  ServerOptions options;
  options.keys = {{.name = "all"},
                  {.name = "putter", .scopes = {Scope::put}},
                  {.name = "worker", .scopes = {Scope::work}},
                  confined_key("some", {"emails"}),
                  confined_key("shop", {"shop*", "*s"})};
  options.key = "some";
  return options;
}

class Confined : public ::testing::Test {
 protected:
  Reply as(const std::string& key, Request request) {
    request.headers += by_key(key);
    return server_.ask(request);
  }
  std::string id_of(const Reply& reply) { return member(reply.body, "id"); }
  std::string put_as(const std::string& key, const std::string& body) {
    return id_of(as(key, {"POST", "/v1/tasks", body}));
  }
  // The answer about something that the key may not see, and about something that is not there,
  // without what differs because the question does.
  void expect_alike(Request hidden, Request missing, const std::string& one,
                    const std::string& other) {
    hidden.headers = missing.headers = "X-Request-Id: r\r\n";
    Reply first = server_.ask(hidden);
    const Reply second = server_.ask(missing);
    EXPECT_EQ(first.status, 404U) << hidden.target << first.body;
    EXPECT_EQ(second.status, 404U) << missing.target << second.body;
    for (auto at = first.body.find(one); at != std::string::npos; at = first.body.find(one)) {
      first.body.replace(at, one.size(), other);
    }
    EXPECT_EQ(first.body, second.body);
  }

  ApiServer server_{confined()};
};

// ---- Tasks of internal queues ------------------------------------------------------------------

TEST_F(Confined, an_operation_on_many_tasks_ends_only_by_its_own_route) {
  server_.put();
  const std::string id =
      id_of(as("all", {"POST", "/v1/bulk", R"({"action":"cancel","filter":{"queue":"emails"}})"}));
  const std::string ids = fmt::format(R"("ids":["{}"])", id);
  for (const auto* key : {"putter", "all"}) {
    for (const Request& request :
         {Request{"POST", "/v1/tasks/" + id + "/cancel"},
          Request{"POST", "/v1/tasks/" + id + "/release"},
          Request{"PATCH", "/v1/tasks/" + id, R"({"delay_ms":3600000})"}}) {
      const Reply reply = as(key, request);
      EXPECT_EQ(reply.status, 422U) << request.target << reply.body;
      EXPECT_THAT(reply.body, HasSubstr("internal queue $bulk"));
    }
    EXPECT_THAT(as(key, {"POST", "/v1/tasks/actions", R"({"action":"cancel",)" + ids + "}"}).body,
                AllOf(HasSubstr(R"("done":0,"refused":1)"), HasSubstr("internal")));
  }
  EXPECT_EQ(as("all", {"DELETE", "/v1/tasks/" + id}).status, 422U);
  EXPECT_EQ(as("all", {"PATCH", "/v1/tasks/" + id, R"({"queue":"emails"})"}).status, 422U);
  EXPECT_EQ(as("all", {"POST", "/v1/queues/$bulk/clear"}).status, 422U);
  EXPECT_EQ(server_.driver.find(must(api::task_from_text(id))).state, TaskState::queued);
  EXPECT_EQ(as("putter", {"POST", "/v1/bulk/" + id + "/cancel"}).status, 403U);
  EXPECT_THAT(as("all", {"POST", "/v1/bulk/" + id + "/cancel"}).body, HasSubstr("cancelled"));
}

TEST_F(Confined, leases_of_internal_queues_belong_to_the_server) {
  server_.put();
  const std::string id =
      id_of(as("all", {"POST", "/v1/bulk", R"({"action":"cancel","filter":{"queue":"emails"}})"}));
  const Ask inside{.caller = {7}, .internal = true};
  WorkOrder order;
  order.takes = {{.worker = "$w", .queues = {{"$bulk", 1}}}};
  auto taken = must(server_.driver.try_work(std::move(order), inside));
  const std::string token = fmt::format("{:016x}", must(std::move(taken.taken[0]))[0].token.value);
  const auto both_refused = [&] {
    const std::string held = fmt::format(R"({{"token":"{}"}})", token);
    const Reply extended = as("worker", {"POST", "/v1/tasks/" + id + "/extend", held});
    EXPECT_EQ(extended.status, 422U) << extended.body;
    const std::string done = fmt::format(R"({{"token":"{}","outcome":"done"}})", token);
    const Reply settled = as("worker", {"POST", "/v1/tasks/" + id + "/settle", done});
    EXPECT_EQ(settled.status, 422U) << settled.body;
  };
  both_refused();
  EXPECT_EQ(server_.driver.find(must(api::task_from_text(id))).state, TaskState::processing);
}

TEST_F(Confined, webhooks_that_failed_can_be_removed_by_an_admin) {
  const Ask inside{.caller = {7}, .internal = true};
  const Put put = must(only(server_.driver.try_put({{.queue = "$webhooks"}}, inside)));
  const std::string at = "/v1/tasks/" + to_text(put.id.value);
  EXPECT_EQ(as("putter", {"POST", at + "/cancel"}).status, 422U);
  EXPECT_EQ(as("all", {"DELETE", at}).status, 204U);
}

TEST_F(Confined, an_admin_sets_internal_queues_but_neither_makes_nor_removes_them) {
  for (const auto* queue : {"$webhooks", "$alerts", "$bulk"}) {
    const std::string at = fmt::format("/v1/queues/{}", queue);
    EXPECT_THAT(as("all", {"PATCH", at, R"({"max_concurrent":3})"}).body,
                HasSubstr(R"("max_concurrent":3)"));
    EXPECT_EQ(as("all", {"POST", at + "/pause"}).status, 200U);
    EXPECT_TRUE(server_.driver.queue(queue).queue.settings.paused_until);
    EXPECT_EQ(as("all", {"POST", at + "/resume"}).status, 200U);
    EXPECT_FALSE(server_.driver.queue(queue).queue.settings.paused_until);
    const std::string body = fmt::format(R"({{"name":"{}"}})", queue);
    EXPECT_EQ(as("all", {"POST", "/v1/queues", body}).status, 422U);
    EXPECT_EQ(as("all", {"PUT", at, "{}"}).status, 422U);
    for (const auto* force : {"", "?force=true"}) {
      const Reply removed = as("all", {"DELETE", at + force});
      EXPECT_EQ(removed.status, 422U);
      EXPECT_THAT(removed.body, HasSubstr("is internal and cannot be removed"));
    }
    EXPECT_EQ(server_.driver.queue(queue).queue.settings.max_concurrent, 3U);
    EXPECT_EQ(as("some", {"POST", at + "/pause"}).status, 403U);
    EXPECT_EQ(as("some", {"GET", at}).status, 403U);
  }
}

TEST_F(Confined, internal_queues_are_internal_however_they_are_named) {
  const std::string uuid = to_text(server_.driver.queue("$webhooks").queue.settings.id);
  const std::string ref = fmt::format(R"({{"id":"{}"}})", uuid);
  const std::string id = server_.put();
  for (const Request& request :
       {Request{
            "POST", "/v1/schedules",
            fmt::format(R"({{"name":"s","rule":{{"every_ms":1000}},"task":{{"queue":{}}}}})", ref)},
        Request{"POST", "/v1/queues/" + uuid + "/tasks", "{}"},
        Request{"POST", "/v1/take", fmt::format(R"({{"queue":{}}})", ref)},
        Request{"PATCH", "/v1/tasks/" + id, fmt::format(R"({{"queue":{}}})", ref)},
        Request{
            "POST", "/v1/bulk",
            fmt::format(R"({{"action":"move","filter":{{"queue":"emails"}},"to":{}}})", ref)}}) {
    const Reply reply = as("all", request);
    EXPECT_EQ(reply.status, 422U) << request.target << reply.body;
    EXPECT_THAT(reply.body, HasSubstr("internal"));
  }
  EXPECT_EQ(server_.driver.queue("$webhooks").counts.total(), 0U);
}

// ---- What others have --------------------------------------------------------------------------

TEST_F(Confined, what_others_have_is_as_if_it_were_not_there) {
  as("all", {"POST", "/v1/queues", R"({"name":"secret","number":9})"});
  const std::string hidden = put_as("all", R"({"queue":"secret"})");
  const std::string none = "01890a5d-ac96-774b-bcce-b302099a8057";
  as("all", {"POST", "/v1/schedules",
             R"({"name":"nightly","rule":{"cron":"0 3 * * *"},"task":{"queue":"secret"}})"});
  const std::string operation =
      id_of(as("all", {"POST", "/v1/bulk", R"({"action":"cancel","filter":{"queue":"secret"}})"}));
  for (const auto* rest :
       {"", "/result", "/history", "/log", "/explain", "/family", "/parents", "/graph"}) {
    const std::string tasks = "/v1/tasks/";
    expect_alike({"GET", tasks + hidden + rest}, {"GET", tasks + none + rest}, hidden, none);
    expect_alike({"GET", tasks + "1" + rest}, {"GET", tasks + "77" + rest}, "number 1",
                 "number 77");
  }
  expect_alike({"POST", "/v1/tasks/" + hidden + "/cancel"},
               {"POST", "/v1/tasks/" + none + "/cancel"}, hidden, none);
  const std::string token = R"({"token":"0000010000000001"})";
  expect_alike({"POST", "/v1/tasks/" + hidden + "/extend", token},
               {"POST", "/v1/tasks/" + none + "/extend", token}, hidden, none);
  for (const auto* path : {"/v1/queues/{}", "/v1/queues/{}/stats", "/v1/history?queue={}",
                           "/v1/tasks?queue={}", "/v1/dead/groups?queue={}"}) {
    expect_alike({"GET", fmt::format(fmt::runtime(path), 9)},
                 {"GET", fmt::format(fmt::runtime(path), 8)}, "number 9", "number 8");
  }
  expect_alike({"GET", "/v1/schedules/nightly"}, {"GET", "/v1/schedules/daily"}, "nightly",
               "daily");
  SystemClock clock;
  for (const std::string& other : {operation, hidden}) {
    const std::string bulk = "/v1/bulk/";
    expect_alike({"GET", bulk + other}, {"GET", bulk + none}, other, none);
    const auto before = clock.steady();
    expect_alike({"GET", bulk + other + "?wait=60s"}, {"GET", bulk + none + "?wait=60s"}, other,
                 none);
    EXPECT_LT(clock.steady() - before, 30s) << "it waits for what it cannot see";
  }
  const std::string wrong = R"({"token":"0000010000000001","progress":101})";
  for (const std::string& id : {hidden, none}) {
    const Reply reply = server_.post("/v1/tasks/" + id + "/progress", wrong);
    EXPECT_EQ(reply.status, 422U) << reply.body;
    EXPECT_THAT(reply.body, HasSubstr(R"("field":"progress")"));
  }
  const auto act = [&](const std::string& id) {
    std::string body =
        server_.post("/v1/tasks/actions", fmt::format(R"({{"action":"cancel","ids":["{}"]}})", id))
            .body;
    for (auto at = body.find(id); at != std::string::npos; at = body.find(id)) {
      body.replace(at, id.size(), "ID");
    }
    return body;
  };
  EXPECT_EQ(act(hidden), act(none));
}

TEST_F(Confined, patterns_do_not_cover_internal_queues) {
  const Ask inside{.caller = {7}, .internal = true};
  const Put put = must(only(server_.driver.try_put({{.queue = "$webhooks"}}, inside)));
  EXPECT_EQ(as("shop", {"GET", "/v1/tasks/" + to_text(put.id.value)}).status, 404U);
  EXPECT_EQ(as("shop", {"GET", "/v1/tasks?queue=$webhooks"}).status, 403U);
}

// The window of a unique key outlives the task that holds it.
TEST_F(Confined, a_put_is_repeated_after_its_task_is_gone) {
  const std::string id = to_text(Uuid{.bytes = {1, 2, 3}});
  const std::string body =
      fmt::format(R"({{"queue":"emails","id":"{}",)"
                  R"("unique":{{"key":"k","scope":"window","window_ms":60000}}}})",
                  id);
  EXPECT_EQ(server_.post("/v1/tasks", body).status, 201U);
  EXPECT_EQ(as("all", {"DELETE", "/v1/tasks/" + id}).status, 204U);
  const Reply again = server_.post("/v1/tasks", body);
  EXPECT_EQ(again.status, 200U) << again.body;
  EXPECT_THAT(again.body, HasSubstr(R"("existing":true)"));
}

TEST_F(Confined, an_id_that_a_task_elsewhere_has_tells_nothing_of_it) {
  const std::string hidden = put_as("all", R"({"queue":"secret"})");
  const std::string body = fmt::format(R"({{"queue":"emails","id":"{}"}})", hidden);
  const Reply one = server_.post("/v1/tasks", body);
  EXPECT_EQ(one.status, 409U);
  EXPECT_THAT(one.body, AllOf(Not(HasSubstr("number")), Not(HasSubstr("queued"))));
  const Reply list = server_.post("/v1/tasks", "[" + body + R"(,{"queue":"emails"}])");
  EXPECT_THAT(list.body, AllOf(HasSubstr("conflict"), HasSubstr(R"("existing":false)")));
  const Reply lines = server_.ask({"POST", "/v1/tasks", body + "\n", "application/x-ndjson"});
  EXPECT_THAT(lines.body, AllOf(HasSubstr("conflict"), HasSubstr(R"("failed":1)")));
  const std::string own = server_.put();
  const std::string again = fmt::format(R"({{"queue":"emails","id":"{}"}})", own);
  EXPECT_EQ(server_.post("/v1/tasks", again).status, 200U);
}

TEST_F(Confined, a_follow_up_with_the_id_of_a_task_elsewhere_is_refused_as_a_put_is) {
  const std::string hidden = put_as("all", R"({"queue":"secret"})");
  const auto [id, token] = server_.taken();
  const auto report = [&](std::string_view follow_up) {
    return fmt::format(R"("token":"{}","outcome":"done",)"
                       R"("follow_ups":[{{"queue":"emails"}},{{"queue":"emails",{}}}])",
                       token, follow_up);
  };
  const std::string foreign = fmt::format(R"("id":"{}")", hidden);
  const Reply one = server_.post("/v1/tasks/" + id + "/settle", "{" + report(foreign) + "}");
  EXPECT_EQ(one.status, 409U) << one.body;
  EXPECT_THAT(one.body,
              AllOf(HasSubstr(R"("code":"conflict")"), HasSubstr("follow-up 2: a task has this id"),
                    Not(HasSubstr("secret"))));
  const Reply many = server_.post(
      "/v1/work", fmt::format(R"({{"settle":[{{"id":"{}",{}}}]}})", id, report(foreign)));
  EXPECT_THAT(many.body, HasSubstr(R"("code":"conflict")"));
  EXPECT_EQ(server_.driver.find(must(api::task_from_text(id))).state, TaskState::processing);
  EXPECT_EQ(server_.driver.queue("emails").counts.total(), 1U) << "nothing of it is stored";

  const std::string fresh = R"("id":"01890a5d-ac96-774b-bcce-b302099a8057")";
  EXPECT_EQ(server_.post("/v1/tasks/" + id + "/settle", "{" + report(fresh) + "}").status, 200U);
  EXPECT_EQ(server_.driver.queue("emails").counts.total(), 3U);
  EXPECT_THAT(server_.post("/v1/tasks/" + id + "/settle", "{" + report(fresh) + "}").body,
              HasSubstr("already"));
  EXPECT_THAT(server_.post("/v1/tasks/" + id + "/settle", "{" + report(foreign) + "}").body,
              HasSubstr("already"))
      << "what has ended is not decided again";
}

TEST_F(Confined, a_follow_up_may_have_the_id_of_a_task_that_the_key_sees) {
  const std::string own = put_as("all", R"({"queue":"emails","held":true})");
  const auto [id, token] = server_.taken();
  const std::string body = fmt::format(
      R"({{"token":"{}","outcome":"done","follow_ups":[{{"queue":"emails","id":"{}"}}]}})", token,
      own);
  EXPECT_EQ(server_.post("/v1/tasks/" + id + "/settle", body).status, 200U);
  EXPECT_EQ(server_.driver.queue("emails").counts.total(), 2U);
}

TEST_F(Confined, the_name_of_a_worker_belongs_to_the_key_that_uses_it) {
  const auto beat = [&](const std::string& key, const std::string& queue) {
    return as(key, {"POST", "/v1/workers/w1/beat",
                    fmt::format(R"({{"processors":1,"queues":[{{"queue":"{}"}}]}})", queue)})
        .status;
  };
  EXPECT_EQ(beat("some", "emails"), 200U);
  EXPECT_EQ(beat("shop", "shop"), 409U);
  as("shop", {"POST", "/v1/take", R"({"worker":"w1","queue":"shop"})"});
  EXPECT_THAT(as("all", {"GET", "/v1/workers/w1"}).body,
              AllOf(HasSubstr("emails"), Not(HasSubstr("shop"))));
  EXPECT_EQ(beat("all", "emails"), 200U);
  EXPECT_EQ(beat("some", "emails"), 200U);
  server_.driver.pass(std::chrono::minutes(3));
  EXPECT_EQ(beat("shop", "shop"), 200U) << "it was not seen for some time";
}

TEST_F(Confined, a_wait_ends_where_the_task_is_then) {
  const std::string id = server_.put();
  RawClient waiting = server_.connect();
  waiting.send(text_of({.target = "/v1/tasks/" + id + "?wait=30s", .headers = by_key("some")}));
  server_.ask({.target = "/v1/tasks/" + id});
  server_.driver.finish_reads();
  EXPECT_EQ(as("all", {"PATCH", "/v1/tasks/" + id, R"({"queue":"secret"})"}).status, 200U);
  EXPECT_EQ(as("all", {"POST", "/v1/tasks/" + id + "/cancel"}).status, 200U);
  server_.driver.settle_down();
  const Reply reply = waiting.reply();
  EXPECT_EQ(reply.status, 404U) << reply.body;
  EXPECT_THAT(reply.body, Not(HasSubstr("secret")));
}

// ---- Queues that do not exist ------------------------------------------------------------------

TEST_F(Confined, a_take_creates_no_queue_and_waits_for_it) {
  const Reply taken = as("worker", {"POST", "/v1/take", R"({"queue":"new"})"});
  EXPECT_EQ(taken.body, R"({"tasks":[]})");
  EXPECT_EQ(as("all", {"GET", "/v1/queues/new"}).status, 404U);
  RawClient waiting = server_.connect();
  waiting.send(text_of({.method = "POST",
                        .target = "/v1/take",
                        .body = R"({"worker":"w","queues":[{"queue":"new"},{"queue":"newer"}],
                                    "wait_ms":60000})",
                        .headers = by_key("worker")}));
  ASSERT_TRUE(eventually([&] { return as("all", {"GET", "/v1/workers/w"}).status == 200; }));
  put_as("all", R"({"queue":"new","payload":17})");
  EXPECT_THAT(waiting.reply().body, HasSubstr(R"("payload":17)"));
  EXPECT_EQ(as("all", {"GET", "/v1/queues/newer"}).status, 404U);
  EXPECT_EQ(as("worker", {"POST", "/v1/take", R"({"queue":77})"}).status, 404U);
}

// ---- Keys that end -----------------------------------------------------------------------------

TEST_F(Confined, a_revoked_key_puts_no_further_lines) {
  RawClient client = server_.connect();
  client.send(
      fmt::format("POST /v1/queues/emails/tasks HTTP/1.1\r\nHost: localhost\r\n{}"
                  "Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n",
                  by_key("putter")));
  const auto line = [&](const std::string& text) {
    client.send(fmt::format("{:x}\r\n{}\r\n", text.size(), text));
  };
  line("{\"payload\":1}\n");
  client.read_until("\"existing\":false}\n");
  server_.book.forget(key_id("putter"));
  line("{\"payload\":2}\n");
  EXPECT_THAT(client.read_until("}}\n"), HasSubstr(R"("line":2,"error":{"code":"unauthorized")"));
  client.send("0\r\n\r\n");
  EXPECT_THAT(client.read_until("}}\n"), HasSubstr(R"("put":1,"existing":0,"failed":1)"));
  EXPECT_EQ(server_.driver.queue("emails").counts.total(), 1U);
}

TEST_F(Confined, a_revoked_key_gets_nothing_of_what_it_waits_for) {
  const std::string awaited = put_as("all", R"({"queue":"emails","held":true})");
  RawClient taking = server_.connect();
  taking.send(text_of({.method = "POST",
                       .target = "/v1/take",
                       .body = R"({"worker":"w","queue":"emails","wait_ms":60000})",
                       .headers = by_key("worker")}));
  ASSERT_TRUE(eventually([&] { return as("all", {"GET", "/v1/workers/w"}).status == 200; }));
  RawClient waiting = server_.connect();
  waiting.send(
      text_of({.target = "/v1/tasks/" + awaited + "?wait=30s", .headers = by_key("some")}));
  server_.ask({.target = "/v1/tasks/" + awaited});
  server_.driver.finish_reads();
  server_.book.forget(key_id("worker"));
  server_.book.forget(key_id("some"));
  put_as("all", R"({"queue":"emails"})");
  EXPECT_EQ(taking.reply().status, 401U);
  as("all", {"POST", "/v1/tasks/" + awaited + "/cancel"});
  server_.driver.settle_down();
  EXPECT_EQ(waiting.reply().status, 401U);
  EXPECT_TRUE(eventually([&] {
    return as("all", {"POST", "/v1/take", R"({"worker":"v","queue":"emails"})"})
        .body.contains(R"("queue":"emails")");
  })) << "what the key was to get is given back";
}

TEST_F(Confined, a_revoked_key_imports_no_further_lines) {
  RawClient client = server_.connect();
  client.send(
      fmt::format("POST /v1/import HTTP/1.1\r\nHost: localhost\r\n{}"
                  "Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n",
                  by_key("all")));
  const std::string first = "{\"memo\":{\"key\":\"a\",\"value\":\"v\"}}\n";
  client.send(fmt::format("{:x}\r\n{}\r\n", first.size(), first));
  const auto stored = [&] {
    return must(server_.driver.wait<std::vector<Memo>>([&](auto done) {
      server_.driver.broker->recall(server_.driver.ask(), {.prefix = "a"}, std::move(done));
    }));
  };
  ASSERT_TRUE(eventually([&] { return !stored().empty(); }));
  server_.book.forget(key_id("all"));
  const std::string second = "{\"memo\":{\"key\":\"b\",\"value\":\"v\"}}\n";
  client.send(fmt::format("{:x}\r\n{}\r\n", second.size(), second));
  const Reply reply = client.reply();
  EXPECT_THAT(reply.body, AllOf(HasSubstr(R"("error":{"code":"unauthorized")"),
                                HasSubstr("revoked"), HasSubstr(R"("line":2)")));
  EXPECT_TRUE(client.ends()) << "although the body could go on";
}

// ---- Keys that are imported --------------------------------------------------------------------

std::string key_line(std::string_view id, std::string_view value) {
  return fmt::format("{{\"memo\":{{\"key\":\"key/{}\",\"value\":\"{}\"}}}}\n", id, value);
}

std::string key_value(std::string_view scope) {
  return fmt::format(
      R"({{\"name\":\"n\",\"scopes\":[\"{}\"],\"created_at\":\"2026-01-02T03:04:05Z\",)"
      R"(\"sha256\":\"{:064x}\"}})",
      scope, 1);
}

TEST(ImportedKeys, are_not_kept_back_without_bound) {
  ApiServer server;
  std::string body;
  for (int i = 0; i < 1001; ++i) body += key_line(fmt::format("{:016x}", i), key_value("put"));
  EXPECT_THAT(server.ask({"POST", "/v1/import", body, "application/x-ndjson"}).body,
              AllOf(HasSubstr("1000 keys came"), HasSubstr(R"("line":1001)")));
}

TEST(ImportedKeys, cannot_close_the_server_for_good) {
  ApiServer server;
  const auto import = [&](const std::string& body) {
    return server.ask({"POST", "/v1/import", body, "application/x-ndjson"}).body;
  };
  EXPECT_THAT(import(key_line("0011223344556677", "nonsense")),
              AllOf(HasSubstr("is not an API key"), HasSubstr(R"("line":1)")));
  EXPECT_EQ(server.ask({.target = "/v1/queues"}).status, 200U);
  const std::string put = key_line("0011223344556678", key_value("put"));
  EXPECT_THAT(import(put), AllOf(HasSubstr("scope admin first"), HasSubstr(R"("line":1)")));
  EXPECT_EQ(server.ask({.target = "/v1/queues"}).status, 200U);
  const std::string both = put + key_line("0011223344556679", key_value("admin"));
  EXPECT_THAT(import(both), AllOf(HasSubstr(R"("memos":2)"), Not(HasSubstr("error"))));
  EXPECT_EQ(server.ask({.target = "/v1/queues"}).status, 401U);
}

}  // namespace
}  // namespace millrace::test
