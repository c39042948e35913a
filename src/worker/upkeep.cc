// What is due: heartbeats, timeouts, prefetched tasks that have waited for too long.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/limits.h"
#include "core/uuid.h"
#include "worker/dispatcher.h"

namespace millrace::worker {
namespace {

// A third of the lease, but no longer than this: a run also learns of its cancellation by a
// heartbeat.
constexpr Moment longest_heartbeat = std::chrono::seconds(10);

// Between two heartbeats that carry progress or log lines.
constexpr Moment between_signs = std::chrono::seconds(1);

// Tasks are prefetched when they should be handled within 100 ms. If one has waited this long, that
// estimate was wrong.
constexpr Moment stale = std::chrono::seconds(2);

// When what the run has to tell is due; no_moment: it has nothing.
Moment tell_at(const Run& run, Moment now) {
  if (!run.has_signs()) return no_moment;
  const Moment due = run.has_urgent_signs() ? now : run.sent_at + between_signs;
  return std::max({now, due, run.silent_until});
}

}  // namespace

// With jitter, so that tasks taken together are not extended together for ever.
Moment Dispatcher::heartbeat_of(const Run& run) const {
  const Moment beat = std::min(run.length / 3, longest_heartbeat);
  return beat - beat * static_cast<Moment::rep>(run.lease.token.value % 16) / 64;
}

// ---- Timeouts ----

void Dispatcher::look(Moment now, Due& due) {
  const auto chunks = chunks_;
  for (const ChunkPtr& chunk : chunks) look_at(chunk, now, due);
  for (WorkerQueue& queue : queues_) give_back_stale(queue, now);
}

void Dispatcher::look_at(const ChunkPtr& chunk, Moment now, Due& due) {
  const auto call = chunk->call();
  if (!call) return;
  WorkerQueue& queue = queues_[chunk->queue_index];
  for (std::size_t i = call->from; i < call->to; ++i) {
    const RunPtr& run = chunk->runs[i];
    const Moment up = run->time_up();
    if (up == no_moment || up > now) continue;
    const bool open = !run->settled();
    if (run->stop_reason() == StopReason::none) {
      if (open) ++queue.timed_out;
      due.stops.emplace_back(run, StopReason::timed_out);
    }
    if (!open || up + queue.how.grace > now) continue;
    if (run->end(Failed{.error = timeout_error(*run)}, false)) collect(run);
  }
  // At most `concurrency` calls are abandoned per queue; a further one keeps its processor, though
  // its task has ended.
  if (stepping_ || queue.abandoned >= queue.how.concurrency) return;
  if (!should_abandon(*chunk, *call, now) || !chunk->abandon(*call)) return;
  ++due.abandoned;
  ++queue.abandoned;
  for (const RunPtr& run : chunk->runs) {
    if (run && run->has_ending()) collect(run);
  }
  auto rest = chunk->reclaim();
  for (std::size_t i = rest.size(); i > 0; --i) queue.waiting.push_front(std::move(rest[i - 1]));
  remove_chunk(chunk);
  options_.log(LogLevel::warning,
               fmt::format("queue {}: a handler ignores its timeout; its thread is abandoned",
                           queue.how.queue),
               {{"queue", queue.how.queue},
                {"task", to_text(chunk->runs[call->from]->lease.id.value)},
                {"abandoned", std::int64_t{queue.abandoned}}});
  if (queue.stuck || queue.abandoned < queue.how.concurrency) return;
  queue.stuck = true;
  give_back_waiting(queue);
  options_.log(
      LogLevel::error,
      fmt::format(
          "queue {}: {} handlers do not return; nothing is taken from the queue until one does",
          queue.how.queue, queue.abandoned),
      {{"queue", queue.how.queue}});
}

// True when every run of the call has an end and the time of the last one is up.
bool Dispatcher::should_abandon(const Chunk& chunk, const Chunk::Call& call, Moment now) const {
  const Moment grace = queues_[chunk.queue_index].how.grace;
  for (std::size_t i = call.from; i < call.to; ++i) {
    const Moment up = chunk.runs[i]->time_up();
    if (up == no_moment || up + grace > now || !chunk.runs[i]->settled()) return false;
  }
  return true;
}

void Dispatcher::give_back_stale(WorkerQueue& queue, Moment now) {
  if (queue.how.prefetch || queue.waiting.empty()) return;
  const Moment waited = now - queue.waiting.front()->received;
  if (waited < stale) return;
  queue.measured(5 * static_cast<double>(waited.count()));
  give_back_waiting(queue);
}

// ---- Heartbeats ----

std::optional<Request> Dispatcher::next_heartbeats(Moment now) {
  if (heartbeats_out_) return std::nullopt;
  Request heartbeats{.sent = now};
  const auto extend = [&](const RunPtr& run) {
    if (heartbeats.extended.size() == limits::max_batch) return;
    run->sending = true;
    run->sent_at = now;
    heartbeats.extensions.push_back(extension_of(*run, run->take_signs()));
    heartbeats.extended.push_back(run);
  };
  const auto add = [&](const RunPtr& run) {
    if (!run || run->sending || run->collected || run->settled()) return;
    const bool tells = tell_at(*run, now) <= now;
    if (run->extend_at <= now || tells) extend(run);
  };
  for (const WorkerQueue& queue : queues_) std::ranges::for_each(queue.waiting, add);
  for (const ChunkPtr& chunk : chunks_) std::ranges::for_each(chunk->runs, add);
  if (ends_wait()) {
    for (const RunPtr& run : outbox_) {
      if (!run->sending && run->extend_at <= now) extend(run);
    }
  }
  if (heartbeats.extended.empty()) return std::nullopt;
  heartbeats_out_ = true;
  return heartbeats;
}

void Dispatcher::heartbeats_answered(Request& heartbeats, Result<WorkResult>& result, Moment now,
                                     Due& due) {
  heartbeats_out_ = false;
  if (result) return extended(heartbeats, result, now, &due);
  for (std::size_t i = 0; i < heartbeats.extended.size(); ++i) {
    Run& run = *heartbeats.extended[i];
    run.sending = false;
    run.return_signs(signs_of(std::move(heartbeats.extensions[i])));
    run.extend_at = now + std::max<Moment>(run.length / 12, between_signs / 4);
    run.silent_until = now + between_signs / 4;
  }
}

// Runs that are to stop are added to `due`; null: all have ended.
void Dispatcher::extended(Request& request, Result<WorkResult>& result, Moment now, Due* due) {
  const std::size_t count = std::min(request.extended.size(), result->extended.size());
  for (std::size_t i = 0; i < count; ++i) {
    const RunPtr& run = request.extended[i];
    const auto& answer = result->extended[i];
    run->sending = false;
    run->extend_at = now + heartbeat_of(*run);
    if (const auto& checkpoint = request.extensions[i].checkpoint) run->saved(*checkpoint, answer);
    if (answer && answer->cancel_requested) {
      if (run->started() == no_moment) {
        auto& waiting = queues_[run->queue_index].waiting;
        const auto place = std::ranges::find(waiting, run);
        if (place != waiting.end() && run->end(Cancel{}, false, false)) {
          waiting.erase(place);
          collect(run);
        }
      } else if (due != nullptr && !run->collected && run->stop_reason() == StopReason::none) {
        due->stops.emplace_back(run, StopReason::cancelled);
      }
    }
    if (answer) continue;
    const ErrorCode code = answer.error().code;
    if (code == ErrorCode::lease_lost || code == ErrorCode::not_found) {
      lost(run, due);
    } else {
      options_.log(
          LogLevel::warning,
          fmt::format("extend task {}: {}", to_text(run->lease.id.value), answer.error().message));
    }
  }
}

void Dispatcher::lost(const RunPtr& run, Due* due) {
  if (run->collected) return;  // its end is under way and will be refused
  WorkerQueue& queue = queues_[run->queue_index];
  ++queue.lost;
  options_.log(LogLevel::warning,
               fmt::format("task {}: its lease is lost; another worker may have it",
                           to_text(run->lease.id.value)),
               {{"queue", queue.how.queue}});
  std::erase(queue.waiting, run);
  run->drop({ErrorCode::lease_lost, "the task's lease is lost; another worker may have it"});
  if (due != nullptr) due->stops.emplace_back(run, StopReason::lease_lost);
}

Moment Dispatcher::next_upkeep(Moment now) const {
  Moment next = no_moment;
  const auto add = [&](const RunPtr& run) {
    if (!run || run->collected) return;
    if (!heartbeats_out_ && !run->sending && !run->settled()) {
      next = std::min(next, run->extend_at);
      next = std::min(next, tell_at(*run, now));
    }
    if (run->timeout && run->started() == no_moment) next = std::min(next, now + *run->timeout);
  };
  if (ends_wait() && !heartbeats_out_) {
    for (const RunPtr& run : outbox_) {
      if (!run->sending) next = std::min(next, run->extend_at);
    }
  }
  for (const WorkerQueue& queue : queues_) {
    std::ranges::for_each(queue.waiting, add);
    if (!queue.how.prefetch && !queue.waiting.empty()) {
      next = std::min(next, queue.waiting.front()->received + stale);
    }
  }
  for (const ChunkPtr& chunk : chunks_) {
    std::ranges::for_each(chunk->runs, add);
    const Moment grace = queues_[chunk->queue_index].how.grace;
    const auto call = chunk->call();
    for (std::size_t i = call ? call->from : 0; call && i < call->to; ++i) {
      const Moment up = chunk->runs[i]->time_up();
      if (up > now) {
        next = std::min(next, up);
      } else if (up + grace > now) {
        next = std::min(next, up + grace);
      }
    }
  }
  return next;
}

// ---- The manager ----

void Dispatcher::assign(const std::vector<Assignment>& assignments) {
  for (const Assignment& each : assignments) {
    for (WorkerQueue& queue : queues_) {
      if (queue.how.queue != each.queue || queue.assigned == each.processors) continue;
      queue.assigned = each.processors;
      queue.ahead = 0;
      if (queue.limit() == 0) give_back_waiting(queue);
    }
  }
}

WorkerReport Dispatcher::report() const {
  WorkerReport report{.worker = options_.name, .processors = processors_, .stopping = stopping_};
  for (const WorkerQueue& queue : queues_) {
    report.queues.push_back({.queue = queue.how.queue,
                             .processors = queue.limit(),
                             .most = queue.how.concurrency,
                             .busy = queue.busy,
                             .handled = queue.handled,
                             .errors = queue.stats.errors,
                             .retried = queue.stats.retried,
                             .busy_time = queue.stats.duration,
                             .last_error = queue.stats.last_error});
  }
  return report;
}

}  // namespace millrace::worker
