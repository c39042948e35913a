// What is due: heartbeats, timeouts, tasks that have waited here for too long.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/limits.h"
#include "core/uuid.h"
#include "worker/dispatcher.h"

namespace millrace::worker {
namespace {

// A third of the lease, but not longer than this: a heartbeat is also how a run learns that it was
// cancelled.
constexpr Moment longest_heartbeat = std::chrono::seconds(10);

// Between two heartbeats with signs of life.
constexpr Moment between_signs = std::chrono::seconds(1);

// What was taken ahead because it would be handled in 100 ms has been here for so long: that was
// wrong.
constexpr Moment stale = std::chrono::seconds(2);

}  // namespace

// Spread, so that what was taken together is not extended together for ever.
Moment Dispatcher::heartbeat_of(const Run& run) const {
  const Moment beat = std::min(run.length / 3, longest_heartbeat);
  return beat - beat * static_cast<Moment::rep>(run.lease.token.value % 16) / 64;
}

// ---- Timeouts
// ------------------------------------------------------------------------------------

void Dispatcher::look(Moment now, Due& due) {
  const auto hands = hands_;
  for (const HandPtr& hand : hands) look_at(hand, now, due);
  for (Line& line : lines_) give_back_stale(line, now);
}

void Dispatcher::look_at(const HandPtr& hand, Moment now, Due& due) {
  const auto call = hand->call();
  if (!call) return;
  Line& line = lines_[hand->line];
  for (std::size_t i = call->from; i < call->to; ++i) {
    const RunPtr& run = hand->runs[i];
    const Moment up = run->time_up();
    if (up == no_moment || up > now) continue;
    const bool open = !run->settled();
    if (run->stop_reason() == StopReason::none) {
      if (open) ++line.timed_out;
      due.stops.emplace_back(run, StopReason::timed_out);
    }
    if (!open || up + line.how.grace > now) continue;
    if (run->end(Failed{.error = timeout_error(*run)}, false)) collect(run);
  }
  // No more of them than may run at once; another keeps its place, though its task has ended.
  if (stepping_ || line.abandoned >= line.how.concurrency) return;
  if (!should_abandon(*hand, *call, now) || !hand->abandon(*call)) return;
  ++due.abandoned;
  ++line.abandoned;
  for (const RunPtr& run : hand->runs) {
    if (run && run->has_ending()) collect(run);
  }
  auto rest = hand->reclaim();
  for (std::size_t i = rest.size(); i > 0; --i) line.waiting.push_front(std::move(rest[i - 1]));
  unhand(hand);
  options_.log(
      LogLevel::warning,
      fmt::format("queue {}: a handler ignores that its time is up; its thread is given up",
                  line.how.queue),
      {{"queue", line.how.queue},
       {"task", to_text(hand->runs[call->from]->lease.id.value)},
       {"abandoned", std::int64_t{line.abandoned}}});
  if (line.stuck || line.abandoned < line.how.concurrency) return;
  line.stuck = true;
  give_back_waiting(line);
  options_.log(LogLevel::error,
               fmt::format("queue {}: {} handlers do not come back; nothing is taken from it until "
                           "one does",
                           line.how.queue, line.abandoned),
               {{"queue", line.how.queue}});
}

// When every run of the call has an end, and the time of the last of them is up.
bool Dispatcher::should_abandon(const Hand& hand, const Hand::Call& call, Moment now) const {
  const Moment grace = lines_[hand.line].how.grace;
  for (std::size_t i = call.from; i < call.to; ++i) {
    const Moment up = hand.runs[i]->time_up();
    if (up == no_moment || up + grace > now || !hand.runs[i]->settled()) return false;
  }
  return true;
}

void Dispatcher::give_back_stale(Line& line, Moment now) {
  if (line.how.prefetch || line.waiting.empty()) return;
  const Moment waited = now - line.waiting.front()->received;
  if (waited < stale) return;
  line.measured(5 * static_cast<double>(waited.count()));
  give_back_waiting(line);
}

// ---- Heartbeats
// ----------------------------------------------------------------------------------

std::optional<Order> Dispatcher::next_pulse(Moment now) {
  if (pulse_out_) return std::nullopt;
  Order pulse{.sent = now};
  const auto extend = [&](const RunPtr& run) {
    if (pulse.extended.size() == limits::max_batch) return;
    Signs signs = run->take_signs();
    run->telling = true;
    run->told_at = now;
    pulse.extensions.push_back({.id = run->lease.id,
                                .token = run->lease.token,
                                .progress = signs.progress,
                                .log = std::move(signs.log)});
    pulse.extended.push_back(run);
  };
  const auto add = [&](const RunPtr& run) {
    if (!run || run->telling || run->collected || run->settled()) return;
    const bool tells = run->has_signs() && run->told_at + between_signs <= now;
    if (run->extend_at <= now || tells) extend(run);
  };
  for (const Line& line : lines_) std::ranges::for_each(line.waiting, add);
  for (const HandPtr& hand : hands_) std::ranges::for_each(hand->runs, add);
  if (ends_wait()) {
    for (const RunPtr& run : outbox_) {
      if (!run->telling && run->extend_at <= now) extend(run);
    }
  }
  if (pulse.extended.empty()) return std::nullopt;
  pulse_out_ = true;
  return pulse;
}

void Dispatcher::pulse_answered(Order& pulse, Result<WorkResult>& result, Moment now, Due& due) {
  pulse_out_ = false;
  if (result) return extended(pulse, result, now, &due);
  for (std::size_t i = 0; i < pulse.extended.size(); ++i) {
    Run& run = *pulse.extended[i];
    run.telling = false;
    run.return_signs({pulse.extensions[i].progress, std::move(pulse.extensions[i].log)});
    run.extend_at = now + std::max<Moment>(run.length / 12, between_signs / 4);
  }
}

// `due` is where runs that are to stop go; null: they have all ended.
void Dispatcher::extended(Order& order, Result<WorkResult>& result, Moment now, Due* due) {
  const std::size_t count = std::min(order.extended.size(), result->extended.size());
  for (std::size_t i = 0; i < count; ++i) {
    const RunPtr& run = order.extended[i];
    const auto& answer = result->extended[i];
    run->telling = false;
    run->extend_at = now + heartbeat_of(*run);
    if (answer && answer->cancel_requested) {
      if (run->started() == no_moment) {
        auto& waiting = lines_[run->line].waiting;
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
  if (run->collected) return;  // its end is on its way, and will be refused
  Line& line = lines_[run->line];
  ++line.lost;
  options_.log(LogLevel::warning,
               fmt::format("task {}: its lease is lost; somebody else may have it",
                           to_text(run->lease.id.value)),
               {{"queue", line.how.queue}});
  std::erase(line.waiting, run);
  run->drop({ErrorCode::lease_lost, "the task's lease is lost; somebody else may have it"});
  if (due != nullptr) due->stops.emplace_back(run, StopReason::lease_lost);
}

Moment Dispatcher::next_upkeep(Moment now) const {
  Moment next = no_moment;
  const auto add = [&](const RunPtr& run) {
    if (!run || run->collected) return;
    if (!pulse_out_ && !run->telling && !run->settled()) {
      next = std::min(next, run->extend_at);
      if (run->has_signs()) next = std::min(next, std::max(now, run->told_at + between_signs));
    }
    if (run->timeout && run->started() == no_moment) next = std::min(next, now + *run->timeout);
  };
  if (ends_wait() && !pulse_out_) {
    for (const RunPtr& run : outbox_) {
      if (!run->telling) next = std::min(next, run->extend_at);
    }
  }
  for (const Line& line : lines_) {
    std::ranges::for_each(line.waiting, add);
    if (!line.how.prefetch && !line.waiting.empty()) {
      next = std::min(next, line.waiting.front()->received + stale);
    }
  }
  for (const HandPtr& hand : hands_) {
    std::ranges::for_each(hand->runs, add);
    const Moment grace = lines_[hand->line].how.grace;
    const auto call = hand->call();
    for (std::size_t i = call ? call->from : 0; call && i < call->to; ++i) {
      const Moment up = hand->runs[i]->time_up();
      if (up > now) {
        next = std::min(next, up);
      } else if (up + grace > now) {
        next = std::min(next, up + grace);
      }
    }
  }
  return next;
}

// ---- The manager
// ---------------------------------------------------------------------------------

void Dispatcher::assign(const std::vector<Assignment>& assignments) {
  for (const Assignment& each : assignments) {
    for (Line& line : lines_) {
      if (line.how.queue != each.queue || line.assigned == each.processors) continue;
      line.assigned = each.processors;
      line.ahead = 0;
      if (line.limit() == 0) give_back_waiting(line);
    }
  }
}

WorkerReport Dispatcher::report() const {
  WorkerReport report{.worker = options_.name, .processors = processors_, .stopping = stopping_};
  for (const Line& line : lines_) {
    report.queues.push_back({.queue = line.how.queue,
                             .processors = line.limit(),
                             .most = line.how.concurrency,
                             .busy = line.busy,
                             .processed = line.handled,
                             .errors = line.stats.errors,
                             .retried = line.stats.retried,
                             .busy_time = line.stats.duration,
                             .last_error = line.stats.last_error});
  }
  return report;
}

}  // namespace millrace::worker
