// Who did what: what is written down, how much, and how it is read again.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/json/parse.hpp>

#include "api/server/action_log.h"
#include "api/server/action_words.h"
#include "tests/api/api_server.h"

namespace millrace::test {
namespace {

using namespace std::chrono_literals;
using api::Action;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Action act(std::string operation, std::string subject = "a", TimePoint at = t0) {
  return {.at = at, .operation = std::move(operation), .subject = std::move(subject), .key = "k"};
}

TEST(AddAction, the_same_again_is_counted) {
  std::vector<Action> all;
  add_action(all, act("pause"), 10);
  add_action(all, act("resume"), 10);
  add_action(all, act("pause", "a", t0 + 1s), 10);
  add_action(all, act("pause", "b"), 10);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].count, 2U);
  EXPECT_EQ(all[0].last_at, t0 + 1s);
  EXPECT_EQ(all[1].count, 1U);
  Action other = act("pause");
  other.session = true;
  add_action(all, other, 10);
  EXPECT_EQ(all.size(), 4U) << "a person is not a program";
}

TEST(AddAction, there_are_never_more_than_may_be) {
  std::vector<Action> all;
  for (int i = 0; i < 50; ++i) add_action(all, act("retry", std::to_string(i)), 5);
  EXPECT_EQ(all.size(), 5U);
  EXPECT_EQ(all[0].count, 46U) << "what finds no room is counted with what is like it";
  EXPECT_EQ(all[0].subject, "") << "and is not said to be about the same";
  EXPECT_EQ(all[1].subject, "1");
  add_action(all, act("pause"), 5);
  EXPECT_EQ(all.size(), 5U);
  EXPECT_EQ(all.back().operation, "pause") << "something new drives out the oldest";
}

class ActionTest : public ::testing::Test {
 protected:
  static ServerOptions with_keys() {
    ServerOptions options;
    options.keys = {{.name = "ops"}, confined_key("some", {"emails"})};
    options.key = "ops";
    return options;
  }
  // Headers of a request that a person sends who has signed in with the key `ops`.
  std::string signed_in() {
    const std::string ours = "X-Requested-By: tests\r\n";
    const Reply reply = server_.ask({.method = "POST",
                                     .target = "/v1/session",
                                     .body = fmt::format(R"({{"key":"{}"}})", key_text("ops")),
                                     .headers = ours});
    EXPECT_EQ(reply.status, 200U) << reply.body;
    const std::string& cookie = reply.headers.at("set-cookie");
    // A password is no key, so that the cookie counts.
    return fmt::format("{}Authorization: Basic YTpi\r\nCookie: {}\r\n", ours,
                       cookie.substr(0, cookie.find(';')));
  }
  // Operations and subjects, newest first, page by page.
  std::vector<std::string> list(std::size_t limit = 100) {
    std::vector<std::string> found;
    std::string cursor;
    do {
      const Reply reply =
          server_.ask({.target = fmt::format("/v1/actions?limit={}{}", limit,
                                             cursor.empty() ? "" : "&cursor=" + cursor)});
      EXPECT_EQ(reply.status, 200U) << reply.body;
      const auto value = boost::json::parse(reply.body);
      EXPECT_LE(value.at("actions").as_array().size(), limit);
      for (const auto& one : value.at("actions").as_array()) {
        const auto& action = one.as_object();
        const auto* subject = action.if_contains("subject");
        found.push_back(fmt::format("{} {} {}", action.at("operation").as_string().c_str(),
                                    subject ? subject->as_string().c_str() : "-",
                                    action.at("count").as_int64()));
      }
      cursor = value.as_object().contains("next") ? member(reply.body, "next") : "";
    } while (!cursor.empty());
    return found;
  }

  // Answers do not wait until these are written, so this asks until there are as many.
  std::vector<std::string> when_there_are(std::size_t count) {
    for (int i = 0; i < 2000 && list().size() < count; ++i) {
    }
    return list();
  }

  ApiServer server_{with_keys()};
};

TEST_F(ActionTest, what_is_administrated_is_written_down_and_what_programs_put_is_not) {
  server_.put();
  server_.must_post("/v1/queues/emails/pause", R"({"for_ms":600000})");
  server_.must_post("/v1/queues/emails/resume", "");
  server_.post("/v1/queues/nope/pause", "");
  server_.must_post("/v1/tasks/1/cancel", "");
  EXPECT_THAT(when_there_are(2), ElementsAre("resumeQueue emails 1", "pauseQueue emails 1"));
  const Reply reply = server_.ask({.target = "/v1/actions"});
  EXPECT_THAT(reply.body,
              ::testing::HasSubstr(fmt::format(
                  R"("request":"{{\"for_ms\":600000}}","key":"{}","name":"ops")", key_id("ops"))));
}

TEST_F(ActionTest, what_people_do_is_written_down_all_of_it_but_payloads) {
  const std::string person = signed_in();
  const auto ask = [&](std::string method, std::string target, std::string body) {
    return server_.ask({.method = std::move(method),
                        .target = std::move(target),
                        .body = std::move(body),
                        .headers = person});
  };
  ASSERT_EQ(ask("POST", "/v1/tasks", R"({"queue":"emails","payload":"secret"})").status, 201U);
  ASSERT_EQ(ask("POST", "/v1/tasks/1/cancel", "{}").status, 200U);
  EXPECT_THAT(when_there_are(3), ElementsAre("cancelTask 1 1", "putTasks - 1", "openSession - 1"));
  EXPECT_THAT(server_.ask({.target = "/v1/actions"}).body,
              ::testing::Not(::testing::HasSubstr("secret")));
}

TEST(Actions, without_keys_the_dashboard_is_known_by_its_header) {
  ApiServer server;
  const auto post = [&](std::string target, std::string body, std::string headers) {
    const Reply reply = server.ask({.method = "POST",
                                    .target = std::move(target),
                                    .body = std::move(body),
                                    .headers = std::move(headers)});
    EXPECT_LT(reply.status, 300U) << reply.body;
  };
  post("/v1/tasks", R"({"queue":"emails"})", "");
  post("/v1/tasks", R"({"queue":"emails"})", "X-Requested-By: dashboard\r\n");
  post("/v1/queues/emails/pause", "{}", "");
  std::string seen;
  for (int i = 0; i < 2000 && seen.find("pauseQueue") == seen.npos; ++i) {
    seen = server.ask({.target = "/v1/actions"}).body;
  }
  const auto acts = boost::json::parse(seen).at("actions").as_array();
  ASSERT_EQ(acts.size(), 2U) << seen;
  EXPECT_EQ(acts[0].at("operation").as_string(), "pauseQueue");
  EXPECT_FALSE(acts[0].as_object().contains("session"));
  EXPECT_EQ(acts[1].at("operation").as_string(), "putTasks");
  EXPECT_TRUE(acts[1].at("session").as_bool());
}

TEST(AddAction, what_acts_without_room_have_in_common_is_kept) {
  std::vector<Action> all;
  for (const auto* request : {"one", "two"}) {
    Action action = act("change");
    action.request = request;
    add_action(all, action, 1);
  }
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].subject, "a");
  EXPECT_EQ(all[0].request, "");
}

TEST_F(ActionTest, what_needs_admin_on_a_route_for_all_is_written_down) {
  const std::string id =
      server_.settled(R"("outcome":"failed","retryable":false,"error":{"code":"c","message":"m"})");
  const std::string body = fmt::format(R"({{"action":"retry","ids":["{}"]}})", id);
  server_.must_post("/v1/tasks/actions", body);
  server_.must_post("/v1/tasks/actions",
                    fmt::format(R"({{"action":"cancel","ids":["{}"]}})", server_.put()));
  const std::string moved = server_.put();
  const auto patch = [&](std::string change) {
    return server_
        .ask({.method = "PATCH", .target = "/v1/tasks/" + moved, .body = std::move(change)})
        .status;
  };
  ASSERT_EQ(patch(R"({"priority":1})"), 200U);
  ASSERT_EQ(patch(R"({"queue":"slow"})"), 200U);
  EXPECT_THAT(when_there_are(2), ElementsAre("changeTask " + moved + " 1", "actOnTasks - 1"));
  const auto acts = boost::json::parse(server_.ask({.target = "/v1/actions"}).body);
  EXPECT_EQ(acts.at("actions").at(0).at("request").as_string(), R"({"queue":"slow"})");
  EXPECT_EQ(acts.at("actions").at(1).at("request").as_string(), body);
}

TEST_F(ActionTest, what_people_change_is_told_with_how) {
  const std::string ours = signed_in();
  const Reply put = server_.ask(
      {.method = "POST", .target = "/v1/tasks", .body = R"({"queue":"emails"})", .headers = ours});
  const std::string id = member(put.body, "id");
  const std::string cancel = fmt::format(R"({{"action":"cancel","ids":["{}"]}})", id);
  const std::string change = R"({"priority":1})";
  server_.ask({.method = "PATCH", .target = "/v1/tasks/" + id, .body = change, .headers = ours});
  server_.ask({.method = "POST", .target = "/v1/tasks/actions", .body = cancel, .headers = ours});
  EXPECT_THAT(when_there_are(4), ElementsAre("actOnTasks - 1", "changeTask " + id + " 1",
                                             "putTasks - 1", "openSession - 1"));
  const auto acts = boost::json::parse(server_.ask({.target = "/v1/actions"}).body);
  EXPECT_EQ(acts.at("actions").at(0).at("request").as_string(), cancel);
  EXPECT_EQ(acts.at("actions").at(1).at("request").as_string(), change);
}

TEST_F(ActionTest, a_dry_run_is_no_act) {
  const std::string retry = R"({"action":"retry","filter":{"queue":"emails"},"dry_run":)";
  server_.put();
  server_.must_post("/v1/bulk", retry + "true}");
  server_.must_post("/v1/bulk", retry + "false}");
  EXPECT_THAT(when_there_are(1), ElementsAre("startBulk - 1"));
  EXPECT_THAT(server_.ask({.target = "/v1/actions"}).body,
              ::testing::HasSubstr(R"(\"dry_run\":false)"));
}

TEST_F(ActionTest, pages_go_back_through_the_hours) {
  for (int hour = 0; hour < 25; ++hour) {
    for (int i = 0; i < 3; ++i) {
      server_.actions.note(*server_.driver.broker,
                           act("op", fmt::format("{}.{}", hour, i), server_.driver.clock.now()));
    }
    server_.driver.clock.advance(1h);
  }
  std::vector<std::string> expected;
  for (int hour = 24; hour >= 0; --hour) {
    for (int i = 2; i >= 0; --i) expected.push_back(fmt::format("op {}.{} 1", hour, i));
  }
  EXPECT_EQ(when_there_are(expected.size()), expected);
  EXPECT_EQ(list(4), expected);
  EXPECT_EQ(list(1), expected);
  server_.driver.clock.advance(std::chrono::days(31));
  EXPECT_THAT(list(), IsEmpty());
}

TEST_F(ActionTest, who_may_read) {
  EXPECT_EQ(server_.ask({.target = "/v1/actions", .headers = by_key("some")}).status, 403U);
  for (const auto* cursor : {"x", "1", "1.x", "-1.0", "99999999999.1"}) {
    EXPECT_EQ(server_.ask({.target = fmt::format("/v1/actions?cursor={}", cursor)}).status, 400U)
        << cursor;
  }
}

}  // namespace
}  // namespace millrace::test
