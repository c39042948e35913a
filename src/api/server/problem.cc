#include "api/server/problem.h"

#include <fmt/format.h>

#include "api/wire/put.h"
#include "api/wire/text_writer.h"

namespace millrace::api {
namespace {

unsigned status_of(const Error& error) {
  switch (error.code) {
    case ErrorCode::invalid:
      return 422;
    case ErrorCode::too_large:
      return 413;
    case ErrorCode::not_found:
      return 404;
    case ErrorCode::conflict:
    case ErrorCode::lease_lost:
      return 409;
    case ErrorCode::limited:
      if (error.lasting) return 409;
      return error.no_space ? 507 : 429;
    case ErrorCode::unavailable:
      return 503;
    case ErrorCode::corrupt:
    case ErrorCode::internal:
      return 500;
  }
  return 500;
}

}  // namespace

std::string_view title_of(unsigned status) {
  switch (status) {
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 507:
      return "Insufficient Storage";
    default:
      return "Internal Server Error";
  }
}

Problem problem_of(const Error& error) {
  Problem problem{.status = status_of(error)};
  problem.code = wire::code_of(error);
  problem.detail = error.message;
  problem.field = error.field;
  // What is about no single value is about all of them.
  if (problem.status == 422 && problem.field.empty()) problem.field = "body";
  problem.retry_after = error.retry_after;
  if (!problem.retry_after && (problem.status == 429 || problem.status == 503)) {
    problem.retry_after = std::chrono::seconds(1);
  }
  return problem;
}

Problem problem_of(const wire::Refusal& refusal) {
  Problem problem = problem_of(refusal.error);
  if (refusal.malformed) {
    problem.status = 400;
    problem.code = "malformed";
  }
  return problem;
}

Problem problem_of(const access::Verdict& verdict) {
  Problem problem{.status = 401,
                  .code = "unauthorized",
                  .detail = verdict.detail,
                  .retry_after = verdict.retry_after};
  if (verdict.outcome == access::Outcome::forbidden) {
    problem.status = 403, problem.code = "forbidden";
  } else if (verdict.outcome == access::Outcome::limited) {
    problem.status = 429, problem.code = "limited";
  }
  return problem;
}

HttpResponse response_of(const Problem& problem, std::string_view request_id) {
  HttpResponse response{.status = problem.status, .content_type = "application/problem+json"};
  wire::TextWriter writer(response.body);
  writer("title", title_of(problem.status)), writer("status", problem.status);
  writer("code", problem.code), writer("detail", problem.detail);
  writer("field", problem.field), writer("state", problem.state);
  writer("request_id", request_id), writer("retry_after_ms", problem.retry_after);
  writer.close();
  if (problem.retry_after) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(*problem.retry_after);
    response.headers.emplace_back("Retry-After", fmt::format("{}", seconds.count()));
  }
  if (!problem.allow.empty()) response.headers.emplace_back("Allow", problem.allow);
  if (problem.status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  if (!request_id.empty()) response.headers.emplace_back("X-Request-Id", request_id);
  return response;
}

}  // namespace millrace::api
