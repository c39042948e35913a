// A Store that does nothing: every method fails and names itself. For tests of decorators.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "store/store.h"

namespace millrace::test {

class EchoStore : public Store {
 public:
  std::vector<std::string> calls;  // the names of the methods called, in order

  Result<std::vector<Result<Put>>> put(std::span<const NewTask>, TimePoint) override {
    return echo("put");
  }
  Result<std::vector<Put>> put_all(std::span<const NewTask>, TimePoint) override {
    return echo("put_all");
  }
  Result<WorkResult> work(std::span<const Settlement>, std::span<const Extension>,
                          std::span<const TakeRequest>, TimePoint) override {
    return echo("work");
  }
  Result<void> flush() override { return echo("flush"); }
  Result<std::vector<Overdue>> due(TimePoint, const DueRequest&) override { return echo("due"); }
  Result<Advanced> advance(TimePoint, std::size_t) override { return echo("advance"); }
  Result<std::vector<Result<Task>>> find(std::span<const TaskRef>, Parts) override {
    return echo("find");
  }
  Result<TaskPage> list(const ListRequest&) override { return echo("list"); }
  Result<std::vector<QueueCounts>> counts(const std::optional<QueueRef>&, TimePoint) override {
    return echo("counts");
  }
  Result<std::vector<Result<TaskState>>> cancel(std::span<const CancelRequest>,
                                                TimePoint) override {
    return echo("cancel");
  }
  Result<std::vector<Result<TaskState>>> retry(std::span<const TaskId>, TimePoint) override {
    return echo("retry");
  }
  Result<std::vector<Result<TaskState>>> remove(std::span<const TaskId>, TimePoint) override {
    return echo("remove");
  }
  Result<std::vector<Result<TaskState>>> update(std::span<const TaskUpdate>, TimePoint) override {
    return echo("update");
  }
  Result<std::vector<Result<Put>>> restore(std::span<const Task>, TimePoint) override {
    return echo("restore");
  }
  Result<Queue> put_queue(const QueueSettings&, PutQueue, TimePoint) override {
    return echo("put_queue");
  }
  Result<std::vector<Queue>> queues(const std::optional<QueueRef>&) override {
    return echo("queues");
  }
  Result<void> remove_queue(const QueueRef&, bool, TimePoint) override {
    return echo("remove_queue");
  }
  Result<std::size_t> clear(const QueueRef&, std::size_t, TimePoint) override {
    return echo("clear");
  }
  Result<Group> put_group(const PutGroup&, TimePoint) override { return echo("put_group"); }
  Result<GroupPage> groups(const GroupsRequest&, TimePoint) override { return echo("groups"); }
  Result<Schedule> put_schedule(const Schedule&, PutSchedule, TimePoint) override {
    return echo("put_schedule");
  }
  Result<void> remove_schedule(std::string_view, TimePoint) override {
    return echo("remove_schedule");
  }
  Result<std::vector<Schedule>> schedules(const std::optional<std::string>&) override {
    return echo("schedules");
  }
  Result<Fired> fire(const Fire&, TimePoint) override { return echo("fire"); }
  Result<Memo> remember(const Remember&, TimePoint) override { return echo("remember"); }
  Result<std::vector<Memo>> recall(const Recall&, TimePoint) override { return echo("recall"); }
  Result<std::optional<TimePoint>> time() override { return echo("time"); }
  Traits traits() const override { return {.name = "echo"}; }
  Result<std::vector<std::string>> ready(TimePoint) override { return echo("ready"); }

 private:
  std::unexpected<Error> echo(const char* name) {
    calls.emplace_back(name);
    return fail(ErrorCode::unavailable, name);
  }
};

// One call of a Store; `make` returns the error it ended with.
struct StoreCall {
  std::string name;
  std::function<Error(Store&)> make;
};

// A call of every method that can fail, in the order of store.h.
std::vector<StoreCall> every_call();

}  // namespace millrace::test
