#include <fmt/format.h>
#include <millrace/context.h>
#include <utility>

#include "core/limits.h"
#include "worker/run.h"

namespace millrace {

const Lease& Context::task() const {
  return run_->lease;
}
std::optional<TimePoint> Context::deadline() const {
  return run_->deadline();
}
TimePoint Context::now() const {
  return run_->host().wall_time();
}
StopReason Context::stop_reason() const {
  return run_->stop_reason();
}
std::stop_token Context::stop_token() const {
  return run_->stop_token();
}
bool Context::wait_for(Duration time) {
  return run_->wait_for(time);
}
void Context::progress(double percent) {
  run_->progress(percent);
}
void Context::log(std::string line) {
  run_->log(std::move(line));
}
void Context::cost(std::uint32_t real) {
  run_->cost(real);
}
std::string Context::checkpoint() const {
  return run_->checkpoint();
}
Result<void> Context::checkpoint(std::string text) {
  return run_->save(std::move(text));
}
std::optional<std::string> Context::begin_step(std::string_view name) {
  return run_->begin_step(name);
}
// A result that is too large would be so in every run, and its call would run in each.
void Context::keep_step(std::string_view name, std::string_view json) {
  const auto kept = run_->save_step(name, json);
  if (kept) return;
  const Error& error = kept.error();
  std::string message =
      fmt::format("what step {} returned could not be stored: {}", name, error.message);
  if (error.code != ErrorCode::too_large) {
    throw TaskFailure({.code = "step_not_stored", .message = std::move(message)});
  }
  message += fmt::format(
      "; the results of all steps of a task may have {} KiB together, so return the name of a file "
      "or a key rather than the content",
      limits::max_checkpoint / limits::kib);
  throw TaskFailure({.code = "step_not_stored", .message = std::move(message)}, false);
}
void Context::forget_step(std::string_view name) {
  run_->forget_step(name);
}
Result<std::vector<Parent>> Context::parents() const {
  if (!task().after) return std::vector<Parent>();
  return run_->host().parents(task().id);
}
Result<void> Context::put(NewTask task) {
  return run_->put(std::move(task));
}
Result<TaskState> Context::settle(Outcome outcome) {
  return run_->settle(std::move(outcome));
}
bool Context::settled() const {
  return run_->settled();
}

}  // namespace millrace
