#include "tests/support/driver.h"
#include "store/store.h"

#include <algorithm>
#include <span>
#include <sstream>

namespace millrace::test {

namespace {

template <class T>
std::span<const T> one(const T& value) {
  return {&value, 1};
}

template <class T>
std::vector<TaskId> ids(const std::vector<T>& things) {
  std::vector<TaskId> out;
  out.reserve(things.size());
  for (const T& thing : things) out.push_back(thing.id);
  return out;
}

}  // namespace

void give_up(const std::string& why, Where where) {
  throw std::runtime_error(std::string(where.file_name()) + ":" + std::to_string(where.line()) +
                           ": " + why);
}

Queue StoreDriver::make_queue(const QueueSettings& settings, Where where) {
  return must(store_->put_queue(settings, PutQueue::replace, now), where);
}

Queue StoreDriver::make_queue(const std::string& name, Where where) {
  return make_queue(queue(name), where);
}

Queue StoreDriver::find_queue(const QueueRef& queue, Where where) {
  const auto found = must(store_->queues(queue), where);
  if (found.size() != 1) give_up("expected one queue, got " + std::to_string(found.size()), where);
  return found.front();
}

QueueCounts StoreDriver::counts(const QueueRef& queue, Where where) {
  const auto found = must(store_->counts(queue, now), where);
  if (found.size() != 1) give_up("expected the counts of one queue", where);
  return found.front();
}

Result<Put> StoreDriver::try_put(const NewTask& task) {
  return only(store_->put(one(task), now));
}

Put StoreDriver::put(const NewTask& task, Where where) {
  return must(try_put(task), where);
}

std::vector<Put> StoreDriver::put_all(const std::vector<NewTask>& tasks, Where where) {
  std::vector<Put> puts;
  for (auto& result : must(store_->put(tasks, now), where)) puts.push_back(must(result, where));
  return puts;
}

Result<std::vector<Lease>> StoreDriver::try_take(const TakeRequest& request) {
  auto result = store_->work({}, {}, one(request), now);
  if (!result) return std::unexpected(result.error());
  return only(Result<std::vector<Result<std::vector<Lease>>>>(std::move(result->taken)));
}

std::vector<Lease> StoreDriver::take(const QueueRef& queue, std::uint32_t most, Where where) {
  return must(try_take({.worker = "worker-1", .queues = {{.queue = queue, .most = most}}}), where);
}

Lease StoreDriver::take_one(const QueueRef& queue, Where where) {
  auto leases = take(queue, 1, where);
  if (leases.size() != 1) {
    give_up("take_one: " + std::to_string(leases.size()) + " tasks were given", where);
  }
  return std::move(leases.front());
}

Result<Settled> StoreDriver::try_settle(const Settlement& settlement) {
  auto result = store_->work(one(settlement), {}, {}, now);
  if (!result) return std::unexpected(result.error());
  return only(Result<std::vector<Result<Settled>>>(std::move(result->settled)));
}

TaskState StoreDriver::settle(const Settlement& settlement, Where where) {
  const Settled settled = must(try_settle(settlement), where);
  if (settled.status != SettleStatus::applied) {
    give_up("the settlement was not applied: " + ::testing::PrintToString(settled), where);
  }
  return settled.state;
}

Result<Extended> StoreDriver::try_extend(const Extension& extension) {
  auto result = store_->work({}, one(extension), {}, now);
  if (!result) return std::unexpected(result.error());
  return only(Result<std::vector<Result<Extended>>>(std::move(result->extended)));
}

Extended StoreDriver::extend(const Lease& lease, std::optional<Duration> by, Where where) {
  return must(try_extend({.id = lease.id, .token = lease.token, .lease = by}), where);
}

std::vector<Overdue> StoreDriver::due(std::size_t limit, Where where) {
  return must(store_->due(now, {.limit = limit}), where);
}

Overdue StoreDriver::due_one(Where where) {
  const auto overdue = due(1000, where);
  if (overdue.size() != 1) {
    give_up("due_one: " + std::to_string(overdue.size()) + " are overdue", where);
  }
  return overdue.front();
}

Advanced StoreDriver::advance(std::size_t limit, Where where) {
  return must(store_->advance(now, limit), where);
}

Result<Task> StoreDriver::try_find(const TaskRef& task) {
  return find_task(*store_, task);
}

bool StoreDriver::exists(const TaskRef& task) {
  return find_task(*store_, task, head_only).has_value();
}

Task StoreDriver::find(const TaskRef& task, Where where) {
  return must(find_task(*store_, task), where);
}

TaskState StoreDriver::state_of(const TaskRef& task, Where where) {
  return find(task, where).state;
}

Result<TaskState> StoreDriver::try_cancel(const CancelRequest& request) {
  return only(store_->cancel(one(request), now));
}

TaskState StoreDriver::cancel(TaskId id, Where where) {
  return must(try_cancel({.id = id}), where);
}

Result<TaskState> StoreDriver::try_revive(TaskId id) {
  return only(store_->retry(one(id), now));
}

TaskState StoreDriver::revive(TaskId id, Where where) {
  return must(try_revive(id), where);
}

Result<TaskState> StoreDriver::try_remove(TaskId id) {
  return only(store_->remove(one(id), now));
}

TaskState StoreDriver::remove(TaskId id, Where where) {
  return must(try_remove(id), where);
}

Result<TaskState> StoreDriver::try_update(const TaskUpdate& update) {
  return only(store_->update(one(update), now));
}

TaskState StoreDriver::update(const TaskUpdate& update, Where where) {
  return must(try_update(update), where);
}

Result<Put> StoreDriver::try_restore(const Task& task) {
  return only(store_->restore(one(task), now));
}

Put StoreDriver::restore(const Task& task, Where where) {
  return must(try_restore(task), where);
}

std::vector<Group> StoreDriver::groups(const QueueRef& queue, std::uint32_t page, Where where) {
  std::vector<Group> all;
  GroupsRequest request{.queue = queue, .limit = page};
  do {
    GroupPage found = must(store_->groups(request, now), where);
    for (Group& group : found.groups) all.push_back(std::move(group));
    request.after = found.next;
  } while (!request.after.empty());
  std::ranges::sort(all, {}, &Group::name);
  return all;
}

std::vector<Task> StoreDriver::list(ListRequest request, Where where) {
  std::vector<Task> tasks;
  do {
    TaskPage page = must(store_->list(request), where);
    for (Task& task : page.tasks) tasks.push_back(std::move(task));
    request.before = page.next;
  } while (request.before);
  return tasks;
}

TaskId StoreDriver::task_in(TaskState state, const QueueRef& queue, NewTask fields, Where where) {
  fields.held = state == TaskState::created;
  if (state == TaskState::delayed) fields.start = now + 1h;
  const TaskId id = put(task(queue, fields), where).id;
  if (state == TaskState::created || state == TaskState::queued || state == TaskState::delayed) {
    return id;
  }
  if (state == TaskState::cancelled) {
    cancel(id, where);
    return id;
  }
  const Lease lease = take_one(queue, where);
  if (lease.id != id) give_up("task_in: something else was ready in the queue", where);
  if (state == TaskState::completed) settle(done(lease), where);
  if (state == TaskState::failed) settle(failed(lease), where);
  if (state == TaskState::dead) settle(exhausted(lease), where);
  if (state == TaskState::retrying) settle(retry_at(lease, now + 1h), where);
  return id;
}

std::map<TaskState, TaskId> StoreDriver::one_in_each_state(const QueueRef& queue, Where where) {
  std::map<TaskState, TaskId> tasks;
  for (const TaskState state : {TaskState::processing, TaskState::completed, TaskState::failed,
                                TaskState::dead, TaskState::cancelled, TaskState::retrying,
                                TaskState::delayed, TaskState::created, TaskState::queued}) {
    tasks[state] = task_in(state, queue, {}, where);
  }
  return tasks;
}

std::vector<TaskId> ids_of(const std::vector<Lease>& leases) {
  return ids(leases);
}

std::vector<TaskId> ids_of(const std::vector<Task>& tasks) {
  return ids(tasks);
}

std::vector<TaskId> ids_of(const std::vector<Put>& puts) {
  return ids(puts);
}

std::vector<TaskId> ids_of(const std::vector<Overdue>& overdue) {
  std::vector<TaskId> out;
  for (const Overdue& one : overdue) out.push_back(one.lease.id);
  return out;
}

std::string dump(Store& store, TimePoint now) {
  std::string text;
  const auto add = [&](const auto& things) {
    for (const auto& thing : things) text += ::testing::PrintToString(thing) + "\n";
  };
  add(must(store.queues(std::nullopt)));
  add(must(store.counts(std::nullopt, now)));
  add(StoreDriver(store).list({.detail = Detail::full}));
  StoreDriver driver(store);
  driver.now = now;
  for (const Queue& queue : must(store.queues(std::nullopt))) {
    if (store.traits().groups) add(driver.groups(queue.settings.name));
  }
  add(must(store.due(now, {.limit = 1000})));
  add(must(store.schedules(std::nullopt)));
  add(must(store.recall({.limit = 1000}, now)));
  return text;
}

std::string difference(const std::string& before, const std::string& after) {
  std::string text;
  const auto add = [&](const std::string& from, const std::string& other, const char* mark) {
    std::istringstream lines(from);
    for (std::string line; std::getline(lines, line);) {
      if (other.find(line + "\n") == std::string::npos) text += mark + line + "\n";
    }
  };
  add(before, after, "- ");
  add(after, before, "+ ");
  return text;
}

}  // namespace millrace::test
