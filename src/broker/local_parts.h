// Small things that the parts of LocalBroker share.
#pragma once

#include <millrace/ids.h>
#include <millrace/result.h>
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "broker/local_broker.h"
#include "store/store.h"

namespace millrace {

using FoundTasks = std::vector<Result<Task>>;

struct LocalBroker::Problems {
  std::vector<QueueRef> asked = {};       // created if they are missing
  std::vector<QueueRef> looked_for = {};  // not created
  std::vector<std::pair<QueueRef, Error>> of = {};

  // False: the store has failed.
  bool note(const QueueRef& queue, const Result<void>& good) {
    if (good) return true;
    if (good.error().code == ErrorCode::unavailable) return false;
    of.emplace_back(queue, good.error());
    return true;
  }
};

// When a task that is put now may start, if that is later.
inline std::optional<TimePoint> first_start_of(const NewTask& task, TimePoint now) {
  auto start = task.start;
  if (task.delay) start = later(now, *task.delay);
  // A task that is postponed again starts at most so long after its first put.
  if (start && task.unique && task.unique->max_delay) {
    start = std::min(*start, later(now, *task.unique->max_delay));
  }
  return start && *start > now ? start : std::nullopt;
}

// Removes from `items` what was refused: `refused` is empty, or as long as `items`.
template <class T>
void drop_refused(std::vector<T>& items, const std::vector<std::optional<Error>>& refused) {
  if (refused.empty()) return;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (refused[i]) continue;
    if (kept != i) items[kept] = std::move(items[i]);
    ++kept;
  }
  items.resize(kept);
}

// Puts the refusals back at their places among the results of the others.
template <class T>
std::vector<Result<T>> with_refused(std::vector<Result<T>> results,
                                    std::vector<std::optional<Error>> refused) {
  if (refused.empty()) return results;
  std::vector<Result<T>> all;
  all.reserve(refused.size());
  std::size_t at = 0;
  for (auto& error : refused) {
    if (error) {
      all.push_back(std::unexpected(std::move(*error)));
    } else {
      all.push_back(std::move(results[at++]));
    }
  }
  return all;
}

// One call of the store for each batch of items.
template <class T, class Call>
Result<Broker::States> in_batches(const std::vector<T>& items, std::size_t batch,
                                  const Call& call) {
  Broker::States states;
  std::span<const T> rest = items;
  while (!rest.empty()) {
    const auto part = rest.first(std::min(batch, rest.size()));
    rest = rest.subspan(part.size());
    Result<Broker::States> answer = call(part);
    if (!answer) return answer;
    for (auto& state : answer.value()) states.push_back(std::move(state));
  }
  return states;
}

// The same for the items that are not refused; results are in the order of all.
template <class T, class Call>
Result<Broker::States> in_batches(std::vector<T> items, std::vector<std::optional<Error>> refused,
                                  std::size_t batch, const Call& call) {
  drop_refused(items, refused);
  auto states = in_batches(items, batch, call);
  if (!states) return states;
  return with_refused(std::move(*states), std::move(refused));
}

// Reads the tasks, in as many calls as the store's batch limit demands.
inline Result<FoundTasks> find_all(Reader& reader, std::span<const TaskId> ids, Parts parts,
                                   std::size_t batch) {
  FoundTasks tasks;
  tasks.reserve(ids.size());
  while (!ids.empty()) {
    const auto part = ids.first(std::min(batch, ids.size()));
    ids = ids.subspan(part.size());
    auto found = reader.find(std::vector<TaskRef>(part.begin(), part.end()), parts);
    if (!found) return found;
    std::ranges::move(*found, std::back_inserter(tasks));
  }
  return tasks;
}

// Brings tasks that were read beside the rounds up to date, where rounds are applied: what may have
// changed is compared by version, and only tasks that have changed are read again.
inline Result<void> bring_up_to_date(Store& store, std::span<const TaskId> ids, FoundTasks& tasks,
                                     Parts parts, std::size_t batch) {
  const auto now = find_all(store, ids, state_only, batch);
  if (!now) return std::unexpected(now.error());
  std::vector<TaskId> changed;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto& task = (*now)[i];
    const bool same = task && tasks[i] && task->version == tasks[i]->version;
    if (same || (!task && !tasks[i])) continue;
    changed.push_back(ids[i]);
    places.push_back(i);
  }
  if (changed.empty()) return {};
  auto again = find_all(store, changed, parts, batch);
  if (!again) return std::unexpected(std::move(again.error()));
  for (std::size_t i = 0; i < places.size(); ++i) tasks[places[i]] = std::move((*again)[i]);
  return {};
}

// Says why a queue is missing where the broker knows more than the store. `queues` by result.
template <class T>
void explain_missing(std::vector<Result<T>>& results, const std::vector<QueueRef>& queues,
                     const std::vector<std::pair<QueueRef, Error>>& problems) {
  if (problems.empty() || queues.size() != results.size()) return;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i] || results[i].error().code != ErrorCode::not_found) continue;
    for (const auto& [queue, error] : problems) {
      if (queue == queues[i]) results[i] = std::unexpected(error);
    }
  }
}

// Acts on tasks. What must be known of them is read beside the rounds, so that the applier does not
// wait for a disk; there it is only brought up to date.
template <class T>
void LocalBroker::call_with_tasks(const Ask& ask, std::vector<TaskId> ids, ActOnTasks<T> act,
                                  Completion<T> done, Parts parts) {
  const auto shared = std::make_shared<const std::vector<TaskId>>(std::move(ids));
  const std::size_t batch = books_.traits.batch;
  read<FoundTasks>(
      ask,
      [shared, parts, batch](Reader& reader, TimePoint) {
        return find_all(reader, *shared, parts, batch);
      },
      [this, ask, shared, parts, batch, act = std::move(act),
       done = std::move(done)](Result<FoundTasks> found) mutable {
        if (!found) return done(std::unexpected(std::move(found.error())));
        call<T>(
            ask,
            [shared, parts, batch, tasks = std::move(*found), act = std::move(act)](
                Store& store, TimePoint now) mutable -> Result<T> {
              auto good = bring_up_to_date(store, *shared, tasks, parts, batch);
              if (!good) return std::unexpected(std::move(good.error()));
              return act(store, tasks, now);
            },
            std::move(done));
      });
}

}  // namespace millrace
