// The implementation of App.
#pragma once

#include <millrace/app.h>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/server/http.h"
#include "api/server/listener.h"
#include "app/client_parts.h"
#include "app/plan.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/mutex.h"
#include "log/log_writer.h"
#include "process/signals.h"
#include "worker/deliverer.h"
#include "worker/worker.h"

namespace millrace {

struct App::Parts {
  class MetricsPage;

  Parts(std::string_view address, AppOptions given);

  // What the program puts before run() would fail while its server is still starting.
  void wait_for_server();
  // Writes settings and schedules to the store, then makes the worker.
  Result<void> prepare();
  Result<void> prepare_queue(const std::string& name, const PlannedQueue& planned,
                             std::vector<worker::QueueHandlers>& handlers);
  // The queue as it is stored by now.
  Result<Queue> store_queue(const std::string& name, const PlannedQueue& planned,
                            bool again = false);
  Result<void> prepare_schedule(const Schedule& planned);
  Result<Schedule> store_schedule(const Schedule& planned, bool again = false);
  worker::WorkerOptions worker_options() const;

  // Delivers webhooks, if the store is in this process.
  Result<void> begin_delivering();
  // Answers /metrics, if the options name a port.
  Result<void> listen();
  std::string metrics_text() const;
  // The value of the label `queue_num` of a queue: its number, or its name.
  std::string number_of(const std::string& queue) const;

  // A task that the store cannot take, run at once.
  std::optional<Put> run_in_place(const NewTask& task);

  Result<void> begin(bool threads);
  // The same, repeated while the server is away, until a signal ends it.
  Result<void> begin_when_there(Signals& heeded);
  int end();
  TimePoint next_of_groups(const std::string& queue, const GroupRules& rules, TimePoint now);
  // The moment at which something may be due next, at most `most`.
  TimePoint next_moment(TimePoint most);
  Result<std::uint64_t> run_ready();
  Clock& clock() const { return *shared->clock; }
  Broker& broker() const { return shared->opened.broker(); }

  const std::string url;
  const AppOptions options;
  ManualClock* manual = nullptr;  // with virtual time
  std::shared_ptr<Client::Parts> shared = std::make_shared<Client::Parts>();
  std::unique_ptr<LogWriter> writer;
  Log log = {};
  Plan plan = {};
  std::map<std::string, std::int64_t> numbers = {};  // of queues that have one
  std::unique_ptr<worker::Worker> worker;
  std::optional<worker::Deliverer> deliverer;
  std::unique_ptr<api::HttpHandler> metrics_port;  // what the listener serves
  std::unique_ptr<api::Listener> listener;
  Client client;
  bool begun = false;
  Mutex end_mutex{LockRank::app_end};
  std::optional<int> ended GUARDED_BY(end_mutex);        // the code to exit with
  std::atomic<bool> stuck = false;                       // handlers have not returned
  Mutex signals_mutex{LockRank::app_signals};            // guards the search for signals to wake
  Signals* signals GUARDED_BY(signals_mutex) = nullptr;  // of run(), woken by shutdown()
  std::atomic<bool> told_to_stop = false;
};

}  // namespace millrace
