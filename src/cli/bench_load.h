// The load of `millrace bench`: puts and works tasks as fast as a server answers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "api/client/http_broker.h"
#include "cli/bench_report.h"
#include "core/clock.h"
#include "core/mutex.h"
#include "process/signals.h"

namespace millrace::cli {

class BenchLoad {
 public:
  // Called now and then with how many of how many are done.
  using Progressed =
      std::function<void(std::string_view what, std::uint64_t done, std::uint64_t total)>;

  // Every client has a thread of its own; connections are shared out among them. All arguments must
  // outlive the load.
  BenchLoad(std::vector<std::unique_ptr<HttpBroker>> clients, const BenchPlan& plan, Clock& clock,
            Signals& signals, Progressed progressed);
  BenchLoad(const BenchLoad&) = delete;
  BenchLoad& operator=(const BenchLoad&) = delete;

  // Each returns when it is finished, or when the user stops it.
  BenchPhase put();
  // Until the queue is empty; `about` is the expected number of tasks.
  BenchPhase work(std::uint64_t about);
  BenchTrickle trickle(std::uint64_t tasks);

  bool stopped() const { return stop_; }

 private:
  HttpBroker& client(std::size_t connection) { return *clients_[connection % clients_.size()]; }
  BenchPhase run(std::string_view what, std::uint64_t total,
                 const std::function<void(std::size_t connection)>& start);
  void put_next(std::size_t connection);
  void work_next(std::size_t connection, std::vector<Report> reports);
  // Handles the answer on a connection; false: it sends no more.
  bool note_puts(const Result<std::vector<Result<Put>>>& puts, std::size_t count,
                 std::chrono::nanoseconds sent);
  std::vector<Report> note_work(const Result<WorkResult>& result, std::size_t reports,
                                std::chrono::nanoseconds sent);
  void note_error(const Error& error, std::size_t tasks) REQUIRES(mutex_);
  void leave() REQUIRES(mutex_);
  TakeRequest take_for(std::size_t connection, std::size_t most) const;
  // One task, there and back; false: it failed.
  bool trickle_one(BenchTrickle& trickle);
  void listen(Duration at_most);

  std::vector<std::unique_ptr<HttpBroker>> clients_;
  const BenchPlan& plan_;
  Clock& clock_;
  Signals& signals_;
  Progressed progressed_;
  NewTask task_;
  std::atomic<bool> stop_ = false;

  Mutex mutex_;
  BenchPhase phase_ GUARDED_BY(mutex_);
  std::uint64_t left_ GUARDED_BY(mutex_) = 0;  // tasks that are not put yet
  std::size_t open_ GUARDED_BY(mutex_) = 0;    // connections that still send
};

}  // namespace millrace::cli
