// What the API keeps between requests, and the metrics it shows of that.
#pragma once

#include <functional>
#include <optional>

#include "api/server/api_options.h"
#include "api/server/event_streams.h"
#include "api/server/http_metrics.h"
#include "api/server/metrics_page.h"

namespace millrace::api {

struct ApiState {
  explicit ApiState(Clock& clock, const EventStreamsOptions& options) : streams(clock, options) {}

  HttpMetrics http;
  EventStreams streams;
};

Shown shown_by(const ApiOptions& options, ApiState& state, std::optional<MetricsSnapshot> snapshot,
               bool ready);

// The metrics page, sent piece by piece. Calls `show` when the first piece is asked for.
HttpResponse metrics_response(std::move_only_function<Shown()> show);

}  // namespace millrace::api
