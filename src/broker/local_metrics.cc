// Metrics and current alerts of LocalBroker.
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "broker/local_broker.h"
#include "store/store.h"

namespace millrace {
namespace {

WorkerMetrics metrics_of(const std::vector<WorkerView>& workers, TimePoint now) {
  WorkerMetrics metrics;
  for (const WorkerView& worker : workers) {
    ++metrics.seen;
    metrics.holding += worker.holding;
    // Every beat is also a sign of life, so `last_seen` is at least as late.
    if (!worker.report || now - worker.last_seen > Manager::silence) continue;
    ++metrics.beating;
    metrics.processors += worker.report->processors;
    for (const QueueReport& queue : worker.report->queues) metrics.busy += queue.busy;
  }
  return metrics;
}

std::vector<QueueView> views_of(const std::vector<std::shared_ptr<const Queue>>& queues,
                                BrokerMetrics& metrics, TimePoint now) {
  std::vector<QueueView> views;
  views.reserve(queues.size());
  for (const auto& queue : queues) {
    QueueView& view = views.emplace_back();
    view.queue = *queue;
    view.stats = metrics.of(queue->settings.name, now);
  }
  return views;
}

// Both are sorted by name. A queue that has no counts was removed meanwhile.
void fill_in(std::vector<QueueView>& views, std::vector<QueueCounts> counts) {
  std::size_t kept = 0;
  auto at = counts.begin();
  for (QueueView& view : views) {
    const std::string& name = view.queue.settings.name;
    while (at != counts.end() && at->queue < name) ++at;
    if (at == counts.end() || at->queue != name) continue;
    view.counts = std::move(*at);
    if (&views[kept] != &view) views[kept] = std::move(view);
    ++kept;
  }
  views.resize(kept);
}

}  // namespace

// Everything but the counts is read on the caller's thread, so that no other caller waits for it.
void LocalBroker::metrics(Ask ask, Completion<MetricsSnapshot> done) {
  const TimePoint now = clock_.now();
  auto snapshot = std::make_shared<MetricsSnapshot>();
  snapshot->at = now;
  snapshot->started = books_.metrics.started();
  snapshot->queues = views_of(books_.queues.all(), books_.metrics, now);
  snapshot->types = books_.metrics.types();
  snapshot->priorities = books_.metrics.priorities();
  snapshot->refused = books_.metrics.refused();
  snapshot->late_reports = books_.metrics.late_reports();
  snapshot->workers = metrics_of(books_.leases.workers(false), now);
  snapshot->leases = books_.leases.size();
  snapshot->events = books_.events.last();
  snapshot->traits = traits();
  snapshot->desired_processors = desired_processors();
  read<std::vector<QueueCounts>>(
      ask, [](Reader& reader, TimePoint at) { return reader.counts(std::nullopt, at); },
      [this, snapshot, done = std::move(done)](Result<std::vector<QueueCounts>> counts) mutable {
        snapshot->rounds = stats();
        snapshot->failure = failure();
        if (!counts && !snapshot->failure) {
          return done(std::unexpected(std::move(counts.error())));
        }
        fill_in(snapshot->queues, counts ? std::move(*counts) : std::vector<QueueCounts>());
        done(std::move(*snapshot));
      });
}

CurrentAlerts LocalBroker::current_alerts() {
  CurrentAlerts found = alerter_ ? alerter_->current_alerts() : CurrentAlerts{};
  found.alerts_sent = books_.deliveries.can_alert();
  found.manager = books_.options.manager;
  if (const auto failed = failure()) {
    found.alerts.insert(found.alerts.begin(), {.kind = AlertKind::store_failed,
                                               .level = LogLevel::error,
                                               .since = clock_.now(),
                                               .message = failed->message});
    ++found.total;
  }
  return found;
}

}  // namespace millrace
