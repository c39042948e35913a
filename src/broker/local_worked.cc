// The way back of an order (local_work.cc), on a thread of the Coalescer: what happened is noted,
// and the caller is answered.
#include <fmt/format.h>

#include <utility>

#include "broker/local_job.h"
#include "core/decide.h"
#include "core/transition.h"
#include "core/uuid.h"

namespace millrace {
namespace {

bool wants_cancel(const Result<Settled>& settled) {
  return settled && settled->status == SettleStatus::cancel_requested;
}

}  // namespace

std::unique_ptr<Settlement> gist_of(const Settlement& settlement) {
  if (settlement.event == Event::done) return nullptr;
  return std::make_unique<Settlement>(Settlement{.id = settlement.id,
                                                 .expect = settlement.expect,
                                                 .event = settlement.event,
                                                 .ready = settlement.ready,
                                                 .counters = settlement.counters,
                                                 .error = settlement.error,
                                                 .cost = settlement.cost});
}

std::unique_ptr<RecordedPuts> new_ones_of(const Settlement& settlement, const QueueBook& queues,
                                          TimePoint now) {
  if (settlement.follow_ups.empty()) return nullptr;
  return std::make_unique<RecordedPuts>(settlement.follow_ups, queues, now);
}

void LocalBroker::worked(const std::shared_ptr<Job>& job, Result<WorkResult> result) {
  if (!result) return job->done(std::move(result));
  if (std::ranges::none_of(result->settled, wants_cancel)) return finish(*job, std::move(*result));
  // Cancelled while it ran: settled once more, and only then answered. The request is made in the
  // broker's own name, so that it happens even if the caller leaves meanwhile.
  std::vector<std::size_t> places;
  Work again;
  const TimePoint now = clock_.now();
  for (std::size_t i = 0; i < result->settled.size(); ++i) {
    if (!wants_cancel(result->settled[i])) continue;
    Decided& decided = job->decided[i];
    Settlement settlement = books_.decide_cancelled(decided.note, *decided.gist, now);
    decided.event = settlement.event;
    decided.gist = gist_of(settlement);
    decided.follow_ups = new_ones_of(settlement, books_.queues, now);
    again.settlements.push_back(std::move(settlement));
    places.push_back(i);
  }
  auto first = std::make_shared<WorkResult>(std::move(*result));
  coalescer_.work(self_, std::move(again), never,
                  [this, job, first, places = std::move(places)](Result<WorkResult> second) {
                    for (std::size_t i = 0; i < places.size(); ++i) {
                      first->settled[places[i]] =
                          second ? std::move(second->settled[i])
                                 : Result<Settled>(std::unexpected(second.error()));
                    }
                    if (second) first->more = first->more || second->more;
                    finish(*job, std::move(*first));
                  });
}

void LocalBroker::finish(Job& job, WorkResult result) {
  const TimePoint now = clock_.now();
  note_settled(job, result, now);
  note_extended(job, result, now);
  note_taken(job, result, now);
  if (result.more) runner_.wake_at(sweeper_, TimePoint::min());
  if (job.problems) {
    explain_missing(result.taken, job.wanted, job.problems->of);
    explain_missing(result.settled, job.queues_of_follow_ups(), job.problems->of);
  }
  result.settled = with_refused(std::move(result.settled), std::move(job.refused));
  result.extended = with_refused(std::move(result.extended), std::move(job.refused_extensions));
  result.taken = with_refused(std::move(result.taken), std::move(job.refused_takes));
  job.done(std::move(result));
}

void LocalBroker::note_settled(const Job& job, const WorkResult& result, TimePoint now) {
  if (job.decided.empty()) return;
  TimePoint first_ready = job.first_start;
  {
    Recorder recorder(books_, now);
    LeaseBook::Writing leases(books_.leases);
    for (std::size_t i = 0; i < job.decided.size(); ++i) {
      const auto& [note, event, gist, follow_ups, cost] = job.decided[i];
      const auto& settled = result.settled[i];
      const bool applied = settled && settled->status == SettleStatus::applied;
      if (applied) {
        const bool has_code = gist && gist->error;
        recorder.ended(about(note), event, settled->state, now - note.started_at,
                       has_code ? std::string_view(gist->error->code) : std::string_view());
        if (follow_ups) follow_ups->record(recorder);
      }
      const bool gone = !settled && (settled.error().code == ErrorCode::lease_lost ||
                                     settled.error().code == ErrorCode::not_found);
      if (settled || gone) leases.ended(note.token, applied, now);
      if (gone) recorder.late_report();
      const bool returns = event == Event::retry || event == Event::snooze || event == Event::park;
      if (applied && returns) first_ready = std::min(first_ready, gist->ready);
    }
  }
  note_costs(job, result, now);
  if (first_ready != never) runner_.wake_at(sweeper_, first_ready);
  for (std::size_t i = 0; i < job.decided.size(); ++i) {
    const auto& settled = result.settled[i];
    if (!settled || settled->status != SettleStatus::applied) continue;
    const Decided& decided = job.decided[i];
    if (is_final(settled->state)) finished(decided.note.id);
    if (decided.gist) {
      log_settled(books_.log(), decided.note.queue, *decided.gist);
    } else if (books_.log().wants(LogLevel::debug)) {
      log_settled(books_.log(), decided.note.queue, {.id = decided.note.id});
    }
  }
}

// Corrects the mirrors of the windows of queues whose rate counts costs.
void LocalBroker::note_costs(const Job& job, const WorkResult& result, TimePoint now) {
  if (std::ranges::none_of(job.decided, [](const Decided& each) { return each.cost.has_value(); }))
    return;
  const QueueBook::Reading book(books_.queues);
  BrokerMetrics::Writing metrics(books_.metrics);
  for (std::size_t i = 0; i < job.decided.size(); ++i) {
    const auto& settled = result.settled[i];
    const Decided& decided = job.decided[i];
    if (!decided.cost || !settled || settled->status != SettleStatus::applied) continue;
    const Queue* queue = book.find(std::string_view(decided.note.queue));
    if (queue == nullptr || !queue->settings.process_rate) continue;
    if (queue->settings.rate_of != RateOf::cost) continue;
    metrics.of(decided.note.queue)
        .corrected(*queue->settings.process_rate, decided.note.started_at, decided.note.cost,
                   *decided.cost, now);
  }
}

void LocalBroker::note_extended(const Job& job, const WorkResult& result, TimePoint now) {
  if (job.extended.empty()) return;
  Recorder recorder(books_, now);
  LeaseBook::Writing leases(books_.leases);
  for (std::size_t i = 0; i < job.extended.size(); ++i) {
    const auto& extended = result.extended[i];
    const auto& [id, token, progress] = job.extended[i];
    if (!extended) {
      if (extended.error().code == ErrorCode::lease_lost) leases.ended(token, false, now);
      continue;
    }
    const LeaseNote* note = leases.extended(token, extended->until, now);
    if (!progress) continue;
    const auto found = job.found.find(token.value);
    if (note != nullptr) {
      recorder.happened(about(*note), EventKind::progress, TaskState::processing, progress);
    } else if (found != job.found.end()) {
      recorder.happened(about(found->second), EventKind::progress, TaskState::processing, progress);
    }
  }
}

void LocalBroker::note_taken(const Job& job, WorkResult& result, TimePoint now) {
  if (result.taken.empty()) return;
  const QueueBook::Reading book(books_.queues);
  Recorder recorder(books_, now);
  LeaseBook::Writing leases(books_.leases);
  for (std::size_t i = 0; i < result.taken.size(); ++i) {
    if (!result.taken[i]) continue;
    const Queue* queue = nullptr;
    for (Lease& lease : *result.taken[i]) {
      if (queue == nullptr || queue->settings.name != lease.queue) {
        queue = book.find(std::string_view(lease.queue));
      }
      recorder.taken(about(lease), job.workers[i], lease.started_at - lease.start);
      if (queue != nullptr) {
        const auto& rate = queue->settings.process_rate;
        const bool costs = queue->settings.rate_of == RateOf::cost;
        if (rate) recorder.of(lease.queue).used(*rate, costs ? lease.cost : 1, now);
        lease.timeout = timeout_of(lease.timeout, lease.type, queue->settings);
      }
      leases.taken(job.workers[i], lease, now, job.ask.owner);
      if (books_.log().wants(LogLevel::debug)) {
        books_.log()(LogLevel::debug, fmt::format("task {} taken", to_text(lease.id.value)),
                     {{"queue", lease.queue}, {"worker", job.workers[i]}});
      }
    }
  }
}

}  // namespace millrace
