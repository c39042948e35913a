#include "worker/call.h"

#include <fmt/format.h>

#include <exception>
#include <utility>
#include <vector>

namespace millrace::worker {
namespace {

CallResult failure(TaskError error, std::optional<bool> retryable = std::nullopt) {
  return {.threw = true, .failure = {.error = std::move(error), .retryable = retryable}};
}

CallResult call(const HandlerFunction& handler, std::span<Context* const> contexts) {
  try {
    handler(contexts);
    return {};
  } catch (const TaskFailure& e) {
    return failure(e.error, e.retryable);
  } catch (const std::exception& e) {
    return failure({.message = e.what()});
  } catch (...) {
    return failure({.message = "unknown exception"});
  }
}

}  // namespace

CallResult call_handler(const WorkerQueue& queue, std::span<const RunPtr> runs) {
  const std::string& type = runs.front()->lease.type;
  const HandlerFunction* handler = queue.handler_of(type);
  if (handler == nullptr) {
    return failure({.code = "unsupported_task_type",
                    .message = fmt::format("Unsupported task type: {}", type)},
                   false);
  }
  if (runs.size() == 1) {
    if (runs.front()->settled()) return {};
    Context context(*runs.front());
    Context* const only = &context;
    return call(*handler, {&only, 1});
  }
  std::vector<Context> contexts;
  std::vector<Context*> pointers;
  contexts.reserve(runs.size());
  for (const RunPtr& run : runs) {
    if (!run->settled()) pointers.push_back(&contexts.emplace_back(*run));
  }
  return pointers.empty() ? CallResult{} : call(*handler, pointers);
}

void speak_for(const WorkerQueue& queue, std::span<const RunPtr> runs, const CallResult& result) {
  for (const RunPtr& run : runs) {
    if (result.threw) {
      run->end_by_failure(result.failure);
    } else if (queue.how.acknowledge == Acknowledge::automatic) {
      run->end(Done{}, true);
    }
  }
}

}  // namespace millrace::worker
