// POST /v1/import and GET /v1/export over a socket: what is wrong with lines, and what is left out.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/api/api_server.h"

namespace millrace::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view header = "{\"millrace_export\":{\"format\":1,\"minor\":0}}\n";
constexpr std::string_view queue_line =
    "{\"queue\":{\"name\":\"mail\",\"id\":\"01890000-0000-7000-8000-000000000000\"}}\n";

std::string task_line(int number) {
  return fmt::format(
      R"({{"task":{{"id":"01890000-0000-7000-9000-{:012x}","queue":"mail","state":"queued",)"
      R"("created_at":"2026-01-02T03:04:05Z","updated_at":"2026-01-02T03:04:05Z",)"
      R"("start":"2026-01-02T03:04:05Z"}}}})"
      "\n",
      number);
}

std::string end_line(int queues, int tasks) {
  return fmt::format(R"({{"end":{{"queues":{},"schedules":0,"memos":0,"tasks":{}}}}})"
                     "\n",
                     queues, tasks);
}

class ImportTest : public ::testing::Test {
 protected:
  std::string import(const std::string& body) {
    const Reply reply = server_.ask({"POST", "/v1/import", body, "application/x-ndjson"});
    EXPECT_EQ(reply.status, 200U);
    return reply.body;
  }
  std::string exported() { return server_.ask({.target = "/v1/export"}).body; }

  ApiServer server_;
};

TEST_F(ImportTest, an_export_comes_in_and_out_again) {
  const std::string body =
      std::string(header) + std::string(queue_line) + task_line(1) + task_line(2) + end_line(1, 2);
  EXPECT_THAT(import(body),
              AllOf(HasSubstr(R"("added":{"queues":1,"schedules":0,"memos":0,"tasks":2})"),
                    Not(HasSubstr("error"))));
  EXPECT_THAT(exported(), AllOf(HasSubstr("000000000001"), HasSubstr("000000000002"),
                                HasSubstr("\"tasks\":2}}\n")));
}

TEST_F(ImportTest, rules_for_groups_and_what_single_ones_do_differently_come_in_and_out_again) {
  const std::string queue =
      R"({"queue":{"name":"mail","id":"01890000-0000-7000-8000-000000000000",)"
      R"("groups":{"order":"fair","max_concurrent":2},"rate_of":"cost"}})"
      "\n";
  const std::string group = R"({"group":{"queue":"mail","group":"a \"b\"",)"
                            R"("override":{"weight":3,"paused_until":"never"}}})"
                            "\n";
  const std::string ended = R"({"group":{"queue":"mail","group":"c","override":{"weight":3,)"
                            R"("until":"2026-01-02T03:04:05Z"}}})"
                            "\n";
  EXPECT_THAT(import(queue + group + ended),
              AllOf(HasSubstr(R"("tasks":0,"groups":1})"), HasSubstr(R"("expired":1)")));
  EXPECT_THAT(import(queue + group),
              HasSubstr(R"("existing":{"queues":1,"schedules":0,"memos":0,"tasks":0,"groups":1})"));
  const std::string out = exported();
  EXPECT_THAT(out, AllOf(HasSubstr(group), HasSubstr(R"("tasks":0,"groups":1}})"),
                         HasSubstr(R"("groups":{"order":"fair","max_concurrent":2})"),
                         Not(HasSubstr("\"c\""))));
  EXPECT_THAT(import(R"({"group":{"queue":"mail","group":"d"}})"),
              HasSubstr("group.override is missing"));
  EXPECT_THAT(import(R"({"group":{"queue":"mail","group":"d","override":{"weight":0}}})"),
              HasSubstr("weight"));
  EXPECT_THAT(import(R"({"group":{"queue":"nowhere","group":"d","override":{"weight":2}}})"),
              HasSubstr("not_found"));
}

TEST_F(ImportTest, a_cut_or_empty_body_is_told) {
  EXPECT_THAT(import(std::string(header) + std::string(queue_line) + task_line(1)),
              AllOf(HasSubstr(R"("tasks":1})"), HasSubstr("without its closing line")));
  EXPECT_THAT(import(""), HasSubstr("the body is empty"));
  EXPECT_THAT(import(std::string(header) + std::string(queue_line) + task_line(2) + end_line(1, 9)),
              HasSubstr("lines are missing"));
}

TEST_F(ImportTest, lines_written_by_hand_need_no_end) {
  EXPECT_THAT(import(std::string(queue_line) + task_line(1)), Not(HasSubstr("error")));
}

TEST_F(ImportTest, the_first_bad_line_is_named_and_what_is_before_it_is_in) {
  EXPECT_THAT(
      import(std::string(queue_line) + task_line(1) + "{\"task\":{\"id\":7}}\n" + task_line(2)),
      AllOf(HasSubstr(R"("tasks":1})"), HasSubstr(R"("line":3)"), HasSubstr("task.id is 7")));
  EXPECT_THAT(import("{\"colour\":{}}\n"), HasSubstr("colour"));
  EXPECT_THAT(import(task_line(3) + std::string(header)), HasSubstr("not its first"));
  EXPECT_THAT(import(std::string(header) + end_line(0, 0) + "{}\n"), HasSubstr("closing line"));
  EXPECT_THAT(import(R"({"task":{"id":"01890000-0000-7000-9000-000000000009","queue":"nowhere",)"
                     R"("state":"queued","created_at":"2026-01-02T03:04:05Z",)"
                     R"("updated_at":"2026-01-02T03:04:05Z","start":"2026-01-02T03:04:05Z"}})"),
              AllOf(HasSubstr("not_found"), HasSubstr("nowhere")));
}

TEST_F(ImportTest, a_queue_whose_identity_is_taken_is_an_error_and_not_an_existing_one) {
  import(std::string(queue_line));
  EXPECT_THAT(import(std::string(queue_line)), HasSubstr(R"("existing":{"queues":1)"));
  EXPECT_THAT(
      import("{\"queue\":{\"name\":\"other\",\"id\":\"01890000-0000-7000-8000-000000000000\"}}\n"),
      HasSubstr("error"));
}

}  // namespace
}  // namespace millrace::test
