// Watches one store and complains when it breaks a rule that holds for every store: one live lease
// per task, which stays until it is settled; leases in order; running tasks and rates within their
// limits, of queues and of groups; groups in strict order; overrides that stay until they end; one
// holder per unique key; finished tasks that do not change; no task that vanishes; each tick fired
// once; counters equal to a recount.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/random/answer.h"
#include "tests/random/operation.h"
#include "tests/random/side.h"

namespace millrace::test {

class Witness {
 public:
  explicit Witness(Side& side) : side_(&side) {}

  // After each step.
  void saw(const Operation& operation, const Answer& answer);

  // The first thing that was wrong; empty: nothing so far.
  const std::string& complaint() const { return complaint_; }

 private:
  void looked(const Answer& answer);
  void saw_work(const WorkStep& step, const Answer& answer, TimePoint now);
  void saw_leases(const std::vector<Lease>& leases, TimePoint now);
  void saw_states(const std::vector<TaskId>& ids, const Answer& answer, std::set<TaskId>& into);
  void saw_updates(const UpdateStep& step, const Answer& answer);
  void saw_fire(const FireStep& step, const Answer& answer);
  void settled(const std::vector<TaskId>& ids, const Answer& answer);
  void check_order(const std::vector<Lease>& leases, const QueueSettings& settings, TimePoint now);
  void check_rate(const QueueSettings& settings, std::size_t given, TimePoint now);
  void check_groups(const std::vector<Lease>& leases, const QueueSettings& settings, TimePoint now);
  void check_strict_order(const Lease& lease, const GroupRules& rules, TimePoint now);
  void saw_rules(const Answer& answer);
  void saw_override(const PutGroupStep& step, const Answer& answer);
  void check_overrides(const Answer& answer);
  void recount(const std::map<TaskId, Task>& tasks, const Answer& answer);
  void recount_groups(const std::map<TaskId, Task>& tasks, const Answer& answer);
  void check_keys(const std::map<TaskId, Task>& tasks);
  void check_stay(const std::map<TaskId, Task>& tasks);
  void check_running(const std::map<TaskId, Task>& tasks);
  bool may_be_gone(const Task& task) const;
  void complain(std::string text);

  struct Uses {
    Rate rate;
    std::vector<TimePoint> moments;
  };

  struct Override {
    GroupOverride override;
    TimePoint queue_created_at{};  // one of the same name may have been made since
  };

  Side* side_;
  std::string complaint_;
  TimePoint latest_ = TimePoint::min();
  std::map<std::pair<std::string, std::string>, Override> overrides_;  // by queue and group
  std::set<TaskNumber> running_;  // under a lease that was not settled
  std::vector<TaskId> due_;
  std::map<std::string, Uses> uses_;                   // by queue
  std::set<std::pair<std::string, TimePoint>> ticks_;  // fired, since the schedule was put
  // At the last look; shared by the copies of this witness that the simulator makes at every step.
  std::shared_ptr<const std::map<TaskId, Task>> seen_;
  std::set<TaskId> revived_, ended_, removed_;     // since then
  std::set<std::string> cleared_, emptying_;       // queues, since then
  std::map<TaskId, std::set<std::string>> moved_;  // and where to, since then
};

}  // namespace millrace::test
