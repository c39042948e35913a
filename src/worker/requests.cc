// What the worker sends to the broker, and what comes back.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/limits.h"
#include "core/uuid.h"
#include "worker/dispatcher.h"

namespace millrace::worker {
namespace {

// Most bytes of results and follow-ups per request: a lost request is sent again as a whole.
constexpr std::size_t most_bytes = 4 * limits::mib;

// While the worker stops, there is no time for long pauses.
constexpr Moment longest_pause_at_end = std::chrono::milliseconds(250);

std::size_t bytes_of(const Ending& ending) {
  std::size_t bytes = 0;
  if (const auto* done = std::get_if<Done>(&ending.outcome)) bytes += done->result.size();
  for (const NewTask& task : ending.follow_ups) bytes += task.payload.size() + task.metadata.size();
  return bytes;
}

// The verb in log messages.
std::string_view verb_of(const Outcome& outcome) {
  if (std::holds_alternative<Done>(outcome)) return "done task";
  if (std::holds_alternative<Snooze>(outcome)) return "snooze task";
  if (std::holds_alternative<Park>(outcome)) return "park task";
  if (std::holds_alternative<Cancel>(outcome)) return "cancel task";
  if (std::holds_alternative<GiveBack>(outcome)) return "give back task";
  return "retry task";
}

// A request may ask for at most max_batch tasks. Every queue gets a share, because a queue that is
// not asked cannot answer that it is empty.
void share_out(std::vector<Wanted>& list) {
  if (list.size() > limits::max_batch) list.resize(limits::max_batch);
  std::size_t left = limits::max_batch;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::size_t others = list.size() - i - 1;
    std::size_t theirs = 0;  // what the other queues want, or their equal share of what is left
    for (std::size_t j = i + 1; j < list.size(); ++j) theirs += list[j].most;
    const std::size_t share = std::max(left / (others + 1), left - std::min(left, theirs));
    list[i].most = static_cast<std::uint32_t>(std::min<std::size_t>(list[i].most, share));
    left -= list[i].most;
  }
}

}  // namespace

Extension extension_of(const Run& run, Signs signs) {
  return {.id = run.lease.id,
          .token = run.lease.token,
          .progress = signs.progress,
          .log = std::move(signs.log),
          .checkpoint = std::move(signs.checkpoint)};
}

Signs signs_of(Extension extension) {
  return {.progress = extension.progress,
          .log = std::move(extension.log),
          .checkpoint = std::move(extension.checkpoint)};
}

// ---- Wanting ----

bool Dispatcher::takes_nothing(const WorkerQueue& queue, Moment now) const {
  return queue.stuck || queue.refused_until > now || queue.limit() == 0 || queue.polled != 0 ||
         (queue.requested != 0 && options_.requests == 1);
}

// How many tasks there is room for, of the queues that are dry or of those that are not. All dry
// queues are offered every free processor, because few of them will have tasks.
std::vector<Wanted> Dispatcher::wanted(bool dry, Moment now) const {
  std::vector<Wanted> list;
  std::size_t free = processors_ - std::min(busy_, processors_);
  std::size_t all = 0;
  for (const WorkerQueue& queue : queues_) {
    free -= std::min<std::size_t>({queue.calls_waiting(), queue.slots(), free});
    all += queue.limit();
  }
  bool behind = false;  // in strict order, behind a queue that has tasks
  for (const std::size_t i : turns_.in_order()) {
    const WorkerQueue& queue = queues_[i];
    const bool first_there = options_.order == QueueOrder::strict && processors_ < all && behind;
    behind = behind || !queue.dry;
    if (takes_nothing(queue, now) || queue.dry != dry) continue;
    const std::size_t claimed = std::min<std::size_t>(queue.calls_waiting(), queue.slots());
    const std::size_t calls = std::min(queue.slots() - claimed, free);
    if (!dry) free -= calls;
    const std::size_t here =
        queue.waiting.size() - std::min(queue.room_of(claimed), queue.waiting.size());
    const std::size_t ahead = first_there || stepping_ ? 0 : queue.most_ahead();
    const std::size_t room = queue.room_of(calls);
    std::size_t most = room + (ahead > here ? ahead - here : 0);
    most -= std::min<std::size_t>(most, queue.requested);
    // Each request brings a part, so that there is work while the next one is under way.
    if (options_.requests > 1) most = std::min(most, std::max(room, ahead / options_.requests));
    if (most != 0) list.push_back({i, static_cast<std::uint32_t>(most)});
  }
  share_out(list);
  return list;
}

std::optional<Request> Dispatcher::next_request(Moment now, bool take) {
  if (!may_send() || now < resume_at_) return std::nullopt;
  Request request{.apart = apart_, .sent = now};
  std::vector<RunPtr> later;
  std::size_t bytes = 0;
  while (!outbox_.empty() && request.reports.size() + request.extended.size() < most_reports_ &&
         bytes < most_bytes) {
    RunPtr run = std::move(outbox_.front());
    outbox_.pop_front();
    if (run->sending) {  // the end must not overtake progress and log lines
      later.push_back(std::move(run));
    } else if (run->has_signs()) {
      request.extensions.push_back(extension_of(*run, run->take_signs()));
      request.extended.push_back(run);
      run->sending = true;
      later.push_back(std::move(run));
    } else {
      bytes += bytes_of(run->ending());
      request.reports.push_back(std::move(run));
    }
  }
  outbox_.insert(outbox_.begin(), later.begin(), later.end());
  if (take && !stopping_) request.wanted = wanted(false, now);
  if (request.reports.empty() && request.extended.empty() && request.wanted.empty())
    return std::nullopt;
  for (const Wanted& each : request.wanted) queues_[each.queue_index].requested += each.most;
  ++requests_out_;
  return request;
}

std::optional<Request> Dispatcher::next_poll(Moment now) {
  if (stopping_ || polls_out_ >= options_.polls || now < resume_at_) return std::nullopt;
  Request request{.wanted = wanted(true, now), .apart = apart_, .wait = options_.idle, .sent = now};
  if (request.wanted.empty()) return std::nullopt;
  if (!request.is_poll()) request.wait = Duration(1);
  for (const Wanted& each : request.wanted) queues_[each.queue_index].polled = each.most;
  ++polls_out_;
  return request;
}

bool Dispatcher::should_replace_poll(Moment now) {
  if (polls_out_ == 0) return false;
  std::size_t polled = 0;
  for (const WorkerQueue& queue : queues_) {
    if (queue.polled == 0) continue;
    if (queue.stuck || queue.limit() == 0) return true;
    ++polled;
  }
  const bool all_out = polls_out_ >= options_.polls;
  return stopping_ || (all_out && polled < limits::max_batch && !wanted(true, now).empty());
}

void Dispatcher::poll_left() {
  for (WorkerQueue& queue : queues_) queue.polled = 0;
  polls_out_ = 0;
}

// Only moments to come: what is past has been looked at, and an answer wakes the feeder by itself.
Moment Dispatcher::next_request_due(Moment now) const {
  Moment next = no_moment;
  if (resume_at_ > now && (may_send() || polls_out_ < options_.polls)) next = resume_at_;
  if (stopping_) return next;
  for (const WorkerQueue& queue : queues_) {
    if (queue.refused_until > now && !takes_nothing(queue, queue.refused_until)) {
      next = std::min(next, queue.refused_until);
    }
  }
  return next;
}

WorkOrder Dispatcher::words_of(const Request& request) const {
  WorkOrder words{.extensions = request.extensions, .wait = request.wait};
  words.reports.reserve(request.reports.size());
  for (const RunPtr& run : request.reports) {
    const Ending& ending = run->ending();
    words.reports.push_back({.id = run->lease.id,
                             .token = run->lease.token,
                             .outcome = ending.outcome,
                             .follow_ups = ending.follow_ups,
                             .cost = ending.cost});
  }
  for (const Wanted& each : request.wanted) {
    if (words.takes.empty() || request.apart) words.takes.push_back({.worker = options_.name});
    words.takes.back().queues.push_back({queues_[each.queue_index].how.queue, each.most});
  }
  return words;
}

// ---- Answers ----

Arrived Dispatcher::arrived(const Request& request, Result<WorkResult>& result, Moment now) const {
  Arrived all;
  if (!result) return all;
  all.by_queue.resize(queues_.size());
  std::size_t index = request.wanted.empty() ? 0 : request.wanted.front().queue_index;
  for (auto& taken : result->taken) {
    if (!taken) continue;
    for (Lease& lease : *taken) {
      if (queues_[index].how.queue != lease.queue) {
        const auto place = std::ranges::find_if(request.wanted, [&](const Wanted& each) {
          return queues_[each.queue_index].how.queue == lease.queue;
        });
        if (place == request.wanted.end()) {
          options_.log(
              LogLevel::warning,
              fmt::format("task {} came from queue {}, which was not asked for; it is given back",
                          to_text(lease.id.value), lease.queue),
              {{"queue", lease.queue}});
          if (all.strays.taken.empty()) all.strays.taken.emplace_back();
          all.strays.taken.front()->push_back(std::move(lease));
          continue;
        }
        index = place->queue_index;
      }
      const QueueHandlers& how = queues_[index].how;
      const auto timeout = lease.timeout ? lease.timeout : how.timeout;
      const Moment length = std::max<Moment>(lease.until - lease.started_at, limits::min_lease);
      auto run = std::make_shared<Run>(std::move(lease), index, host_, timeout, how.acknowledge);
      run->received = now;
      run->taken_in = request.is_poll() ? Moment::zero() : now - request.sent;
      run->length = length;
      run->extend_at = now + heartbeat_of(*run);
      run->sent_at = now;
      all.first_heartbeat = std::min(all.first_heartbeat, run->extend_at);
      all.by_queue[index].push_back(std::move(run));
    }
  }
  return all;
}

void Dispatcher::answered(Request& request, Result<WorkResult>& result, Arrived arrived, Moment now,
                          std::vector<StoredEnd>& stored) {
  if (request.is_poll()) {
    for (const Wanted& each : request.wanted) queues_[each.queue_index].polled = 0;
    --polls_out_;
  } else {
    for (const Wanted& each : request.wanted) queues_[each.queue_index].requested -= each.most;
    --requests_out_;
  }
  if (!result) return failed(request, result.error(), now);
  broker_is_there();
  most_reports_ = std::min<std::size_t>(most_reports_ * 2, limits::max_batch);
  extended(request, result, now, nullptr);
  std::vector<RunPtr> again;
  const std::size_t reports = std::min(request.reports.size(), result->settled.size());
  for (std::size_t i = 0; i < reports; ++i) {
    settled(request.reports[i], result->settled[i], stored, again);
  }
  outbox_.insert(outbox_.begin(), again.begin(), again.end());
  for (const auto& each : result->settled) {
    if (each ||
        (each.error().code != ErrorCode::unavailable && each.error().code != ErrorCode::limited))
      continue;
    pause(each.error(), now);
    break;
  }
  take_answered(request, *result, arrived, now);
  for (std::size_t i = 0; i < arrived.by_queue.size(); ++i) {
    auto& runs = arrived.by_queue[i];
    std::ranges::move(runs, std::back_inserter(queues_[i].waiting));
  }
  trim();
  for (WorkerQueue& queue : queues_) {
    if (stopping_ || queue.stuck || queue.limit() == 0) give_back_waiting(queue);
  }
}

void Dispatcher::settled(const RunPtr& run, const Result<Settled>& result,
                         std::vector<StoredEnd>& stored, std::vector<RunPtr>& again) {
  WorkerQueue& queue = queues_[run->queue_index];
  if (result) {
    const bool given_back = std::holds_alternative<GiveBack>(run->ending().outcome);
    if (result->state == TaskState::completed) ++queue.completed, ++queue.stats.processed;
    if (result->state == TaskState::failed || result->state == TaskState::dead) ++queue.failed;
    if (result->state == TaskState::retrying) ++queue.stats.retried;
    run->answered(result);
    if (!given_back) stored.push_back({run, result->state});
    return;
  }
  switch (result.error().code) {
    case ErrorCode::lease_lost:
    case ErrorCode::not_found:
      if (result.error().code == ErrorCode::not_found && !run->reported)
        break;  // or its follow-up is the one not found
      ++queue.lost;
      options_.log(LogLevel::info,
                   fmt::format("task {}: {}: {}", to_text(run->lease.id.value),
                               verb_of(run->ending().outcome), result.error().message),
                   {{"queue", queue.how.queue}});
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

// The broker refuses to store this end. A handler that waits for the answer may choose another end;
// if the handler has returned, the task is reported as failed.
void Dispatcher::refused(const RunPtr& run, const Error& error, std::vector<RunPtr>& again) {
  WorkerQueue& queue = queues_[run->queue_index];
  const std::string why = fmt::format("{}: {}", verb_of(run->ending().outcome), error.message);
  ++queue.refused;
  queue.stats.last_error = why;
  options_.log(LogLevel::warning, fmt::format("task {}: {}", to_text(run->lease.id.value), why),
               {{"queue", queue.how.queue}, {"code", std::string(name_of(error.code))}});
  if (run->answered(std::unexpected(error))) {
    run->collected = false;
  } else if (!run->reported && !std::holds_alternative<GiveBack>(run->ending().outcome)) {
    run->reported = true;
    // What is too large now would be so in every run.
    run->replace_ending(Failed{
        .error = {.code = "settlement_refused", .message = why},
        .retryable = error.code == ErrorCode::too_large ? std::optional(false) : std::nullopt});
    again.push_back(run);
  }
}

void Dispatcher::take_answered(const Request& request, const Result<WorkResult>& result,
                               const Arrived& arrived, Moment now) {
  apart_ = false;
  const auto& taken = result->taken;
  for (std::size_t i = 0; i < request.wanted.size() && !taken.empty(); ++i) {
    const auto& [place, most] = request.wanted[i];
    const std::size_t part = request.apart ? i : 0;
    if (part >= taken.size()) continue;
    WorkerQueue& queue = queues_[place];
    if (taken[part]) {
      queue.refusal_pause = Moment::zero();
      queue.dry = arrived.by_queue[place].size() < most;
      if (!queue.dry) queue.grow();
      continue;
    }
    if (request.wanted.size() > 1 && !request.apart) {
      apart_ = true;
      continue;
    }
    if (queue.refusal_pause == Moment::zero()) {
      options_.log(LogLevel::error,
                   fmt::format("Error in worker loop: cannot take from queue {}: {}",
                               queue.how.queue, taken[part].error().message),
                   {{"queue", queue.how.queue}});
    }
    queue.refusal_pause =
        std::clamp<Moment>(2 * queue.refusal_pause, options_.error_pause,
                           std::max(options_.error_pause, options_.longest_pause));
    queue.refused_until = now + queue.refusal_pause;
  }
}

// Queues that share too few processors may each have got a task for the same processor.
void Dispatcher::trim() {
  std::size_t free = processors_ - std::min(busy_, processors_);
  for (const std::size_t i : turns_.in_order()) {
    WorkerQueue& queue = queues_[i];
    const std::size_t calls = std::min<std::size_t>({queue.slots(), queue.calls_waiting(), free});
    free -= calls;
    if (queue.most_ahead() != 0 || calls == queue.slots()) continue;
    while (queue.waiting.size() > queue.room_of(calls)) {
      const RunPtr run = std::move(queue.waiting.back());
      queue.waiting.pop_back();
      give_back(run);
    }
  }
}

void Dispatcher::failed(Request& request, const Error& error, Moment now) {
  for (std::size_t i = 0; i < request.extended.size(); ++i) {
    Run& run = *request.extended[i];
    run.sending = false;
    run.return_signs(signs_of(std::move(request.extensions[i])));
  }
  const bool senseless = !request.reports.empty() &&
                         (error.code == ErrorCode::invalid || error.code == ErrorCode::too_large);
  if (senseless && request.reports.size() == 1) {
    std::vector<RunPtr> again;
    refused(request.reports.front(), error, again);
    request.reports = std::move(again);
  }
  outbox_.insert(outbox_.begin(), request.reports.begin(), request.reports.end());
  if (senseless) {
    most_reports_ = std::max<std::size_t>(1, request.reports.size() / 2);
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
  // Many workers lose a broker at the same moment and should not all come back at the same moment.
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
