// What the API needs from a LocalBroker in addition to the verbs of Broker.
#pragma once

#include <functional>

#include "api/server/archive.h"
#include "api/server/eyes.h"
#include "broker/caller.h"
#include "broker/local_broker.h"

namespace millrace {

// The functions are called only once there is a broker. `memos_changed`: see Archive; may be empty.
api::Archive archive_of(const std::function<LocalBroker&()>& broker,
                        std::function<void(Completion<void> done)> memos_changed = {});

// Metrics, events, history and alerts.
api::Eyes eyes_of(const std::function<LocalBroker&()>& broker);

}  // namespace millrace
