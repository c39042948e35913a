// Sends webhooks and alerts: the tasks of the internal queues $webhooks and $alerts.
//
// Sends the body in the task's payload, byte for byte, to the address in the payload and to no
// other. The handlers built on this are in handlers.h.
#pragma once

#include <millrace/result.h>
#include <millrace/time.h>
#include <millrace/work.h>
#include <chrono>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "outgoing/http_client.h"
#include "outgoing/signature.h"

namespace millrace::worker {

struct DeliverOptions {
  // Each of these signs; a receiver needs to know one of them. Empty: nothing is signed.
  std::vector<outgoing::Secret> secrets = {};
  Duration timeout = std::chrono::seconds(10);
};

struct Delivery {
  TaskId id = {};  // of the task that delivers it: the same for every attempt
  std::string url = {};
  outgoing::Headers headers = {};
  std::string body = {};
};

// `invalid`: the broker has not made this payload.
Result<Delivery> webhook_of(const Lease& task);
Result<Delivery> alert_of(const Lease& task, const std::string& url);

struct Delivered {
  Outcome outcome = {};
  std::string status = {};  // "200", or why there was no answer
};

// Blocks until the answer is here.
Delivered deliver(outgoing::HttpClient& client, const Delivery& delivery,
                  const DeliverOptions& options, TimePoint now, std::stop_token stop);

// A URL as it may be logged: scheme, host and port. What follows may hold a secret.
std::string origin_of(std::string_view url);

}  // namespace millrace::worker
