// Groups of a queue through a LocalBroker: lists of them, what single ones do differently, costs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "store/forwarding.h"
#include "tests/support/broker_driver.h"
#include "tests/support/matchers.h"

namespace millrace {
namespace {

using namespace millrace::test;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Lets another server write between a broker's read and its write.
class Interrupting final : public ForwardingStore {
 public:
  explicit Interrupting(std::unique_ptr<Store> store)
      : ForwardingStore(*store), owned_(std::move(store)) {}

  std::function<void(Store&, TimePoint)> before_write = nullptr;
  // What a read says of each group.
  std::function<void(Group&)> says = nullptr;
  int writes = 0;

  Result<GroupPage> groups(const GroupsRequest& request, TimePoint now) override {
    auto page = ForwardingStore::groups(request, now);
    if (!page || !says) return page;
    for (Group& group : page->groups) says(group);
    return page;
  }

  Result<Group> put_group(const PutGroup& change, TimePoint now) override {
    ++writes;
    if (before_write) before_write(*owned_, now);
    return ForwardingStore::put_group(change, now);
  }

 private:
  std::unique_ptr<Store> owned_;
};

class LocalGroupsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    d.put_queue({.name = "emails", .groups = GroupRules{.max_concurrent = 2}});
  }
  std::shared_ptr<Interrupting> own_ = std::make_shared<Interrupting>(open_memory());
  BrokerDriver d{{}, own_};

  Put put(std::string group, NewTask fields = {}) {
    fields.queue = "emails", fields.group = std::move(group);
    return d.put(std::move(fields));
  }
  Result<Group> change(GroupChange change, std::string name = "acme", QueueRef queue = "emails") {
    return d.wait<Group>([&](auto done) {
      d.broker->change_group(d.ask(), queue, name, std::move(change), std::move(done));
    });
  }
  Result<Group> set(const GroupOverride& to, std::string name = "acme") {
    return change(
        [to](GroupOverride& override) -> Result<void> {
          override = to;
          return {};
        },
        std::move(name));
  }
  Result<GroupPage> list(GroupsRequest request = {}) {
    request.queue = "emails";
    return d.wait<GroupPage>(
        [&](auto done) { d.broker->groups(d.ask(), request, std::move(done)); });
  }
  Group group(std::string name = "acme") {
    const GroupPage page = must(list({.name = std::move(name)}));
    EXPECT_THAT(page.groups, SizeIs(1));
    return page.groups.at(0);
  }
};

TEST_F(LocalGroupsTest, groups_are_counted_and_listed) {
  for (int i = 0; i < 3; ++i) put("acme");
  put("other");
  put("");
  EXPECT_THAT(d.take("emails"), SizeIs(4));  // two of acme
  const GroupPage page = must(list());
  EXPECT_THAT(page.groups, SizeIs(2));
  EXPECT_EQ(group().running, 2U);
  EXPECT_EQ(group().waiting, 1U);
  EXPECT_EQ(group().ready, 1U);
  EXPECT_EQ(group("nothing").waiting, 0U);
  EXPECT_EQ(list({.name = ""}).error().field, "group");
  EXPECT_EQ(list({.name = std::string(256, 'x')}).error().code, ErrorCode::too_large);
  EXPECT_EQ(list({.limit = 1001}).error().field, "limit");
}

TEST_F(LocalGroupsTest, one_group_does_something_differently) {
  for (int i = 0; i < 5; ++i) put("acme");
  const Group changed = must(set({.max_concurrent = 4}));
  EXPECT_EQ(changed.override, GroupOverride{.max_concurrent = 4});
  EXPECT_EQ(changed.waiting, 5U);
  EXPECT_THAT(d.take("emails"), SizeIs(4));
  EXPECT_THAT(d.logged.lines(), Contains("group \"acme\" of queue emails changed"));
  must(set({}));
  EXPECT_EQ(group().override, std::nullopt);
  EXPECT_THAT(d.logged.lines(),
              Contains("group \"acme\" of queue emails is as its queue says again"));
}

TEST_F(LocalGroupsTest, a_change_gets_what_is_stored_and_nothing_that_has_ended) {
  must(set({.max_concurrent = 4, .until = t0 + 1h}));
  GroupOverride seen;
  const auto look = [&](GroupOverride& override) -> Result<void> {
    seen = override;
    return {};
  };
  must(change(look));
  EXPECT_EQ(seen, (GroupOverride{.max_concurrent = 4, .until = t0 + 1h}));
  EXPECT_EQ(own_->writes, 1) << "nothing was changed";
  d.pass(1h);
  must(change(look));
  EXPECT_EQ(seen, GroupOverride{});
}

TEST_F(LocalGroupsTest, changes_that_cannot_be_are_refused_and_change_nothing) {
  must(set({.weight = 2}));
  const auto past = set({.weight = 3, .until = t0});
  EXPECT_THAT(past, FailsWith(ErrorCode::invalid));
  EXPECT_EQ(past.error().field, "until");
  EXPECT_THAT(past.error().message, HasSubstr("allowed is a later moment"));
  const auto idle = set({.until = t0 + 1h});
  EXPECT_THAT(idle, FailsWith(ErrorCode::invalid));
  EXPECT_EQ(idle.error().field, "until");
  EXPECT_EQ(set({.weight = 0}).error().field, "weight");
  EXPECT_EQ(set({.max_concurrent = 0}).error().field, "max_concurrent");
  EXPECT_EQ(set({.process_rate = Rate{.max = 0}}).error().field, "process_rate.max");
  EXPECT_EQ(set({.weight = 2}, "").error().field, "group");
  EXPECT_EQ(set({.weight = 2}, "a\nb").error().field, "group");
  EXPECT_EQ(set({.weight = 2}, std::string(256, 'x')).error().code, ErrorCode::too_large);
  const auto refused =
      change([](GroupOverride&) -> Result<void> { return fail(ErrorCode::conflict, "not today"); });
  EXPECT_EQ(refused.error().message, "not today");
  EXPECT_EQ(group().override, GroupOverride{.weight = 2});
  const auto none = [](GroupOverride& override) -> Result<void> {
    override.weight = 5;
    return {};
  };
  EXPECT_THAT(change(none, "acme", "nowhere"), FailsWith(ErrorCode::not_found));
  d.put_queue({.name = "plain"});
  EXPECT_THAT(change(none, "acme", "plain"), FailsWith(ErrorCode::conflict));
}

TEST_F(LocalGroupsTest, what_another_server_changes_meanwhile_stays) {
  put("acme");
  own_->before_write = [this](Store& store, TimePoint now) {
    own_->before_write = nullptr;
    must(store.put_group({.queue = "emails", .name = "acme", .now = GroupOverride{.max_depth = 7}},
                         now));
  };
  const Group changed = must(change([](GroupOverride& override) -> Result<void> {
    override.weight = 3;
    return {};
  }));
  EXPECT_EQ(changed.override, (GroupOverride{.max_depth = 7, .weight = 3}));
  own_->before_write = [n = 100U](Store& store, TimePoint now) mutable {
    const auto found = must(store.groups({.queue = "emails", .name = "acme"}, now));
    must(store.put_group({.queue = "emails",
                          .name = "acme",
                          .seen = found.groups.at(0).override,
                          .now = GroupOverride{.max_depth = ++n}},
                         now));
  };
  const auto lost = set({.weight = 4});
  EXPECT_THAT(lost, FailsWith(ErrorCode::conflict));
  EXPECT_THAT(lost.error().message,
              HasSubstr("other servers keep changing group \"acme\" of queue \"emails\""));
}

TEST_F(LocalGroupsTest, a_parked_take_gets_what_a_change_lets_through) {
  must(set({.paused_until = never}));
  put("acme");
  std::vector<Lease> got;
  WorkOrder order{.wait = 1min};
  order.takes.push_back({.worker = "w", .queues = {{std::string("emails"), 1}}});
  std::promise<WorkResult> taken;
  d.broker->work(d.ask(), std::move(order),
                 [&](Result<WorkResult> result) { taken.set_value(must(std::move(result))); });
  must(set({}));
  const WorkResult result = taken.get_future().get();
  EXPECT_THAT(*result.taken.at(0), SizeIs(1));
}

TEST_F(LocalGroupsTest, explanations_name_the_group) {
  for (int i = 0; i < 2; ++i) put("acme");
  const Put third = put("acme");
  d.take("emails");
  EXPECT_EQ(d.explain(third.id).gate, Gate::group_concurrency);
  EXPECT_EQ(d.explain(third.id).sentence,
            "Its group \"acme\" runs 2 of 2 tasks; 1 of its tasks waits.");
  must(set({.max_concurrent = 5, .paused_until = t0 + 1h}));
  EXPECT_EQ(d.explain(third.id).gate, Gate::group_paused);
  EXPECT_EQ(d.explain(third.id).until, t0 + 1h);
  must(set({.max_concurrent = 5, .process_rate = Rate{.max = 1, .per = 1min}}));
  own_->says = [](Group& group) { group.room_at = t0 + 30s; };
  EXPECT_EQ(d.explain(third.id).gate, Gate::group_rate);
  EXPECT_EQ(d.explain(third.id).until, t0 + 30s);
  own_->says = [](Group& group) { group.room_at.reset(); };
  EXPECT_NE(d.explain(third.id).gate, Gate::group_rate);
}

TEST_F(LocalGroupsTest, explanations_of_serial_groups_name_the_task_before) {
  d.put_queue({.name = "emails", .groups = GroupRules{.order = GroupOrder::serial}});
  const Put first = put("acme");
  const Put second = put("acme");
  own_->says = [&](Group& group) { group.first = first.number; };
  EXPECT_NE(d.explain(first.id).gate, Gate::group_serial);
  EXPECT_EQ(d.explain(second.id).gate, Gate::group_serial);
  EXPECT_THAT(d.explain(second.id).sentence, HasSubstr("comes before this one"));
  d.take("emails");
  EXPECT_THAT(d.explain(second.id).sentence, HasSubstr("one is running"));
}

// ---- Costs -------------------------------------------------------------------------------------

TEST_F(LocalGroupsTest, the_real_cost_of_a_run_counts) {
  d.put_queue(
      {.name = "emails", .process_rate = Rate{.max = 100, .per = 1min}, .rate_of = RateOf::cost});
  put("", {.cost = 60});
  put("", {.cost = 60});
  const Put last = put("", {.cost = 60});
  const auto leases = d.take("emails");
  ASSERT_THAT(leases, SizeIs(1));
  EXPECT_EQ(d.explain(last.id).gate, Gate::rate);
  WorkOrder order;
  order.reports.push_back(
      {.id = leases[0].id, .token = leases[0].token, .outcome = Done{}, .cost = 10});
  must(d.try_work(std::move(order)));
  EXPECT_NE(d.explain(last.id).gate, Gate::rate) << "the broker's mirror is corrected, too";
  EXPECT_THAT(d.take("emails"), SizeIs(1));
}

TEST_F(LocalGroupsTest, a_run_that_was_cancelled_has_its_cost) {
  d.put_queue(
      {.name = "emails", .process_rate = Rate{.max = 100, .per = 1min}, .rate_of = RateOf::cost});
  put("", {.cost = 100});
  put("", {.cost = 60});
  const Lease lease = d.take_one("emails");
  must(d.try_cancel(lease.id));
  WorkOrder order;
  order.reports.push_back({.id = lease.id,
                           .token = lease.token,
                           .outcome = Failed{.error = error("stopped")},
                           .cost = 20});
  const WorkResult result = must(d.try_work(std::move(order)));
  EXPECT_EQ(must(result.settled.at(0)).state, TaskState::cancelled);
  EXPECT_THAT(d.take("emails"), SizeIs(1));
}

}  // namespace
}  // namespace millrace
