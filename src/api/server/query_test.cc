#include "api/server/query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/server/route.h"

namespace millrace::api {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Query, percent_decoding) {
  EXPECT_EQ(percent_decoded("a%20b%2Fc", false), "a b/c");
  EXPECT_EQ(percent_decoded("a+b", true), "a b");
  EXPECT_EQ(percent_decoded("a+b", false), "a+b");
  for (const auto* bad : {"%", "%4", "%zz", "a%0", "%00"}) {
    EXPECT_EQ(percent_decoded(bad, true), std::nullopt) << bad;
  }
}

TEST(Query, every_kind_of_parameter) {
  Query query("name=a%26b&n=7&d=1m30s&t=2030-01-01T00:00:00%2B01:00&yes=true&no=false&s=a,b&s=c&&");
  EXPECT_EQ(query.text("name"), "a&b");
  EXPECT_EQ(query.number("n", 1, 10), 7U);
  EXPECT_EQ(query.duration("d", 2min), 90s);
  EXPECT_TRUE(query.moment("t"));
  EXPECT_TRUE(query.flag("yes"));
  EXPECT_FALSE(query.flag("no"));
  EXPECT_FALSE(query.flag("neither"));
  EXPECT_THAT(query.list("s"), ElementsAre("a", "b", "c"));
  EXPECT_EQ(query.text("missing"), std::nullopt);
  EXPECT_EQ(query.finish(), std::nullopt);
}

TEST(Query, an_offset_whose_plus_is_not_encoded) {
  Query query("t=2030-01-01T00:00:00+01:00");
  EXPECT_TRUE(query.moment("t"));
  EXPECT_EQ(query.finish(), std::nullopt);
}

TEST(Query, wrong_parameters_are_refused_with_the_reason) {
  const auto wrong = [](std::string_view text) {
    Query query(text);
    list_from(query);
    const auto error = query.finish();
    EXPECT_TRUE(error) << text;
    return error ? error->error.message : "";
  };
  EXPECT_THAT(wrong("limit=0"), HasSubstr("whole number from 1 to 1000"));
  EXPECT_THAT(wrong("limit=5&limit=6"), HasSubstr("given twice"));
  EXPECT_THAT(wrong("limt=5"), HasSubstr("known here are queue, state"));
  EXPECT_THAT(wrong("state=running"), HasSubstr("\"running\" is not known"));
  EXPECT_THAT(wrong("priority=-1"), HasSubstr("0 to 9"));
  EXPECT_THAT(wrong("cursor=99999999999999999999"), HasSubstr("cursor"));
  EXPECT_THAT(wrong("full=1"), HasSubstr("true or false"));
  EXPECT_THAT(wrong("full="), HasSubstr("true or false")) << "a variable that is not set";
  EXPECT_THAT(wrong("a=%"), HasSubstr("percent-encoded"));
}

TEST(Query, queues_and_tasks_as_paths_name_them) {
  EXPECT_EQ(queue_from_text("emails"), QueueRef("emails"));
  EXPECT_EQ(queue_from_text("17"), QueueRef(QueueNumber{17}));
  EXPECT_TRUE(
      std::holds_alternative<Uuid>(queue_from_text("01890a5d-ac96-774b-bcce-b302099a8057")));
  EXPECT_EQ(*task_from_text("12"), TaskRef(TaskNumber{12}));
  EXPECT_TRUE(task_from_text("task-01890a5d-ac96-774b-bcce-b302099a8057"));
  EXPECT_FALSE(task_from_text("nonsense"));
  EXPECT_FALSE(task_from_text(""));
}

TEST(Query, routes_are_found_by_path_and_method) {
  const Match found = match(Method::post, "/v1/tasks/abc/settle");
  ASSERT_NE(found.route, nullptr);
  EXPECT_EQ(found.route->operation, "settleTask");
  EXPECT_EQ(found.path[0], "abc");
  EXPECT_EQ(match(Method::head, "/v1/queues").route->operation, "listQueues");
  EXPECT_EQ(match(Method::put, "/v1/queues").allow, "GET, HEAD, POST");
  EXPECT_EQ(match(Method::get, "/v1/queues/").route, nullptr);
  EXPECT_EQ(match(Method::get, "").route, nullptr);
}

}  // namespace
}  // namespace millrace::api
