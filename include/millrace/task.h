// A task: what a caller puts, and what the store keeps of it.
#pragma once

#include <millrace/ids.h>
#include <millrace/retry.h>
#include <millrace/time.h>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

// The numbers are stored and sent; do not renumber.
enum class TaskState : std::uint8_t {
  created = 0,     // held, or parked after a run: waits for a release
  queued = 1,      // may be taken
  delayed = 2,     // starts later
  processing = 3,  // under a lease
  retrying = 4,    // failed, waits for the next try
  completed = 5,
  failed = 6,  // cannot succeed
  dead = 7,    // every retry used up
  cancelled = 8,
};
inline constexpr std::size_t state_count = 9;

// 0 to 9, 9 first.
inline constexpr std::uint8_t default_priority = 5;
inline constexpr std::size_t priority_count = 10;

struct TaskError {
  std::string code = "task_processing_error";
  std::string message = {};
  std::string details = {};
  std::string stack = {};
  TimePoint failed_at{};

  friend bool operator==(const TaskError&, const TaskError&) = default;
};

enum class UniqueScope : std::uint8_t {
  until_started = 0,   // freed at the first take
  until_finished = 1,  // freed when the task is final
  window = 2,          // held for `window` from the put, whatever becomes of the task
};

// What a put does when a task that waits holds its unique key.
enum class OnConflict : std::uint8_t {
  keep = 0,      // nothing: the holder stays as it is
  replace = 1,   // the holder gets what was put
  postpone = 2,  // and starts after the delay that was put, at most max_delay after its first put
};

// At most one holder per key and queue; a second put returns the holder.
struct UniqueKey {
  std::string key = {};
  UniqueScope scope = UniqueScope::until_finished;
  Duration window{};
  OnConflict on_conflict = OnConflict::keep;         // of this put, whatever that of the holder was
  std::optional<Duration> max_delay = std::nullopt;  // postpone

  friend bool operator==(const UniqueKey&, const UniqueKey&) = default;
};

// The events that cause a callback: bits, so that a set is one byte.
enum class CallbackOn : std::uint8_t {
  completed = 1,
  failed = 2,
  retrying = 4,
  dead = 8,
  cancelled = 16,
  final_states = completed | failed | dead | cancelled,
};

struct Callback {
  std::string url = {};
  std::uint8_t events = static_cast<std::uint8_t>(CallbackOn::final_states);
  std::uint32_t max_attempts = 3;

  friend bool operator==(const Callback&, const Callback&) = default;
};

// How long a finished task is kept. Both limits may be set; none means for ever; a limit of zero
// removes the task at once.
struct Keep {
  std::optional<Duration> for_time = std::nullopt;
  std::optional<std::uint32_t> last = std::nullopt;

  friend bool operator==(const Keep&, const Keep&) = default;
};

// When a task that waits for others goes on.
enum class AfterWhen : std::uint8_t {
  completed = 0,  // all of them are completed
  ended = 1,      // all of them are final, whatever became of them
};

// What becomes of it once one of them has ended in another way.
enum class Otherwise : std::uint8_t {
  cancel = 0,  // it is cancelled
  hold = 1,    // it waits for a release by hand
  run = 2,     // it runs once the others have ended
};

// The tasks that a task waits for: its parents in a graph. It is `created` until then.
struct After {
  std::vector<TaskId> tasks = {};
  AfterWhen when = AfterWhen::completed;
  Otherwise otherwise = Otherwise::cancel;

  friend bool operator==(const After&, const After&) = default;
};

// A task to be put. Limits and their errors: core/validate.h.
struct NewTask {
  TaskId id = {};  // nil: the broker makes one; a store refuses nil
  QueueRef queue = {};
  std::string type = {};
  std::string payload = {};
  std::string content_type = {};  // empty: application/json
  std::uint8_t priority = default_priority;
  bool held = false;                              // wait in `created` for a release
  std::optional<TimePoint> start = std::nullopt;  // not before; or
  std::optional<Duration> delay =
      std::nullopt;  // not before now + delay; both together are refused
  std::optional<TimePoint> start_by = std::nullopt;
  std::optional<Duration> timeout = std::nullopt;
  std::optional<std::uint32_t> max_lost = std::nullopt;
  std::optional<RetryRules> retry = std::nullopt;
  std::optional<UniqueKey> unique = std::nullopt;
  std::optional<Callback> callback = std::nullopt;
  std::optional<Duration> keep_for =
      std::nullopt;  // own retention, instead of the queue's; 0: remove when final
  std::string client_id = {};
  std::string request_id = {};
  std::string group = {};
  std::string metadata = {};  // a JSON object, opaque to stores
  std::vector<std::string> tags = {};
  TaskId parent = {};      // nil: none
  std::uint32_t cost = 1;  // what a rate of cost is charged when it is taken
  std::optional<After> after = std::nullopt;
  // Own retention by how the task ends, instead of the queue's and its type's.
  std::optional<Keep> keep_completed = std::nullopt;
  std::optional<Keep> keep_dead = std::nullopt;

  friend bool operator==(const NewTask&, const NewTask&) = default;
};

// The result of a put.
struct Put {
  TaskId id = {};  // of the new task, or of the existing one
  TaskNumber number = {};
  // nullopt: the existing task is removed, but its unique window has not ended.
  std::optional<TaskState> state = TaskState::queued;
  bool existing = false;  // same id, or its unique key was held: nothing was added
  bool replaced = false;  // what the existing task was put with is now what this put gave
  // Of a task that had the same id, which may be another than that of the put. Only stores say so;
  // empty otherwise.
  std::string queue = {};

  friend bool operator==(const Put&, const Put&) = default;
};

struct Counters {
  std::uint32_t deliveries = 0;  // leases given
  std::uint32_t attempts = 0;    // returns by retry, snooze, park or loss
  std::uint32_t retries = 0;     // failures charged to the budget
  std::uint32_t lost = 0;        // leases that ended without a settlement of their holder

  friend bool operator==(const Counters&, const Counters&) = default;
};

// What happens to a task. core/transition.h says where each event leads from each state.
enum class Event : std::uint8_t {
  release = 0,
  become_due = 1,
  take = 2,
  done = 3,
  retry = 4,      // failed, may retry, budget left
  fail = 5,       // failed, final
  exhaust = 6,    // failed or lost, budget used up
  snooze = 7,     // later, nothing charged
  give_back = 8,  // to its old place, nothing charged
  lose = 9,       // the lease ended without its holder
  cancel = 10,    // at once when waiting; the end of a run after a cancel request
  expire = 11,    // start_by passed
  revive = 12,    // an operator retries a finished task
  park = 13,      // waits for an answer: for a release, with data or by its time
};
inline constexpr std::size_t event_count = 14;

// One entry of a task's history: an attempt that ended, or an outcome that an operator replaced
// (`revive`: from the old end to the retry). A lease that was given back leaves none.
struct Attempt {
  TimePoint started_at{};
  TimePoint ended_at{};
  Event event = Event::done;
  std::string worker = {};
  std::string error_code = {};
  std::string error_message = {};

  friend bool operator==(const Attempt&, const Attempt&) = default;
};

struct LogLine {
  TimePoint at{};
  std::string text = {};

  friend bool operator==(const LogLine&, const LogLine&) = default;
};

// The delivery of the webhook of a finished task.
struct DeliveryNote {
  std::uint32_t attempts = 0;
  std::string last_status = {};

  friend bool operator==(const DeliveryNote&, const DeliveryNote&) = default;
};

struct Task {
  TaskId id = {};
  TaskNumber number = {};
  Version version = {};
  std::string queue = {};
  std::string type = {};
  std::string payload = {};
  std::string content_type = {};
  TaskState state = TaskState::created;
  std::uint8_t priority = default_priority;
  bool cancel_requested = false;
  Counters counters = {};

  TimePoint created_at{};
  TimePoint updated_at{};
  TimePoint start{};  // the ready moment of this activation; while parked, when that ends; or never
  std::optional<TimePoint> previous_start =
      std::nullopt;  // of the previous activation; nullopt on the first
  std::optional<TimePoint> started_at = std::nullopt;  // last take
  std::optional<TimePoint> finished_at = std::nullopt;
  std::optional<TimePoint> start_by = std::nullopt;
  std::optional<TimePoint> lease_until = std::nullopt;  // only while processing
  std::string worker = {};                              // who holds or last held the lease

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
  std::vector<TaskId> waits_for = {};  // those of `after` that have not ended, or not as they must
  std::optional<Keep> keep_completed = std::nullopt;
  std::optional<Keep> keep_dead = std::nullopt;

  std::string result = {};
  std::optional<TaskError> error = std::nullopt;
  double progress = 0;  // 0 to 100
  std::optional<DeliveryNote> delivery = std::nullopt;
  std::vector<LogLine> log = {};
  std::vector<Attempt> history = {};  // oldest first
  // Until the task is final:
  std::string checkpoint = {};  // what its runs have written down to go on from
  std::optional<std::string> answer = std::nullopt;  // what it was released with

  friend bool operator==(const Task&, const Task&) = default;
};

// A task that has run and waits for a release. A held one has not run yet.
constexpr bool is_parked(const Task& task) {
  return task.state == TaskState::created && task.counters.deliveries != 0;
}

}  // namespace millrace
