// A port for monitoring: /metrics, /health and /ready, without keys, and nothing else.
#pragma once

#include <optional>
#include <string_view>

#include "api/server/http.h"
#include "api/server/listener.h"

namespace millrace::api {

// Prometheus and a few probes use it, and it must not take the files that other things need.
ListenerLimits metrics_limits();

class MetricsPort : public HttpHandler {
 public:
  BodyPlan plan(HttpRequest head, Peer& peer) final;
  void closed(const Peer&) final {}
  HttpResponse problem(unsigned status, std::string_view detail) final;

 private:
  // Answers with all metrics as they are now. Called on the listener's threads; must not block.
  virtual void metrics(Respond respond) = 0;
  // Whether the process lives. nullopt: there is no such page.
  virtual std::optional<HttpResponse> health() { return std::nullopt; }
  // Whether the process can do its work. nullopt: there is no such page.
  virtual std::optional<HttpResponse> ready() { return std::nullopt; }
};

}  // namespace millrace::api
