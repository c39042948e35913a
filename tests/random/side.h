// One store under a random sequence: runs steps on it, fills in what only this store knows, and
// makes its answers comparable with another store's.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/values.h"
#include "store/store.h"
#include "tests/random/answer.h"
#include "tests/random/operation.h"

namespace millrace::test {

class Side {
 public:
  explicit Side(std::unique_ptr<Store> store) : store_(std::move(store)) {}

  Answer run(const Operation& operation);

  Store& store() { return *store_; }
  void reopen(const auto& reopened) { store_ = reopened(std::move(store_)); }
  TaskNumber number_of(const TaskId& id) const;
  // The last lease given for the task, as the store gave it; null if there was none.
  const Lease* last_lease(const TaskId& id) const;
  // What this side found wrong with its own store in the last step.
  const std::vector<Note>& complaints() const { return complaints_; }

  // The store came back from a crash, without changes that were never acknowledged: numbers and
  // versions after these, and these tokens, may be given again. Leases that were lost stay in the
  // book, as leases that must not count any more.
  void rewind(TaskNumber last_number, std::uint64_t last_version, const std::set<Token>& unflushed);

 private:
  struct GivenLease {
    Lease lease;
    TimePoint until{};  // the last known end
  };

  Answer call(const PutStep& step, TimePoint now);
  Answer call(const PutAllStep& step, TimePoint now);
  Answer call(const WorkStep& step, TimePoint now);
  Answer call(const DueStep& step, TimePoint now);
  Answer call(const SettleDueStep& step, TimePoint now);
  Answer call(const AdvanceStep& step, TimePoint now);
  Answer call(const FindStep& step, TimePoint now);
  Answer call(const ListStep& step, TimePoint now);
  Answer call(const CountsStep& step, TimePoint now);
  Answer call(const CancelStep& step, TimePoint now);
  Answer call(const RetryStep& step, TimePoint now);
  Answer call(const RemoveStep& step, TimePoint now);
  Answer call(const UpdateStep& step, TimePoint now);
  Answer call(const RestoreStep& step, TimePoint now);
  Answer call(const PutQueueStep& step, TimePoint now);
  Answer call(const QueuesStep& step, TimePoint now);
  Answer call(const RemoveQueueStep& step, TimePoint now);
  Answer call(const ClearStep& step, TimePoint now);
  Answer call(const PutGroupStep& step, TimePoint now);
  Answer call(const GroupsStep& step, TimePoint now);
  Answer call(const PutScheduleStep& step, TimePoint now);
  Answer call(const RemoveScheduleStep& step, TimePoint now);
  Answer call(const SchedulesStep& step, TimePoint now);
  Answer call(const FireStep& step, TimePoint now);
  Answer call(const RememberStep& step, TimePoint now);
  Answer call(const RecallStep& step, TimePoint now);
  Answer call(const WaitStep& step, TimePoint now);
  // Queues, counters, groups, schedules, memos, every task in every list and by its id.
  Answer call(const LookStep& step, TimePoint now);

  // Filling in.
  Token token(const TaskId& id, TokenPick pick) const;
  Settlement filled(const SettlePart& part);
  Settlement decided(const Overdue& overdue, bool exhaust, TimePoint now);
  Answer work(std::span<const Settlement> settlements, std::span<const Extension> extensions,
              std::span<const TakeRequest> takes, TimePoint now);

  // Making comparable.
  Answer puts(const Result<std::vector<Result<Put>>>& results);
  Put comparable(Put put);
  Lease comparable(Lease lease);
  Overdue comparable(Overdue overdue);
  Task comparable(Task task);
  Memo comparable(Memo memo);
  Token rank(const TaskId& id, Token token) const;
  void heard(const TaskId& id, TaskNumber& number, bool fresh);
  void given(const Lease& lease);
  void note_ids(const Operation& operation);
  Result<std::vector<Task>> walk(ListRequest request);
  void complain(std::string text) { complaints_.push_back({std::move(text)}); }

  std::unique_ptr<Store> store_;
  std::map<TaskId, std::vector<GivenLease>> leases_;  // by task, oldest first
  std::set<Token> tokens_;                            // every one ever given
  std::map<TaskId, TaskNumber> numbers_;
  TaskNumber greatest_ = {};
  std::map<std::string, std::vector<std::uint64_t>> memo_versions_;  // by key, oldest first
  std::vector<Overdue> last_due_;
  std::set<TaskId> ids_;          // every task that the steps could have added
  std::vector<Note> complaints_;  // of the step being run
};

}  // namespace millrace::test
