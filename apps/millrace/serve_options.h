// Turns the settings of a server into the options of its parts.
#pragma once

#include <millrace/result.h>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/server/listener.h"
#include "broker/alerter.h"
#include "broker/local_broker.h"
#include "config/config.h"
#include "core/log.h"
#include "core/values.h"
#include "outgoing/signature.h"
#include "pages/pages.h"
#include "worker/bulk.h"
#include "worker/deliverer.h"

namespace millrace {

// Of a process that may have so many open files.
api::ListenerOptions listener_options(const config::Settings& settings, std::uint64_t files);
// Whether worker processes need a listener of their own: without TLS, on this machine.
bool needs_inner_listener(const config::Settings& settings);
// Of that listener.
api::ListenerLimits inner_limits(const config::Settings& settings);
AlerterOptions alerter_options(const config::Settings& settings);
// Those that sign webhooks and requests to HTTP handlers, the one in use first. `invalid` names the
// setting.
Result<std::vector<outgoing::Secret>> webhook_secrets(const config::Settings& settings);
Result<worker::DelivererOptions> deliverer_options(const config::Settings& settings,
                                                   const std::string& version, Log log);
worker::BulkWorkerOptions bulk_options(const Traits& traits, const Log& log);
// The name of a worker inside this server: fixed if the store has one owner, unique per process if
// several share the store, so that people can tell who holds a task.
std::string inner_worker(std::string_view what, const Traits& traits);

// What browsers are served.
pages::PagesOptions pages_options(const config::Settings& settings, const std::string& version);

// A sentence for the log.
std::string durability_of(const Traits& traits);

}  // namespace millrace
