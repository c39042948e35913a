// The values of take, extend and settle.
#pragma once

#include <millrace/ids.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace millrace {

struct Want {
  QueueRef queue = {};
  std::uint32_t most = 1;

  friend bool operator==(const Want&, const Want&) = default;
};

// Names of workers inside the process that owns the store begin with this: their leases end with
// the process, while those of other workers continue.
inline constexpr std::string_view local_worker = "$local";

// Filled in the order given; the share of an empty queue is not given to another.
struct TakeRequest {
  std::string worker = {};
  std::vector<Want> queues = {};
  std::optional<Duration> lease = std::nullopt;  // instead of the queue's lease time

  friend bool operator==(const TakeRequest&, const TakeRequest&) = default;
};

// The right to work on a task until a moment, with everything that a handler and a decision need.
struct Lease {
  TaskId id = {};
  TaskNumber number = {};
  Token token = {};
  TimePoint until{};
  std::string queue = {};
  std::string type = {};
  std::string payload = {};
  std::string content_type = {};
  std::uint8_t priority = default_priority;
  Counters counters = {};
  TimePoint created_at{};
  TimePoint start{};
  std::optional<TimePoint> previous_start = std::nullopt;
  TimePoint started_at{};
  std::optional<TimePoint> start_by = std::nullopt;
  std::optional<Duration> timeout = std::nullopt;
  std::optional<std::uint32_t> max_lost = std::nullopt;
  std::optional<RetryRules> retry = std::nullopt;
  std::optional<UniqueKey> unique = std::nullopt;
  std::optional<Callback> callback = std::nullopt;
  std::optional<Duration> keep_for = std::nullopt;
  std::string client_id = {};
  std::string request_id = {};
  std::string group = {};
  std::string metadata = {};
  std::vector<std::string> tags = {};
  TaskId parent = {};
  std::uint32_t cost = 1;
  std::optional<After> after = std::nullopt;
  std::optional<Keep> keep_completed = std::nullopt;
  std::optional<Keep> keep_dead = std::nullopt;
  std::string checkpoint = {};                       // of earlier runs
  std::optional<std::string> answer = std::nullopt;  // what the task was released with

  friend bool operator==(const Lease&, const Lease&) = default;
};

// How much of the bytes that one take may give out it has.
inline std::size_t taken_bytes(const Lease& lease) {
  return lease.payload.size() + lease.checkpoint.size() + (lease.answer ? lease.answer->size() : 0);
}

// Heartbeat.
struct Extension {
  TaskId id = {};
  Token token = {};
  std::optional<Duration> lease = std::nullopt;          // from now; nullopt: the queue's
  std::optional<double> progress = std::nullopt;         // 0 to 100
  std::vector<std::string> log = {};                     // lines to add
  std::optional<std::string> checkpoint = std::nullopt;  // replaces that of the task

  friend bool operator==(const Extension&, const Extension&) = default;
};

struct Extended {
  TimePoint until{};
  bool cancel_requested = false;

  friend bool operator==(const Extended&, const Extended&) = default;
};

// What must still hold for a settlement to be applied.
struct Held {  // a worker's: the token is the task's
  Token token = {};
  friend bool operator==(const Held&, const Held&) = default;
};
struct Lost {  // the timer's: not extended since, and past
  Token token = {};
  TimePoint until{};
  friend bool operator==(const Lost&, const Lost&) = default;
};
struct Unchanged {  // for the timer: still waiting, and unchanged
  Version version = {};
  friend bool operator==(const Unchanged&, const Unchanged&) = default;
};
using Expectation = std::variant<Held, Lost, Unchanged>;

// A decided end of a lease, or of a wait that lasted too long. core/decide.h makes these.
struct Settlement {
  TaskId id = {};
  Expectation expect = {};
  Event event = Event::done;
  // give_back: false if the lease never reached a worker. Then the task has not started, and its
  // start_by still counts.
  bool started = true;
  // retry, snooze, lose: when the task may be taken again. park: when it is released at the latest.
  TimePoint ready{};
  // retry, snooze, park, lose, exhaust: attempts, retries and lost from now on. Other events leave
  // the counters as they are; deliveries are the store's to count.
  Counters counters = {};
  std::string result = {};
  std::optional<TaskError> error = std::nullopt;
  std::vector<NewTask> follow_ups = {};                  // stored in the same commit
  std::optional<std::string> checkpoint = std::nullopt;  // replaces that of a task that goes on
  std::optional<std::uint32_t> cost = std::nullopt;      // what the run has really cost

  friend bool operator==(const Settlement&, const Settlement&) = default;
};

enum class SettleStatus : std::uint8_t {
  applied = 0,
  already = 1,           // this very token had settled the task before; nothing changed
  cancel_requested = 2,  // nothing changed: settle `cancel` instead
};

struct Settled {
  SettleStatus status = SettleStatus::applied;
  TaskState state = TaskState::completed;  // after the call

  friend bool operator==(const Settled&, const Settled&) = default;
};

// How a handler ended: a closed set.
struct Done {
  std::string result = {};
};
struct Failed {
  TaskError error = {};
  std::optional<bool> retryable = std::nullopt;  // the handler's word wins over the policy
};
struct RetryAt {  // failed, and the handler names the next start
  TimePoint at{};
  TaskError error = {};
};
struct Snooze {  // not a failure: nothing is charged
  TimePoint until{};
};
struct Cancel {
  std::string reason = {};
};
struct GiveBack {};
struct Park {  // not a failure: waits for a release, at the longest until then
  TimePoint until = never;
};
using Outcome = std::variant<Done, Failed, RetryAt, Snooze, Cancel, GiveBack, Park>;

}  // namespace millrace
