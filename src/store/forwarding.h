// A Store that hands every call on to another one. Decorators override only what they change.
#pragma once

#include "store/store.h"

namespace millrace {

class ForwardingStore : public Store {
 public:
  // The store behind must outlive this one.
  explicit ForwardingStore(Store& inner) : inner_(inner) {}

  Result<std::vector<Result<Put>>> put(std::span<const NewTask> tasks, TimePoint now) override {
    return inner_.put(tasks, now);
  }
  Result<std::vector<Put>> put_all(std::span<const NewTask> tasks, TimePoint now) override {
    return inner_.put_all(tasks, now);
  }
  Result<WorkResult> work(std::span<const Settlement> settlements,
                          std::span<const Extension> extensions, std::span<const TakeRequest> takes,
                          TimePoint now) override {
    return inner_.work(settlements, extensions, takes, now);
  }
  Result<void> flush() override { return inner_.flush(); }

  Result<std::vector<Overdue>> due(TimePoint now, const DueRequest& request) override {
    return inner_.due(now, request);
  }
  Result<Advanced> advance(TimePoint now, std::size_t limit) override {
    return inner_.advance(now, limit);
  }

  Result<std::vector<Result<Task>>> find(std::span<const TaskRef> tasks, Parts parts) override {
    return inner_.find(tasks, parts);
  }
  Result<TaskPage> list(const ListRequest& request) override { return inner_.list(request); }
  Result<std::vector<QueueCounts>> counts(const std::optional<QueueRef>& queue,
                                          TimePoint now) override {
    return inner_.counts(queue, now);
  }
  Result<std::vector<Result<TaskState>>> cancel(std::span<const CancelRequest> requests,
                                                TimePoint now) override {
    return inner_.cancel(requests, now);
  }
  Result<std::vector<Result<TaskState>>> retry(std::span<const TaskId> tasks,
                                               TimePoint now) override {
    return inner_.retry(tasks, now);
  }
  Result<std::vector<Result<TaskState>>> remove(std::span<const TaskId> tasks,
                                                TimePoint now) override {
    return inner_.remove(tasks, now);
  }
  Result<std::vector<Result<TaskState>>> update(std::span<const TaskUpdate> updates,
                                                TimePoint now) override {
    return inner_.update(updates, now);
  }
  Result<std::vector<Result<Put>>> restore(std::span<const Task> tasks, TimePoint now) override {
    return inner_.restore(tasks, now);
  }

  Result<Queue> put_queue(const QueueSettings& settings, PutQueue mode, TimePoint now) override {
    return inner_.put_queue(settings, mode, now);
  }
  Result<std::vector<Queue>> queues(const std::optional<QueueRef>& queue) override {
    return inner_.queues(queue);
  }
  Result<void> remove_queue(const QueueRef& queue, bool force, TimePoint now) override {
    return inner_.remove_queue(queue, force, now);
  }
  Result<std::size_t> clear(const QueueRef& queue, std::size_t limit, TimePoint now) override {
    return inner_.clear(queue, limit, now);
  }

  Result<Group> put_group(const PutGroup& change, TimePoint now) override {
    return inner_.put_group(change, now);
  }
  Result<GroupPage> groups(const GroupsRequest& request, TimePoint now) override {
    return inner_.groups(request, now);
  }

  Result<Schedule> put_schedule(const Schedule& schedule, PutSchedule mode,
                                TimePoint now) override {
    return inner_.put_schedule(schedule, mode, now);
  }
  Result<void> remove_schedule(std::string_view name, TimePoint now) override {
    return inner_.remove_schedule(name, now);
  }
  Result<std::vector<Schedule>> schedules(const std::optional<std::string>& name) override {
    return inner_.schedules(name);
  }
  Result<Fired> fire(const Fire& tick, TimePoint now) override { return inner_.fire(tick, now); }

  Result<Memo> remember(const Remember& request, TimePoint now) override {
    return inner_.remember(request, now);
  }
  Result<std::vector<Memo>> recall(const Recall& request, TimePoint now) override {
    return inner_.recall(request, now);
  }
  Result<std::optional<TimePoint>> time() override { return inner_.time(); }
  Traits traits() const override { return inner_.traits(); }
  Result<std::vector<std::string>> ready(TimePoint now) override { return inner_.ready(now); }
  void on_hint(std::function<void(const Hint&)> tell) override { inner_.on_hint(std::move(tell)); }

 private:
  Store& inner_;
};

}  // namespace millrace
