#include "store/metered.h"

#include <chrono>

namespace millrace {

namespace {

constexpr std::size_t index_of(ErrorCode code) {
  return static_cast<std::size_t>(code);
}

// What an answer is about: how many things, and which of them failed.
template <class T>
std::uint64_t items_of(const T&) {
  return 1;
}
template <class T>
std::uint64_t items_of(const std::vector<T>& things) {
  return things.size();
}
std::uint64_t items_of(const std::size_t& count) {
  return count;
}
std::uint64_t items_of(const TaskPage& page) {
  return page.tasks.size();
}
std::uint64_t items_of(const Advanced& done) {
  return done.promoted + done.removed + done.lifted;
}
std::uint64_t items_of(const WorkResult& work) {
  std::uint64_t items = work.settled.size() + work.extended.size();
  for (const auto& leases : work.taken) items += leases ? leases->size() : 0;
  return items;
}

template <class T>
void count_errors(std::array<Counter, 10>&, const T&) {}
template <class T>
void count_errors(std::array<Counter, 10>& errors, const std::vector<Result<T>>& items) {
  for (const Result<T>& item : items) {
    if (!item) errors[index_of(item.error().code)].add();
  }
}
void count_errors(std::array<Counter, 10>& errors, const WorkResult& work) {
  count_errors(errors, work.settled);
  count_errors(errors, work.extended);
  count_errors(errors, work.taken);
}

}  // namespace

std::string_view name_of(StoreMethod method) {
  static constexpr std::array<std::string_view, store_method_count> names = {"put",
                                                                             "work",
                                                                             "flush",
                                                                             "due",
                                                                             "advance",
                                                                             "find",
                                                                             "list",
                                                                             "counts",
                                                                             "cancel",
                                                                             "retry",
                                                                             "remove",
                                                                             "update",
                                                                             "restore",
                                                                             "put_queue",
                                                                             "queues",
                                                                             "remove_queue",
                                                                             "clear",
                                                                             "put_schedule",
                                                                             "remove_schedule",
                                                                             "schedules",
                                                                             "fire",
                                                                             "remember",
                                                                             "recall",
                                                                             "time",
                                                                             "ready"};
  return names[static_cast<std::size_t>(method)];
}

StoreFigures MeteredStore::figures(StoreMethod method) const {
  const Meter& meter = meters_[static_cast<std::size_t>(method)];
  StoreFigures figures{.method = method,
                       .calls = meter.calls.value(),
                       .items = meter.items.value(),
                       .seconds = meter.seconds.snapshot()};
  for (std::size_t code = 0; code < figures.errors.size(); ++code) {
    figures.errors[code] = meter.errors[code].value();
  }
  return figures;
}

std::vector<StoreFigures> MeteredStore::figures() const {
  std::vector<StoreFigures> all;
  for (std::size_t method = 0; method < store_method_count; ++method) {
    all.push_back(figures(static_cast<StoreMethod>(method)));
  }
  return all;
}

template <class Call>
auto MeteredStore::measured(StoreMethod method, Call call) -> decltype(call()) {
  Meter& meter = meters_[static_cast<std::size_t>(method)];
  const auto began = clock_.steady();
  auto result = call();
  const std::chrono::duration<double> took = clock_.steady() - began;
  meter.calls.add();
  meter.seconds.observe(took.count());
  if (!result) {
    meter.errors[index_of(result.error().code)].add();
  } else if constexpr (std::is_void_v<typename decltype(result)::value_type>) {
    meter.items.add();
  } else {
    meter.items.add(items_of(*result));
    count_errors(meter.errors, *result);
  }
  return result;
}

Result<std::vector<Result<Put>>> MeteredStore::put(std::span<const NewTask> tasks, TimePoint now) {
  return measured(StoreMethod::put, [&] { return ForwardingStore::put(tasks, now); });
}

Result<WorkResult> MeteredStore::work(std::span<const Settlement> settlements,
                                      std::span<const Extension> extensions,
                                      std::span<const TakeRequest> takes, TimePoint now) {
  return measured(StoreMethod::work,
                  [&] { return ForwardingStore::work(settlements, extensions, takes, now); });
}

Result<void> MeteredStore::flush() {
  return measured(StoreMethod::flush, [&] { return ForwardingStore::flush(); });
}

Result<std::vector<Overdue>> MeteredStore::due(TimePoint now, std::size_t limit) {
  return measured(StoreMethod::due, [&] { return ForwardingStore::due(now, limit); });
}

Result<Advanced> MeteredStore::advance(TimePoint now, std::size_t limit) {
  return measured(StoreMethod::advance, [&] { return ForwardingStore::advance(now, limit); });
}

Result<Task> MeteredStore::find(const TaskRef& task) {
  return measured(StoreMethod::find, [&] { return ForwardingStore::find(task); });
}

Result<TaskPage> MeteredStore::list(const ListRequest& request) {
  return measured(StoreMethod::list, [&] { return ForwardingStore::list(request); });
}

Result<std::vector<QueueCounts>> MeteredStore::counts(const std::optional<QueueRef>& queue,
                                                      TimePoint now) {
  return measured(StoreMethod::counts, [&] { return ForwardingStore::counts(queue, now); });
}

Result<std::vector<Result<TaskState>>> MeteredStore::cancel(std::span<const CancelRequest> requests,
                                                            TimePoint now) {
  return measured(StoreMethod::cancel, [&] { return ForwardingStore::cancel(requests, now); });
}

Result<std::vector<Result<TaskState>>> MeteredStore::retry(std::span<const TaskId> tasks,
                                                           TimePoint now) {
  return measured(StoreMethod::retry, [&] { return ForwardingStore::retry(tasks, now); });
}

Result<std::vector<Result<TaskState>>> MeteredStore::remove(std::span<const TaskId> tasks,
                                                            TimePoint now) {
  return measured(StoreMethod::remove, [&] { return ForwardingStore::remove(tasks, now); });
}

Result<std::vector<Result<TaskState>>> MeteredStore::update(std::span<const TaskUpdate> updates,
                                                            TimePoint now) {
  return measured(StoreMethod::update, [&] { return ForwardingStore::update(updates, now); });
}

Result<std::vector<Result<Put>>> MeteredStore::restore(std::span<const Task> tasks, TimePoint now) {
  return measured(StoreMethod::restore, [&] { return ForwardingStore::restore(tasks, now); });
}

Result<Queue> MeteredStore::put_queue(const QueueSettings& settings, PutQueue mode, TimePoint now) {
  return measured(StoreMethod::put_queue,
                  [&] { return ForwardingStore::put_queue(settings, mode, now); });
}

Result<std::vector<Queue>> MeteredStore::queues(const std::optional<QueueRef>& queue) {
  return measured(StoreMethod::queues, [&] { return ForwardingStore::queues(queue); });
}

Result<void> MeteredStore::remove_queue(const QueueRef& queue, bool force, TimePoint now) {
  return measured(StoreMethod::remove_queue,
                  [&] { return ForwardingStore::remove_queue(queue, force, now); });
}

Result<std::size_t> MeteredStore::clear(const QueueRef& queue, std::size_t limit, TimePoint now) {
  return measured(StoreMethod::clear, [&] { return ForwardingStore::clear(queue, limit, now); });
}

Result<Schedule> MeteredStore::put_schedule(const Schedule& schedule, PutSchedule mode,
                                            TimePoint now) {
  return measured(StoreMethod::put_schedule,
                  [&] { return ForwardingStore::put_schedule(schedule, mode, now); });
}

Result<void> MeteredStore::remove_schedule(std::string_view name, TimePoint now) {
  return measured(StoreMethod::remove_schedule,
                  [&] { return ForwardingStore::remove_schedule(name, now); });
}

Result<std::vector<Schedule>> MeteredStore::schedules(const std::optional<std::string>& name) {
  return measured(StoreMethod::schedules, [&] { return ForwardingStore::schedules(name); });
}

Result<Fired> MeteredStore::fire(const Fire& tick, TimePoint now) {
  return measured(StoreMethod::fire, [&] { return ForwardingStore::fire(tick, now); });
}

Result<Memo> MeteredStore::remember(const Remember& request, TimePoint now) {
  return measured(StoreMethod::remember, [&] { return ForwardingStore::remember(request, now); });
}

Result<std::vector<Memo>> MeteredStore::recall(const Recall& request, TimePoint now) {
  return measured(StoreMethod::recall, [&] { return ForwardingStore::recall(request, now); });
}

Result<std::optional<TimePoint>> MeteredStore::time() {
  return measured(StoreMethod::time, [&] { return ForwardingStore::time(); });
}

Result<std::vector<std::string>> MeteredStore::ready(TimePoint now) {
  return measured(StoreMethod::ready, [&] { return ForwardingStore::ready(now); });
}

}  // namespace millrace
