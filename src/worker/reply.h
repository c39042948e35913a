// What an answer over HTTP means for the task that asked: the same rules for webhooks, alerts and
// endpoints.
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

// Nobody is let to put a task off for longer than this.
inline constexpr Duration longest_retry_after = std::chrono::hours(24);

// When Retry-After says to come back: seconds, or a date of HTTP. Nullopt: it says nothing that can
// be understood. Never earlier than now, nor later than a day from now.
std::optional<TimePoint> retry_after(std::string_view header, TimePoint now);

// 2xx is done, with the body as the result. 408, 425, 429 and 5xx are tried again, at the moment
// that Retry-After names if it does; other answers are final, redirects too, which are not
// followed. No answer is `connection_error` and tried again; what could not be sent at all is
// final. `who` is whom a message calls "the receiver".
Outcome judge(const Result<outgoing::HttpReply>& reply, std::string_view who, TimePoint now);

// "200", or why there was no answer.
std::string status_of(const Result<outgoing::HttpReply>& reply);

// Printable ASCII only: what else there is cannot go into a header.
bool fits_header(std::string_view value);

}  // namespace millrace::worker
