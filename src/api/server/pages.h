// What people see who open the server in a browser.
#pragma once

#include <optional>
#include <string_view>

#include "api/server/http.h"

namespace millrace::api {

class Pages {
 public:
  virtual ~Pages() = default;

  // Answers a request that no route is for; `path` is its path without the query. nullopt: nothing
  // is there. Called on the listener's threads, several at once; must not block.
  virtual std::optional<HttpResponse> answer(const HttpRequest& head,
                                             std::string_view path) const = 0;
};

}  // namespace millrace::api
