// What LocalBroker shows to whoever watches: figures, history. Events are told where things happen.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "broker/local_broker.h"

namespace millrace {
namespace {

WorkerFigures figures_of(const std::vector<WorkerView>& workers, TimePoint now) {
  WorkerFigures figures;
  for (const WorkerView& worker : workers) {
    ++figures.seen;
    figures.holding += worker.holding;
    // Every beat is also a sign of life, so `last_seen` is at least as late.
    if (!worker.report || now - worker.last_seen > Manager::silence) continue;
    ++figures.beating;
    figures.processors += worker.report->processors;
    for (const QueueReport& queue : worker.report->queues) figures.busy += queue.busy;
  }
  return figures;
}

std::vector<QueueView> views_of(const std::vector<std::shared_ptr<const Queue>>& queues,
                                Figures& figures, TimePoint now) {
  std::vector<QueueView> views;
  views.reserve(queues.size());
  for (const auto& queue : queues) {
    QueueView& view = views.emplace_back();
    view.queue = *queue;
    view.figures = figures.of(queue->settings.name, now);
  }
  return views;
}

// Both are by name. A queue that has no counts was removed meanwhile.
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

// Everything but the counts is looked at by whoever asks, so that nobody else waits for it.
void LocalBroker::observe(Ask ask, Completion<Observed> done) {
  const TimePoint now = clock_.now();
  auto observed = std::make_shared<Observed>();
  observed->at = now;
  observed->started = books_.figures.started();
  observed->queues = views_of(books_.queues.all(), books_.figures, now);
  observed->types = books_.figures.types();
  observed->priorities = books_.figures.priorities();
  observed->refused = books_.figures.refused();
  observed->late_reports = books_.figures.late_reports();
  observed->workers = figures_of(books_.leases.workers(), now);
  observed->leases = books_.leases.size();
  observed->events = books_.events.last();
  observed->traits = traits();
  observed->desired_processors = desired_processors();
  call<std::vector<QueueCounts>>(
      ask, [](Store& store, TimePoint at) { return store.counts(std::nullopt, at); },
      [this, observed, done = std::move(done)](Result<std::vector<QueueCounts>> counts) mutable {
        observed->rounds = stats();
        observed->failure = failure();
        if (!counts && !observed->failure) {
          return done(std::unexpected(std::move(counts.error())));
        }
        fill_in(observed->queues, counts ? std::move(*counts) : std::vector<QueueCounts>());
        done(std::move(*observed));
      });
}

void LocalBroker::history(Ask /*ask*/, HistoryRequest request, Completion<History> done) {
  done(History{.step = request.step});
}

}  // namespace millrace
