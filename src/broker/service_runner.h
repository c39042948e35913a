// Runs services when they are due: one thread that keeps their next moments and hands them to the
// Coalescer, on whose applying thread they do their work.
#pragma once

#include <millrace/time.h>
#include <atomic>
#include <cstddef>
#include <deque>
#include <string>
#include <thread>

#include "broker/coalescer.h"
#include "broker/service.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/mutex.h"

namespace millrace {

class ServiceRunner {
 public:
  // All must outlive this. `recovers`: the store does, and other code logs that it is away.
  ServiceRunner(Clock& clock, Coalescer& coalescer, const Log& log, bool recovers = false);
  ServiceRunner(const ServiceRunner&) = delete;
  ServiceRunner& operator=(const ServiceRunner&) = delete;
  ~ServiceRunner() { stop(); }

  // A service, with its name for the log; all before start(). It runs as soon as the thread does.
  void add(std::string name, Service& service);
  void start();
  // Begins no more runs. A run under way may find that the Coalescer has stopped, which is no
  // failure.
  void begin_stop();
  // Waits for services that run; if nothing else answers them, the end of the Coalescer does.
  void stop();

  // The service has something to do at this moment, which may be earlier than it said. Cheap if it
  // is not.
  void wake_at(const Service& service, TimePoint moment);

  // The store is back: services that could not run are due.
  void wake_failing();

  // Runs each service until it has nothing more to do now. Used instead of start() where time
  // stands still: in tests, and in programs that move the clock themselves.
  void run_due();
  // When the first of the services is due.
  TimePoint next_due();

 private:
  struct Entry {
    std::string name;
    Service* service = nullptr;
    // What follows is guarded by the runner's mutex; `next` is read without it by wake_at().
    std::atomic<Duration::rep> next = TimePoint::min().time_since_epoch().count();
    bool running = false;
    unsigned failures = 0;  // of its last runs, in a row; the first is logged
  };

  static TimePoint next_of(const Entry& entry) {
    return TimePoint(Duration(entry.next.load(std::memory_order_relaxed)));
  }
  static void set_next(Entry& entry, TimePoint moment) {
    entry.next.store(moment.time_since_epoch().count(), std::memory_order_relaxed);
  }
  void loop();
  TimePoint look_at_clock() REQUIRES(mutex_);
  void submit(Entry& entry);
  void ran(Entry& entry, const Result<TimePoint>& result);
  void wait() REQUIRES(mutex_);

  Clock& clock_;
  Coalescer& coalescer_;
  const Log& log_;
  const CallerId caller_;
  const bool recovers_;

  Mutex mutex_{LockRank::leaf};
  Condition changed_;
  std::deque<Entry> entries_;  // complete before start()
  TimePoint last_now_ GUARDED_BY(mutex_){};
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace millrace
