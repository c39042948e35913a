// Values for tests. A test names only what it is about; the rest is made up here.
#pragma once

#include <millrace/ids.h>
#include <millrace/queue.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <millrace/work.h>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/values.h"

namespace millrace::test {

using namespace std::chrono_literals;

// Where the time of every test starts. It moves only when a test moves it.
inline constexpr TimePoint t0 =
    std::chrono::sys_days(std::chrono::year(2030) / std::chrono::January / 1);

// Different each time, but the same in every run of a test program.
TaskId fresh_id();
Uuid fresh_uuid();

// A task for a queue, with an id: task("emails", {.priority = 9}).
NewTask task(QueueRef queue, NewTask fields = {});

// A task as it was in another store, with an id: old_task("emails", {.state = TaskState::dead}).
// Made an hour and finished half an hour before t0, if finished.
Task old_task(std::string queue, Task fields = {});

// Settings with an id: queue("emails", {.max_depth = 10}).
QueueSettings queue(std::string name, QueueSettings fields = {});

// The error a handler ended with.
TaskError error(std::string message, std::string code = "task_processing_error");

// Decided ends of a run, as core/decide makes them except for the delay, which the test chooses:
// settle(done(lease)), settle(retry_at(lease, now + 5s)).
Settlement done(const Lease& lease, std::string result = {});
Settlement retry_at(const Lease& lease, TimePoint ready, TaskError why = error("again"));
Settlement failed(const Lease& lease, TaskError why = error("hopeless"));
Settlement exhausted(const Lease& lease, TaskError why = error("once too often"));
Settlement snoozed(const Lease& lease, TimePoint until);
Settlement parked(const Lease& lease, TimePoint until = never);
Settlement given_back(const Lease& lease);
// By the broker, because the lease reached no worker.
Settlement given_back_unseen(const Lease& lease);
Settlement cancelled(const Lease& lease);

// Ends that the timer decides, from what due() returned.
Settlement lost(const Overdue& overdue, TimePoint now);
Settlement expired(const Overdue& overdue, TimePoint now);

// The same settlement with tasks to store in the same commit.
Settlement with(Settlement settlement, std::vector<NewTask> follow_ups);

}  // namespace millrace::test
