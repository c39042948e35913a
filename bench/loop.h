#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace millrace::bench {

// What completions post to: the loop of one thread that serves all callers.
class Loop {
 public:
  void post(std::uint64_t caller) {
    const std::scoped_lock lock(mutex_);
    answered_.push_back(caller);
    if (answered_.size() == 1) arrived_.notify_one();
  }
  std::vector<std::uint64_t> take() {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [&] { return !answered_.empty(); });
    return std::exchange(answered_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<std::uint64_t> answered_;
};

}  // namespace millrace::bench
