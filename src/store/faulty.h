// A Store that fails when told to: a decorator for tests.
//
// Run a scenario with call 1 failing, then call 2, and so on until a run meets no fault; after each
// run check what must hold (tests/conformance/faults.cc).
#pragma once

#include "store/forwarding.h"

namespace millrace {

struct Fault {
  enum class When : std::uint8_t {
    before,  // nothing happens to the store behind
    after,   // the call is applied and its answer is lost
  };

  std::uint64_t call = 1;  // which call fails, counted from 1
  When when = When::before;
  Error error = {.code = ErrorCode::unavailable, .message = "injected fault"};
  bool lasting = false;  // every call from that one on fails; the later ones change nothing
};

// Counts every call but traits(). For one thread.
class FaultyStore : public ForwardingStore {
 public:
  explicit FaultyStore(Store& inner) : ForwardingStore(inner) {}

  // Counts from 1 again and plans one fault, instead of the one planned before.
  void plan(Fault fault);
  // No more faults; the count goes on.
  void heal();

  std::uint64_t calls() const { return calls_; }
  std::uint64_t faults() const { return faults_; }  // calls failed since the last plan()

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
  Result<Group> put_group(const PutGroup& change, TimePoint now) override;
  Result<GroupPage> groups(const GroupsRequest& request, TimePoint now) override;
  Result<Schedule> put_schedule(const Schedule& schedule, PutSchedule mode, TimePoint now) override;
  Result<void> remove_schedule(std::string_view name, TimePoint now) override;
  Result<std::vector<Schedule>> schedules(const std::optional<std::string>& name) override;
  Result<Fired> fire(const Fire& tick, TimePoint now) override;
  Result<Memo> remember(const Remember& request, TimePoint now) override;
  Result<std::vector<Memo>> recall(const Recall& request, TimePoint now) override;
  Result<std::optional<TimePoint>> time() override;
  Result<std::vector<std::string>> ready(TimePoint now) override;

 private:
  // Makes the call, or fails in its place.
  template <class Call>
  auto through(Call call) -> decltype(call());

  std::optional<Fault> fault_;
  std::uint64_t calls_ = 0;
  std::uint64_t faults_ = 0;
};

}  // namespace millrace
