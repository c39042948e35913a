// Dead letters by what they died of: GET /v1/dead/groups.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <atomic>
#include <boost/json/parse.hpp>
#include <memory>
#include <mutex>

#include "core/error_group.h"
#include "store/forwarding.h"
#include "store/store.h"
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

// Counts how often the store walks, and takes its time.
class CountingStore final : public ForwardingStore {
 public:
  CountingStore() : CountingStore(open_memory()) {}
  explicit CountingStore(std::unique_ptr<Store> behind)
      : ForwardingStore(*behind), behind_(std::move(behind)) {}

  Result<TaskPage> list(const ListRequest& request) override {
    ++lists;
    if (ManualClock* const at = clock) at->advance(1s);
    return ForwardingStore::list(request);
  }

  std::atomic<int> lists = 0;
  std::atomic<ManualClock*> clock = nullptr;

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
  store.lists = 0;
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

TEST(DeadGroups, that_none_is_left_is_known_at_once) {
  ApiServer server;
  kill(server, "emails", "", 1, no_route);
  EXPECT_EQ(groups_of(server).at("groups").as_array().size(), 1U);
  server.must_post("/v1/dead/remove", R"({"all":true})");
  EXPECT_EQ(groups_of(server).at("groups").as_array().size(), 0U);
}

// Walks take a second, and what they found must not be known.
class RestTest : public ::testing::Test {
 protected:
  using Answers = std::vector<Result<DeadGroups::Found>>;

  static ServerOptions with(std::unique_ptr<CountingStore> own) {
    ServerOptions options;
    options.store = std::move(own);
    return options;
  }
  RestTest() {
    kill(server_, "emails", "", 1, no_route);
    store_.lists = 0;
    store_.clock = &server_.driver.clock;
  }

  // Comes to an answer, or to wait.
  void find(std::optional<std::string> type, CallerId caller = {1}, Duration patience = 30s) {
    const std::size_t before = groups_.waiting() + answered();
    const Ask ask{.caller = caller, .deadline = server_.driver.now() + patience};
    groups_.find(ask, {.type = std::move(type)}, [this](Result<DeadGroups::Found> found) {
      const std::scoped_lock lock(mutex_);
      answers_.push_back(std::move(found));
    });
    wait_for([&] { return groups_.waiting() + answered() > before; });
  }
  void walk() {
    find({});
    wait_for([&] { return answered() == 1; });
  }
  std::size_t answered() {
    const std::scoped_lock lock(mutex_);
    return answers_.size();
  }
  Result<DeadGroups::Found> last() {
    const std::scoped_lock lock(mutex_);
    return answers_.back();
  }
  bool next_round() { return !server_.driver.try_find(TaskNumber{1}); }
  template <class Test>
  void wait_for(Test test) {
    for (int i = 0; i < 200'000 && !test(); ++i) next_round();
    EXPECT_TRUE(test());
  }
  // A walk that began, though it should not have, is over in so many rounds.
  void pass(Duration by) {
    server_.driver.pass(by);
    groups_.tick();
    for (int i = 0; i < 10; ++i) next_round();
  }

  std::mutex mutex_;
  Answers answers_;  // guarded by mutex_; the server's end answers what still waits
  std::unique_ptr<CountingStore> own_ = std::make_unique<CountingStore>();
  CountingStore& store_ = *own_;
  ApiServer server_{with(std::move(own_))};
  DeadGroups& groups_ = server_.driver.broker->dead_groups();
};

TEST_F(RestTest, is_the_same_for_all_that_is_looked_for) {
  walk();
  find("other");
  EXPECT_EQ(groups_.waiting(), 1U);
  pass(19s);
  EXPECT_EQ(groups_.waiting(), 1U);
  EXPECT_EQ(store_.lists, 1);
  pass(1s);
  wait_for([&] { return answered() == 2; });
  EXPECT_TRUE(last());
  EXPECT_EQ(store_.lists, 2);
}

TEST_F(RestTest, no_more_than_sixteen_different_ones_wait) {
  walk();
  for (int i = 0; i < 16; ++i) find(fmt::format("type{}", i));
  EXPECT_EQ(groups_.waiting(), 16U);
  find("type3");
  EXPECT_EQ(groups_.waiting(), 17U) << "the same costs nothing";
  find("one too many");
  ASSERT_EQ(answered(), 2U);
  EXPECT_EQ(last().error().code, ErrorCode::unavailable);
  EXPECT_EQ(last().error().retry_after, 20s);
  const Reply reply = server_.ask({.target = "/v1/dead/groups?type=another"});
  EXPECT_EQ(reply.status, 503U);
  EXPECT_EQ(reply.headers.at("retry-after"), "20");
}

TEST_F(RestTest, a_caller_that_cannot_wait_so_long_is_told_at_once) {
  walk();
  find("other", {1}, 19s);
  ASSERT_EQ(answered(), 2U);
  EXPECT_EQ(last().error().code, ErrorCode::unavailable);
  EXPECT_EQ(last().error().retry_after, 20s);
}

TEST_F(RestTest, no_walk_for_a_caller_that_has_left) {
  walk();
  find("other", {7});
  groups_.leave({7});
  EXPECT_EQ(groups_.waiting(), 0U);
  {
    RawClient client = server_.connect();
    client.send(text_of({.target = "/v1/dead/groups?type=other"}));
    wait_for([&] { return groups_.waiting() == 1; });
  }
  wait_for([&] { return groups_.waiting() == 0; });
  pass(20s);
  EXPECT_EQ(store_.lists, 1);
  EXPECT_EQ(answered(), 1U);
}

TEST_F(RestTest, a_caller_that_waited_in_vain_is_told_so) {
  walk();
  find("first");
  find("second", {1}, 40s);
  pass(20s);
  wait_for([&] { return answered() == 2; });
  EXPECT_TRUE(last());
  pass(19s);
  ASSERT_EQ(answered(), 3U);
  EXPECT_EQ(last().error().code, ErrorCode::unavailable);
  pass(1s);
  EXPECT_EQ(store_.lists, 2) << "no caller wants it any more";
}

TEST_F(RestTest, no_caller_waits_for_a_server_that_stops) {
  walk();
  find("other");
  server_.api.stop();
  ASSERT_EQ(answered(), 2U);
  EXPECT_EQ(last().error().code, ErrorCode::unavailable);
  find("another");
  EXPECT_EQ(answered(), 3U);
}

TEST_F(RestTest, ends_by_itself) {
  DeadGroups groups(*server_.driver.broker, true);
  std::atomic<int> count = 0;
  const Ask ask{.caller = {1}};
  const auto look = [&](const char* type) {
    groups.find(ask, {.type = type}, [&](auto) { ++count; });
  };
  look("one");
  wait_for([&] { return count == 1; });
  look("two");
  wait_for([&] { return groups.waiting() == 1; });
  server_.driver.pass(20s);
  wait_for([&] { return count == 2; });
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
  options.keys = {{.name = "all"}, confined_key("some", {"emails"})};
  options.key = "some";
  ApiServer server(std::move(options));
  kill(server, "emails", "", 1, no_route);
  kill(server, "reports", "", 1, no_route);
  EXPECT_EQ(server.ask({.target = "/v1/dead/groups"}).status, 403U);
  EXPECT_EQ(server.ask({.target = "/v1/dead/groups?queue=reports"}).status, 403U);
  EXPECT_EQ(server.ask({.target = "/v1/dead/groups?queue=emails"}).status, 200U);
}

}  // namespace
}  // namespace millrace::test
