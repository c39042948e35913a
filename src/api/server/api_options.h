// What the API is built with.
#pragma once

#include <millrace/time.h>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

#include "api/server/event_streams.h"
#include "api/server/listener.h"
#include "core/clock.h"
#include "core/log.h"

namespace millrace::api {

class ActionLog;
class Pages;
class StoredKeys;
class StoredSessions;

// All that is pointed to must outlive the API.
struct ApiOptions {
  std::string version = "0";
  TimePoint started_at{};
  // A request must have begun within this time of its arrival.
  Duration deadline = std::chrono::seconds(30);
  std::size_t max_body = std::size_t{32} << 20U;       // for lists of tasks, and for work
  std::size_t max_small_body = std::size_t{2} << 20U;  // for everything else
  std::size_t max_line = std::size_t{2} << 20U;        // for one task in a stream of lines
  StoredKeys* keys = nullptr;                          // who may do what; required
  StoredSessions* sessions = nullptr;                  // nullptr: users cannot sign in
  ActionLog* actions = nullptr;                        // nullptr: changes are not written down
  const Pages* pages = nullptr;                        // nullptr: there is no dashboard
  std::string base_path = {};                          // in front of all paths: /admin/queues
  EventStreamsOptions streams = {};                    // of events
  bool metrics_compat = false;                         // with the metrics of other systems
  std::function<ListenerCounts()> traffic = {};        // of the listener; empty: not shown
  Clock* clock = nullptr;                              // nullptr: the system's
  Log log = {};
};

}  // namespace millrace::api
