#include <fmt/format.h>
#include <algorithm>

#include "api/server/route.h"
#include "tests/api/cases.h"

namespace millrace::test {
namespace {

constexpr std::string_view some_id = "01890a5d-ac96-774b-bcce-b302099a8057";

// The path with something that could be there in place of {…}.
std::string target_of(const Operation& operation) {
  std::string target = operation.path;
  for (const auto& [name, value] :
       {std::pair{"{id}", some_id}, {"{queue}", "emails"}, {"{name}", "nightly"}}) {
    if (const auto at = target.find(name); at != std::string::npos) {
      target.replace(at, std::string_view(name).size(), value);
    }
  }
  return target;
}

// Whatever is wrong with a line is told at the end.
bool takes_lines(const Operation& operation) {
  return operation.id == "importLines";
}

Request request_of(const Operation& operation) {
  Request request{.method = operation.method, .target = target_of(operation)};
  if (operation.has_body) request.body = "{}";
  if (takes_lines(operation)) request.content_type = "application/x-ndjson";
  if (operation.path == "/v1/session") request.headers = "X-Requested-By: tests\r\n";
  return request;
}

// A key that may not use this operation.
NamedKey wrong_key(const Operation& operation) {
  const auto all = api::routes();
  const auto route = std::ranges::find(all, operation.id, &api::Route::operation);
  const bool reads = route != all.end() && route->scope == access::Scope::read;
  return {.name = "wrong", .scopes = {reads ? access::Scope::put : access::Scope::read}};
}

// Without a key, with one that may not, and with one that has been used too often.
Case denied(const Operation& operation, unsigned status) {
  return {.operation = operation.id,
          .status = status,
          .request =
              [operation, status](ApiClient& server) {
                Request request = request_of(operation);
                if (status == 403) request.headers += by_key("wrong");
                if (status != 429) return request;
                server.ask({.target = "/v1/stats", .headers = by_key("once")});
                request.headers += by_key("once");
                return request;
              },
          .server =
              [operation] {
                ServerOptions options;
                options.keys = {
                    wrong_key(operation),
                    {.name = "once", .rate = Rate{.max = 1, .per = std::chrono::hours(1)}}};
                return options;
              }};
}

Case with(const Operation& operation, unsigned status, Request request) {
  return {.operation = operation.id, .status = status, .request = [request](ApiClient&) {
            return request;
          }};
}

}  // namespace

std::vector<Case> general_cases(const Operation& operation) {
  std::vector<Case> cases;
  const Request plain = request_of(operation);
  const auto has = [&](const char* status) { return operation.statuses.contains(status); };
  if (has("400")) {
    Request unknown = plain;
    unknown.target += "?nonsense=1";
    cases.push_back(with(operation, 400, unknown));
  }
  if (has("400") && operation.has_body && !takes_lines(operation)) {
    Request broken = plain;
    broken.body = "{\"a\":";
    cases.push_back(with(operation, 400, broken));
  }
  const bool guarded = operation.path.starts_with("/v1") || operation.path == "/metrics";
  // Open to all; server_cases.cc has what they refuse.
  const bool session = operation.path == "/v1/session";
  if (guarded && !session) {
    for (const unsigned status : {401U, 403U, 429U}) {
      if (has(std::to_string(status).c_str())) cases.push_back(denied(operation, status));
    }
  }
  if (has("413") && operation.has_body) {
    Request large = plain;
    large.body = fmt::format("{{\"a\":\"{}\"}}", std::string(300, 'x'));
    Case one = with(operation, 413, large);
    one.server = [] {
      ServerOptions options;
      options.api.max_body = options.api.max_small_body = 200;
      return options;
    };
    cases.push_back(one);
  }
  if (has("415")) {
    Request other = plain;
    other.content_type = "text/csv";
    cases.push_back(with(operation, 415, other));
  }
  // A patch is looked at when there is something to change.
  const bool patch = operation.id == "changeQueue" || operation.id == "changeSchedule" ||
                     operation.id == "changeGroup";
  const bool of_group = operation.id == "listGroups" || operation.id == "getGroup" ||
                        operation.id == "resetGroup";  // without a body
  if (has("422") && !patch && !of_group) {
    Request invalid = plain;
    invalid.body = R"({"nonsense":1})";
    cases.push_back(with(operation, 422, invalid));
  }
  if (has("503") && guarded) {
    Case starting = with(operation, 503, plain);
    starting.server = [] {
      ServerOptions options;
      options.started = false;
      return options;
    };
    cases.push_back(starting);
  }
  return cases;
}

}  // namespace millrace::test
