// Small things that the parts of LocalBroker share.
#pragma once

#include <millrace/ids.h>
#include <millrace/result.h>
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "broker/local_broker.h"

namespace millrace {

struct LocalBroker::Problems {
  std::vector<QueueRef> asked = {};
  std::vector<std::pair<QueueRef, Error>> of = {};
};

// When a task that is put now may start, if that is later.
inline std::optional<TimePoint> first_start_of(const NewTask& task, TimePoint now) {
  auto start = task.start;
  if (task.delay) start = later(now, *task.delay);
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

// Reads the tasks, in as many calls as the store's batch limit demands.
inline Result<std::vector<Result<Task>>> find_all(Reader& reader, std::span<const TaskId> ids,
                                                  Parts parts, std::size_t batch) {
  std::vector<Result<Task>> tasks;
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

}  // namespace millrace
