#include "broker/reads.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace millrace {
namespace {

// How long a waiting thread may take to notice a deadline, or a clock that was set.
constexpr std::chrono::milliseconds longest_look{250};

// How many quick reads may overtake a walk that waits.
constexpr std::uint32_t most_quick_in_turn = 16;

Error stopping() {
  return {ErrorCode::unavailable, "the broker is stopping; nothing was changed"};
}

}  // namespace

Reads::Reads(Clock& clock, Reader& reader, Coalescer& coalescer, const ReadsOptions& options)
    : clock_(clock), reader_(reader), coalescer_(coalescer), options_(options) {
  const Lock starting(join_mutex_);
  for (std::size_t i = 0; i < std::max<std::size_t>(options_.threads, 1); ++i) {
    threads_.emplace_back([this] { run(); });
  }
}

void Reads::submit(Job job) {
  Lock lock(mutex_);
  if (stopping_) {
    lock.unlock();
    return job.done(stopping());
  }
  if (waiting() >= options_.waiting) {
    ++stats_.refused;
    lock.unlock();
    return job.done(Error{ErrorCode::limited,
                          fmt::format("{} reads wait already; try again in {} ms", options_.waiting,
                                      options_.retry_after.count()),
                          options_.retry_after});
  }
  waiting_for(job.cost).push_back(std::move(job));
  lock.unlock();
  work_.notify_one();
}

void Reads::leave(CallerId caller) {
  Jobs gone;  // destroyed without the lock
  const Lock lock(mutex_);
  if (const auto found = under_way_.find(caller.value); found != under_way_.end()) {
    found->second.gone = true;
  }
  for (Jobs& waiting : waiting_) {
    for (auto at = waiting.begin(); at != waiting.end();) {
      const auto here = at++;
      if (here->caller == caller) gone.splice(gone.end(), waiting, here);
    }
  }
}

void Reads::expire(TimePoint now) {
  if (now < next_expiry_ && next_expiry_ - now <= longest_look) return;
  next_expiry_ = now + longest_look;
  for (Jobs& waiting : waiting_) {
    for (auto at = waiting.begin(); at != waiting.end();) {
      const auto here = at++;
      if (here->deadline <= now) expire(waiting, here);
    }
  }
}

Reads::Jobs& Reads::next_waiting() {
  Jobs& quick = waiting_for(ReadCost::quick);
  Jobs& walks = waiting_for(ReadCost::walk);
  if (walks.empty()) return quick;
  return quick.empty() || quick_in_turn_ >= most_quick_in_turn ? walks : quick;
}

void Reads::expire(Jobs& waiting, Jobs::iterator job) {
  job->instead = Error{ErrorCode::unavailable,
                       "the read waited for its turn until its deadline; nothing was changed"};
  ++stats_.expired;
  ++under_way_[job->caller.value].jobs;
  answers_.splice(answers_.end(), waiting, job);
}

Reads::Jobs Reads::next(bool& looked_at) {
  for (;;) {
    const TimePoint now = clock_.now();
    expire(now);
    for (Jobs& waiting : waiting_) {
      if (!waiting.empty() && waiting.front().deadline <= now) expire(waiting, waiting.begin());
    }
    Jobs job;
    if (!answers_.empty()) {
      job.splice(job.end(), answers_, answers_.begin());
      looked_at = true;
      return job;
    }
    if (waiting() != 0 && held_ < options_.held) {
      Jobs& from = next_waiting();
      job.splice(job.end(), from, from.begin());
      quick_in_turn_ = job.front().cost == ReadCost::quick ? quick_in_turn_ + 1 : 0;
      ++under_way_[job.front().caller.value].jobs;
      looked_at = false;
      return job;
    }
    if (stopping_ && held_ == 0) return job;
    if (waiting() == 0) {
      work_.wait(mutex_);
    } else {
      work_.wait_for(mutex_, longest_look);
    }
  }
}

void Reads::run() {
  Lock lock(mutex_);
  for (;;) {
    bool looked_at = false;
    Jobs job = next(looked_at);
    if (job.empty()) break;
    const bool wanted = !looked_at || ends(job.front());
    lock.unlock();
    if (!looked_at) {
      look(std::move(job));
    } else if (wanted) {
      job.front().done(job.front().instead);
    }
    job.clear();
    lock.lock();
  }
  work_.notify_all();  // the other threads have nothing to do any more, either
}

bool Reads::ends(const Job& job) {
  const auto found = under_way_.find(job.caller.value);
  const bool there = !found->second.gone;
  if (--found->second.jobs == 0) under_way_.erase(found);
  return there;
}

void Reads::look(Jobs job) {
  const bool failed = job.front().look(reader_, clock_.now());
  {
    const Lock lock(mutex_);
    ++stats_.reads;
    if (failed) return answers_.splice(answers_.end(), job);
    ++held_;
  }
  const auto shared = std::make_shared<Jobs>(std::move(job));
  coalescer_.when_stored(
      [this, shared](const std::optional<Error>& failure) { stored(std::move(*shared), failure); });
}

// On a thread of the Coalescer, or on that of look(): only posts. Wakes under the lock: with the
// last answer these reads may end, and without the lock they could be gone by then.
void Reads::stored(Jobs job, const std::optional<Error>& failure) {
  const Lock lock(mutex_);
  --held_;
  job.front().instead = failure;
  answers_.splice(answers_.end(), job);
  work_.notify_one();
}

void Reads::begin_stop() {
  {
    const Lock lock(mutex_);
    stopping_ = true;
    for (Jobs& waiting : waiting_) {
      for (Job& job : waiting) {
        job.instead = stopping();
        ++under_way_[job.caller.value].jobs;
      }
      answers_.splice(answers_.end(), waiting);
    }
  }
  work_.notify_all();
}

void Reads::stop() {
  begin_stop();
  const Lock joining(join_mutex_);
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

ReadsStats Reads::stats() {
  const Lock lock(mutex_);
  ReadsStats stats = stats_;
  stats.waiting = waiting();
  return stats;
}

}  // namespace millrace
