// What an HTTP answer means for the task: the same rules for webhooks, alerts and endpoints.
#pragma once

#include <millrace/result.h>
#include <millrace/time.h>
#include <millrace/work.h>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "outgoing/http_client.h"

namespace millrace::worker {

// No receiver may put a task off for longer than this.
inline constexpr Duration longest_retry_after = std::chrono::hours(24);

// The moment that a Retry-After header names: seconds, or an HTTP date. Nullopt: it cannot be
// understood. Never earlier than now, nor later than a day from now.
std::optional<TimePoint> retry_after(std::string_view header, TimePoint now);

// 2xx is done, with the body as the result. 408, 425, 429 and 5xx are retried, at the moment that
// Retry-After names if there is one. Other answers are final, redirects included: they are not
// followed. No answer is `connection_error` and is retried; a request that could not be sent at all
// is final. `who` is the name of the receiver in messages.
Outcome judge(const Result<outgoing::HttpReply>& reply, std::string_view who, TimePoint now);

// "200", or why there was no answer.
std::string status_of(const Result<outgoing::HttpReply>& reply);

// Whether the value may go into a header: printable ASCII only.
bool fits_header(std::string_view value);
// The value as it goes into a header: itself, or as RFC 8187 encodes it, UTF-8''%C3%A4.
std::string header_text(std::string_view value);
// Adds a header with that text; an empty value adds none.
void add_header(outgoing::Headers& headers, std::string_view name, std::string_view value);

}  // namespace millrace::worker
