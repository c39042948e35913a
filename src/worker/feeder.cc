// The thread that talks to the broker: one request settles what has ended and takes what there is
// room for; beside it, polls ask the queues that were empty. It also calls the hooks.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "core/mutex.h"
#include "core/uuid.h"
#include "worker/parts.h"

namespace millrace::worker {
namespace {

// The end of a run whose call goes on waits this long for the call to end, too.
constexpr Moment settle_within = std::chrono::milliseconds(5);

constexpr Moment longest_feeder_wait = std::chrono::seconds(1);

const Hook* hook_of(const QueueHandlers& how, TaskState state) {
  switch (state) {
    case TaskState::completed:
      return &how.on_completed;
    case TaskState::failed:
      return &how.on_failed;
    case TaskState::dead:
      return &how.on_dead;
    case TaskState::retrying:
    case TaskState::delayed:
    case TaskState::queued:
      return &how.on_requeued;
    case TaskState::cancelled:
      return &how.on_cancelled;
    default:
      return nullptr;
  }
}

std::string_view word_of(TaskState state) {
  switch (state) {
    case TaskState::completed:
      return "completed";
    case TaskState::failed:
    case TaskState::dead:
      return "failed";
    case TaskState::cancelled:
      return "was cancelled";
    default:
      return "will run again";
  }
}

const TaskError* error_of(const Outcome& outcome) {
  if (const auto* failed = std::get_if<Failed>(&outcome)) return &failed->error;
  if (const auto* retry = std::get_if<RetryAt>(&outcome)) return &retry->error;
  return nullptr;
}

}  // namespace

void Worker::Parts::feed() {
  std::vector<StoredEnd> stored;
  Lock lock(mutex);
  while (!feeder_stops) {
    take_answers(stored);
    const Moment now = clock->steady();
    if (stirred.load() && stirred_at == no_moment) stirred_at = now + settle_within;
    const bool all = stirred_at <= now;
    if (all) {
      stirred_at = no_moment;
      stirred = false;
    }
    core.collect(now, all);
    std::optional<CallerId> leaving;
    if (core.should_replace_poll(now)) {
      leaving = poll_caller;
      core.poll_left();
      ++poll_number;
      poll_caller = broker->new_caller();
    }
    auto request = core.next_request(now);
    auto poll = core.next_poll(now);
    const bool wake = idle != 0 && core.has_work();
    const std::uint64_t number = poll_number;
    const CallerId poller = poll_caller;
    if (!request && !poll && !leaving && stored.empty()) {
      if (wake) work.notify_one();
      if (core.stopping()) rested.notify_all();
      wait_for_news(now);
      continue;
    }
    lock.unlock();
    if (wake) work.notify_one();
    if (leaving) broker->leave(*leaving);
    if (request) send(std::move(*request), request_caller, 0);
    if (poll) send(std::move(*poll), poller, number);
    call_hooks(stored);
    stored.clear();
    lock.lock();
  }
  while (!inbox.empty()) {  // no processor is left to run what the answers bring
    const auto answers = std::exchange(inbox, {});
    lock.unlock();
    for (const Answer& answer : answers) {
      if (answer.result) broker->give_back(*answer.result);
    }
    lock.lock();
  }
  feeder_gone = true;
  const auto late = std::exchange(inbox, {});
  lock.unlock();
  for (const Answer& answer : late) {
    if (answer.result) broker->give_back(*answer.result);
  }
}

// Answers are turned into runs, and old runs freed, without the lock.
void Worker::Parts::take_answers(std::vector<StoredEnd>& stored) {
  while (!inbox.empty()) {
    auto answers = std::exchange(inbox, {});
    for (Answer& answer : answers) {
      if (answer.poll != 0 && answer.poll != poll_number) {  // this poll was left
        const Unlocked meanwhile(mutex);
        if (answer.result) broker->give_back(*answer.result);
        continue;
      }
      Moment now{};
      Arrived arrived;
      {
        const Unlocked meanwhile(mutex);
        now = clock->steady();
        arrived = core.arrived(answer.request, answer.result, now);
        if (!arrived.strays.taken.empty()) broker->give_back(arrived.strays);
      }
      const Moment heartbeat = arrived.first_heartbeat;
      core.answered(answer.request, answer.result, std::move(arrived), now, stored);
      plan_upkeep(heartbeat);
    }
    const Unlocked meanwhile(mutex);
    answers.clear();
  }
}

void Worker::Parts::send(Request request, CallerId caller, std::uint64_t poll) {
  WorkOrder words = core.words_of(request);
  auto answer = std::make_shared<Answer>(Answer{.request = std::move(request), .poll = poll});
  broker->work(ask(caller), std::move(words),
               [self = shared_from_this(), answer](Result<WorkResult> result) {
                 answer->result = std::move(result);
                 self->answer_came(std::move(*answer));
               });
}

// On a thread of the broker.
void Worker::Parts::answer_came(Answer answer) {
  {
    const Lock lock(mutex);
    if (!feeder_gone) {
      inbox.push_back(std::move(answer));
      news.notify_one();
      return;
    }
  }
  if (answer.result) broker->give_back(*answer.result);
}

void Worker::Parts::wait_for_news(Moment now) {
  if (!inbox.empty() || feeder_stops) return;
  const Moment next = std::min({core.next_request_due(now), core.next_collect(), stirred_at});
  if (next == no_moment && !stirred.load()) {
    news.wait(mutex);
  } else {
    news.wait_for(
        mutex, std::clamp<Moment>(next - now, std::chrono::microseconds(100), longest_feeder_wait));
  }
}

void Worker::Parts::call_hooks(const std::vector<StoredEnd>& stored) const {
  const bool quiet = options.internal || !options.log_failures;
  const LogLevel failures = quiet ? LogLevel::debug : LogLevel::info;
  for (const auto& [run, state] : stored) {
    const QueueHandlers& how = core.queues()[run->queue_index].how;
    const TaskError* error = error_of(run->ending().outcome);
    const LogLevel level = error == nullptr ? LogLevel::debug : failures;
    if (options.log.wants(level)) {
      options.log(level,
                  fmt::format("task {} {}{}{}", to_text(run->lease.id.value), word_of(state),
                              error == nullptr ? "" : ": ", error == nullptr ? "" : error->message),
                  {{"queue", run->lease.queue}});
    }
    const Hook* hook = hook_of(how, state);
    if (hook == nullptr || !*hook) continue;
    std::string why;
    try {
      (*hook)({.task = run->lease, .state = state, .outcome = run->ending().outcome});
      continue;
    } catch (const std::exception& e) {
      why = e.what();
    } catch (...) {
      why = "unknown exception";
    }
    options.log(LogLevel::error,
                fmt::format("a hook of queue {} failed: {}", run->lease.queue, why),
                {{"task", to_text(run->lease.id.value)}});
  }
}

}  // namespace millrace::worker
