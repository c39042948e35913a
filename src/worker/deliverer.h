// Who delivers webhooks and alerts in the process that owns the store: a worker of the two internal
// queues, with clients of its own.
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
  std::string alerts_url = {};  // whoever runs the server chose it: it may be any address
  std::string user_agent = "millrace";
  std::string name = "$local-deliver";  // of the worker; one for each process that shares a store
  Log log = {};
};

// Private addresses that may be called: "true", "false", or ranges with commas between them.
Result<outgoing::AddressGuard> parse_guard(std::string_view text);

class Deliverer {
 public:
  // Begins. Both must outlive this, and the broker must not stop before stop() was called.
  Deliverer(Clock& clock, Broker& broker, DelivererOptions options);
  Deliverer(const Deliverer&) = delete;
  Deliverer& operator=(const Deliverer&) = delete;
  ~Deliverer() { stop(std::chrono::milliseconds(1)); }

  // Waits for what is under way, at most so long; the rest is given back. Again is no error.
  void stop(Duration limit);
  // After stop(), which may give up a handler that waits for the broker: false, one still is inside
  // after so long, and neither this nor the broker may go.
  bool wait_until_left(Duration limit) { return inside_.wait_until_left(limit); }

 private:
  Inside inside_;
  outgoing::HttpClient webhooks_;
  outgoing::HttpClient alerts_;
  Worker worker_;
  bool stopped_ = false;
};

}  // namespace millrace::worker
