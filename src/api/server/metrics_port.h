// A port for those who watch: /metrics, /health and /ready, for whoever can reach it, and nothing
// else.
#pragma once

#include <functional>

#include "api/server/http.h"

namespace millrace::api {

struct MetricsPort {
  std::function<void(Respond respond)> metrics = {};
  std::function<HttpResponse()> health = {};  // none: there is no such page
  std::function<HttpResponse()> ready = {};
};

HttpHandler handler_of(MetricsPort port);

}  // namespace millrace::api
