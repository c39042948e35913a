// The payload of a task in the internal queues $webhooks and $alerts: what to send, and where to.
//
// The broker writes it when it stores such a task; the worker that delivers it reads it, perhaps
// after an update of the server. So fields may be added, but none may change its name or place.
#pragma once

#include <millrace/result.h>
#include <string>
#include <string_view>

namespace millrace {

struct DeliveryPayload {
  std::string url = {};  // empty: an alert, which goes to the address in the server's settings
  // The task that the webhook is about; sent as headers.
  std::string queue = {};
  std::string type = {};
  std::string state = {};
  std::string client_id = {};
  std::string request_id = {};
  std::string body = {};  // JSON, sent byte for byte

  friend bool operator==(const DeliveryPayload&, const DeliveryPayload&) = default;
};

// Leaves out empty texts. REQUIRES: the body is JSON.
std::string to_json(const DeliveryPayload& payload);

// `invalid`: not JSON, or without a body. Skips fields that it does not know and texts that are
// something else: a newer server may have written them.
Result<DeliveryPayload> parse_delivery(std::string_view text);

}  // namespace millrace
