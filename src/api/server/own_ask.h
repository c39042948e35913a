// How the server asks the broker for what it needs itself: keys, sessions, the action log.
#pragma once

#include <chrono>

#include "broker/local_broker.h"

namespace millrace::api {

inline Ask own_ask(LocalBroker& broker) {
  constexpr Duration patience = std::chrono::seconds(30);
  return {
      .caller = broker.new_caller(), .deadline = later(broker.now(), patience), .internal = true};
}

}  // namespace millrace::api
