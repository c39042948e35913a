// What every put has in common, be it one task, a list or a stream of lines.
#pragma once

#include <millrace/result.h>
#include <millrace/task.h>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/server/call.h"
#include "api/wire/put.h"
#include "broker/broker.h"

namespace millrace::api {

// Each queue once.
std::vector<QueueRef> queues_of(const std::vector<NewTask>& tasks);

// Gives the tasks the request's id and its idempotency key: a unique key of ours, held for a day.
std::optional<Problem> mark(const Call& call, wire::PutBody& body);
// Gives a task the request's id only.
void mark_request(const Call& call, NewTask& task);

// Appends the put, or {"error":…}.
void append_put(std::string& out, const Result<Put>& put, std::size_t place);

}  // namespace millrace::api
