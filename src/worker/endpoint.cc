#include "worker/endpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/limits.h"
#include "core/time_text.h"
#include "core/uuid.h"
#include "worker/reply.h"

namespace millrace::worker {
outgoing::HttpRequest request_of(const EndpointOptions& options, const Lease& task,
                                 std::uint32_t attempt, std::optional<TimePoint> deadline,
                                 TimePoint now) {
  outgoing::HttpRequest request{.method = "POST",
                                .url = options.url,
                                .headers = options.headers,
                                .body = task.payload,
                                .timeout = options.timeout,
                                .most = limits::max_result};
  if (deadline) request.timeout = std::max(*deadline - now, Duration(1));
  const std::string id = to_text(task.id.value);
  auto& headers = request.headers;
  const bool typed = !task.content_type.empty() && fits_header(task.content_type);
  headers.emplace_back("Content-Type", typed ? task.content_type : "application/json");
  headers.emplace_back("X-Task-ID", id);
  add_header(headers, "X-Task-Queue", task.queue);
  add_header(headers, "X-Task-Type", task.type);
  headers.emplace_back("X-Task-Attempt", fmt::format("{}", attempt));
  if (deadline) headers.emplace_back("Millrace-Deadline", format_time(*deadline));
  add_header(headers, "X-Client-ID", task.client_id);
  add_header(headers, "X-Request-ID", task.request_id);
  if (options.secrets.empty()) return request;
  for (auto& header : outgoing::signature_headers(options.secrets, id, now, request.body)) {
    headers.push_back(std::move(header));
  }
  return request;
}

Outcome outcome_of(const Result<outgoing::HttpReply>& reply, TimePoint now) {
  Outcome outcome = judge(reply, "the endpoint", now);
  if (reply && reply->status == 401) std::get<Failed>(outcome).error.code = "authentication_error";
  return outcome;
}

}  // namespace millrace::worker
