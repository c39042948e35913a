// The table of routes, and finding the one that a request is for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "access/key.h"
#include "api/server/http.h"

namespace millrace::api {

struct Call;
using access::Scope;

enum class Body : std::uint8_t {
  none,      // whatever comes is not looked at
  optional,  // JSON, or nothing
  json,
  tasks,  // JSON, or a stream of lines
  lines,  // a stream of lines
};

struct Route {
  Method method = Method::get;
  std::string_view pattern = {};             // "/v1/tasks/{id}/settle"
  std::optional<Scope> scope = Scope::read;  // what a key must have; nullopt: none is needed
  std::string_view operation = {};           // operationId of the OpenAPI document
  void (*handle)(std::unique_ptr<Call>) = nullptr;
  Body body = Body::none;
  // The action log keeps the body, as it does for all admin routes: the body has no payload.
  bool logs_body = false;
  // Answered while the server starts and stops, too.
  bool always = false;
};

std::span<const Route> routes();

struct Match {
  const Route* route = nullptr;
  std::array<std::string_view, 2> path = {};  // what stands in place of {…}, still encoded
  std::string allow = {};  // without a route: the methods of this path; empty: no such path
};

// HEAD finds what GET would. `path` is without the query.
Match match(Method method, std::string_view path);

std::string_view name_of(Method method);

}  // namespace millrace::api
