#include "queues.h"

#include <fmt/format.h>

#include <utility>

namespace partizap {
namespace {

using millrace::TaskEvent;

std::string error_of(const TaskEvent& event) {
  return event.error() == nullptr ? "no error was given" : event.error()->message;
}

void log_failure(Services& services, const TaskEvent& event) {
  services.log(fmt::format("Job {} failed: {}", millrace::to_text(event.task.id), error_of(event)));
}

// The task itself stays where it is, as a dead letter: with its payload, error and history.
void give_up(Services& services, const TaskEvent& event) {
  log_failure(services, event);
  services.alert({.message = fmt::format("Job permanently failed: {}", event.task.type),
                  .data = {.jobId = event.task.id, .error = error_of(event)}});
}

}  // namespace

millrace::RetryRules attempts(std::uint32_t most, millrace::Backoff backoff,
                              millrace::Duration base) {
  return {.backoff = backoff,
          .base = base,
          .factor = 2,
          .jitter = millrace::Jitter::none,
          .max_retries = most - 1};
}

void add_queue(millrace::App& app, Services& services, const std::string& name,
               millrace::HandlerOptions options) {
  options.on_completed = [&services](const TaskEvent& event) {
    services.log(fmt::format("Job {} completed", millrace::to_text(event.task.id)));
  };
  options.on_requeued = [&services](const TaskEvent& event) { log_failure(services, event); };
  options.on_failed = [&services](const TaskEvent& event) { give_up(services, event); };
  options.on_dead = options.on_failed;
  app.handle<millrace::Value>(
      name, std::move(options), [](const millrace::Value&, millrace::Context& task) {
        throw millrace::TaskFailure(
            {.code = "unknown_job", .message = fmt::format("Unknown job: {}", task.task().type)},
            false);
      });
}

}  // namespace partizap
