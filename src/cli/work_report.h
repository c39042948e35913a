// What `millrace work` tells a person: a line per task, and what its command writes to standard
// error.
//
//   done    emails  01a1e03f-2d76-7677-b9dd-0d9d98455722  3 ms
//   retry   emails  01a1e03f-3ec3-7178-8f32-350330013438  12 ms: exit code 3
#pragma once

#include <millrace/handler.h>
#include <millrace/task.h>
#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "core/clock.h"
#include "core/mutex.h"
#include "worker/exec.h"
#include "worker/worker.h"

namespace millrace::cli {

class WorkReport {
 public:
  // Gets whole lines, from several threads.
  using Say = std::function<void(std::string_view lines)>;

  // `several`: commands run side by side, so their lines name the task. The clock must outlive the
  // report.
  WorkReport(Clock& clock, Say say, bool several);
  WorkReport(const WorkReport&) = delete;
  WorkReport& operator=(const WorkReport&) = delete;

  // For ExecOptions::echo.
  void echo(const Lease& task, std::string_view line);
  // Reports the ends of this queue's tasks. The report must outlive the worker.
  void watch(worker::QueueHandlers& queue);

 private:
  void began(const TaskId& id);
  std::string lasted(const TaskId& id);  // "3 ms"
  void ended(const TaskEvent& event, std::string_view word);
  void line(std::string_view word, const Lease& task, std::string_view error);

  Clock& clock_;
  const Say say_;
  const bool several_;
  Mutex mutex_;
  std::map<TaskId, std::chrono::nanoseconds> started_ GUARDED_BY(mutex_);
};

}  // namespace millrace::cli
