#include "broker/reads.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace millrace {
namespace {

// How long a waiting thread may take to notice a deadline, or a clock that was set.
constexpr std::chrono::milliseconds longest_wait{250};

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
  if (waiting_.size() >= options_.waiting) {
    ++stats_.refused;
    lock.unlock();
    return job.done(Error{ErrorCode::limited,
                          fmt::format("{} reads wait already; try again in {} ms", options_.waiting,
                                      options_.retry_after.count()),
                          options_.retry_after});
  }
  waiting_.push_back(std::move(job));
  lock.unlock();
  work_.notify_one();
}

void Reads::leave(CallerId caller) {
  Jobs gone;  // destroyed without the lock
  const Lock lock(mutex_);
  if (const auto found = under_way_.find(caller.value); found != under_way_.end()) {
    found->second.gone = true;
  }
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    const auto here = at++;
    if (here->caller == caller) gone.splice(gone.end(), waiting_, here);
  }
}

void Reads::expire(TimePoint now) {
  if (now < next_expiry_ && next_expiry_ - now <= longest_wait) return;
  next_expiry_ = now + longest_wait;
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    const auto here = at++;
    if (here->deadline <= now) expire(here);
  }
}

void Reads::expire(Jobs::iterator job) {
  job->instead = Error{ErrorCode::unavailable,
                       "the read waited for its turn until its deadline; nothing was changed"};
  ++stats_.expired;
  ++under_way_[job->caller.value].jobs;
  answers_.splice(answers_.end(), waiting_, job);
}

Reads::Jobs Reads::next(bool& looked_at) {
  for (;;) {
    const TimePoint now = clock_.now();
    expire(now);
    if (!waiting_.empty() && waiting_.front().deadline <= now) expire(waiting_.begin());
    Jobs job;
    if (!answers_.empty()) {
      job.splice(job.end(), answers_, answers_.begin());
      looked_at = true;
      return job;
    }
    if (!waiting_.empty() && held_ < options_.held) {
      job.splice(job.end(), waiting_, waiting_.begin());
      ++under_way_[job.front().caller.value].jobs;
      looked_at = false;
      return job;
    }
    if (stopping_ && held_ == 0) return job;
    if (waiting_.empty()) {
      work_.wait(mutex_);
    } else {
      work_.wait_for(mutex_, longest_wait);
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

// On a thread of the Coalescer, or on that of look(): only posts.
void Reads::stored(Jobs job, const std::optional<Error>& failure) {
  {
    const Lock lock(mutex_);
    --held_;
    job.front().instead = failure;
    answers_.splice(answers_.end(), job);
  }
  work_.notify_one();
}

void Reads::begin_stop() {
  {
    const Lock lock(mutex_);
    stopping_ = true;
    for (Job& job : waiting_) {
      job.instead = stopping();
      ++under_way_[job.caller.value].jobs;
    }
    answers_.splice(answers_.end(), waiting_);
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
  stats.waiting = waiting_.size();
  return stats;
}

}  // namespace millrace
