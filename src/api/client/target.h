// Paths and queries of the API.
#pragma once

#include <millrace/ids.h>
#include <string>
#include <string_view>

#include "core/values.h"

namespace millrace::client {

// Everything but letters, digits and -._~ as %XX.
std::string percent_encoded(std::string_view text);

// /v1/tasks/<id or number><more>
std::string task_target(const TaskRef& task, std::string_view more = {});
// /v1/queues/<name, number or UUID><more>
std::string queue_target(const QueueRef& queue, std::string_view more = {});
// /v1/queues/<queue>/groups/<name>
std::string group_target(const QueueRef& queue, std::string_view name);
// /v1/queues/<queue>/groups?...
std::string groups_target(const GroupsRequest& request);
// /v1/schedules/<name><more>
std::string schedule_target(std::string_view name, std::string_view more = {});
// /v1/workers/<name><more>
std::string worker_target(std::string_view name, std::string_view more = {});
// /v1/tasks?...
std::string list_target(const ListRequest& request);

}  // namespace millrace::client
