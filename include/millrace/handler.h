// How the tasks of a queue are handled: handler options, hooks, statistics.
#pragma once

#include <millrace/queue.h>
#include <millrace/retry.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <millrace/work.h>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace millrace {

class Context;

// A handler may throw this to give a code, and to say whether a retry can help.
//
//   throw millrace::TaskFailure({.code = "no_such_user", .message = "user 7 is gone"}, false);
struct TaskFailure : std::runtime_error {
  explicit TaskFailure(TaskError why, std::optional<bool> may_retry = std::nullopt)
      : std::runtime_error(why.message), error(std::move(why)), retryable(may_retry) {}

  TaskError error;
  std::optional<bool> retryable;  // nullopt: as the retry policy says
};

// Which queue a free processor takes its next batch from.
enum class QueueOrder : std::uint8_t {
  round_robin = 0,  // one batch of each in turn
  strict = 1,       // the queue of the highest priority that has work
  weighted = 2,     // in proportion to the queues' weights
};

// How a task is acknowledged.
enum class Acknowledge : std::uint8_t {
  automatic = 0,  // a return is done, an exception is a failure
  manual = 1,  // the handler, by Context::settle(); what it does not settle keeps its lease until
               // that runs out, and is then worked again
};

// What became of a task that a handler has run, reported once it is stored.
struct TaskEvent {
  const Lease& task;
  TaskState state = TaskState::completed;
  const Outcome& outcome;  // as the handler gave it

  // Null: it did not fail.
  const TaskError* error() const {
    if (const auto* failed = std::get_if<Failed>(&outcome)) return &failed->error;
    if (const auto* again = std::get_if<RetryAt>(&outcome)) return &again->error;
    return nullptr;
  }
};
using Hook = std::function<void(const TaskEvent&)>;

inline constexpr Rate no_limit{.max = 0};

// Options that are not set keep the stored value, or the server's default.
struct HandlerOptions {
  // ---- In this process ----
  std::uint32_t concurrency = 1;  // handlers that run at the same time
  // Tasks prefetched, so that no handler waits for the next. Nullopt: as many as are handled in
  // about 100 ms, which is none if a task takes longer.
  std::optional<std::uint32_t> prefetch = std::nullopt;
  std::optional<std::uint32_t> batch_size = std::nullopt;  // of batch handlers; the queue's
  Acknowledge acknowledge = Acknowledge::automatic;
  // How long a handler may go on after its timeout or a stop before its thread is abandoned.
  Duration grace = std::chrono::seconds(5);
  // While the store is away, run the handler in place of a put. See App::put.
  bool critical = false;

  // ---- Of the queue, for all processes: set when the app creates it ----
  std::optional<Duration> timeout = std::nullopt;
  std::optional<Duration> lease = std::nullopt;
  Rate process_rate = no_limit;
  std::optional<RateOf> rate_of = std::nullopt;  // what process_rate counts
  Rate put_rate = no_limit;
  std::optional<std::uint32_t> max_concurrent = std::nullopt;
  std::optional<std::uint64_t> max_depth = std::nullopt;
  std::optional<GroupRules> groups = std::nullopt;  // limits and order of each group of tasks
  std::optional<RetryRules> retry = std::nullopt;
  std::optional<std::uint8_t> priority = std::nullopt;  // among queues
  std::optional<std::uint32_t> weight = std::nullopt;
  std::optional<Keep> keep_completed = std::nullopt;
  std::optional<Keep> keep_dead = std::nullopt;

  // ---- Hooks: on a thread of the worker; keep them short ----
  Hook on_completed = {};
  Hook on_failed = {};    // ended: a retry cannot help
  Hook on_requeued = {};  // will be retried
  Hook on_dead = {};      // ended: every retry is used up
};

// What one type of task does differently from its queue.
struct TypeOptions {
  std::optional<RetryRules> retry = std::nullopt;
  std::optional<Duration> timeout = std::nullopt;
  bool critical = false;
};

// Statistics of a handler.
struct HandlerStats {
  std::uint64_t processed = 0;  // tasks that succeeded; their end is stored
  std::uint64_t errors = 0;     // runs that failed
  std::uint64_t retried = 0;    // tasks sent back to be tried again
  Duration duration{};          // spent in handlers
  std::string last_error = {};  // the text of the last failure

  friend bool operator==(const HandlerStats&, const HandlerStats&) = default;
};

// A handler without its types: runs the tasks it is given and settles each. If it returns without
// settling, or throws, the worker settles.
using HandlerFunction = std::function<void(std::span<Context* const>)>;

}  // namespace millrace
