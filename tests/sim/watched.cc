#include "tests/sim/watched.h"

#include <fmt/format.h>
#include <algorithm>
#include <functional>

#include "core/limits.h"
#include "store/store.h"
#include "tests/support/print.h"

namespace millrace::test {

namespace {

// ---- Are two answers the same? ----------------------------------------------------------------

bool same(const WorkResult& left, const WorkResult& right);
bool same(const TaskPage& left, const TaskPage& right);
bool same(const Fired& left, const Fired& right);

template <class T>
bool same(const T& left, const T& right) {
  return left == right;
}

bool same(const Error& left, const Error& right) {
  return left.code == right.code && left.retry_after == right.retry_after;
}

template <class T>
bool same(const std::vector<T>& left, const std::vector<T>& right);

template <class T>
bool same(const Result<T>& left, const Result<T>& right) {
  if (left.has_value() != right.has_value()) return false;
  if (!left) return same(left.error(), right.error());
  if constexpr (std::is_void_v<T>) {
    return true;
  } else {
    return same(*left, *right);
  }
}

template <class T>
bool same(const std::vector<T>& left, const std::vector<T>& right) {
  return std::ranges::equal(left, right, [](const T& a, const T& b) { return same(a, b); });
}

bool same(const WorkResult& left, const WorkResult& right) {
  return same(left.settled, right.settled) && same(left.extended, right.extended) &&
         same(left.taken, right.taken);
}

bool same(const TaskPage& left, const TaskPage& right) {
  return same(left.tasks, right.tasks) && left.next == right.next;
}

bool same(const Fired& left, const Fired& right) {
  return left.put == right.put && left.schedule == right.schedule;
}

template <class T>
std::optional<Error> error_of(const Result<T>& result) {
  return result ? std::nullopt : std::optional(result.error());
}

std::string difference(const std::string& expected, const std::string& got) {
  constexpr std::size_t around = 200;
  const auto at =
      static_cast<std::size_t>(std::ranges::mismatch(expected, got).in1 - expected.begin());
  const auto from = at < around / 2 ? 0 : at - around / 2;
  const auto part = [&](const std::string& text) {
    return from < text.size() ? text.substr(from, around) : std::string("(nothing)");
  };
  return fmt::format("\n  expected …{}\n  got      …{}", part(expected), part(got));
}

}  // namespace

// ---- Watching ---------------------------------------------------------------------------------

void Watched::complain(std::string text) {
  if (complaint_.empty()) complaint_ = std::move(text);
}

Watched::Meaning Watched::meaning(const char* name, const std::optional<Error>& error) {
  if (failed_) {
    if (machine_.down()) return Meaning::failure;
    if (!error || error->code != ErrorCode::unavailable) {
      complain(fmt::format("{} was answered although the store has failed", name));
    }
    return Meaning::failure;
  }
  if (!error) return Meaning::answer;
  // No caller receives what a store answers on a dying machine.
  if (machine_.down()) {
    failed_ = true;
    return Meaning::failure;
  }
  if (error->code == ErrorCode::unavailable || (corruption_ && error->code == ErrorCode::corrupt)) {
    failed_ = error->code == ErrorCode::unavailable;
    if (!machine_.failed() && !corruption_) {
      complain(fmt::format("{} failed although the disk did not: {}", name, error->message));
    }
    const bool clear = error->message.contains("sim") && error->message.contains("cannot");
    if (!corruption_ && !clear) {
      complain(fmt::format("{} failed without saying why: {}", name, error->message));
    }
    return Meaning::failure;
  }
  if (refusals_ && error->code == ErrorCode::limited) return Meaning::refusal;
  return Meaning::answer;
}

template <class Call>
auto Watched::change(const char* name, TimePoint now, Call call)
    -> decltype(call(std::declval<Store&>())) {
  moment_ = now;
  const bool had_failed = failed_;
  auto got = call(*subject_.store);
  const auto what = meaning(name, error_of(got));
  if (had_failed && got) return fail(ErrorCode::unavailable, "the store has failed");
  if (what == Meaning::refusal || had_failed) return got;
  // A change in which the store failed may be there when it comes back.
  auto expected = call(shadow_.now());
  shadow_.note([call = std::move(call)](Store& store) { std::ignore = call(store); });
  if (what == Meaning::answer && !same(got, expected)) {
    complain(
        fmt::format("{} answered otherwise than it should{}", name,
                    difference(::testing::PrintToString(expected), ::testing::PrintToString(got))));
  }
  return expected;
}

template <class Call>
auto Watched::ask(const char* name, const Call& call) -> decltype(call(std::declval<Store&>())) {
  auto got = call(*subject_.store);
  const bool had_failed = failed_;
  const auto what = meaning(name, error_of(got));
  if (what == Meaning::failure) ++failed_reads_;
  // A read that cannot get its bytes fails alone: the store has failed only if it says so when
  // nothing has to be read.
  if (failed_ && !had_failed && !machine_.down()) {
    const auto queues = subject_.store->queues(std::nullopt);
    failed_ = !queues && queues.error().code == ErrorCode::unavailable;
  }
  // No caller receives what a store answers on a machine that is down.
  if (what == Meaning::failure && got) return fail(ErrorCode::unavailable, "the machine is down");
  if (what != Meaning::answer) return got;
  auto expected = call(shadow_.now());
  if (!same(got, expected)) {
    complain(
        fmt::format("{} answered otherwise than it should{}", name,
                    difference(::testing::PrintToString(expected), ::testing::PrintToString(got))));
  }
  return got;
}

Result<void> Watched::flush() {
  // More may be applied before it returns.
  const auto covered = shadow_.commits();
  const auto state = shadow_.state_now();
  const auto moment = moment_;
  const auto told = unflushed_;
  const bool had_failed = failed_;
  auto flushed = subject_.store->flush();
  // If another call failed meanwhile, this one may still have done its work.
  const bool done = flushed && failed_ && !had_failed;
  const auto what = done ? Meaning::answer : meaning("flush", error_of(flushed));
  if (what == Meaning::refusal && subject_.flushes_when_full) {
    complain("a full disk refuses to flush: " + flushed.error().message);
  }
  if (what != Meaning::answer) return flushed;
  if (!flushed) complain("flush failed: " + flushed.error().message);
  shadow_.flushed(covered, state, moment);
  if (!told.empty()) told_epochs_.insert(subject_.boot.epoch);
  for (const auto& token : told) unflushed_.erase(token);
  return flushed;
}

void Watched::check_failed_store(TimePoint now) {
  if (!failed_) return complain("the store goes on after a failed sync");
  std::ignore = find_task(*this, TaskNumber{1});
  std::ignore = list({});
  std::ignore = counts(std::nullopt, now);
  std::ignore = queues(std::nullopt);
  std::ignore = schedules(std::nullopt);
  std::ignore = recall({}, now);
  std::ignore = due(now, {.limit = 10});
  std::ignore = ready(now);
  std::ignore = put({}, now);
  std::ignore = work({}, {}, {}, now);
  std::ignore = advance(now, 10);
  std::ignore = remember({.key = "after", .value = "failure"}, now);
  std::ignore = flush();
}

// ---- The contract -----------------------------------------------------------------------------

namespace {

template <class T>
std::vector<T> own(std::span<const T> items) {
  return {items.begin(), items.end()};
}

}  // namespace

Result<std::vector<Result<Put>>> Watched::put(std::span<const NewTask> tasks, TimePoint now) {
  return change("put", now,
                [tasks = own(tasks), now](Store& store) { return store.put(tasks, now); });
}

Result<std::vector<Put>> Watched::put_all(std::span<const NewTask> tasks, TimePoint now) {
  return change("put_all", now,
                [tasks = own(tasks), now](Store& store) { return store.put_all(tasks, now); });
}

Result<WorkResult> Watched::work(std::span<const Settlement> settlements,
                                 std::span<const Extension> extensions,
                                 std::span<const TakeRequest> takes, TimePoint now) {
  auto result =
      change("work", now,
             [settlements = own(settlements), extensions = own(extensions), takes = own(takes),
              now](Store& store) { return store.work(settlements, extensions, takes, now); });
  if (!result) return result;
  for (const auto& taken : result->taken) {
    if (!taken) continue;
    for (const auto& lease : *taken) unflushed_.insert(lease.token);
  }
  return result;
}

Result<std::vector<Overdue>> Watched::due(TimePoint now, const DueRequest& request) {
  moment_ = now;
  return ask("due", [&](Store& store) { return store.due(now, request); });
}

Result<Advanced> Watched::advance(TimePoint now, std::size_t limit) {
  return change("advance", now, [=](Store& store) { return store.advance(now, limit); });
}

Result<std::vector<Result<Task>>> Watched::find(std::span<const TaskRef> tasks, Parts parts) {
  return ask("find", [&](Store& store) { return store.find(tasks, parts); });
}

Result<TaskPage> Watched::list(const ListRequest& request) {
  return ask("list", [&](Store& store) { return store.list(request); });
}

Result<std::vector<QueueCounts>> Watched::counts(const std::optional<QueueRef>& queue,
                                                 TimePoint now) {
  return ask("counts", [&](Store& store) { return store.counts(queue, now); });
}

Result<std::vector<Result<TaskState>>> Watched::cancel(std::span<const CancelRequest> requests,
                                                       TimePoint now) {
  return change("cancel", now, [requests = own(requests), now](Store& store) {
    return store.cancel(requests, now);
  });
}

Result<std::vector<Result<TaskState>>> Watched::retry(std::span<const TaskId> tasks,
                                                      TimePoint now) {
  return change("retry", now,
                [tasks = own(tasks), now](Store& store) { return store.retry(tasks, now); });
}

Result<std::vector<Result<TaskState>>> Watched::remove(std::span<const TaskId> tasks,
                                                       TimePoint now) {
  return change("remove", now,
                [tasks = own(tasks), now](Store& store) { return store.remove(tasks, now); });
}

Result<std::vector<Result<TaskState>>> Watched::update(std::span<const TaskUpdate> updates,
                                                       TimePoint now) {
  return change("update", now,
                [updates = own(updates), now](Store& store) { return store.update(updates, now); });
}

Result<std::vector<Result<Put>>> Watched::restore(std::span<const Task> tasks, TimePoint now) {
  return change("restore", now,
                [tasks = own(tasks), now](Store& store) { return store.restore(tasks, now); });
}

Result<Queue> Watched::put_queue(const QueueSettings& settings, PutQueue mode, TimePoint now) {
  return change("put_queue", now,
                [=](Store& store) { return store.put_queue(settings, mode, now); });
}

Result<std::vector<Queue>> Watched::queues(const std::optional<QueueRef>& queue) {
  return ask("queues", [&](Store& store) { return store.queues(queue); });
}

Result<void> Watched::remove_queue(const QueueRef& queue, bool force, TimePoint now) {
  return change("remove_queue", now,
                [=](Store& store) { return store.remove_queue(queue, force, now); });
}

Result<std::size_t> Watched::clear(const QueueRef& queue, std::size_t limit, TimePoint now) {
  return change("clear", now, [=](Store& store) { return store.clear(queue, limit, now); });
}

Result<Group> Watched::put_group(const PutGroup& group, TimePoint now) {
  return change("put_group", now, [=](Store& store) { return store.put_group(group, now); });
}

Result<GroupPage> Watched::groups(const GroupsRequest& request, TimePoint now) {
  // Their order means nothing, and that of two stores may differ: all of them, by name.
  GroupsRequest all = request;
  if (request.limit != 0) all.limit = limits::max_page;
  all.after.clear();
  auto found = ask("groups", [&](Store& store) {
    auto page = store.groups(all, now);
    if (page) std::ranges::sort(page->groups, {}, &Group::name);
    return page;
  });
  if (!found) return found;
  std::erase_if(found->groups, [&](const Group& group) { return group.name <= request.after; });
  if (found->groups.size() > request.limit) {
    found->groups.resize(request.limit);
    found->next = found->groups.back().name;
  }
  return found;
}

Result<Schedule> Watched::put_schedule(const Schedule& schedule, PutSchedule mode, TimePoint now) {
  return change("put_schedule", now,
                [=](Store& store) { return store.put_schedule(schedule, mode, now); });
}

Result<void> Watched::remove_schedule(std::string_view name, TimePoint now) {
  return change("remove_schedule", now, [name = std::string(name), now](Store& store) {
    return store.remove_schedule(name, now);
  });
}

Result<std::vector<Schedule>> Watched::schedules(const std::optional<std::string>& name) {
  return ask("schedules", [&](Store& store) { return store.schedules(name); });
}

Result<Fired> Watched::fire(const Fire& tick, TimePoint now) {
  return change("fire", now, [=](Store& store) { return store.fire(tick, now); });
}

Result<Memo> Watched::remember(const Remember& request, TimePoint now) {
  return change("remember", now, [=](Store& store) { return store.remember(request, now); });
}

Result<std::vector<Memo>> Watched::recall(const Recall& request, TimePoint now) {
  return ask("recall", [&](Store& store) { return store.recall(request, now); });
}

Result<std::optional<TimePoint>> Watched::time() {
  return ask("time", [](Store& store) { return store.time(); });
}

Traits Watched::traits() const {
  return subject_.store->traits();
}

Result<std::vector<std::string>> Watched::ready(TimePoint now) {
  moment_ = now;
  return ask("ready", [&](Store& store) { return store.ready(now); });
}

}  // namespace millrace::test
