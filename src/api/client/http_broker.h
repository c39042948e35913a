// The Broker of a server somewhere else: every verb is a request of its HTTP API.
#pragma once

#include <millrace/time.h>
#include <chrono>
#include <memory>
#include <string>

#include "broker/broker.h"
#include "core/clock.h"

namespace millrace {

struct HttpBrokerOptions {
  std::string url = {};                         // http(s)://host[:port], without a path
  std::string key = {};                         // empty: none is sent
  Duration timeout = std::chrono::seconds(30);  // of every call, beside what a take may wait
  std::string ca_file = {};                     // empty: the system's
};

// Class HttpBroker final : public Broker, opened by
//   Result<std::unique_ptr<Broker>> connect(Clock&, HttpBrokerOptions);

}  // namespace millrace
