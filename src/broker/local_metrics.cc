// Metrics and current alerts of LocalBroker.
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "broker/local_broker.h"
#include "core/group_rules.h"
#include "core/limits.h"
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

constexpr std::size_t most_group_pages = 10;  // of 1,000, for one scrape

// What is read from the store.
struct FromStore {
  std::vector<QueueCounts> counts = {};
  std::vector<GroupMetrics> groups = {};
};

void count_group(const Group& group, const GroupRules& rules, TimePoint now, GroupMetrics& sum) {
  const bool differs = group.override && counts(*group.override, now);
  const GroupLimits limits = limits_of(rules, differs ? &*group.override : nullptr);
  if (limits.is_paused(now)) ++sum.paused;
  if (group.waiting + group.running == 0) return;
  ++sum.groups;
  const bool busy = limits.max_concurrent && group.running >= *limits.max_concurrent;
  if (group.waiting != 0 && (busy || (group.room_at && *group.room_at > now))) ++sum.full;
}

Result<std::vector<GroupMetrics>> count_groups(Reader& reader,
                                               const std::vector<std::shared_ptr<const Queue>>& all,
                                               TimePoint now) {
  std::vector<GroupMetrics> counted;
  std::size_t pages = 0;
  for (const auto& queue : all) {
    if (!queue->settings.groups) continue;
    GroupMetrics sum{.queue = queue->settings.name};
    GroupsRequest request{.queue = queue->settings.name, .limit = limits::max_page};
    bool gone = false;
    do {
      if (pages++ == most_group_pages) return counted;
      auto page = reader.groups(request, now);
      gone = !page && page.error().code == ErrorCode::not_found;
      if (gone) break;
      if (!page) return std::unexpected(std::move(page.error()));
      for (const Group& group : page->groups) count_group(group, *queue->settings.groups, now, sum);
      request.after = std::move(page->next);
    } while (!request.after.empty());
    if (!gone) counted.push_back(std::move(sum));
  }
  return counted;
}

}  // namespace

// Everything but the counts is read on the caller's thread, so that no other caller waits for it.
void LocalBroker::metrics(Ask ask, Completion<MetricsSnapshot> done) {
  const TimePoint now = clock_.now();
  auto snapshot = std::make_shared<MetricsSnapshot>();
  snapshot->at = now;
  snapshot->started = books_.metrics.started();
  auto all = books_.queues.all();
  snapshot->queues = views_of(all, books_.metrics, now);
  snapshot->types = books_.metrics.types();
  snapshot->priorities = books_.metrics.priorities();
  snapshot->refused = books_.metrics.refused();
  snapshot->late_reports = books_.metrics.late_reports();
  snapshot->workers = metrics_of(books_.leases.workers(false), now);
  snapshot->leases = books_.leases.size();
  snapshot->events = books_.events.last();
  snapshot->traits = traits();
  snapshot->desired_processors = desired_processors();
  read<FromStore>(
      ask,
      [all = std::move(all)](Reader& reader, TimePoint at) -> Result<FromStore> {
        auto counts = reader.counts(std::nullopt, at);
        if (!counts) return std::unexpected(std::move(counts.error()));
        auto groups = count_groups(reader, all, at);
        if (!groups) return std::unexpected(std::move(groups.error()));
        return FromStore{.counts = std::move(*counts), .groups = std::move(*groups)};
      },
      [this, snapshot, done = std::move(done)](Result<FromStore> counted) mutable {
        snapshot->rounds = stats();
        snapshot->failure = failure();
        if (!counted && !snapshot->failure) {
          return done(std::unexpected(std::move(counted.error())));
        }
        FromStore found = counted ? std::move(*counted) : FromStore{};
        fill_in(snapshot->queues, std::move(found.counts));
        snapshot->groups = std::move(found.groups);
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
