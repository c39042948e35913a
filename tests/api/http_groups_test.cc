// Groups over HTTP, beside the same verbs of a LocalBroker, and what the server answers and logs.
#include <fmt/format.h>

#include "api/wire/groups.h"
#include "tests/api/http_twins.h"
#include "tests/support/matchers.h"

namespace millrace::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

const Ask me{.caller = {1}};

class HttpGroups : public HttpTwins {
 protected:
  void make_queue(GroupRules rules = {.max_concurrent = 1}, QueueSettings fields = {}) {
    QueueSettings settings = queue("emails", std::move(fields));
    settings.groups = std::move(rules);
    must(both<Queue>([&](Broker& broker, auto done) {
      broker.put_queue(me, settings, PutQueue::create, std::move(done));
    }));
  }
  Result<GroupPage> groups(GroupsRequest request = {}) {
    request.queue = std::string("emails");
    return both<GroupPage>(
        [&](Broker& broker, auto done) { broker.groups(me, request, std::move(done)); });
  }
  Result<Group> set(const std::string& name, const GroupOverride& to) {
    return both<Group>([&](Broker& broker, auto done) {
      broker.change_group(
          me, std::string("emails"), name,
          [to](GroupOverride& override) -> Result<void> {
            override = to;
            return {};
          },
          std::move(done));
    });
  }
};

TEST_F(HttpGroups, groups_are_listed_page_by_page) {
  make_queue();
  for (int i = 0; i < 7; ++i) put_one({.group = fmt::format("g{}", i % 5)});
  put_one();
  EXPECT_THAT(take(), SizeIs(6));
  EXPECT_THAT(must(groups()).groups, SizeIs(5));
  GroupPage page = must(groups({.limit = 2}));
  std::size_t seen = page.groups.size();
  while (!page.next.empty()) {
    page = must(groups({.after = page.next, .limit = 2}));
    seen += page.groups.size();
  }
  EXPECT_EQ(seen, 5U);
  const Group one = must(groups({.name = "g1"})).groups.at(0);
  EXPECT_EQ(one.running, 1U);
  EXPECT_EQ(one.waiting, 1U);
  EXPECT_THAT(groups({.name = ""}), FailsWith(ErrorCode::invalid));
  EXPECT_THAT(groups({.name = std::string(256, 'x')}), FailsWith(ErrorCode::too_large));
}

TEST_F(HttpGroups, names_may_hold_anything) {
  make_queue();
  for (const std::string name : {"a/b", "..", ".", "%2F", "a b+c?d#e&f=g", "m\xc3\xbchle", "\"\\",
                                 "99", "01890a5d-ac96-774b-bcce-b302099a8057"}) {
    put_one({.group = name});
    EXPECT_EQ(must(set(name, {.weight = 3})).name, name);
    EXPECT_EQ(must(groups({.name = name})).groups.at(0).waiting, 1U) << name;
  }
  EXPECT_THAT(must(groups()).groups, SizeIs(9));
  EXPECT_THAT(set("", {.weight = 3}), FailsWith(ErrorCode::invalid));
  EXPECT_THAT(set("a\nb", {.weight = 3}), FailsWith(ErrorCode::invalid));
}

TEST_F(HttpGroups, one_group_does_something_differently) {
  make_queue();
  const GroupOverride all{.max_concurrent = 3,
                          .process_rate = Rate{.max = 5, .per = 1min},
                          .max_depth = 10,
                          .weight = 2,
                          .paused_until = t0 + 1min,
                          .until = t0 + 1h};
  EXPECT_EQ(must(set("acme", all)).override, all);
  GroupOverride fewer = all;
  fewer.process_rate->max = 7, fewer.weight.reset(), fewer.paused_until.reset();
  EXPECT_EQ(must(set("acme", fewer)).override, fewer);
  EXPECT_EQ(must(set("acme", {.paused_until = never})).override,
            GroupOverride{.paused_until = never});
  EXPECT_EQ(must(set("acme", {})).override, std::nullopt);
  EXPECT_THAT(set("acme", {.weight = 0}), FailsWith(ErrorCode::invalid));
  EXPECT_THAT(set("acme", {.weight = 2, .until = t0}), FailsWith(ErrorCode::invalid));
}

TEST_F(HttpGroups, queues_without_rules_have_no_overrides) {
  must(both<Queue>([&](Broker& broker, auto done) {
    broker.put_queue(me, queue("emails"), PutQueue::create, std::move(done));
  }));
  put_one({.group = "acme"});
  EXPECT_EQ(must(groups()).groups.at(0).waiting, 1U);
  EXPECT_THAT(set("acme", {.weight = 2}), FailsWith(ErrorCode::conflict));
}

TEST_F(HttpGroups, costs_go_there_and_back) {
  QueueSettings fields{.process_rate = Rate{.max = 100, .per = 1min}};
  fields.rate_of = RateOf::cost;
  make_queue({.rate_of = RateOf::cost}, fields);
  const TaskId id = put_one({.cost = 90});
  put_one({.cost = 90});
  const auto leases = take();
  ASSERT_THAT(leases, SizeIs(1));
  EXPECT_EQ(leases[0].cost, 90U);
  EXPECT_EQ(must(find(id)).cost, 90U);
  WorkOrder order;
  order.reports.push_back(
      {.id = leases[0].id, .token = leases[0].token, .outcome = Done{}, .cost = 10});
  must(work(order));
  EXPECT_THAT(take(), SizeIs(1));
}

// ---- What is answered and logged ---------------------------------------------------------------

TEST(GroupRoutes, the_action_log_names_queue_and_group) {
  ServerOptions options;
  options.keys = {{.name = "ops"}, {.name = "reader", .scopes = {access::Scope::read}}};
  options.key = "ops";
  ApiServer server(options);
  server.must_post("/v1/queues", R"({"name":"emails","groups":{}})");
  const std::string target = "/v1/queues/emails/groups/acme";
  EXPECT_EQ(server.ask({"PATCH", target, R"({"weight":2})"}).status, 200U);
  EXPECT_EQ(server.ask({"DELETE", target}).status, 204U);
  const auto logged = server.ask({.target = "/v1/actions"}).body;
  EXPECT_THAT(logged, AllOf(HasSubstr(R"("operation":"changeGroup","subject":"emails/acme",)"
                                      R"("request":"{\"weight\":2}")"),
                            HasSubstr(R"("operation":"resetGroup","subject":"emails/acme")")));
  EXPECT_EQ(server.ask({"PATCH", target, "{}", "application/json", by_key("reader")}).status, 403U);
  EXPECT_EQ(server.ask({.target = target, .headers = by_key("reader")}).status, 200U);
}

TEST(GroupRoutes, refusals_name_the_place) {
  ApiServer server;
  server.must_post("/v1/queues", R"({"name":"emails","groups":{}})");
  server.must_post("/v1/queues", R"({"name":"plain"})");
  const auto refused = [&](const std::string& target, const std::string& body, unsigned status,
                           const std::string& code, const std::string& field,
                           const std::string& says) {
    const auto reply = server.ask({"PATCH", target, body});
    EXPECT_EQ(reply.status, status) << reply.body;
    EXPECT_THAT(reply.body, AllOf(HasSubstr("\"code\":\"" + code + "\""), HasSubstr(says)));
    if (!field.empty()) {
      EXPECT_THAT(reply.body, HasSubstr("\"field\":\"" + field + "\""));
    }
  };
  const std::string acme = "/v1/queues/emails/groups/acme";
  refused(acme, R"({"weight":0})", 422, "invalid", "weight", "allowed are 1 to 1000");
  refused(acme, R"({"process_rate":{"max":5}})", 422, "invalid", "process_rate.per_ms", "missing");
  refused(acme, R"({"until":"2029-01-01T00:00:00Z","weight":2})", 422, "invalid", "until",
          "allowed is a later moment");
  refused(acme, R"({"for_ms":60000})", 422, "invalid", "until", "but there are none");
  refused(acme, R"({"paused":true,"pause_for_ms":1})", 422, "invalid", "pause_for_ms",
          "give one of them");
  refused(acme, R"({"limit":1})", 422, "invalid", "limit", "is not known");
  refused(acme, "{", 400, "malformed", "", "");
  refused("/v1/queues/emails/groups/" + std::string(256, 'x'), R"({"weight":2})", 413, "too_large",
          "group", "255");
  refused("/v1/queues/plain/groups/acme", R"({"weight":2})", 409, "conflict", "", "");
  refused("/v1/queues/nowhere/groups/acme", R"({"weight":2})", 404, "not_found", "", "nowhere");
  EXPECT_THAT(server.ask({.target = acme}).body, Not(HasSubstr("override")));
}

}  // namespace
}  // namespace millrace::test
