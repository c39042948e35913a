// The Store contract over state machine and log.
//
// A call changes the state and appends what changed to the log; flush() brings the log to the disk.
// After anything that makes the two differ - a failed write or sync, bytes that a change needs and
// cannot read back - the store has failed for good, and only what is on disk counts. A read that
// cannot get its bytes is answered so, and the store goes on.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "disk/disk.h"
#include "store/embedded/journal/blob_reader.h"
#include "store/embedded/journal/cleaner.h"
#include "store/embedded/journal/journal.h"
#include "store/embedded/journal/log.h"
#include "store/embedded/journal/log_loader.h"
#include "store/embedded/journal/opening.h"
#include "store/embedded/journal/segments.h"
#include "store/embedded/journal/spares.h"
#include "store/embedded/state_machine.h"

namespace millrace::embedded {

class JournalStore final : public Store {
 public:
  JournalStore(std::unique_ptr<Disk> disk, JournalOptions options);
  JournalStore(const JournalStore&) = delete;
  JournalStore& operator=(const JournalStore&) = delete;
  ~JournalStore() override;

  // Reads the journal, and begins to write it unless it is only read.
  Result<void> open();

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
  Result<millrace::Group> put_group(const PutGroup& group, TimePoint now) override;
  Result<GroupPage> groups(const GroupsRequest& request, TimePoint now) override;

  Result<Schedule> put_schedule(const Schedule& schedule, PutSchedule mode, TimePoint now) override;
  Result<void> remove_schedule(std::string_view name, TimePoint now) override;
  Result<std::vector<Schedule>> schedules(const std::optional<std::string>& name) override;
  Result<Fired> fire(const Fire& tick, TimePoint now) override;

  Result<Memo> remember(const Remember& request, TimePoint now) override;
  Result<std::vector<Memo>> recall(const Recall& request, TimePoint now) override;
  Result<std::optional<TimePoint>> time() override { return std::nullopt; }
  Traits traits() const override;
  Result<std::vector<std::string>> ready(TimePoint now) override;

  State& state() { return machine_->state(); }
  const Opened& opened() const { return opened_; }
  Position log_end() const { return log_.end(); }
  std::uint64_t log_first() const { return log_.first(); }
  Segments& segments() { return segments_; }

 private:
  enum class Reserve : bool { may_use, must_leave };  // the last segments of space

  Result<void> go_on_from(Opened& opened);
  Result<void> prove_end(const Opened& opened);
  Result<void> remove_unneeded(const Opened& opened);
  LoadFromLog open_log();

  auto ask(const auto& call) -> decltype(call());
  auto change(Reserve reserve, std::size_t bytes, const auto& call) -> decltype(call());
  std::size_t bytes_of_moved(std::span<const TaskUpdate> updates) const;
  Result<void> before_change(Reserve reserve, std::size_t bytes);
  Result<void> after_change();
  Result<void> clean(std::size_t appended);
  Result<void> check_failed() const;
  auto guarded(const auto& call) -> decltype(call());
  std::uint64_t live_bytes() const;
  void saw(TimePoint now) { now_.store(now.time_since_epoch().count()); }

  std::unique_ptr<Disk> disk_;
  JournalOptions options_;
  Segments segments_;
  BlobReader blobs_;
  Spares spares_;
  Log log_;
  Cleaner cleaner_;
  std::unique_ptr<StateMachine> machine_;
  Opened opened_;
  Records records_;  // of the call at hand
  bool reported_full_ = false;
  std::atomic<Duration::rep> now_ = 0;  // the latest moment given, for the mode `interval`
};

}  // namespace millrace::embedded
