// Delivers webhooks and alerts in the process that owns the store: a worker of the two internal
// queues, with HTTP clients of its own.
#pragma once

#include <millrace/result.h>
#include <millrace/time.h>
#include <cstdint>
#include <string>
#include <string_view>

#include "broker/broker.h"
#include "core/clock.h"
#include "core/log.h"
#include "outgoing/address_guard.h"
#include "outgoing/http_client.h"
#include "worker/deliver.h"
#include "worker/inside.h"
#include "worker/worker.h"

namespace millrace::worker {

struct DelivererOptions {
  DeliverOptions deliver = {};
  outgoing::AddressGuard guard = {.allow_private = false};  // of webhooks
  std::uint32_t concurrency = 16;                           // webhooks at the same time
  std::string alerts_url = {};  // may be any address: the operator chose it
  std::string user_agent = "millrace";
  std::string name =
      "$local-deliver";  // of the worker; unique among the processes that share a store
  Log log = {};
};

// Which private addresses may be called: "true", "false", or ranges separated by commas.
Result<outgoing::AddressGuard> parse_guard(std::string_view text);

class Deliverer {
 public:
  // Starts the worker. Clock and broker must outlive it, and the broker must not stop before stop()
  // was called.
  Deliverer(Clock& clock, Broker& broker, DelivererOptions options);
  Deliverer(const Deliverer&) = delete;
  Deliverer& operator=(const Deliverer&) = delete;
  ~Deliverer() { stop(std::chrono::milliseconds(1)); }

  // Waits at most `limit` for running deliveries, then gives the rest back. May be called again.
  void stop(Duration limit);
  // Call after stop(), which may abandon a handler that waits for the broker. False: a handler
  // still runs after `limit`, and neither this object nor the broker may be destroyed.
  bool wait_until_left(Duration limit) { return inside_.wait_until_left(limit); }

 private:
  Inside inside_;
  outgoing::HttpClient webhooks_;
  outgoing::HttpClient alerts_;
  Worker worker_;
  bool stopped_ = false;
};

}  // namespace millrace::worker
