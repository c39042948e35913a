#include "broker/shared_refresh.h"

#include <chrono>
#include <utility>
#include <vector>

#include "core/bulk.h"
#include "store/store.h"

namespace millrace {
namespace {

constexpr Duration look_every{5000};

std::vector<QueueSettings> internal_queues() {
  QueueSettings webhooks;
  webhooks.name = webhooks_queue;
  webhooks.description = "Callbacks to be delivered";
  webhooks.lease = std::chrono::seconds(60);
  webhooks.timeout = std::chrono::seconds(30);
  webhooks.retry = {.backoff = Backoff::exponential,
                    .base = std::chrono::seconds(30),
                    .factor = 2,
                    .cap = std::chrono::hours(1),
                    .jitter = Jitter::symmetric,
                    .jitter_share = 0.2,
                    .max_retries = 2,
                    .retryable = Retryable::all};
  webhooks.keep_completed = {.for_time = std::chrono::hours(1), .last = 10'000};
  webhooks.keep_dead = {.for_time = std::chrono::hours(24 * 7), .last = 10'000};
  QueueSettings alerts = webhooks;
  alerts.name = alerts_queue;
  alerts.description = "Alerts to be sent to the operator";
  QueueSettings bulk;
  bulk.name = bulk_queue;
  bulk.description = "Operations on many tasks";
  bulk.lease = std::chrono::seconds(60);
  // Whatever happens to the server, an operation continues where it was.
  bulk.max_lost = unlimited;
  bulk.retry = {.backoff = Backoff::exponential,
                .base = std::chrono::seconds(1),
                .factor = 2,
                .cap = std::chrono::minutes(1),
                .jitter = Jitter::none,
                .max_retries = unlimited,
                .retryable = Retryable::all};
  bulk.keep_completed = {.for_time = bulk_kept_for, .last = bulk_kept};
  bulk.keep_dead = bulk.keep_completed;
  return {webhooks, alerts, bulk};
}

}  // namespace

Result<void> SharedRefresh::make_internal_queues(Store& store, TimePoint now) {
  for (QueueSettings& settings : internal_queues()) {
    settings.id = books_.ids.next(now);
    auto made = store.put_queue(settings, PutQueue::create, now);
    if (!made) return std::unexpected(std::move(made.error()));
  }
  made_ = true;
  return {};
}

Result<TimePoint> SharedRefresh::run_once(Store& store, TimePoint now) {
  if (auto good = clock_.follow(store); !good) return std::unexpected(std::move(good.error()));
  if (!made_) {
    if (auto good = make_internal_queues(store, now); !good) {
      return std::unexpected(std::move(good.error()));
    }
  }
  const auto before = books_.queues.all();
  if (auto good = books_.queues.reload(store); !good) {
    return std::unexpected(std::move(good.error()));
  }
  // Removed by another process.
  for (const auto& queue : before) {
    const std::string& name = queue->settings.name;
    if (!books_.queues.find(name)) books_.metrics.forget(name);
  }
  return later(now, look_every);
}

}  // namespace millrace
