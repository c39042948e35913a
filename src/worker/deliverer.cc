#include "worker/deliverer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "worker/handlers.h"

namespace millrace::worker {
namespace {

constexpr Duration delivery_idle = std::chrono::seconds(30);  // a put wakes it

std::vector<QueueHandlers> handlers_of(Broker& broker, outgoing::HttpClient& webhooks,
                                       outgoing::HttpClient& alerts, Inside& inside,
                                       const DelivererOptions& options) {
  std::vector<QueueHandlers> queues;
  queues.push_back(
      {.queue = "$webhooks",
       .concurrency = std::max(options.concurrency, 1U),
       .any = inside.counted(deliver_webhooks(broker, webhooks, options.deliver, options.log))});
  queues.push_back({.queue = "$alerts",
                    .any = inside.counted(
                        deliver_alerts(alerts, options.alerts_url, options.deliver, options.log))});
  return queues;
}

}  // namespace

Result<outgoing::AddressGuard> parse_guard(std::string_view text) {
  outgoing::AddressGuard guard{.allow_private = text == "true"};
  if (text == "true" || text == "false") return guard;
  while (true) {
    const std::size_t comma = std::min(text.find(','), text.size());
    auto range = outgoing::parse_range(text.substr(0, comma));
    if (!range) {
      return fail(ErrorCode::invalid,
                  fmt::format("{}; allowed are false, true, or ranges such as 10.1.0.0/16,fd00::/8",
                              range.error().message));
    }
    guard.allowed.push_back(*range);
    if (comma == text.size()) return guard;
    text.remove_prefix(comma + 1);
  }
}

Deliverer::Deliverer(Clock& clock, Broker& broker, DelivererOptions options)
    : webhooks_({.guard = options.guard, .user_agent = options.user_agent}),
      alerts_({.user_agent = options.user_agent}),
      worker_(clock, broker,
              {.name = options.name, .internal = true, .idle = delivery_idle, .log = options.log},
              handlers_of(broker, webhooks_, alerts_, inside_, options)) {
  worker_.start();
}

void Deliverer::stop(Duration limit) {
  if (std::exchange(stopped_, true)) return;
  worker_.shutdown();
  worker_.graceful_stop(limit);
}

}  // namespace millrace::worker
