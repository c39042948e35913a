// Dead letters by what they died of: GET /v1/dead/groups.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <atomic>
#include <boost/json/parse.hpp>
#include <memory>

#include "core/error_group.h"
#include "store/forwarding.h"
#include "tests/api/api_server.h"

namespace millrace::test {
namespace {

boost::json::object groups_of(ApiServer& server, const std::string& query = {}) {
  const Reply reply = server.ask({.target = "/v1/dead/groups" + query});
  EXPECT_EQ(reply.status, 200U) << reply.body;
  return boost::json::parse(reply.body).as_object();
}

// Ends tasks of a queue as dead letters, 1,000 at most.
void kill(ApiServer& server, const std::string& queue, const std::string& type, int count,
          const std::function<std::string(int)>& message, bool internal = false) {
  std::vector<NewTask> tasks;
  for (int i = 0; i < count; ++i) tasks.push_back({.queue = queue, .type = type});
  const Ask ask{.caller = {1}, .internal = internal};
  ASSERT_TRUE(server.driver.try_put(std::move(tasks), ask));
  WorkOrder order;
  int number = 0;
  auto taken = server.driver.try_work({.takes = {{.worker = "w", .queues = {{queue, 1000}}}}}, ask);
  ASSERT_TRUE(taken && taken->taken.front());
  for (const Lease& lease : *taken->taken.front()) {
    order.reports.push_back(
        {lease.id, lease.token,
         Failed{.error = {.code = "exit_1", .message = message(number++)}, .retryable = false}});
  }
  ASSERT_EQ(number, count);
  ASSERT_TRUE(server.driver.try_work(std::move(order), ask));
}

std::string unknown_user(int i) {
  return fmt::format("user {} is unknown", 1000 + i);
}
std::string no_route(int) {
  return "no route to host";
}

TEST(DeadGroups, those_that_died_of_the_same_are_counted_together) {
  ApiServer server;
  kill(server, "emails", "welcome", 5, unknown_user);
  server.driver.pass(1min);
  kill(server, "emails", "welcome", 2, no_route);
  kill(server, "reports", "", 1, no_route);
  server.driver.pass(1min);
  kill(server, "emails", "welcome", 1, unknown_user);
  const auto found = groups_of(server);
  const auto& groups = found.at("groups").as_array();
  ASSERT_EQ(groups.size(), 3U);
  const auto& largest = groups[0].as_object();
  EXPECT_EQ(largest.at("count"), 6);
  EXPECT_EQ(largest.at("queue"), "emails");
  EXPECT_EQ(largest.at("type"), "welcome");
  EXPECT_EQ(largest.at("code"), "exit_1");
  EXPECT_EQ(largest.at("message"), "user # is unknown");
  EXPECT_EQ(std::string(largest.at("key").as_string()),
            error_group_name(error_group_of("emails", "welcome", "exit_1", "user # is unknown")));
  EXPECT_EQ(largest.at("first_at"), "2030-01-01T00:00:00.000Z");
  EXPECT_EQ(largest.at("last_at"), "2030-01-01T00:02:00.000Z");
  const auto& samples = largest.at("samples").as_array();
  ASSERT_EQ(samples.size(), 3U);
  EXPECT_EQ(samples[0].at("message"), "user 1000 is unknown");  // the newest
  EXPECT_EQ(samples[1].at("message"), "user 1004 is unknown");
  EXPECT_EQ(samples[0].at("failed_at"), "2030-01-01T00:02:00.000Z");
  EXPECT_EQ(groups[1].at("count"), 2);
  EXPECT_EQ(groups[2].at("queue"), "reports");
  EXPECT_FALSE(groups[2].as_object().contains("type"));
  EXPECT_EQ(found.at("total"), 9);
  EXPECT_EQ(found.at("looked_at"), 9);
  EXPECT_EQ(found.at("more"), 0);
  EXPECT_EQ(found.at("complete"), true);
}

TEST(DeadGroups, a_queue_and_a_type_may_be_meant) {
  ApiServer server;
  kill(server, "emails", "welcome", 2, no_route);
  kill(server, "emails", "goodbye", 1, no_route);
  kill(server, "reports", "welcome", 3, no_route);
  EXPECT_EQ(groups_of(server, "?queue=emails").at("groups").as_array().size(), 2U);
  EXPECT_EQ(groups_of(server, "?queue=emails").at("total"), 3);
  EXPECT_EQ(groups_of(server, "?type=welcome").at("groups").as_array().size(), 2U);
  const auto both = groups_of(server, "?queue=emails&type=goodbye");
  ASSERT_EQ(both.at("groups").as_array().size(), 1U);
  EXPECT_EQ(both.at("groups").at(0).at("count"), 1);
  const auto first = groups_of(server, "?limit=1");
  EXPECT_EQ(first.at("groups").as_array().size(), 1U);
  EXPECT_EQ(first.at("more"), 2);
  for (const auto* wrong : {"?limit=0", "?limit=101", "?cursor=1", "?queue=emails&queue=reports"}) {
    EXPECT_EQ(server.ask({.target = std::string("/v1/dead/groups") + wrong}).status, 400U) << wrong;
  }
}

TEST(DeadGroups, internal_queues_only_where_they_are_named) {
  ApiServer server;
  kill(server, "$webhooks", "", 1, no_route, true);
  EXPECT_TRUE(groups_of(server).at("groups").as_array().empty());
  EXPECT_EQ(groups_of(server, "?queue=$webhooks").at("groups").as_array().size(), 1U);
}

// Counts how often the store walks.
class CountingStore final : public ForwardingStore {
 public:
  CountingStore() : CountingStore(open_memory()) {}
  explicit CountingStore(std::unique_ptr<Store> behind)
      : ForwardingStore(*behind), behind_(std::move(behind)) {}

  Result<TaskPage> list(const ListRequest& request) override {
    ++lists;
    return ForwardingStore::list(request);
  }

  std::atomic<int> lists = 0;

 private:
  std::unique_ptr<Store> behind_;
};

TEST(DeadGroups, what_was_found_is_shown_to_all_for_a_while) {
  ServerOptions options;
  auto own = std::make_unique<CountingStore>();
  CountingStore& store = *own;
  options.store = std::move(own);
  ApiServer server(std::move(options));
  kill(server, "emails", "", 2, no_route);
  for (int i = 0; i < 3; ++i) groups_of(server);
  EXPECT_EQ(store.lists, 1);
  server.driver.pass(4s);
  groups_of(server, "?limit=1");
  EXPECT_EQ(store.lists, 1);
  groups_of(server, "?queue=emails");  // something else
  EXPECT_EQ(store.lists, 2);
  server.driver.pass(1s);
  groups_of(server);
  EXPECT_EQ(store.lists, 3);
  // Something has changed: after a second it is looked for again.
  kill(server, "emails", "", 1, no_route);
  EXPECT_EQ(groups_of(server).at("groups").at(0).at("count"), 2);
  server.driver.pass(1s);
  EXPECT_EQ(groups_of(server).at("groups").at(0).at("count"), 3);
  EXPECT_EQ(store.lists, 4);
}

TEST(DeadGroups, no_more_than_the_newest_20000_are_looked_at) {
  ApiServer server;
  kill(server, "emails", "oldest", 1, no_route);
  for (int i = 0; i < 20; ++i) kill(server, "emails", "new", 1000, unknown_user);
  const auto found = groups_of(server);
  EXPECT_EQ(found.at("total"), 20'001);
  EXPECT_EQ(found.at("looked_at"), 20'000);
  EXPECT_EQ(found.at("complete"), false);
  ASSERT_EQ(found.at("groups").as_array().size(), 1U);
  EXPECT_EQ(found.at("groups").at(0).at("count"), 20'000);
}

TEST(DeadGroups, the_largest_hundred_are_shown) {
  ApiServer server;
  kill(server, "emails", "", 120, [](int i) { return std::string(i + 1, 'x'); });
  kill(server, "emails", "", 2, no_route);
  const auto found = groups_of(server);
  EXPECT_EQ(found.at("groups").as_array().size(), 100U);
  EXPECT_EQ(found.at("groups").at(0).at("message"), "no route to host");
  EXPECT_EQ(found.at("more"), 21);
}

TEST(DeadGroups, a_key_for_some_queues_names_one) {
  ServerOptions options;
  options.api.access = [](const api::HttpRequest&, api::Scope) -> api::Access {
    return std::make_shared<api::Principal>("some", std::vector<std::string>{"emails"});
  };
  ApiServer server(std::move(options));
  kill(server, "emails", "", 1, no_route);
  kill(server, "reports", "", 1, no_route);
  EXPECT_EQ(server.ask({.target = "/v1/dead/groups"}).status, 403U);
  EXPECT_EQ(server.ask({.target = "/v1/dead/groups?queue=reports"}).status, 403U);
  EXPECT_EQ(server.ask({.target = "/v1/dead/groups?queue=emails"}).status, 200U);
}

}  // namespace
}  // namespace millrace::test
