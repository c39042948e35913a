// Posts a task to an HTTP endpoint: the payload is the body, the answer is the result.
// docs/workers.md, "HTTP endpoints".
#pragma once

#include <millrace/time.h>
#include <millrace/work.h>
#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "outgoing/http_client.h"
#include "outgoing/signature.h"

namespace millrace::worker {

struct EndpointOptions {
  std::string url = {};
  outgoing::Headers headers = {};               // in addition to those of the task
  std::vector<outgoing::Secret> secrets = {};   // empty: nothing is signed
  Duration timeout = std::chrono::seconds(30);  // of tasks that have none
};

// The HTTP request for a task.
outgoing::HttpRequest request_of(const EndpointOptions& options, const Lease& task,
                                 std::uint32_t attempt, std::optional<TimePoint> deadline,
                                 TimePoint now);

// What the answer means: as in reply.h, but 401 is `authentication_error`, which raises an alert.
Outcome outcome_of(const Result<outgoing::HttpReply>& reply, TimePoint now);

}  // namespace millrace::worker
