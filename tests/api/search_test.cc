// Finding tasks and doing something to those that were found: what the dashboard needs beyond plain
// lists.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <string>
#include <vector>

#include "tests/api/api_server.h"

namespace millrace::test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

boost::json::object got(ApiClient& server, const std::string& target) {
  const Reply reply = server.ask({.target = target});
  EXPECT_EQ(reply.status, 200U) << target << ": " << reply.body;
  return boost::json::parse(reply.body).as_object();
}

std::vector<std::string> ids_of(const boost::json::value& tasks) {
  std::vector<std::string> ids;
  for (const auto& task : tasks.as_array()) ids.emplace_back(task.at("id").as_string());
  return ids;
}

std::vector<std::string> listed(ApiClient& server, const std::string& query) {
  return ids_of(got(server, "/v1/tasks?" + query).at("tasks"));
}

void put_many(ApiClient& server, std::size_t count) {
  for (; count > 0; count -= std::min<std::size_t>(count, 1000)) {
    std::string body = "[";
    for (std::size_t i = 0; i < std::min<std::size_t>(count, 1000); ++i) {
      body += i == 0 ? "{}" : ",{}";
    }
    server.must_post("/v1/queues/others/tasks", body + "]");
  }
}

TEST(Search, a_text_is_found_wherever_it_stands) {
  ApiServer server;
  const std::string tagged = server.put(R"(,"tags":["Needle"])");
  server.put(R"(,"type":"other")");
  const std::string paid = member(
      server.must_post("/v1/tasks", R"({"queue":"emails","payload":{"a":"a nEEdle b"}})"), "id");
  EXPECT_THAT(listed(server, "text=needle"), ElementsAre(paid, tagged));
  EXPECT_THAT(listed(server, "text=NEEDLE&limit=1"), ElementsAre(paid));
  EXPECT_THAT(listed(server, "text=needle&state=dead"), IsEmpty());
  EXPECT_THAT(listed(server, "text=haystack"), IsEmpty());
  EXPECT_THAT(listed(server, "text=" + tagged.substr(20)), ElementsAre(tagged));
}

TEST(Search, found_tasks_are_as_short_as_in_every_list) {
  ApiServer server;
  server.settled(R"("outcome":"done","result":"needle")");
  const auto page = got(server, "/v1/tasks?text=needle");
  const auto& task = page.at("tasks").at(0).as_object();
  for (const auto* left_out : {"payload", "result", "log", "history"}) {
    EXPECT_FALSE(task.contains(left_out)) << left_out;
  }
  const auto full = got(server, "/v1/tasks?text=needle&full=true");
  EXPECT_EQ(full.at("tasks").at(0).at("result").as_string(), "needle");
}

TEST(Search, a_preview_is_the_beginning_of_the_payload_and_nothing_else) {
  ApiServer server;
  server.must_post("/v1/tasks", R"({"queue":"emails","payload":{"n": 1.50,"to":"ann"}})");
  const auto first = [&](const std::string& more) {
    const auto page = got(server, "/v1/tasks?limit=1&preview=true" + more);
    return page.at("tasks").at(0).as_object();
  };
  const auto task = first("");
  EXPECT_EQ(task.at("preview").as_string(), R"({"n": 1.50,"to":"ann"})") << "as it was put";
  for (const auto* left_out : {"payload", "result", "log", "history"}) {
    EXPECT_FALSE(task.contains(left_out)) << left_out;
  }
  EXPECT_TRUE(first("&full=true").contains("payload"));
  EXPECT_TRUE(first("&full=true").contains("preview"));
  EXPECT_FALSE(first("&text=ann").contains("payload"));
  EXPECT_EQ(first("&text=ann").at("preview").as_string(), task.at("preview").as_string());
  EXPECT_FALSE(got(server, "/v1/tasks").at("tasks").at(0).as_object().contains("preview"));
  EXPECT_EQ(server.ask({.target = "/v1/tasks?preview=1"}).status, 400U);
}

TEST(Search, parked_tasks_are_found_among_held_ones) {
  ApiServer server;
  const auto [parked, token] = server.taken();
  server.must_post(fmt::format("/v1/tasks/{}/settle", parked),
                   fmt::format(R"({{"token":"{}","outcome":"park"}})", token));
  const std::string held = server.put(R"(,"held":true)");
  server.taken();
  EXPECT_THAT(listed(server, "state=created"), ElementsAre(held, parked));
  EXPECT_THAT(listed(server, "parked=true"), ElementsAre(parked));
  EXPECT_THAT(listed(server, "parked=true&state=queued"), IsEmpty());
  EXPECT_THAT(listed(server, "state=created&parked=false"), ElementsAre(held, parked));
  EXPECT_EQ(server.ask({.target = "/v1/tasks?parked=perhaps"}).status, 400U);
}

TEST(Search, tasks_that_wait_for_another_are_found) {
  ApiServer server;
  const std::string parent = server.put();
  const std::string child = server.put(R"(,"after":[")" + parent + "\"]");
  server.put();
  EXPECT_THAT(listed(server, "waits_for=" + parent), ElementsAre(child));
  EXPECT_THAT(listed(server, "waits_for=" + child), IsEmpty());
  EXPECT_EQ(server.ask({.target = "/v1/tasks?waits_for=17"}).status, 400U);
}

TEST(Search, a_search_goes_on_where_it_stopped) {
  ApiServer server;
  const std::string first = server.put(R"(,"type":"needle")");
  put_many(server, 700);
  const std::string second = server.put(R"(,"type":"needle")");
  auto page = got(server, "/v1/tasks?text=needle");
  EXPECT_THAT(ids_of(page.at("tasks")), ElementsAre(second));
  EXPECT_EQ(page.at("looked_at").as_int64(), 500);
  page = got(server, "/v1/tasks?text=needle&cursor=" + std::string(page.at("next").as_string()));
  EXPECT_THAT(ids_of(page.at("tasks")), ElementsAre(first));
  EXPECT_EQ(page.at("looked_at").as_int64(), 202);
  EXPECT_FALSE(page.contains("next"));
}

TEST(Search, a_full_page_says_where_the_next_begins) {
  ApiServer server;
  std::vector<std::string> all;
  for (int i = 0; i < 5; ++i) all.push_back(server.put(R"(,"type":"needle")"));
  std::vector<std::string> found;
  std::string cursor;
  for (int turns = 0; turns < 10; ++turns) {
    const auto page = got(server, "/v1/tasks?text=needle&limit=2" + cursor);
    for (auto& id : ids_of(page.at("tasks"))) found.push_back(std::move(id));
    if (!page.contains("next")) break;
    cursor = "&cursor=" + std::string(page.at("next").as_string());
  }
  std::ranges::reverse(all);
  EXPECT_EQ(found, all);
}

TEST(Search, by_error_and_by_parent) {
  ApiServer server;
  const std::string dead = server.settled(
      R"("outcome":"failed","retryable":false,"error":{"code":"smtp","message":"m"})");
  const std::string child = server.put(fmt::format(R"(,"parent":"{}")", dead));
  EXPECT_THAT(listed(server, "error_code=smtp"), ElementsAre(dead));
  EXPECT_THAT(listed(server, "error_code=smt"), IsEmpty());
  EXPECT_THAT(listed(server, "parent=" + dead), ElementsAre(child));
}

TEST(Search, by_the_group_of_an_error) {
  ApiServer server;
  const auto failed = [&](std::string_view message) {
    return server.settled(fmt::format(
        R"("outcome":"failed","retryable":false,"error":{{"code":"smtp","message":"{}"}})",
        message));
  };
  const std::string first = failed("no answer after 17 s");
  const std::string other = failed("mailbox is full");
  const std::string second = failed("no answer after 20 s");
  server.put();
  const auto groups = got(server, "/v1/dead/groups").at("groups").as_array();
  ASSERT_EQ(groups.size(), 2U);
  const std::string group(groups[0].at("key").as_string());
  EXPECT_THAT(listed(server, "error_group=" + group), ElementsAre(second, first));
  EXPECT_THAT(listed(server, "error_group=" + group + "&state=failed,dead&limit=1"),
              ElementsAre(second));
  EXPECT_THAT(listed(server, "error_group=" + group + "&text=17"), ElementsAre(first));
  EXPECT_THAT(listed(server, "error_group=" + group + "&queue=emails&type=none"), IsEmpty());
  EXPECT_THAT(listed(server, "error_group=0123456789abcdef"), IsEmpty());
  for (const auto* wrong : {"", "smtp", "0123456789ABCDEF", "0123456789abcdef0"}) {
    const Reply reply = server.ask({.target = fmt::format("/v1/tasks?error_group={}", wrong)});
    EXPECT_EQ(reply.status, 400U) << wrong;
    EXPECT_EQ(member(reply.body, "field"), "error_group");
    EXPECT_THAT(reply.body, HasSubstr("/v1/dead/groups"));
  }
}

TEST(Search, lines_of_a_log_from_a_moment_on) {
  ApiServer server;
  const auto [id, token] = server.taken();
  const std::string at = fmt::format("/v1/tasks/{}/log", id);
  server.must_post(at, fmt::format(R"({{"token":"{}","lines":["old"]}})", token));
  server.driver.pass(1s);
  server.must_post(at, fmt::format(R"({{"token":"{}","lines":["new","newer"]}})", token));
  const auto all = got(server, at).at("log").as_array();
  ASSERT_EQ(all.size(), 3U);
  const std::string moment(all[1].at("at").as_string());
  const auto later = got(server, at + "?after=" + moment).at("log").as_array();
  ASSERT_EQ(later.size(), 2U);
  EXPECT_EQ(later[0].at("text").as_string(), "new");
  EXPECT_EQ(server.ask({.target = at + "?after=soon"}).status, 400U);
}

// ---- Several at once ---------------------------------------------------------------------------

TEST(ActOnTasks, each_has_its_own_result) {
  ApiServer server;
  const std::string done = server.settled(R"("outcome":"done")");
  const std::string waiting = server.put();
  const std::string unknown_task = "01890a5d-ac96-774b-bcce-b302099a8057";
  const auto answer = boost::json::parse(
      server.must_post("/v1/tasks/actions",
                       fmt::format(R"({{"action":"cancel","reason":"why","ids":["{}","{}","{}"]}})",
                                   waiting, done, unknown_task)));
  EXPECT_EQ(answer.at("done").as_int64(), 1);
  EXPECT_EQ(answer.at("refused").as_int64(), 2);
  EXPECT_EQ(answer.at("results").at(0).at("state").as_string(), "cancelled");
  EXPECT_EQ(answer.at("results").at(1).at("error").at("code").as_string(), "conflict");
  EXPECT_EQ(answer.at("results").at(2).at("error").at("code").as_string(), "not_found");
  EXPECT_EQ(answer.at("results").at(2).at("id").as_string(), unknown_task);
}

TEST(ActOnTasks, retries_and_removes) {
  ApiServer server;
  const std::string id = server.settled(
      R"("outcome":"failed","retryable":false,"error":{"code":"smtp","message":"m"})");
  const auto act = [&](std::string_view action) {
    return boost::json::parse(server.must_post(
        "/v1/tasks/actions", fmt::format(R"({{"action":"{}","ids":["{}"]}})", action, id)));
  };
  EXPECT_EQ(act("retry").at("results").at(0).at("state").as_string(), "queued");
  EXPECT_EQ(act("retry").at("refused").as_int64(), 1);
  EXPECT_EQ(act("remove").at("done").as_int64(), 1);
  EXPECT_EQ(server.ask({.target = "/v1/tasks/" + id}).status, 404U);
}

TEST(ActOnTasks, moves_and_changes_the_priority) {
  ApiServer server;
  const std::string done = server.settled(R"("outcome":"done")");
  const std::string waiting = server.put();
  const auto act = [&](std::string_view how) {
    return boost::json::parse(server.must_post(
        "/v1/tasks/actions", fmt::format(R"({{{},"ids":["{}","{}"]}})", how, waiting, done)));
  };
  for (const auto* how :
       {R"("action":"priority","priority":"high")", R"("action":"move","to":"slow")"}) {
    const auto answer = act(how);
    EXPECT_EQ(answer.at("results").at(0).at("state").as_string(), "queued") << how;
    EXPECT_EQ(answer.at("results").at(1).at("error").at("code").as_string(), "conflict") << how;
  }
  const auto task = got(server, "/v1/tasks/" + waiting);
  EXPECT_EQ(task.at("queue").as_string(), "slow");
  EXPECT_EQ(task.at("priority").as_int64(), 8);
}

TEST(ActOnTasks, bad_requests_are_refused) {
  ApiServer server;
  const std::string id = server.put();
  std::string many = "\"" + id + "\"";
  for (int i = 0; i < 1000; ++i) many += ",\"" + id + "\"";
  for (const std::string& body :
       {std::string("{}"), std::string(R"({"action":"cancel","ids":[]})"),
        fmt::format(R"({{"action":"move","ids":["{}"]}})", id),
        fmt::format(R"({{"action":"move","to":"$bulk","ids":["{}"]}})", id),
        fmt::format(R"({{"action":"priority","ids":["{}"]}})", id),
        fmt::format(R"({{"action":"priority","priority":10,"ids":["{}"]}})", id),
        fmt::format(R"({{"action":"cancel","to":"slow","ids":["{}"]}})", id),
        fmt::format(R"({{"action":"retry","reason":"r","ids":["{}"]}})", id),
        std::string(R"({"action":"cancel","ids":["17"]})")}) {
    EXPECT_EQ(server.post("/v1/tasks/actions", body).status, 422U) << body;
  }
  const std::string too_many = fmt::format(R"({{"action":"cancel","ids":[{}]}})", many);
  EXPECT_EQ(server.post("/v1/tasks/actions", too_many).status, 413U);
}

TEST(ActOnTasks, a_key_that_may_only_put_may_do_as_much_as_one_by_one) {
  ServerOptions options;
  options.keys = {{.name = "some", .scopes = {access::Scope::put}, .queues = {"emails"}}};
  options.key = "some";
  ApiServer server(std::move(options));
  const std::string id = server.put();
  const auto act = [&](std::string_view how) {
    return server.post("/v1/tasks/actions", fmt::format(R"({{"action":{},"ids":["{}"]}})", how, id))
        .status;
  };
  EXPECT_EQ(act(R"("remove")"), 403U);
  EXPECT_EQ(act(R"("retry")"), 403U);
  EXPECT_EQ(act(R"("move","to":"emails")"), 403U);
  EXPECT_EQ(act(R"("priority","priority":1)"), 200U);
  EXPECT_EQ(act(R"("cancel")"), 200U);
}

TEST(ActOnTasks, a_key_for_some_queues_touches_no_others) {
  ServerOptions options;
  options.keys = {{.name = "all"}, confined_key("some", {"emails"})};
  options.key = "some";
  ApiServer server(std::move(options));
  Request put{.method = "POST", .target = "/v1/tasks", .body = R"({"queue":"secrets"})"};
  put.headers = by_key("all");
  const std::string id = member(server.ask(put).body, "id");
  EXPECT_THAT(
      server.post("/v1/tasks/actions", fmt::format(R"({{"action":"cancel","ids":["{}"]}})", id))
          .body,
      ::testing::HasSubstr("not_found"));
  const std::string own = server.put();
  const std::string away = fmt::format(R"({{"action":"move","to":"secrets","ids":["{}"]}})", own);
  EXPECT_EQ(server.post("/v1/tasks/actions", away).status, 403U);
  // What came of its own tasks elsewhere is not shown either.
  put.body = fmt::format(R"({{"queue":"secrets","parent":"{}"}})", own);
  server.ask(put);
  EXPECT_THAT(got(server, "/v1/tasks/" + own + "/family").at("children").as_array(), IsEmpty());
}

// ---- Family ------------------------------------------------------------------------------------

TEST(Family, parent_children_and_deliveries) {
  ApiServer server;
  const std::string parent = server.put(R"(,"callback":{"url":"https://example.org/hook"})");
  const auto lease =
      boost::json::parse(server.must_post("/v1/take", R"({"worker":"w1","queue":"emails"})"))
          .at("tasks")
          .at(0)
          .as_object();
  server.must_post(
      fmt::format("/v1/tasks/{}/settle", parent),
      fmt::format(R"({{"token":"{}","outcome":"done","follow_ups":[{{"queue":"reports","type":"a"}},
                      {{"queue":"reports","type":"b"}}]}})",
                  std::string(lease.at("token").as_string())));
  const auto family = got(server, "/v1/tasks/" + parent + "/family");
  const auto& children = family.at("children").as_array();
  ASSERT_EQ(children.size(), 2U);
  EXPECT_EQ(children[0].at("type").as_string(), "a");
  EXPECT_EQ(children[1].at("queue").as_string(), "reports");
  const auto& deliveries = family.at("deliveries").as_array();
  ASSERT_EQ(deliveries.size(), 1U);
  EXPECT_EQ(deliveries[0].at("state").as_string(), "queued");
  EXPECT_TRUE(family.at("complete").as_bool());
  EXPECT_FALSE(family.contains("parent"));
  server.must_post(fmt::format("/v1/tasks/{}/redeliver", parent), "");
  EXPECT_EQ(got(server, "/v1/tasks/" + parent + "/family").at("deliveries").as_array().size(), 2U);
  const std::string child(children[0].at("id").as_string());
  const auto of_child = got(server, "/v1/tasks/" + child + "/family");
  EXPECT_EQ(of_child.at("parent").at("id").as_string(), parent);
  EXPECT_THAT(of_child.at("children").as_array(), IsEmpty());
}

// Among many others: children that were put when the run ended are found, and it is said that
// there may be more.
TEST(Family, children_are_found_where_the_run_ended) {
  ApiServer server;
  const auto [parent, token] = server.taken();
  put_many(server, 3000);
  server.driver.pass(10s);
  server.must_post(fmt::format("/v1/tasks/{}/settle", parent),
                   fmt::format(R"({{"token":"{}","outcome":"done",
                                    "follow_ups":[{{"queue":"reports"}}]}})",
                               token));
  server.driver.pass(10s);
  put_many(server, 3000);
  const auto family = got(server, "/v1/tasks/" + parent + "/family");
  EXPECT_EQ(family.at("children").as_array().size(), 1U);
  EXPECT_FALSE(family.at("complete").as_bool());
  EXPECT_LE(family.at("looked_at").as_int64(), 5000);
}

}  // namespace
}  // namespace millrace::test
