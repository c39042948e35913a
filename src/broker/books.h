// What the verbs and the services of a broker share: what the broker knows, and how it decides.
#pragma once

#include <millrace/queue.h>
#include <millrace/result.h>
#include <millrace/retry.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <millrace/work.h>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "broker/alert_book.h"
#include "broker/broker.h"
#include "broker/broker_metrics.h"
#include "broker/delivery_tasks.h"
#include "broker/events.h"
#include "broker/ids.h"
#include "broker/lease_book.h"
#include "broker/queue_book.h"
#include "broker/request.h"
#include "broker/waiters.h"
#include "core/limits.h"
#include "core/log.h"
#include "core/values.h"
#include "store/fwd.h"

namespace millrace {

struct DeadTask;

struct BooksOptions {
  RetryPolicy retry = {};  // the server's default
  bool create_unknown_queues = true;
  std::size_t max_queues = limits::usual_queues;  // internal ones not counted
  // How many of them the puts of one key may create, since the start.
  std::size_t max_queues_per_key = limits::usual_queues_per_key;
  QueueSettings new_queue = {};  // what a queue that was never configured looks like
  // Stores the webhooks of tasks that have a callback; without it such tasks are refused. Webhooks
  // and alerts go out where a worker delivers them (worker/deliverer.h).
  bool webhooks = false;
  bool alerts = false;
  Duration alert_window = std::chrono::minutes(10);  // the same alert at most once per window
  bool manager = false;                              // moves processors between queues
  bool priority_metrics = false;                     // counts by type and priority, too
  bool history = false;  // keeps what happened, per minute and per hour, in the store
  // For ids and jitter. Nullopt: random, since two brokers with the same seed make the same ids.
  std::optional<std::uint64_t> seed = std::nullopt;
  LeaseBookOptions leases = {};
  std::size_t waiters = 10'000;
  Log log = {};
};

// Code that locks several of the books does so in the order queues, events, metrics, leases; the
// ranks of the locks (core/lock_order.h) let debug builds and sanitizers check this.
struct Books {
  Books(const BooksOptions& options, const Traits& store_traits, TimePoint now);

  const BooksOptions options;
  const Traits traits;
  Ids ids;
  QueueBook queues;
  LeaseBook leases;
  BrokerMetrics metrics;
  AlertBook alerts_sent;
  DeliveryTasks deliveries;
  Waiters waiters;
  EventRing events;

  const Log& log() const { return options.log; }
  // In [0, 1), for jitter.
  double random();

  // The settings of a queue, read from the store where they are not known here. A queue that is
  // gone has the defaults: the store will refuse to settle its tasks. Fails only if the store
  // fails.
  Result<QueueSettings> settings_of(Store& store, const std::string& queue);

  // Whether a request may name this queue: an internal one only from inside this process. Every
  // verb asks this, however the queue was named.
  static Result<void> check_internal(bool internal, const Queue& queue);
  // Whether a queue exists and the request may name it, or why not. On the applying thread.
  Result<void> find_queue(Store& store, const QueueRef& queue, bool internal);
  // Makes sure that a queue exists, or says why it cannot. On the applying thread.
  Result<void> need_queue(Store& store, const QueueRef& queue, const Ask& ask, TimePoint now);
  // Whether one more queue may be created, by this key if it is not 0. On the applying thread.
  Result<void> check_room_for_queue(std::uint64_t key = 0);

  // What becomes of the task, with the webhooks and alerts that go out because of it. Moves the
  // outcome's result and the follow-ups into the settlement. `task` is for its dead letter; null:
  // it makes none.
  Settlement decide(const LeaseNote& note, Outcome& outcome, std::vector<NewTask>& follow_ups,
                    const QueueSettings& queue, const DeadTask* task, TimePoint now);
  // Whether this outcome makes a dead letter for another queue.
  bool will_make_dead_letter(const LeaseNote& note, const Outcome& outcome,
                             const QueueSettings& queue, TimePoint now) const;
  // The same, where the store answered `cancel_requested`.
  Settlement decide_cancelled(const LeaseNote& note, const Settlement& refused, TimePoint now);

 private:
  Books(const BooksOptions& options, const Traits& store_traits, TimePoint now, std::uint64_t seed);

  std::atomic<std::uint64_t> random_;
  // The queues that puts have created, by key. Only the applying thread uses it.
  std::unordered_map<std::uint64_t, std::vector<std::string>> made_by_;
};

// Like store.work(), split into calls that the store's batch limit allows.
Result<WorkResult> work_in_batches(Store& store, std::size_t batch, const Work& work,
                                   TimePoint now);

// How a settlement that was applied is logged: a sentence and its facts, or nothing.
void log_settled(const Log& log, const std::string& queue, const Settlement& settlement);

}  // namespace millrace
