// A store under watch: every call goes to the store under test and to its shadow, and the answers
// have to be the same. It outlives crashes; the store behind it is replaced.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "tests/sim/shadow.h"
#include "tests/sim/sim_disk.h"
#include "tests/sim/subject.h"

namespace millrace::test {

class Watched final : public Store {
 public:
  Watched(SimDisk& machine, const SubjectOptions& options) : machine_(machine), shadow_(options) {}

  // ---- Driving ---------------------------------------------------------------------------------

  // The store under test is open, with a state that the shadow knows.
  void open(Subject subject) { subject_ = std::move(subject), failed_ = false; }
  void close() { subject_ = {}; }
  Subject& subject() { return subject_; }
  Shadow& shadow() { return shadow_; }

  // The store answered `unavailable` and has to be opened again.
  bool failed() const { return failed_; }
  // Reads that were answered `unavailable` or `corrupt`, whether the store has failed or goes on.
  std::uint64_t failed_reads() const { return failed_reads_; }
  // The first thing that was wrong; empty: nothing so far.
  const std::string& complaint() const { return complaint_; }

  // The disk is full or may seem full: puts may be refused.
  void allow_refusals(bool on) { refusals_ = on; }
  // The files were damaged under the running store: it may notice, but not answer wrongly.
  void allow_corruption() { corruption_ = true; }

  // Tokens given since the last flush: no caller has received them.
  const std::set<Token>& unflushed() const { return unflushed_; }
  void forget_unflushed() { unflushed_.clear(); }
  // Boots whose tokens were received by callers.
  const std::set<std::uint32_t>& told_epochs() const { return told_epochs_; }

  // Calls of every kind on a store that has failed: all must say so.
  void check_failed_store(TimePoint now);

  // ---- The contract ----------------------------------------------------------------------------

  Result<std::vector<Result<Put>>> put(std::span<const NewTask> tasks, TimePoint now) override;
  Result<std::vector<Put>> put_all(std::span<const NewTask> tasks, TimePoint now) override;
  Result<WorkResult> work(std::span<const Settlement> settlements,
                          std::span<const Extension> extensions, std::span<const TakeRequest> takes,
                          TimePoint now) override;
  Result<void> flush() override;
  Result<std::vector<Overdue>> due(TimePoint now, const DueRequest& request) override;
  Result<Advanced> advance(TimePoint now, std::size_t limit) override;
  Result<std::vector<Result<Task>>> find(std::span<const TaskRef> tasks, Parts parts) override;
  Result<TaskPage> list(const ListRequest& request) override;
  Result<std::vector<QueueCounts>> counts(const std::optional<QueueRef>& queue,
                                          TimePoint now) override;
  Result<std::vector<Result<TaskState>>> cancel(std::span<const CancelRequest> requests,
                                                TimePoint now) override;
  Result<std::vector<Result<TaskState>>> retry(std::span<const TaskId> tasks,
                                               TimePoint now) override;
  Result<std::vector<Result<TaskState>>> remove(std::span<const TaskId> tasks,
                                                TimePoint now) override;
  Result<std::vector<Result<TaskState>>> update(std::span<const TaskUpdate> updates,
                                                TimePoint now) override;
  Result<std::vector<Result<Put>>> restore(std::span<const Task> tasks, TimePoint now) override;
  Result<Queue> put_queue(const QueueSettings& settings, PutQueue mode, TimePoint now) override;
  Result<std::vector<Queue>> queues(const std::optional<QueueRef>& queue) override;
  Result<void> remove_queue(const QueueRef& queue, bool force, TimePoint now) override;
  Result<std::size_t> clear(const QueueRef& queue, std::size_t limit, TimePoint now) override;
  Result<Group> put_group(const PutGroup& group, TimePoint now) override;
  Result<GroupPage> groups(const GroupsRequest& request, TimePoint now) override;
  Result<Schedule> put_schedule(const Schedule& schedule, PutSchedule mode, TimePoint now) override;
  Result<void> remove_schedule(std::string_view name, TimePoint now) override;
  Result<std::vector<Schedule>> schedules(const std::optional<std::string>& name) override;
  Result<Fired> fire(const Fire& tick, TimePoint now) override;
  Result<Memo> remember(const Remember& request, TimePoint now) override;
  Result<std::vector<Memo>> recall(const Recall& request, TimePoint now) override;
  Result<std::optional<TimePoint>> time() override;
  Traits traits() const override;
  Result<std::vector<std::string>> ready(TimePoint now) override;

 private:
  // `call` holds a copy of everything, so that it can be made again on a later shadow.
  template <class Call>
  auto change(const char* name, TimePoint now, Call call) -> decltype(call(std::declval<Store&>()));
  template <class Call>
  auto ask(const char* name, const Call& call) -> decltype(call(std::declval<Store&>()));

  // What an error of the whole call means, where the shadow expected none.
  enum class Meaning : std::uint8_t { answer, failure, refusal };
  Meaning meaning(const char* name, const std::optional<Error>& error);
  void complain(std::string text);

  SimDisk& machine_;
  Shadow shadow_;
  Subject subject_;
  std::string complaint_;
  std::set<Token> unflushed_;
  std::set<std::uint32_t> told_epochs_;
  TimePoint moment_{};  // of the last change
  bool failed_ = false;
  std::uint64_t failed_reads_ = 0;
  bool refusals_ = false;
  bool corruption_ = false;
};

}  // namespace millrace::test
