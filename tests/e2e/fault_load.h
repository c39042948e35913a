// Clients that put, take and settle over HTTP through several servers, whatever breaks: what was
// not answered is asked again with the same ids.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "tests/e2e/fault_history.h"

namespace millrace::test {

// Which threads may go on.
class FaultStop {
 public:
  void stop_putting();
  void stop_all();
  bool putting() const;
  bool working() const;
  // Returns sooner when all is to stop.
  void pause(Duration time) const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool putting_ = true;
  bool working_ = true;
};

class FaultLoad {
 public:
  // One that puts and two that work for each server; they move on to another where theirs is gone.
  FaultLoad(std::vector<std::uint16_t> ports, std::string queue);
  FaultLoad(const FaultLoad&) = delete;
  FaultLoad& operator=(const FaultLoad&) = delete;
  ~FaultLoad();

  FaultHistory& history() { return history_; }

  // Until so many more tasks were completed.
  bool goes_on(std::size_t tasks, Duration limit);
  // Until each of these servers has taken puts and settlements again.
  bool all_serve(const std::vector<std::size_t>& servers, Duration limit);
  // Puts nothing more and works until all that was put is completed.
  bool drains(Duration limit);
  void stop();

 private:
  const std::vector<std::uint16_t> ports_;
  const std::string queue_;
  FaultHistory history_;
  FaultStop stop_;
  std::vector<std::thread> putting_;
  std::vector<std::thread> working_;
};

}  // namespace millrace::test
