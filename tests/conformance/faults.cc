// "Fail the Nth call", for every N: whatever call fails, and whether it was applied or not, nothing
// acknowledged is lost, and repeating the call is safe.
#include <gmock/gmock.h>
#include <map>
#include <set>

#include "store/faulty.h"
#include "store/store.h"
#include "tests/conformance/conformance.h"

namespace millrace::test {
namespace {

constexpr int task_count = 4;

// A producer, a worker and the upkeep over one store, as a broker would call it.
class Scenario {
 public:
  // How many times a call is made before its caller gives up.
  Scenario(Store& store, int tries) : store_(store), tries_(tries) {
    for (int i = 0; i < task_count; ++i) {
      tasks_.push_back(task("work", {.unique = UniqueKey{.key = std::to_string(i)}}));
      hooks_[tasks_.back().id] = task("hooks");
    }
  }

  // Puts, works and looks after all tasks; ends early where a call fails for good.
  void run() {
    if (!make_queues() || !put()) return;
    for (int round = 0; round < 8; ++round) {
      if (!work()) return;
      now_ += 61s;
      if (!upkeep()) return;
    }
  }

  // What must hold whatever failed.
  void check(Store& inner) {
    StoreDriver driver(inner);
    driver.now = now_;
    for (const NewTask& each : tasks_) {
      const auto found = driver.try_find(each.id);
      EXPECT_TRUE(found || !put_acknowledged_) << "an acknowledged task is gone";
      if (!found) continue;
      const bool completed = found->state == TaskState::completed;
      EXPECT_TRUE(completed || !acknowledged_.contains(each.id)) << "an acknowledged end is gone";
      EXPECT_EQ(driver.exists(hooks_.at(each.id).id), completed) << "half a settlement is there";
      EXPECT_EQ(found->result, completed ? "ok" : "");
    }
    EXPECT_LE(driver.list().size(), 2U * task_count) << "something is there twice";
  }

  bool everything_done() const { return acknowledged_.size() == task_count; }

 private:
  // Repeats the call until it succeeds or its caller gives up.
  template <class Call>
  auto insist(Call call) -> decltype(call()) {
    auto result = call();
    for (int again = 1; again < tries_ && !result; ++again) result = call();
    return result;
  }

  bool make_queues() {
    for (const char* name : {"work", "hooks"}) {
      const QueueSettings settings = queue(name);
      if (!insist([&] { return store_.put_queue(settings, PutQueue::create, now_); })) return false;
    }
    return true;
  }

  bool put() {
    const auto result = insist([&] { return store_.put(tasks_, now_); });
    if (!result || !insist([&] { return store_.flush(); })) return false;
    for (const auto& each : *result) EXPECT_THAT(each, IsOk());
    put_acknowledged_ = true;
    return true;
  }

  // Repeating a take is safe as well: tasks whose lease got lost with the answer come back later.
  bool work() {
    const std::vector<TakeRequest> takes = {
        {.worker = "w", .queues = {{.queue = "work", .most = 2}}}};
    const auto taken = insist([&] { return store_.work({}, {}, takes, now_); });
    if (!taken) return false;
    for (const Lease& lease : must(taken->taken.at(0))) {
      const std::vector<Settlement> settlements = {with(done(lease, "ok"), {hooks_.at(lease.id)})};
      const auto settled = insist([&] { return store_.work(settlements, {}, {}, now_); });
      if (!settled || !insist([&] { return store_.flush(); })) return false;
      EXPECT_THAT(settled->settled.at(0), IsOk()) << "applied, or already";
      acknowledged_.insert(lease.id);
    }
    return true;
  }

  bool upkeep() {
    const auto overdue = insist([&] { return store_.due(now_, {.limit = 100}); });
    if (!overdue) return false;
    std::vector<Settlement> losses;
    for (const Overdue& each : *overdue) losses.push_back(lost(each, now_));
    // A repeated loss answers lease_lost for each item, which is as good.
    return insist([&] { return store_.work(losses, {}, {}, now_); }).has_value() &&
           insist([&] { return store_.advance(now_, 100); }).has_value();
  }

  Store& store_;
  int tries_;
  TimePoint now_ = t0;
  std::vector<NewTask> tasks_;
  std::map<TaskId, NewTask> hooks_;
  bool put_acknowledged_ = false;
  std::set<TaskId> acknowledged_;
};

// Runs the scenario with call 1 failing, then call 2, … until a run meets no fault.
template <class Check>
void for_each_fault(const StoreFactory& factory, const Fault& fault, int tries, Check check) {
  for (std::uint64_t call = 1;; ++call) {
    const auto inner = factory.make();
    FaultyStore faulty(*inner);
    Fault planned = fault;
    planned.call = call;
    faulty.plan(planned);
    Scenario scenario(faulty, tries);
    scenario.run();
    SCOPED_TRACE("call " + std::to_string(call) + " failed " +
                 (fault.when == Fault::When::before ? "before" : "after") + " it was applied");
    check(scenario, *inner);
    if (faulty.faults() > 0) continue;
    EXPECT_GT(call, 30U) << "the scenario is too short to say anything";
    return;
  }
}

TEST_P(StoreConformance, any_call_may_fail_once_and_be_repeated) {
  for (const auto when : {Fault::When::before, Fault::When::after}) {
    for_each_fault(GetParam(), {.when = when}, 2, [](Scenario& scenario, Store& inner) {
      scenario.check(inner);
      EXPECT_TRUE(scenario.everything_done());
    });
  }
}

TEST_P(StoreConformance, nothing_acknowledged_is_lost_when_every_call_fails_from_some_moment_on) {
  for (const auto when : {Fault::When::before, Fault::When::after}) {
    for_each_fault(GetParam(), {.when = when, .lasting = true}, 1,
                   [](Scenario& scenario, Store& inner) { scenario.check(inner); });
  }
}

}  // namespace
}  // namespace millrace::test
