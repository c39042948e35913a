#include "worker/bulk.h"

#include <fmt/format.h>
#include <millrace/context.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "api/wire/bulk.h"
#include "broker/wait_for_answer.h"
#include "core/transition.h"
#include "core/uuid.h"

namespace millrace::worker {
namespace {

constexpr Duration bulk_idle = std::chrono::seconds(30);  // a put wakes it

// Whether the operation was cancelled. Asked before every page, because a heartbeat would say so
// later.
bool is_cancelled(Broker& broker, CallerId caller, const Context& task) {
  if (task.stop_reason() == StopReason::cancelled) return true;
  const auto found = wait_for_answer<Task>(
      [&](auto done) { broker.find({.caller = caller}, task.id(), std::move(done)); });
  return found && found->cancel_requested;
}

// A request that makes no sense, or names a queue that does not exist, fails for good.
Outcome failed(const Error& error) {
  const bool final = error.code == ErrorCode::invalid || error.code == ErrorCode::not_found ||
                     error.code == ErrorCode::corrupt;
  Failed outcome{.error = {.code = std::string(name_of(error.code)), .message = error.message}};
  if (final) outcome.retryable = false;
  return outcome;
}

void log_end(const Log& log, std::string_view how, const Context& task, const BulkRequest& request,
             const BulkProgress& progress) {
  log(LogLevel::info,
      fmt::format("operation on many tasks, {}{}: {}", name_of(request.action),
                  request.dry_run ? " (dry run)" : "", how),
      {{"operation", to_text(task.id().value)},
       {"looked_at", static_cast<std::int64_t>(progress.looked_at)},
       {"matched", static_cast<std::int64_t>(progress.matched)},
       {"done", static_cast<std::int64_t>(progress.done)},
       {"refused", static_cast<std::int64_t>(progress.refused)}});
}

double percent_of(const BulkProgress& progress) {
  if (progress.about == 0) return 0;
  return std::min(
      100.0, 100.0 * static_cast<double>(progress.looked_at) / static_cast<double>(progress.about));
}

class Operation {
 public:
  Operation(Broker& broker, BulkVerbs& verbs, const std::atomic<bool>& stopping, const Log& log,
            CallerId caller)
      : broker_(broker), verbs_(verbs), stopping_(stopping), log_(log), caller_(caller) {}

  void run(Context& task) const {
    const auto request = wire::bulk_from(task.task().payload);
    if (!request) {
      (void)task.settle(failed(request.error()));
      return;
    }
    BulkWalk walk(broker_, verbs_, caller_, *request, task.id(), task.task().number);
    // Returns once the end is stored, so that the progress is not forgotten too early.
    const auto state = task.settle(walked(task, *request, walk));
    // The result holds the counts of a completed operation only.
    if (state && is_final(*state)) walk.forget(*state == TaskState::completed);
  }

 private:
  Outcome walked(Context& task, const BulkRequest& request, BulkWalk& walk) const {
    if (auto good = walk.begin(); !good) return failed(good.error());
    for (bool more = true; more;) {
      if (is_cancelled(broker_, caller_, task)) {
        if (auto saved = walk.save(); !saved) return failed(saved.error());
        log_end(log_, "cancelled", task, request, walk.progress());
        std::string reason = walk.reason();
        return Cancel{reason.empty() ? "cancelled while it was running" : std::move(reason)};
      }
      if (stopping_ || task.stop_requested()) {
        (void)walk.save();  // if this fails, the next walk looks at the finished tasks once more
        return GiveBack{};
      }
      const auto stepped = walk.step();
      if (!stepped) return failed(stepped.error());
      more = *stepped;
      task.progress(percent_of(walk.progress()));
    }
    log_end(log_, "done", task, request, walk.progress());
    return Done{wire::result_text(walk.progress())};
  }

  Broker& broker_;
  BulkVerbs& verbs_;
  const std::atomic<bool>& stopping_;
  const Log& log_;
  const CallerId caller_;
};

}  // namespace

HandlerFunction run_bulk(Broker& broker, BulkVerbs& verbs,
                         std::shared_ptr<const std::atomic<bool>> stopping, Log log) {
  const CallerId caller = broker.new_caller();
  return [&broker, &verbs, caller, stopping = std::move(stopping),
          log = std::move(log)](std::span<Context* const> tasks) {
    const Operation operation(broker, verbs, *stopping, log, caller);
    for (Context* task : tasks) operation.run(*task);
  };
}

BulkWorker::BulkWorker(Clock& clock, Broker& broker, BulkVerbs& verbs,
                       const BulkWorkerOptions& options)
    : stopping_(std::make_shared<std::atomic<bool>>(false)),
      worker_(clock, broker,
              {.name = options.name, .internal = true, .idle = bulk_idle, .log = options.log},
              {{.queue = std::string(bulk_queue),
                .concurrency = std::max(options.concurrency, 1U),
                .prefetch = 0,
                .acknowledge = Acknowledge::manual,
                .any = inside_.counted(run_bulk(broker, verbs, stopping_, options.log))}}) {
  worker_.start();
}

void BulkWorker::stop(Duration limit) {
  if (stopping_->exchange(true)) return;
  worker_.shutdown();
  worker_.graceful_stop(limit);
}

}  // namespace millrace::worker
