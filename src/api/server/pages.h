// The pages that users see when they open the server in a browser.
#pragma once

#include <optional>
#include <string_view>

#include "api/server/http.h"

namespace millrace::api {

class Pages {
 public:
  virtual ~Pages() = default;

  // Answers a request that has no route; `path` is its path without the query. nullopt: there is no
  // such page. Called on the listener's threads, several at once; must not block.
  virtual std::optional<HttpResponse> answer(const HttpRequest& head,
                                             std::string_view path) const = 0;
};

}  // namespace millrace::api
