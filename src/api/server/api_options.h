// What the API is built with.
#pragma once

#include <millrace/time.h>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "api/server/access_check.h"
#include "api/server/action_log.h"
#include "api/server/archive.h"
#include "api/server/event_streams.h"
#include "api/server/eyes.h"
#include "api/server/key_admin.h"
#include "api/server/listener.h"
#include "api/server/sessions.h"
#include "core/clock.h"
#include "core/log.h"

namespace millrace::api {

// What people see who open the server in a browser; asked about requests that no route is for, with
// their path. nullopt: nothing is there.
using Pages =
    std::function<std::optional<HttpResponse>(const HttpRequest& head, std::string_view path)>;

struct ApiOptions {
  std::string version = "0";
  TimePoint started_at{};
  // Until when a request must have begun, counted from when it came.
  Duration deadline = std::chrono::seconds(30);
  std::size_t max_body = std::size_t{8} << 20U;        // of lists of tasks, and of work
  std::size_t max_small_body = std::size_t{2} << 20U;  // of everything else
  std::size_t max_line = std::size_t{2} << 20U;        // of one task in a stream of lines
  AccessCheck access = {};                             // none: everything is allowed
  // Of a request that `access` has let in: while it lasts, and for parts of it that need more. Must
  // not count as another request. None: `access` is asked again.
  AccessCheck access_again = {};
  KeyAdmin keys = {};                               // none: /v1/keys is 404
  Archive archive = {};                             // none: /v1/import and /v1/export are 404
  Sessions sessions = {};                           // none: nobody can sign in
  Actions actions = {};                             // none: nobody keeps who did what
  Pages pages = {};                                 // none: there is nothing to look at
  std::string base_path = {};                       // in front of all paths: /admin/queues
  Eyes eyes = {};                                   // none: /metrics and the like are 404
  EventStreamsOptions streams = {};                 // of events
  bool metrics_compat = false;                      // metrics of the source documents, too
  std::function<std::uint64_t()> connections = {};  // how many are open now
  std::function<ListenerCounts()> traffic = {};
  Clock* clock = nullptr;  // what time is taken by; must outlive the API. None: the system's
  Log log = {};
};

}  // namespace millrace::api
