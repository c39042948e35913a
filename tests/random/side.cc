#include "tests/random/side.h"

#include <algorithm>
#include <iterator>

#include "core/decide.h"
#include "core/transition.h"
#include "store/store.h"
#include "tests/support/print.h"

namespace millrace::test {

namespace {

Failure failure(const Error& error) {
  return {.code = error.code, .hint = error.retry_after.has_value()};
}

Answer states(const Result<std::vector<Result<TaskState>>>& results) {
  if (!results) return {failure(results.error())};
  Answer answer;
  for (const auto& result : *results) {
    answer.push_back(result ? Item(*result) : Item(failure(result.error())));
  }
  return answer;
}

template <class T>
Answer values(const Result<std::vector<T>>& results) {
  if (!results) return {failure(results.error())};
  return {results->begin(), results->end()};
}

template <class T>
Answer value(const Result<T>& result) {
  if (!result) return {failure(result.error())};
  if constexpr (std::is_void_v<T>) {
    return {Note{"ok"}};
  } else {
    return {*result};
  }
}

}  // namespace

Answer Side::run(const Operation& operation) {
  complaints_.clear();
  note_ids(operation);
  auto answer =
      std::visit([&](const auto& step) { return call(step, operation.now); }, operation.call);
  answer.insert(answer.end(), complaints_.begin(), complaints_.end());
  return answer;
}

TaskNumber Side::number_of(const TaskId& id) const {
  auto found = numbers_.find(id);
  return found == numbers_.end() ? TaskNumber{} : found->second;
}

const Lease* Side::last_lease(const TaskId& id) const {
  auto found = leases_.find(id);
  return found == leases_.end() ? nullptr : &found->second.back().lease;
}

// ---- Hot path ---------------------------------------------------------------------------------

Answer Side::call(const PutStep& step, TimePoint now) {
  return puts(store_->put(step.tasks, now));
}

Answer Side::puts(const Result<std::vector<Result<Put>>>& results) {
  if (!results) return {failure(results.error())};
  Answer answer;
  for (const auto& result : *results) {
    answer.push_back(result ? Item(comparable(*result)) : Item(failure(result.error())));
  }
  return answer;
}

Answer Side::call(const PutAllStep& step, TimePoint now) {
  const auto results = store_->put_all(step.tasks, now);
  if (!results) return {failure(results.error())};
  Answer answer;
  for (const Put& put : *results) answer.emplace_back(comparable(put));
  return answer;
}

Answer Side::call(const WorkStep& step, TimePoint now) {
  std::vector<Settlement> settlements;
  for (const auto& part : step.settlements) settlements.push_back(filled(part));
  std::vector<Extension> extensions;
  for (const auto& part : step.extensions) {
    auto& extension = extensions.emplace_back(part.extension);
    extension.token = token(extension.id, part.token);
  }
  return work(settlements, extensions, step.takes, now);
}

Answer Side::work(std::span<const Settlement> settlements, std::span<const Extension> extensions,
                  std::span<const TakeRequest> takes, TimePoint now) {
  auto results = store_->work(settlements, extensions, takes, now);
  if (!results) return {failure(results.error())};
  Answer answer;
  for (const auto& result : results->settled) {
    answer.push_back(result ? Item(*result) : Item(failure(result.error())));
  }
  for (std::size_t i = 0; i < results->extended.size(); ++i) {
    const auto& result = results->extended[i];
    answer.push_back(result ? Item(*result) : Item(failure(result.error())));
    auto found = leases_.find(extensions[i].id);
    if (result && found != leases_.end()) found->second.back().until = result->until;
  }
  for (const auto& result : results->taken) {
    if (!result) {
      answer.emplace_back(failure(result.error()));
      continue;
    }
    answer.emplace_back(Note{"taken"});
    for (const auto& lease : *result) {
      given(lease);
      answer.emplace_back(comparable(lease));
    }
  }
  return answer;
}

// ---- Upkeep -----------------------------------------------------------------------------------

// The earliest come first. The store may choose the order of those of one moment, so where the
// limit cuts through them only their number counts.
Answer Side::call(const DueStep& step, TimePoint now) {
  auto results = store_->due(now, {.limit = step.limit});
  if (!results) return {failure(results.error())};
  const auto moment = [](const Overdue& overdue) {
    if (overdue.parent) return never;
    const auto* lost = std::get_if<Lost>(&overdue.expect);
    return lost != nullptr ? lost->until : overdue.lease.start_by.value_or(TimePoint{});
  };
  if (!std::ranges::is_sorted(*results, {}, moment)) complain("due is not in order");
  std::size_t cut = 0;
  if (!results->empty() && results->size() == step.limit) {
    const auto last = moment(results->back());
    cut = std::erase_if(*results, [&](const Overdue& each) { return moment(each) == last; });
  }
  std::ranges::sort(*results, {}, [&](const Overdue& overdue) {
    return std::pair(moment(overdue), overdue.lease.id);
  });
  last_due_ = *results;
  Answer answer;
  for (const auto& overdue : *results) answer.emplace_back(comparable(overdue));
  if (cut > 0) answer.emplace_back(Note{std::to_string(cut) + " of one moment"});
  return answer;
}

Answer Side::call(const SettleDueStep& step, TimePoint now) {
  std::vector<Settlement> settlements;
  for (const auto& overdue : last_due_) {
    if (settlements.size() == step.most) break;
    settlements.push_back(decided(overdue, step.exhaust, now));
  }
  return work(settlements, {}, {}, now);
}

Answer Side::call(const AdvanceStep& step, TimePoint now) {
  Progress progress;
  if (const auto queues = store_->queues(std::nullopt)) {
    progress.emptying = std::ranges::any_of(*queues, &Queue::removing);
  }
  constexpr int most_calls = 10'000;
  for (int calls = 0; calls < most_calls; ++calls) {
    const auto result = store_->advance(now, step.limit);
    if (!result) return {failure(result.error())};
    if (result->promoted + result->removed > step.limit) complain("advance exceeded its limit");
    progress.promoted += result->promoted;
    progress.removed += result->removed;
    progress.lifted += result->lifted;
    progress.next = result->next;
    if (!result->more) return {progress};
  }
  return {Note{"advance does not come to an end"}};
}

// ---- Operate ----------------------------------------------------------------------------------

Answer Side::call(const FindStep& step, TimePoint /*now*/) {
  const TaskRef ref = step.by_number ? TaskRef(number_of(step.id)) : TaskRef(step.id);
  auto task = find_task(*store_, ref);
  if (!task) return {failure(task.error())};
  return {comparable(*task)};
}

Answer Side::call(const ListStep& step, TimePoint /*now*/) {
  auto request = step.request;
  if (step.before && number_of(*step.before) != TaskNumber{}) {
    request.before = number_of(*step.before);
  }
  return values(walk(request));
}

Answer Side::call(const CountsStep& step, TimePoint now) {
  return values(store_->counts(step.queue, now));
}

Answer Side::call(const CancelStep& step, TimePoint now) {
  return states(store_->cancel(step.requests, now));
}

Answer Side::call(const RetryStep& step, TimePoint now) {
  return states(store_->retry(step.tasks, now));
}

Answer Side::call(const RemoveStep& step, TimePoint now) {
  return states(store_->remove(step.tasks, now));
}

Answer Side::call(const UpdateStep& step, TimePoint now) {
  return states(store_->update(step.updates, now));
}

Answer Side::call(const RestoreStep& step, TimePoint now) {
  return puts(store_->restore(step.tasks, now));
}

// ---- Queues, schedules, memos -----------------------------------------------------------------

Answer Side::call(const PutQueueStep& step, TimePoint now) {
  return value(store_->put_queue(step.settings, step.mode, now));
}

Answer Side::call(const QueuesStep& step, TimePoint /*now*/) {
  return values(store_->queues(step.queue));
}

Answer Side::call(const RemoveQueueStep& step, TimePoint now) {
  return value(store_->remove_queue(step.queue, step.force, now));
}

Answer Side::call(const ClearStep& step, TimePoint now) {
  const auto removed = store_->clear(step.queue, step.limit, now);
  if (!removed) return {failure(removed.error())};
  return {Note{"cleared " + std::to_string(*removed)}};
}

Answer Side::call(const PutGroupStep& step, TimePoint now) {
  return value(store_->put_group(step.change, now));
}

// The store may choose the order of groups and of pages.
Answer Side::call(const GroupsStep& step, TimePoint now) {
  std::vector<Group> groups;
  GroupsRequest request = step.request;
  do {
    auto page = store_->groups(request, now);
    if (!page) return {failure(page.error())};
    if (page->groups.size() > request.limit) complain("a page of groups is longer than its limit");
    if (page->groups.empty() && !page->next.empty()) complain("a page of groups is empty");
    request.after = page->next;
    std::ranges::move(page->groups, std::back_inserter(groups));
  } while (!request.after.empty());
  std::ranges::sort(groups, {}, &Group::name);
  return {groups.begin(), groups.end()};
}

Answer Side::call(const PutScheduleStep& step, TimePoint now) {
  return value(store_->put_schedule(step.schedule, step.mode, now));
}

Answer Side::call(const RemoveScheduleStep& step, TimePoint now) {
  return value(store_->remove_schedule(step.name, now));
}

Answer Side::call(const SchedulesStep& step, TimePoint /*now*/) {
  return values(store_->schedules(step.name));
}

Answer Side::call(const FireStep& step, TimePoint now) {
  auto fired = store_->fire(step.tick, now);
  if (!fired) return {failure(fired.error())};
  Answer answer;
  if (fired->put) answer.emplace_back(comparable(*fired->put));
  answer.emplace_back(fired->schedule);
  return answer;
}

Answer Side::call(const RememberStep& step, TimePoint now) {
  auto request = step.request;
  const auto& versions = memo_versions_[request.key];
  if (step.expected == VersionPick::none) request.expected = 0;
  if (step.expected == VersionPick::current) {
    request.expected = versions.empty() ? 1 : versions.back();
  }
  if (step.expected == VersionPick::stale) {
    request.expected = versions.size() < 2 ? 1'000'000 : versions[versions.size() - 2];
  }
  auto memo = store_->remember(request, now);
  if (!memo) return {failure(memo.error())};
  if (request.value) {
    if (memo->version == 0 || (!versions.empty() && memo->version <= versions.back())) {
      complain("the version of memo " + request.key + " did not grow");
    }
    memo_versions_[request.key].push_back(memo->version);
  }
  return {comparable(*memo)};
}

Answer Side::call(const RecallStep& step, TimePoint now) {
  auto memos = store_->recall(step.request, now);
  if (!memos) return {failure(memos.error())};
  Answer answer;
  for (const auto& memo : *memos) answer.emplace_back(comparable(memo));
  return answer;
}

// ready() is only a hint, so only check that its queues exist.
Answer Side::call(const WaitStep& /*step*/, TimePoint now) {
  const auto names = store_->ready(now);
  if (!names) return {failure(names.error())};
  for (const auto& name : *names) {
    if (!store_->queues(QueueRef(name))) complain("ready named " + name + ", which is not there");
  }
  return {Note{"ok"}};
}

}  // namespace millrace::test
