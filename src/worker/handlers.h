// Handlers that need no C++ from the user: webhooks, alerts, commands and endpoints.
#pragma once

#include <millrace/handler.h>
#include <string>

#include "broker/broker.h"
#include "core/clock.h"
#include "core/log.h"
#include "outgoing/http_client.h"
#include "worker/deliver.h"
#include "worker/endpoint.h"
#include "worker/exec.h"

namespace millrace::worker {

// The handler of $webhooks. Notes what came of each attempt on the task that the webhook is about.
// The client's guard says which addresses may be called. All arguments must outlive the handler.
HandlerFunction deliver_webhooks(Broker& broker, outgoing::HttpClient& client,
                                 DeliverOptions options, Log log);

// The handler of $alerts. Without a URL, alerts are settled as done: they are in the log.
HandlerFunction deliver_alerts(outgoing::HttpClient& client, std::string url,
                               DeliverOptions options, Log log);

// Runs a command for each task. The clock must outlive the handler.
HandlerFunction run_commands(Clock& clock, ExecOptions options);

// Posts each task to an endpoint. The client must outlive the handler.
HandlerFunction call_endpoint(outgoing::HttpClient& client, EndpointOptions options);

}  // namespace millrace::worker
