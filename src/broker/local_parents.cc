// The tasks that a task waits for, as it may see them.
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "broker/local_broker.h"
#include "broker/seen.h"
#include "core/check.h"
#include "core/limits.h"
#include "core/transition.h"
#include "store/store.h"

namespace millrace {
namespace {

// How many are read together: each may have a result of 16 MiB.
constexpr std::size_t read_together = 2;
constexpr Parts without_payload{.payload = false};

Parent parent_of(const TaskId& id, Result<Task> found, const Ask& ask) {
  Parent parent{.id = id};
  if (!found || !ask.sees(found->queue)) return parent;
  parent.state = found->state;
  parent.queue = std::move(found->queue);
  parent.type = std::move(found->type);
  parent.finished_at = found->finished_at;
  if (!is_final(found->state)) return parent;
  parent.content_type = std::move(found->content_type);
  parent.result = std::move(found->result);
  parent.error = std::move(found->error);
  return parent;
}

Result<Parents> find_parents(Reader& reader, const Task& task, const ParentsRequest& request,
                             const Ask& ask) {
  Parents page{.waits_for = static_cast<std::uint32_t>(task.waits_for.size())};
  const std::vector<TaskId> all = task.after ? task.after->tasks : std::vector<TaskId>();
  page.total = static_cast<std::uint32_t>(all.size());
  std::size_t bytes = 0;
  std::size_t at = std::min<std::size_t>(request.from, all.size());
  const std::size_t end = std::min<std::size_t>(at + request.limit, all.size());
  while (at < end && bytes < limits::max_taken_bytes) {
    const auto ids = std::span(all).subspan(at, std::min(read_together, end - at));
    auto found = reader.find(std::vector<TaskRef>(ids.begin(), ids.end()), without_payload);
    if (!found) return std::unexpected(std::move(found.error()));
    for (std::size_t i = 0; i < ids.size() && bytes < limits::max_taken_bytes; ++i, ++at) {
      auto& one = (*found)[i];
      if (!one && one.error().code != ErrorCode::not_found) {
        return std::unexpected(std::move(one.error()));
      }
      Parent& parent = page.parents.emplace_back(parent_of(ids[i], std::move(one), ask));
      parent.waits = std::ranges::find(task.waits_for, parent.id) != task.waits_for.end();
      bytes += parent.result.size();
    }
  }
  if (at < all.size()) page.next = static_cast<std::uint32_t>(at);
  return page;
}

}  // namespace

void LocalBroker::parents(Ask ask, TaskRef task, ParentsRequest request, Completion<Parents> done) {
  if (auto good = check::number("limit", request.limit, 1, limits::max_parents); !good) {
    return done(std::unexpected(std::move(good.error())));
  }
  read<Parents>(
      ask,
      [ask, task, request](Reader& reader, TimePoint) -> Result<Parents> {
        const auto found = seen_by(ask, task, find_task(reader, task, without_payload));
        if (!found) return std::unexpected(found.error());
        return find_parents(reader, *found, request, ask);
      },
      std::move(done), ReadCost::walk);
}

}  // namespace millrace
