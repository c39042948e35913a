// What LocalBroker shows to whoever watches: figures, history. Events are told where things happen.
#include <algorithm>
#include <unordered_map>
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
                                std::vector<QueueCounts> counts, Figures& figures, TimePoint now) {
  std::unordered_map<std::string_view, QueueCounts*> by_name;
  for (QueueCounts& each : counts) by_name.emplace(each.queue, &each);
  std::vector<QueueView> views;
  views.reserve(queues.size());
  for (const auto& queue : queues) {
    const auto found = by_name.find(queue->settings.name);
    if (found == by_name.end()) continue;  // removed meanwhile
    QueueView& view = views.emplace_back();
    view.queue = *queue;
    view.figures = figures.of(queue->settings.name, now);
    view.counts = *found->second;
  }
  return views;
}

}  // namespace

void LocalBroker::observe(Ask ask, Completion<Observed> done) {
  call<std::vector<QueueCounts>>(
      ask, [](Store& store, TimePoint now) { return store.counts(std::nullopt, now); },
      [this, done = std::move(done)](Result<std::vector<QueueCounts>> counts) mutable {
        const TimePoint now = clock_.now();
        Observed observed{.at = now, .started = books_.figures.started()};
        observed.failure = failure();
        if (counts) {
          observed.queues = views_of(books_.queues.all(), std::move(*counts), books_.figures, now);
        } else if (!observed.failure) {
          return done(std::unexpected(std::move(counts.error())));
        }
        observed.rounds = stats();
        observed.workers = figures_of(books_.leases.workers(), now);
        observed.leases = books_.leases.size();
        observed.events = books_.events.last();
        observed.traits = traits();
        observed.desired_processors = desired_processors();
        done(std::move(observed));
      });
}

void LocalBroker::history(Ask /*ask*/, HistoryRequest request, Completion<History> done) {
  done(History{.step = request.step});
}

}  // namespace millrace
