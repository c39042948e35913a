// What the parts of a server are told, from its settings.
#pragma once

#include <millrace/result.h>
#include <string>
#include <string_view>

#include "api/server/api_options.h"
#include "api/server/listener.h"
#include "broker/local_broker.h"
#include "broker/watch.h"
#include "config/config.h"
#include "core/log.h"
#include "core/values.h"
#include "worker/bulk.h"
#include "worker/deliverer.h"

namespace millrace {

api::ListenerOptions listener_options(const config::Settings& settings);
WatchOptions watch_options(const config::Settings& settings);
// `invalid` names the setting.
Result<worker::DelivererOptions> deliverer_options(const config::Settings& settings,
                                                   const std::string& version, Log log);
worker::BulkWorkerOptions bulk_options(LocalBroker& broker, const Log& log);
// Of a worker inside this server: one name in a store of one's own, and one for each process that
// shares a store, so that people can tell who holds a task.
std::string inner_worker(std::string_view what, const Traits& traits);

// What browsers are shown; empty: nothing.
api::Pages pages_of(const config::Settings& settings, const std::string& version);

// In words, for the log.
std::string durability_of(const Traits& traits);

}  // namespace millrace
