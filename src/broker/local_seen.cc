// What LocalBroker answers callers that may not see everything, where ids are given that others may
// have used.
#include <fmt/format.h>

#include <map>
#include <utility>
#include <vector>

#include "broker/local_broker.h"
#include "broker/local_job.h"
#include "broker/local_parts.h"
#include "broker/seen.h"
#include "store/store.h"

namespace millrace {

Error taken_id() {
  return {ErrorCode::conflict, "a task has this id already; give the task another id"};
}

// A task that holds the put's unique key is in the queue of the put, so only tasks with its id are
// looked at.
void LocalBroker::hide_others(const Ask& ask, std::vector<Result<Put>>& puts) {
  for (Result<Put>& put : puts) {
    if (!put || put->queue.empty()) continue;
    if (ask.sees(put->queue)) {
      put->queue.clear();
    } else {
      put = std::unexpected(taken_id());
    }
  }
}

// A follow-up with the id of a task is not put, as when the report is repeated. Of a task that the
// caller may not see this would be the only sign, so the report is refused, as a put would be. One
// whose lease has ended is left to the store.
Result<void> LocalBroker::refuse_taken_ids(Store& store, Job& job) {
  std::erase_if(job.given_ids, [&](const auto& given) { return job.is_refused(given.first); });
  std::vector<TaskId> ids;
  for (const auto& [report, follow_up] : job.given_ids) {
    ids.push_back(job.reports[report].follow_ups[follow_up].id);
  }
  auto tasks = find_all(store, ids, state_only, books_.traits.batch);
  if (!tasks) return std::unexpected(std::move(tasks.error()));
  std::map<std::size_t, std::size_t> taken;  // by report: the first of its follow-ups
  std::vector<TaskId> ending;
  for (std::size_t i = 0; i < job.given_ids.size(); ++i) {
    const auto& [report, follow_up] = job.given_ids[i];
    const Result<Task>& same = (*tasks)[i];
    if (!same || job.ask.sees(same->queue)) continue;
    if (taken.emplace(report, follow_up).second) ending.push_back(job.reports[report].id);
  }
  tasks = find_all(store, ending, state_only, books_.traits.batch);
  if (!tasks) return std::unexpected(std::move(tasks.error()));
  std::size_t at = 0;
  for (const auto& [report, follow_up] : taken) {
    const Result<Task>& ended = (*tasks)[at++];
    if (!ended || ended->state != TaskState::processing) continue;
    Error error = taken_id();
    error.message = fmt::format("follow-up {}: {}", follow_up + 1, error.message);
    job.refuse(report, std::move(error));
  }
  return {};
}

}  // namespace millrace
