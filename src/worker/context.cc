#include <millrace/context.h>
#include <utility>

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
