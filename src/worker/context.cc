#include <fmt/format.h>
#include <millrace/context.h>
#include <utility>

#include "worker/run.h"
#include "worker/steps.h"

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
std::string Context::checkpoint() const {
  return run_->checkpoint();
}
Result<void> Context::checkpoint(std::string text) {
  return run_->save(std::move(text));
}
std::optional<std::string> Context::result_of_step(std::string_view name) const {
  return worker::result_of(run_->checkpoint(), name);
}
void Context::keep_step(std::string_view name, std::string json) {
  const auto kept = run_->save(worker::with_step(run_->checkpoint(), name, json));
  if (kept) return;
  throw TaskFailure({.code = "step_not_stored",
                     .message = fmt::format("what step {} returned could not be stored: {}", name,
                                            kept.error().message)});
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
