#include "tests/random/broken.h"

#include <algorithm>
#include <map>
#include <ostream>

#include "core/validate.h"
#include "store/forwarding.h"
#include "store/store.h"
#include "tests/support/model_store.h"

namespace millrace::test {

namespace {

// Owns the good store behind it. The ids of tasks decide which ones a defect hits, so that it stays
// when other steps are dropped.
class Broken : public ForwardingStore {
 public:
  Broken() : Broken(std::make_unique<ModelStore>()) {}

 protected:
  static bool unlucky(const TaskId& id, int one_in) { return id.value.bytes.back() % one_in == 0; }
  Store& good() { return *good_; }

 private:
  explicit Broken(std::unique_ptr<Store> good) : ForwardingStore(*good), good_(std::move(good)) {}

  std::unique_ptr<Store> good_;
};

// Changes settlements on their way in.
class BrokenSettle : public Broken {
 public:
  Result<WorkResult> work(std::span<const Settlement> settlements,
                          std::span<const Extension> extensions, std::span<const TakeRequest> takes,
                          TimePoint now) override {
    std::vector<Settlement> changed(settlements.begin(), settlements.end());
    for (auto& settlement : changed) change(settlement);
    auto result = Broken::work(changed, extensions, takes, now);
    if (result) {
      for (const auto& taken : result->taken) {
        for (const auto& lease : taken.value_or(std::vector<Lease>{})) {
          tokens_[lease.id] = lease.token;
        }
      }
    }
    return result;
  }

 protected:
  virtual void change(Settlement& settlement) = 0;
  std::map<TaskId, Token> tokens_;  // of the last lease
};

class NoFence : public BrokenSettle {
  void change(Settlement& settlement) override {
    auto* held = std::get_if<Held>(&settlement.expect);
    if (held != nullptr && unlucky(settlement.id, 5)) held->token = tokens_[settlement.id];
  }
};

class LostAfterExtend : public BrokenSettle {
  void change(Settlement& settlement) override {
    auto* lost = std::get_if<Lost>(&settlement.expect);
    const auto task = find_task(good(), settlement.id);
    if (lost != nullptr && task && task->lease_until) lost->until = *task->lease_until;
  }
};

class NoFollowUps : public BrokenSettle {
  void change(Settlement& settlement) override {
    if (settlement.event == Event::exhaust) settlement.follow_ups.clear();
  }
};

class WrongTies : public Broken {
 public:
  Result<WorkResult> work(std::span<const Settlement> settlements,
                          std::span<const Extension> extensions, std::span<const TakeRequest> takes,
                          TimePoint now) override {
    auto result = Broken::work(settlements, extensions, takes, now);
    if (!result) return result;
    for (auto& taken : result->taken) {
      if (!taken) continue;
      for (std::size_t i = 1; i < taken->size(); ++i) {
        auto& a = (*taken)[i - 1];
        auto& b = (*taken)[i];
        if (a.queue == b.queue && a.priority == b.priority && a.start == b.start) std::swap(a, b);
      }
    }
    return result;
  }
};

class ForgottenCounter : public Broken {
 public:
  Result<std::vector<QueueCounts>> counts(const std::optional<QueueRef>& queue,
                                          TimePoint now) override {
    auto result = Broken::counts(queue, now);
    if (!result) return result;
    for (auto& counts : *result) {
      auto& retrying = counts.by[static_cast<std::size_t>(TaskState::retrying)];
      for (auto& count : retrying) count = std::min<std::uint64_t>(count, 1);
    }
    return result;
  }
};

class TwoHolders : public Broken {
 public:
  Result<std::vector<Result<Put>>> put(std::span<const NewTask> tasks, TimePoint now) override {
    std::vector<NewTask> changed(tasks.begin(), tasks.end());
    for (auto& task : changed) {
      if (task.held) task.unique.reset();
    }
    return Broken::put(changed, now);
  }
};

class BlindSwap : public Broken {
 public:
  Result<Memo> remember(const Remember& request, TimePoint now) override {
    auto changed = request;
    if (request.lifetime) changed.expected.reset();
    return Broken::remember(changed, now);
  }
};

class BlindQueue : public Broken {
 public:
  Result<Queue> put_queue(const QueueSettings& settings, PutQueue mode, TimePoint now) override {
    mode.seen.reset();
    return Broken::put_queue(settings, mode, now);
  }
};

class BlindSchedule : public Broken {
 public:
  Result<Schedule> put_schedule(const Schedule& schedule, PutSchedule mode,
                                TimePoint now) override {
    mode.seen.reset();
    return Broken::put_schedule(schedule, mode, now);
  }
};

class BlindGroup : public Broken {
 public:
  Result<Group> put_group(const PutGroup& change, TimePoint now) override {
    auto changed = change;
    const auto page = Broken::groups({.queue = change.queue, .name = change.name}, now);
    if (page) changed.seen = page->groups.front().override;
    return Broken::put_group(changed, now);
  }
};

class NoCorrection : public BrokenSettle {
  void change(Settlement& settlement) override { settlement.cost.reset(); }
};

// Works by other rules for groups than it says.
class OtherRules : public Broken {
 public:
  Result<Queue> put_queue(const QueueSettings& settings, PutQueue mode, TimePoint now) override {
    const bool there = Broken::queues(QueueRef(settings.name)).has_value();
    auto changed = settings;
    // What is refused stays refused.
    if (settings.groups && validate(settings)) change(*changed.groups);
    auto result = Broken::put_queue(changed, mode, now);
    if (result && (mode.replaces || !there)) said_[settings.name] = settings.groups;
    if (result) result->settings.groups = said_[settings.name];
    return result;
  }
  Result<std::vector<Queue>> queues(const std::optional<QueueRef>& queue) override {
    auto result = Broken::queues(queue);
    if (!result) return result;
    for (auto& each : *result) each.settings.groups = said_[each.settings.name];
    return result;
  }

 protected:
  virtual void change(GroupRules& rules) = 0;
  std::map<std::string, std::optional<GroupRules>> said_;
};

class RetriesPass : public OtherRules {
  void change(GroupRules& rules) override { rules.retry_holds = false; }
};

class NoTurns : public OtherRules {
  void change(GroupRules& rules) override {
    if (rules.order == GroupOrder::fair) rules.order = GroupOrder::arrival;
  }
};

class OneTooMany : public OtherRules {
  void change(GroupRules& rules) override {
    if (rules.order != GroupOrder::serial && rules.max_concurrent) ++*rules.max_concurrent;
  }
};

class CountsTasks : public OtherRules {
  void change(GroupRules& rules) override { rules.rate_of = RateOf::tasks; }
};

class LatePromotion : public Broken {
 public:
  Result<Advanced> advance(TimePoint now, std::size_t limit) override {
    return Broken::advance(now - Duration(1), limit);
  }
};

class ShortList : public Broken {
 public:
  Result<TaskPage> list(const ListRequest& request) override {
    auto page = Broken::list(request);
    if (page && page->next) --page->next->value;
    return page;
  }
};

template <class T>
std::unique_ptr<Store> make() {
  return std::make_unique<T>();
}

}  // namespace

void PrintTo(const Defect& defect, std::ostream* os) {
  *os << defect.name;
}

const std::vector<Defect>& defects() {
  static const std::vector<Defect> all = {
      {"SettlesWithAnyToken", make<NoFence>},
      {"LosesAnExtendedLease", make<LostAfterExtend>},
      {"DropsFollowUps", make<NoFollowUps>},
      {"GivesTiesInTheWrongOrder", make<WrongTies>},
      {"ForgetsACounter", make<ForgottenCounter>},
      {"LetsTwoTasksHoldAKey", make<TwoHolders>},
      {"SwapsWithoutComparing", make<BlindSwap>},
      {"ChangesAQueueWithoutLooking", make<BlindQueue>},
      {"ChangesAScheduleWithoutLooking", make<BlindSchedule>},
      {"ChangesAGroupWithoutLooking", make<BlindGroup>},
      {"NeverCorrectsACost", make<NoCorrection>},
      {"PassesOverRetriesOfASerialGroup", make<RetriesPass>},
      {"GivesGroupsNoTurns", make<NoTurns>},
      {"RunsOneTooManyOfAGroup", make<OneTooMany>},
      {"CountsTasksWhereItSaysCosts", make<CountsTasks>},
      {"PromotesAMillisecondLate", make<LatePromotion>},
      {"SkipsATaskBetweenPages", make<ShortList>},
  };
  return all;
}

}  // namespace millrace::test
