// Errors as application/problem+json (RFC 9457), with codes that stay.
#pragma once

#include <millrace/result.h>
#include <millrace/time.h>
#include <optional>
#include <string>
#include <string_view>

#include "access/key_book.h"
#include "api/server/http.h"
#include "api/wire/input.h"

namespace millrace::api {

struct Problem {
  unsigned status = 500;
  std::string code = {};
  std::string detail = {};
  std::string field = {};
  std::optional<Duration> retry_after = std::nullopt;
  std::string state = {};  // of the task or of the server, where it explains the refusal
  std::string allow = {};  // methods, with 405
};

// What a status is called: "Not Found".
std::string_view title_of(unsigned status);

Problem problem_of(const Error& error);
Problem problem_of(const wire::Refusal& refusal);
// Of a verdict that is not `allowed`: 401, 403 or 429.
Problem problem_of(const access::Verdict& verdict);

HttpResponse response_of(const Problem& problem, std::string_view request_id);

}  // namespace millrace::api
