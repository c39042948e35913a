// Runs operations on many tasks in the process that owns the store: a worker of the internal queue
// `$bulk`.
#pragma once

#include <millrace/handler.h>
#include <millrace/time.h>
#include <atomic>
#include <cstdint>
#include <memory>

#include "broker/broker.h"
#include "broker/bulk_verbs.h"
#include "core/clock.h"
#include "core/log.h"
#include "worker/bulk_walk.h"
#include "worker/inside.h"
#include "worker/worker.h"

namespace millrace::worker {

struct BulkWorkerOptions {
  std::uint32_t concurrency = 1;     // operations at the same time
  std::string name = "$local-bulk";  // of the worker; unique among the processes that share a store
  Log log = {};
};

// The handler of $bulk, with Acknowledge::manual. Once `stopping` is set, an operation is given
// back after its current page. The broker and its verbs must outlive the handler.
HandlerFunction run_bulk(Broker& broker, BulkVerbs& verbs,
                         std::shared_ptr<const std::atomic<bool>> stopping, Log log);

class BulkWorker {
 public:
  // Starts the worker. All arguments must outlive it, and the broker must not stop before stop()
  // was called.
  BulkWorker(Clock& clock, Broker& broker, BulkVerbs& verbs, const BulkWorkerOptions& options);
  BulkWorker(const BulkWorker&) = delete;
  BulkWorker& operator=(const BulkWorker&) = delete;
  ~BulkWorker() { stop(std::chrono::seconds(1)); }

  // Gives back the running operation after its current page, and waits for that at most `limit`.
  // May be called again.
  void stop(Duration limit);
  // Call after stop(), which may abandon a handler that waits for the broker. False: a handler
  // still runs after `limit`, and neither this object nor the broker may be destroyed.
  bool wait_until_left(Duration limit) { return inside_.wait_until_left(limit); }

 private:
  Inside inside_;
  std::shared_ptr<std::atomic<bool>> stopping_;
  Worker worker_;
};

}  // namespace millrace::worker
