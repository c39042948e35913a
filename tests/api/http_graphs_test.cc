// Tasks that wait for others over HTTP, beside the same verbs of a LocalBroker, and the answers of
// puts that are all or none.
#include <fmt/format.h>

#include "core/uuid.h"
#include "tests/api/http_twins.h"
#include "tests/support/matchers.h"

namespace millrace::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class HttpGraphs : public HttpTwins {
 protected:
  Result<std::vector<Put>> put_all(const std::vector<NewTask>& tasks) {
    return both<std::vector<Put>>([&](Broker& broker, auto done) {
      broker.put_all({.caller = {1}}, tasks, std::move(done));
    });
  }
  Result<Parents> parents(TaskId id, ParentsRequest request = {}) {
    return both<Parents>([&](Broker& broker, auto done) {
      broker.parents({.caller = {1}}, id, request, std::move(done));
    });
  }
  NewTask after(std::vector<TaskId> ids, Otherwise otherwise = Otherwise::cancel) {
    return task("emails", {.after = After{.tasks = std::move(ids), .otherwise = otherwise}});
  }
};

TEST_F(HttpGraphs, a_graph_is_put_and_its_ends_are_read) {
  std::vector<NewTask> tasks = {task("emails", {.type = "load", .payload = "1"}), task("emails")};
  tasks.push_back(after({tasks[0].id, tasks[1].id}, Otherwise::run));
  EXPECT_THAT(must(put_all(tasks)), SizeIs(3));
  EXPECT_THAT(must(find(tasks[2].id)).waits_for, ElementsAre(tasks[0].id, tasks[1].id));
  auto leases = take();
  must(settle(leases.at(0), Done{"[1, 2]"}));
  must(settle(leases.at(1), Failed{error("broken"), false}));
  EXPECT_THAT(must(find(tasks[2].id)).waits_for, SizeIs(0));
  const Parents all = must(parents(tasks[2].id));
  EXPECT_EQ(all.parents[0].result, "[1, 2]");
  EXPECT_EQ(all.parents[1].error->message, "broken");
  const Parents second = must(parents(tasks[2].id, {.from = 1, .limit = 1}));
  EXPECT_THAT(second.parents, SizeIs(1));
  const Lease lease = take().at(0);
  EXPECT_EQ(lease.after, tasks[2].after);
  EXPECT_THAT(parents(fresh_id()), FailsWith(ErrorCode::not_found));
}

TEST_F(HttpGraphs, those_that_wait_for_a_task_are_listed) {
  const TaskId parent = must(put({task("emails")}).front()).id;
  const TaskId child = must(put({after({parent})}).front()).id;
  const TaskPage page = must(both<TaskPage>([&](Broker& broker, auto done) {
    broker.list({.caller = {1}}, {.waits_for = parent}, std::move(done));
  }));
  ASSERT_THAT(page.tasks, SizeIs(1));
  EXPECT_EQ(page.tasks[0].id, child);
}

TEST_F(HttpGraphs, a_graph_that_is_refused_says_why) {
  const auto refused = put_all({task("emails"), after({fresh_id()})});
  EXPECT_THAT(refused, FailsWith(ErrorCode::not_found));
  EXPECT_EQ(refused.error().field, "tasks[1].after.tasks[0]");
}

// ---- What is sent and answered -----------------------------------------------------------------

TEST(AtomicPut, refs_come_back_and_a_repeat_is_there_already) {
  ApiServer server;
  const std::string body = R"({"atomic":true,"tasks":[
      {"id":"01890a5d-ac96-774b-bcce-b302099a8057","queue":"q","ref":"a"},
      {"id":"01890a5d-ac96-774b-bcce-b302099a8058","queue":"q","after":["a"]}]})";
  const auto first = server.post("/v1/tasks", body);
  EXPECT_EQ(first.status, 201U);
  EXPECT_THAT(first.body, AllOf(HasSubstr(R"("state":"queued","existing":false,"ref":"a"})"),
                                HasSubstr(R"("state":"created","existing":false})")));
  const auto again = server.post("/v1/tasks", body);
  EXPECT_EQ(again.status, 200U);
  EXPECT_THAT(again.body, HasSubstr(R"("existing":true,"ref":"a"})"));
  const auto seen = server.ask({.target = "/v1/tasks/01890a5d-ac96-774b-bcce-b302099a8058"});
  EXPECT_THAT(seen.body,
              AllOf(HasSubstr(R"("after":{"tasks":["01890a5d-ac96-774b-bcce-b302099a8057"],)"
                              R"("when":"completed","otherwise":"cancel"})"),
                    HasSubstr(R"("waits_for":["01890a5d-ac96-774b-bcce-b302099a8057"])")));
}

TEST(AtomicPut, what_is_wrong_is_named_and_nothing_is_put) {
  ApiServer server;
  server.must_post("/v1/queues", R"({"name":"full","max_depth":1})");
  const auto refused = [&](const std::string& tasks, unsigned status, const std::string& field,
                           const std::string& says) {
    const auto reply =
        server.post("/v1/queues/q/tasks", R"({"atomic":true,"tasks":)" + tasks + "}");
    EXPECT_EQ(reply.status, status) << reply.body;
    EXPECT_THAT(reply.body, AllOf(HasSubstr("\"field\":\"" + field + "\""), HasSubstr(says)));
  };
  refused(R"([{"ref":"a","after":["c"]},{"ref":"b","after":["a"]},{"ref":"c","after":["b"]}])", 422,
          "tasks[0].after", "a → c → b → a");
  refused(R"([{},{"after":["nobody"]}])", 422, "tasks[1].after.tasks[0]",
          "neither a ref of this put nor an id");
  refused(R"([{},{"after":["01890a5d-ac96-774b-bcce-b302099a8057"]}])", 404,
          "tasks[1].after.tasks[0]", "to wait for");
  refused(R"([{},{"queue":"full"},{"queue":"full"}])", 429, "tasks[2]", "is full");
  refused(R"([{},{"after":{"tasks":[],"when":"ended"}}])", 422, "tasks[1].after.tasks",
          "names no task");
  refused(R"([{},{"ref":"a"},{"after":["a"],"held":true}])", 422, "tasks[2].held", "held");
  EXPECT_THAT(server.ask({.target = "/v1/tasks"}).body, HasSubstr(R"({"tasks":[])"));
}

}  // namespace
}  // namespace millrace::test
