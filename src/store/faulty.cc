#include "store/faulty.h"

#include <utility>

namespace millrace {

void FaultyStore::plan(Fault fault) {
  fault_ = std::move(fault);
  calls_ = 0;
  faults_ = 0;
}

void FaultyStore::heal() {
  fault_.reset();
}

template <class Call>
auto FaultyStore::through(Call call) -> decltype(call()) {
  ++calls_;
  const bool first = fault_ && calls_ == fault_->call;
  const bool later = fault_ && fault_->lasting && calls_ > fault_->call;
  if (!first && !later) return call();
  ++faults_;
  if (first && fault_->when == Fault::When::after) static_cast<void>(call());
  return std::unexpected(fault_->error);
}

Result<std::vector<Result<Put>>> FaultyStore::put(std::span<const NewTask> tasks, TimePoint now) {
  return through([&] { return ForwardingStore::put(tasks, now); });
}

Result<std::vector<Put>> FaultyStore::put_all(std::span<const NewTask> tasks, TimePoint now) {
  return through([&] { return ForwardingStore::put_all(tasks, now); });
}

Result<WorkResult> FaultyStore::work(std::span<const Settlement> settlements,
                                     std::span<const Extension> extensions,
                                     std::span<const TakeRequest> takes, TimePoint now) {
  return through([&] { return ForwardingStore::work(settlements, extensions, takes, now); });
}

Result<void> FaultyStore::flush() {
  return through([&] { return ForwardingStore::flush(); });
}

Result<std::vector<Overdue>> FaultyStore::due(TimePoint now, const DueRequest& request) {
  return through([&] { return ForwardingStore::due(now, request); });
}

Result<Advanced> FaultyStore::advance(TimePoint now, std::size_t limit) {
  return through([&] { return ForwardingStore::advance(now, limit); });
}

Result<std::vector<Result<Task>>> FaultyStore::find(std::span<const TaskRef> tasks, Parts parts) {
  return through([&] { return ForwardingStore::find(tasks, parts); });
}

Result<TaskPage> FaultyStore::list(const ListRequest& request) {
  return through([&] { return ForwardingStore::list(request); });
}

Result<std::vector<QueueCounts>> FaultyStore::counts(const std::optional<QueueRef>& queue,
                                                     TimePoint now) {
  return through([&] { return ForwardingStore::counts(queue, now); });
}

Result<std::vector<Result<TaskState>>> FaultyStore::cancel(std::span<const CancelRequest> requests,
                                                           TimePoint now) {
  return through([&] { return ForwardingStore::cancel(requests, now); });
}

Result<std::vector<Result<TaskState>>> FaultyStore::retry(std::span<const TaskId> tasks,
                                                          TimePoint now) {
  return through([&] { return ForwardingStore::retry(tasks, now); });
}

Result<std::vector<Result<TaskState>>> FaultyStore::remove(std::span<const TaskId> tasks,
                                                           TimePoint now) {
  return through([&] { return ForwardingStore::remove(tasks, now); });
}

Result<std::vector<Result<TaskState>>> FaultyStore::update(std::span<const TaskUpdate> updates,
                                                           TimePoint now) {
  return through([&] { return ForwardingStore::update(updates, now); });
}

Result<std::vector<Result<Put>>> FaultyStore::restore(std::span<const Task> tasks, TimePoint now) {
  return through([&] { return ForwardingStore::restore(tasks, now); });
}

Result<Queue> FaultyStore::put_queue(const QueueSettings& settings, PutQueue mode, TimePoint now) {
  return through([&] { return ForwardingStore::put_queue(settings, mode, now); });
}

Result<std::vector<Queue>> FaultyStore::queues(const std::optional<QueueRef>& queue) {
  return through([&] { return ForwardingStore::queues(queue); });
}

Result<void> FaultyStore::remove_queue(const QueueRef& queue, bool force, TimePoint now) {
  return through([&] { return ForwardingStore::remove_queue(queue, force, now); });
}

Result<std::size_t> FaultyStore::clear(const QueueRef& queue, std::size_t limit, TimePoint now) {
  return through([&] { return ForwardingStore::clear(queue, limit, now); });
}

Result<Group> FaultyStore::put_group(const PutGroup& change, TimePoint now) {
  return through([&] { return ForwardingStore::put_group(change, now); });
}

Result<GroupPage> FaultyStore::groups(const GroupsRequest& request, TimePoint now) {
  return through([&] { return ForwardingStore::groups(request, now); });
}

Result<Schedule> FaultyStore::put_schedule(const Schedule& schedule, PutSchedule mode,
                                           TimePoint now) {
  return through([&] { return ForwardingStore::put_schedule(schedule, mode, now); });
}

Result<void> FaultyStore::remove_schedule(std::string_view name, TimePoint now) {
  return through([&] { return ForwardingStore::remove_schedule(name, now); });
}

Result<std::vector<Schedule>> FaultyStore::schedules(const std::optional<std::string>& name) {
  return through([&] { return ForwardingStore::schedules(name); });
}

Result<Fired> FaultyStore::fire(const Fire& tick, TimePoint now) {
  return through([&] { return ForwardingStore::fire(tick, now); });
}

Result<Memo> FaultyStore::remember(const Remember& request, TimePoint now) {
  return through([&] { return ForwardingStore::remember(request, now); });
}

Result<std::vector<Memo>> FaultyStore::recall(const Recall& request, TimePoint now) {
  return through([&] { return ForwardingStore::recall(request, now); });
}

Result<std::optional<TimePoint>> FaultyStore::time() {
  return through([&] { return ForwardingStore::time(); });
}

Result<std::vector<std::string>> FaultyStore::ready(TimePoint now) {
  return through([&] { return ForwardingStore::ready(now); });
}

}  // namespace millrace
