// What is sent to the broker, and what comes back.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/limits.h"
#include "core/uuid.h"
#include "worker/dispatcher.h"

namespace millrace::worker {
namespace {

// Results and follow-ups of one order: an answer that was lost is sent again.
constexpr std::size_t most_bytes = 4 * limits::mib;

// While stopping there is no time for long pauses.
constexpr Moment longest_pause_at_end = std::chrono::milliseconds(250);

std::size_t bytes_of(const Ending& ending) {
  std::size_t bytes = 0;
  if (const auto* done = std::get_if<Done>(&ending.outcome)) bytes += done->result.size();
  for (const NewTask& task : ending.follow_ups) bytes += task.payload.size() + task.metadata.size();
  return bytes;
}

// S1-073
std::string_view verb_of(const Outcome& outcome) {
  if (std::holds_alternative<Done>(outcome)) return "done task";
  if (std::holds_alternative<Snooze>(outcome)) return "snooze task";
  if (std::holds_alternative<Cancel>(outcome)) return "cancel task";
  if (std::holds_alternative<GiveBack>(outcome)) return "give back task";
  return "retry task";
}

// One order may want so many. All get something: a queue that is not asked is not heard of.
void share_out(std::vector<Wanted>& list) {
  if (list.size() > limits::max_batch) list.resize(limits::max_batch);
  std::size_t left = limits::max_batch;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::size_t others = list.size() - i - 1;
    std::size_t theirs = 0;  // what the others want, or their equal share of what is left
    for (std::size_t j = i + 1; j < list.size(); ++j) theirs += list[j].most;
    const std::size_t share = std::max(left / (others + 1), left - std::min(left, theirs));
    list[i].most = static_cast<std::uint32_t>(std::min<std::size_t>(list[i].most, share));
    left -= list[i].most;
  }
}

Extension extension_of(const Run& run, Signs signs) {
  return {.id = run.lease.id,
          .token = run.lease.token,
          .progress = signs.progress,
          .log = std::move(signs.log)};
}

}  // namespace

// ---- Wanting
// -------------------------------------------------------------------------------------

bool Dispatcher::takes_nothing(const Line& line, Moment now) const {
  return line.stuck || line.refused_until > now || line.limit() == 0 || line.polled != 0 ||
         (line.ordered != 0 && options_.orders == 1);
}

// What there is room for, of queues that are dry or of those that are not. Those that are dry share
// the free processors, since few of them will have something.
std::vector<Wanted> Dispatcher::wanted(bool dry, Moment now) const {
  std::vector<Wanted> list;
  std::size_t free = processors_ - std::min(busy_, processors_);
  std::size_t all = 0;
  for (const Line& line : lines_) {
    free -= std::min<std::size_t>({line.calls_waiting(), line.slots(), free});
    all += line.limit();
  }
  bool behind = false;  // in strict order, behind a queue that has work
  for (const std::size_t i : turns_.in_order()) {
    const Line& line = lines_[i];
    const bool first_there = options_.order == QueueOrder::strict && processors_ < all && behind;
    behind = behind || !line.dry;
    if (takes_nothing(line, now) || line.dry != dry) continue;
    const std::size_t claimed = std::min<std::size_t>(line.calls_waiting(), line.slots());
    const std::size_t calls = std::min(line.slots() - claimed, free);
    if (!dry) free -= calls;
    const std::size_t here =
        line.waiting.size() - std::min(line.room_of(claimed), line.waiting.size());
    const std::size_t ahead = first_there || stepping_ ? 0 : line.most_ahead();
    const std::size_t room = line.room_of(calls);
    std::size_t most = room + (ahead > here ? ahead - here : 0);
    most -= std::min<std::size_t>(most, line.ordered);
    // Each brings a part, so that there is something to work on while the other is on its way.
    if (options_.orders > 1) most = std::min(most, std::max(room, ahead / options_.orders));
    if (most != 0) list.push_back({i, static_cast<std::uint32_t>(most)});
  }
  share_out(list);
  return list;
}

std::optional<Order> Dispatcher::next_order(Moment now, bool take) {
  if (!may_send() || now < resume_at_) return std::nullopt;
  Order order{.apart = apart_, .sent = now};
  std::vector<RunPtr> later;
  std::size_t bytes = 0;
  while (!outbox_.empty() && order.reports.size() + order.extended.size() < most_reports_ &&
         bytes < most_bytes) {
    RunPtr run = std::move(outbox_.front());
    outbox_.pop_front();
    if (run->telling) {  // its end must not overtake what it said before
      later.push_back(std::move(run));
    } else if (run->has_signs()) {
      order.extensions.push_back(extension_of(*run, run->take_signs()));
      order.extended.push_back(run);
      run->telling = true;
      later.push_back(std::move(run));
    } else {
      bytes += bytes_of(run->ending());
      order.reports.push_back(std::move(run));
    }
  }
  outbox_.insert(outbox_.begin(), later.begin(), later.end());
  if (take && !stopping_) order.wanted = wanted(false, now);
  if (order.reports.empty() && order.extended.empty() && order.wanted.empty()) return std::nullopt;
  for (const Wanted& each : order.wanted) lines_[each.line].ordered += each.most;
  ++orders_out_;
  return order;
}

std::optional<Order> Dispatcher::next_poll(Moment now) {
  if (stopping_ || polls_out_ >= options_.polls || now < resume_at_) return std::nullopt;
  Order order{.wanted = wanted(true, now), .apart = apart_, .wait = options_.idle, .sent = now};
  if (order.wanted.empty()) return std::nullopt;
  if (!order.is_poll()) order.wait = Duration(1);
  for (const Wanted& each : order.wanted) lines_[each.line].polled = each.most;
  ++polls_out_;
  return order;
}

bool Dispatcher::should_replace_poll(Moment now) {
  if (polls_out_ == 0) return false;
  std::size_t polled = 0;
  for (const Line& line : lines_) {
    if (line.polled == 0) continue;
    if (line.stuck || line.limit() == 0) return true;
    ++polled;
  }
  const bool all_out = polls_out_ >= options_.polls;
  return stopping_ || (all_out && polled < limits::max_batch && !wanted(true, now).empty());
}

void Dispatcher::poll_left() {
  for (Line& line : lines_) line.polled = 0;
  polls_out_ = 0;
}

// Only what is still to come: what is past has been looked at, and an answer wakes by itself.
Moment Dispatcher::next_order_due(Moment now) const {
  Moment next = no_moment;
  if (resume_at_ > now && (may_send() || polls_out_ < options_.polls)) next = resume_at_;
  if (stopping_) return next;
  for (const Line& line : lines_) {
    if (line.refused_until > now && !takes_nothing(line, line.refused_until)) {
      next = std::min(next, line.refused_until);
    }
  }
  return next;
}

WorkOrder Dispatcher::words_of(const Order& order) const {
  WorkOrder words{.extensions = order.extensions, .wait = order.wait};
  words.reports.reserve(order.reports.size());
  for (const RunPtr& run : order.reports) {
    const Ending& ending = run->ending();
    words.reports.push_back({run->lease.id, run->lease.token, ending.outcome, ending.follow_ups});
  }
  for (const Wanted& each : order.wanted) {
    if (words.takes.empty() || order.apart) words.takes.push_back({.worker = options_.name});
    words.takes.back().queues.push_back({lines_[each.line].how.queue, each.most});
  }
  return words;
}

// ---- Answers
// -------------------------------------------------------------------------------------

Arrived Dispatcher::arrived(const Order& order, Result<WorkResult>& result, Moment now) const {
  Arrived all;
  if (!result) return all;
  all.by_line.resize(lines_.size());
  std::size_t line = order.wanted.empty() ? 0 : order.wanted.front().line;
  for (auto& taken : result->taken) {
    if (!taken) continue;
    for (Lease& lease : *taken) {
      if (lines_[line].how.queue != lease.queue) {
        const auto place = std::ranges::find_if(order.wanted, [&](const Wanted& each) {
          return lines_[each.line].how.queue == lease.queue;
        });
        if (place == order.wanted.end()) {
          options_.log(LogLevel::warning,
                       fmt::format("task {} came from queue {}, which was not asked; it is given "
                                   "back",
                                   to_text(lease.id.value), lease.queue),
                       {{"queue", lease.queue}});
          if (all.strays.taken.empty()) all.strays.taken.emplace_back();
          all.strays.taken.front()->push_back(std::move(lease));
          continue;
        }
        line = place->line;
      }
      const QueueHandlers& how = lines_[line].how;
      const auto timeout = lease.timeout ? lease.timeout : how.timeout;
      const Moment length = std::max<Moment>(lease.until - lease.started_at, limits::min_lease);
      auto run = std::make_shared<Run>(std::move(lease), line, host_, timeout, how.acknowledge);
      run->received = now;
      run->taken_in = order.is_poll() ? Moment::zero() : now - order.sent;
      run->length = length;
      run->extend_at = now + heartbeat_of(*run);
      run->told_at = now;
      all.first_heartbeat = std::min(all.first_heartbeat, run->extend_at);
      all.by_line[line].push_back(std::move(run));
    }
  }
  return all;
}

void Dispatcher::answered(Order& order, Result<WorkResult>& result, Arrived arrived, Moment now,
                          std::vector<Told>& told) {
  if (order.is_poll()) {
    for (const Wanted& each : order.wanted) lines_[each.line].polled = 0;
    --polls_out_;
  } else {
    for (const Wanted& each : order.wanted) lines_[each.line].ordered -= each.most;
    --orders_out_;
  }
  if (!result) return failed(order, result.error(), now);
  broker_is_there();
  most_reports_ = std::min<std::size_t>(most_reports_ * 2, limits::max_batch);
  extended(order, result, now, nullptr);
  std::vector<RunPtr> again;
  const std::size_t reports = std::min(order.reports.size(), result->settled.size());
  for (std::size_t i = 0; i < reports; ++i) {
    settled(order.reports[i], result->settled[i], told, again);
  }
  outbox_.insert(outbox_.begin(), again.begin(), again.end());
  for (const auto& each : result->settled) {
    if (each ||
        (each.error().code != ErrorCode::unavailable && each.error().code != ErrorCode::limited))
      continue;
    pause(each.error(), now);
    break;
  }
  take_answered(order, *result, arrived, now);
  for (std::size_t i = 0; i < arrived.by_line.size(); ++i) {
    auto& runs = arrived.by_line[i];
    std::ranges::move(runs, std::back_inserter(lines_[i].waiting));
  }
  trim();
  for (Line& line : lines_) {
    if (stopping_ || line.stuck || line.limit() == 0) give_back_waiting(line);
  }
}

void Dispatcher::settled(const RunPtr& run, const Result<Settled>& result, std::vector<Told>& told,
                         std::vector<RunPtr>& again) {
  Line& line = lines_[run->line];
  if (result) {
    const bool given_back = std::holds_alternative<GiveBack>(run->ending().outcome);
    if (result->state == TaskState::completed) ++line.completed, ++line.stats.processed;
    if (result->state == TaskState::failed || result->state == TaskState::dead) ++line.failed;
    if (result->state == TaskState::retrying) ++line.stats.retried;
    run->answered(result);
    if (!given_back) told.push_back({run, result->state});
    return;
  }
  switch (result.error().code) {
    case ErrorCode::lease_lost:
    case ErrorCode::not_found:
      if (result.error().code == ErrorCode::not_found && !run->reported) break;  // or its follow-up
      ++line.lost;
      options_.log(LogLevel::info,
                   fmt::format("task {}: {}: {}", to_text(run->lease.id.value),
                               verb_of(run->ending().outcome), result.error().message),
                   {{"queue", line.how.queue}});
      run->answered(result);
      return;
    case ErrorCode::unavailable:
    case ErrorCode::limited:
      again.push_back(run);
      return;
    default:
      break;
  }
  refused(run, result.error(), again);
}

// The broker will not store this end. A handler that waits for the answer may find another; for one
// that has gone the task has failed.
void Dispatcher::refused(const RunPtr& run, const Error& error, std::vector<RunPtr>& again) {
  Line& line = lines_[run->line];
  const std::string why = fmt::format("{}: {}", verb_of(run->ending().outcome), error.message);
  ++line.refused;
  line.stats.last_error = why;
  options_.log(LogLevel::warning, fmt::format("task {}: {}", to_text(run->lease.id.value), why),
               {{"queue", line.how.queue}, {"code", std::string(name_of(error.code))}});
  if (run->answered(std::unexpected(error))) {
    run->collected = false;
  } else if (!run->reported && !std::holds_alternative<GiveBack>(run->ending().outcome)) {
    run->reported = true;
    run->replace_ending(Failed{.error = {.code = "settlement_refused", .message = why}});
    again.push_back(run);
  }
}

void Dispatcher::take_answered(const Order& order, const Result<WorkResult>& result,
                               const Arrived& arrived, Moment now) {
  apart_ = false;
  const auto& taken = result->taken;
  for (std::size_t i = 0; i < order.wanted.size() && !taken.empty(); ++i) {
    const auto& [place, most] = order.wanted[i];
    const std::size_t part = order.apart ? i : 0;
    if (part >= taken.size()) continue;
    Line& line = lines_[place];
    if (taken[part]) {
      line.refusal_pause = Moment::zero();
      line.dry = arrived.by_line[place].size() < most;
      if (!line.dry) line.grow();
      continue;
    }
    if (order.wanted.size() > 1 && !order.apart) {
      apart_ = true;
      continue;
    }
    if (line.refusal_pause == Moment::zero()) {
      options_.log(LogLevel::error,
                   fmt::format("Error in worker loop: cannot take from queue {}: {}",
                               line.how.queue, taken[part].error().message),
                   {{"queue", line.how.queue}});
    }
    line.refusal_pause = std::clamp<Moment>(2 * line.refusal_pause, options_.error_pause,
                                            std::max(options_.error_pause, options_.longest_pause));
    line.refused_until = now + line.refusal_pause;
  }
}

// Queues that share too few processors may all have got something for the same one.
void Dispatcher::trim() {
  std::size_t free = processors_ - std::min(busy_, processors_);
  for (const std::size_t i : turns_.in_order()) {
    Line& line = lines_[i];
    const std::size_t calls = std::min<std::size_t>({line.slots(), line.calls_waiting(), free});
    free -= calls;
    if (line.most_ahead() != 0 || calls == line.slots()) continue;
    while (line.waiting.size() > line.room_of(calls)) {
      const RunPtr run = std::move(line.waiting.back());
      line.waiting.pop_back();
      give_back(run);
    }
  }
}

void Dispatcher::failed(Order& order, const Error& error, Moment now) {
  for (std::size_t i = 0; i < order.extended.size(); ++i) {
    Run& run = *order.extended[i];
    run.telling = false;
    run.return_signs({order.extensions[i].progress, std::move(order.extensions[i].log)});
  }
  const bool senseless = !order.reports.empty() &&
                         (error.code == ErrorCode::invalid || error.code == ErrorCode::too_large);
  if (senseless && order.reports.size() == 1) {
    std::vector<RunPtr> again;
    refused(order.reports.front(), error, again);
    order.reports = std::move(again);
  }
  outbox_.insert(outbox_.begin(), order.reports.begin(), order.reports.end());
  if (senseless) {
    most_reports_ = std::max<std::size_t>(1, order.reports.size() / 2);
    return;
  }
  pause(error, now);
}

void Dispatcher::pause(const Error& error, Moment now) {
  if (!broker_lost_) {
    options_.log(LogLevel::error, fmt::format("Error in worker loop: {}", error.message),
                 {{"code", std::string(name_of(error.code))}});
  }
  broker_lost_ = true;
  broker_away_ = error.code == ErrorCode::unavailable;
  pause_ = std::clamp<Moment>(2 * pause_, options_.error_pause,
                              std::max(options_.error_pause, options_.longest_pause));
  // Many workers lose a broker at the same moment, and should not all come back at one.
  const double jitter = std::uniform_real_distribution<double>(0.8, 1.2)(random_);
  Moment pause(static_cast<Moment::rep>(static_cast<double>(pause_.count()) * jitter));
  if (error.retry_after) pause = std::max<Moment>(*error.retry_after, Duration(1));
  if (stopping_) pause = std::min(pause, longest_pause_at_end);
  resume_at_ = now + pause;
}

bool Dispatcher::broker_answers() {
  if (!broker_away_ || resume_at_ == Moment::zero()) return false;
  resume_at_ = Moment::zero();
  return true;
}

void Dispatcher::broker_is_there() {
  if (broker_lost_) options_.log(LogLevel::info, "the broker answers again");
  broker_lost_ = false;
  broker_away_ = false;
  pause_ = Moment::zero();
  resume_at_ = Moment::zero();
}

}  // namespace millrace::worker
