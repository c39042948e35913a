#include "broker/service_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/mutex.h"

namespace millrace {
namespace {

// The clock decides, but the condition variable waits in real time: this bounds how late a clock
// that was set, or that a test moves, is noticed.
constexpr Duration longest_pause{250};

// After a run that ended with an error, twice as long each time.
constexpr Duration after_error{1000};
constexpr Duration longest_after_error{5000};

Duration pause_after(unsigned failures) {
  return failures > 3 ? longest_after_error
                      : std::min(after_error * (1U << (failures - 1)), longest_after_error);
}

}  // namespace

ServiceRunner::ServiceRunner(Clock& clock, Coalescer& coalescer, const Log& log, bool recovers)
    : clock_(clock),
      coalescer_(coalescer),
      log_(log),
      caller_(coalescer.new_caller()),
      recovers_(recovers) {}

void ServiceRunner::add(std::string name, Service& service) {
  const Lock lock(mutex_);
  Entry& entry = entries_.emplace_back();
  entry.name = std::move(name);
  entry.service = &service;
}

void ServiceRunner::start() {
  thread_ = std::thread([this] { loop(); });
}

void ServiceRunner::begin_stop() {
  const Lock lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
}

void ServiceRunner::stop() {
  begin_stop();
  {
    const Lock lock(mutex_);
    changed_.wait(mutex_, [this] { return std::ranges::none_of(entries_, &Entry::running); });
  }
  if (thread_.joinable()) thread_.join();
}

void ServiceRunner::wake_at(const Service& service, TimePoint moment) {
  for (Entry& entry : entries_) {
    if (entry.service != &service) continue;
    if (next_of(entry) <= moment) return;
    const Lock lock(mutex_);
    set_next(entry, std::min(next_of(entry), moment));
    changed_.notify_all();
  }
}

// If the clock is set back, what was due in a second must not wait for an hour.
TimePoint ServiceRunner::look_at_clock() {
  const TimePoint now = clock_.now();
  if (now < last_now_) {
    for (Entry& entry : entries_) set_next(entry, TimePoint::min());
  }
  last_now_ = now;
  return now;
}

void ServiceRunner::loop() {
  Lock lock(mutex_);
  while (!stopping_) {
    const TimePoint now = look_at_clock();
    Entry* due = nullptr;
    for (Entry& entry : entries_) {
      if (!entry.running && next_of(entry) <= now) due = &entry;
    }
    if (due == nullptr) {
      wait();
      continue;
    }
    due->running = true;
    set_next(*due, never);  // wake_at() may say otherwise while it runs
    lock.unlock();
    submit(*due);
    lock.lock();
  }
}

void ServiceRunner::wait() {
  TimePoint next = never;
  for (const Entry& entry : entries_) {
    if (!entry.running) next = std::min(next, next_of(entry));
  }
  const TimePoint now = last_now_;
  const Duration until_next = next < later(now, longest_pause) ? next - now : longest_pause;
  changed_.wait_for(mutex_, std::max(until_next, Duration(1)));
}

void ServiceRunner::submit(Entry& entry) {
  coalescer_.call<TimePoint>(
      caller_,
      [service = entry.service](Store& store, TimePoint now) {
        return service->run_once(store, now);
      },
      never,
      [this, &entry](Result<TimePoint> result) {
        if (result) entry.service->stored();
        ran(entry, result);
      });
}

void ServiceRunner::ran(Entry& entry, const Result<TimePoint>& result) {
  const TimePoint now = clock_.now();
  const bool failed = !result;
  // A read that could not get its bytes failed alone, and says when to come back.
  const bool alone = failed && !recovers_ && result.error().retry_after;
  const bool no_store = failed && result.error().code == ErrorCode::unavailable && !alone;
  if (no_store && recovers_) {
    entry.service->unsure(result.error());
  } else if (no_store) {
    for (const Entry& each : entries_) each.service->failed(result.error());
  }
  const Lock lock(mutex_);
  const bool known = entry.failures != 0 || stopping_ || (no_store && recovers_);
  if (failed && !known) {
    log_(LogLevel::error, fmt::format("{} failed: {}", entry.name, result.error().message));
  }
  entry.failures = failed ? entry.failures + 1 : 0;
  entry.running = false;
  // A service that fails is not woken before its pause is over: what it is woken for can wait.
  if (failed) {
    set_next(entry, later(now, pause_after(entry.failures)));
  } else {
    set_next(entry, std::min(next_of(entry), *result));
  }
  changed_.notify_all();
}

void ServiceRunner::wake_failing() {
  const Lock lock(mutex_);
  for (Entry& entry : entries_) {
    if (entry.failures != 0) set_next(entry, TimePoint::min());
  }
  changed_.notify_all();
}

void ServiceRunner::run_due() {
  Lock lock(mutex_);
  for (bool more = true; more;) {
    more = false;
    for (Entry& entry : entries_) {
      if (next_of(entry) > look_at_clock()) continue;
      entry.running = true;
      set_next(entry, never);
      lock.unlock();
      submit(entry);
      lock.lock();
      changed_.wait(mutex_, [&entry] { return !entry.running; });
      more = true;
    }
  }
}

TimePoint ServiceRunner::next_due() {
  const Lock lock(mutex_);
  TimePoint first = never;
  for (const Entry& entry : entries_) first = std::min(first, next_of(entry));
  return first;
}

}  // namespace millrace
