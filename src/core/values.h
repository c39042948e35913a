// The values that the verbs of store and broker take and give back, beside those of
// include/millrace.
#pragma once

#include <millrace/ids.h>
#include <millrace/queue.h>
#include <millrace/result.h>
#include <millrace/schedule.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <millrace/work.h>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace millrace {

// A group of a queue, as it is now.
struct Group {
  std::string queue = {};
  std::string name = {};
  std::uint64_t waiting = 0;  // created, queued, delayed and retrying
  std::uint64_t ready = 0;    // queued among them
  std::uint64_t running = 0;
  // Ready moment of the task that is due for longest; in a serial group, of the one that stands for
  // it. Only where the queue has rules for groups.
  std::optional<TimePoint> oldest = std::nullopt;
  // Its process_rate has no room for the task that stands for it until then, if that costs 1.
  std::optional<TimePoint> room_at = std::nullopt;
  // serial: the one of its waiting tasks that must start before the others.
  std::optional<TaskNumber> first = std::nullopt;
  std::optional<GroupOverride> override = std::nullopt;

  friend bool operator==(const Group&, const Group&) = default;
};

struct GroupsRequest {
  QueueRef queue = {};
  std::optional<std::string> name = std::nullopt;  // this one alone; one without tasks, too
  std::string after = {};                          // the `next` of the page before
  std::uint32_t limit = 100;                       // 1 to 1,000
};

struct GroupPage {
  std::vector<Group> groups = {};
  std::string next = {};  // ask for `after = next`; empty: this was the last

  friend bool operator==(const GroupPage&, const GroupPage&) = default;
};

// A change of what one group does differently.
struct PutGroup {
  QueueRef queue = {};
  std::string name = {};
  std::optional<GroupOverride> seen = std::nullopt;  // what must still be stored
  std::optional<GroupOverride> now = std::nullopt;   // nullopt: as the queue's rules say
};

struct WorkResult {
  std::vector<Result<Settled>> settled = {};
  std::vector<Result<Extended>> extended = {};
  std::vector<Result<std::vector<Lease>>> taken = {};
  // Tasks that waited for others can be released or cancelled now: call advance() and due().
  bool more = false;
};

// A task that others waited for, and how it ended.
struct EndedParent {
  TaskId id = {};
  TaskState state = TaskState::cancelled;

  friend bool operator==(const EndedParent&, const EndedParent&) = default;
};

// A lease past its end, a waiting task past its `start_by`, or one that waited for a task that
// ended otherwise than it must: what the broker must settle.
struct Overdue {
  Lease lease = {};         // the task; its token is nil where it waits
  Expectation expect = {};  // Lost or Unchanged, ready to be put into a settlement
  bool cancel_requested = false;
  // The task is to be cancelled, because this one has ended so.
  std::optional<EndedParent> parent = std::nullopt;

  friend bool operator==(const Overdue&, const Overdue&) = default;
};

// What due() is asked for.
struct DueRequest {
  std::size_t limit = 1000;
  // false: no lease may be called lost yet. Of the leases, only those are returned that ended with
  // the process of their worker: their end is not after their start.
  bool leases = true;
};

struct Advanced {
  std::size_t promoted = 0;  // delayed or retrying, now queued; or released by the end of others
  std::size_t removed = 0;   // by retention or a queue's removal
  std::size_t lifted = 0;    // pauses and drains that ended
  bool more = false;         // the limit was reached: call again
  std::optional<TimePoint> next = std::nullopt;  // when something falls due again, if anything

  friend bool operator==(const Advanced&, const Advanced&) = default;
};

using TaskRef = std::variant<TaskId, TaskNumber>;

// How much a list says of each task.
enum class Detail : std::uint8_t {
  // What find() reads with state_only; more may be there all the same. The embedded stores read
  // nothing from the disk for it, unless a type, client, group or tag is asked for.
  state,
  usual,  // all but payload, result, log and history
  full,
};

struct ListRequest {
  std::optional<QueueRef> queue = std::nullopt;  // nullopt: all queues
  std::vector<TaskState> states = {};            // empty: every state
  // Only those that still wait for this task (NewTask::after). Found by an index, not by walking.
  std::optional<TaskId> waits_for = std::nullopt;
  // Tested while walking.
  std::optional<std::string> type = std::nullopt;
  std::optional<std::string> client_id = std::nullopt;
  std::optional<std::string> group = std::nullopt;
  std::optional<std::string> tag = std::nullopt;
  std::optional<std::uint8_t> priority = std::nullopt;
  std::optional<TimePoint> created_from = std::nullopt;   // inclusive
  std::optional<TimePoint> created_until = std::nullopt;  // exclusive
  // Paging.
  std::optional<TaskNumber> before = std::nullopt;  // the `next` of the page before
  TaskNumber from = {};                             // nothing older than this one
  std::uint32_t limit = 100;                        // 1 to 1,000
  Detail detail = Detail::usual;
};

// What find() reads of a task besides what changes: its number, version, queue, state, priority,
// counters and moments. Parts that are not wanted may be there all the same.
struct Parts {
  bool payload = true;
  bool notes = true;  // result, error, progress, delivery, log and history
  bool head = true;   // what was put, without the payload; needed for the other two

  friend bool operator==(const Parts&, const Parts&) = default;
};
inline constexpr Parts head_only{.payload = false, .notes = false};
// The embedded stores read nothing from the disk for it.
inline constexpr Parts state_only{.payload = false, .notes = false, .head = false};

struct TaskPage {
  std::vector<Task> tasks = {};  // newest number first
  std::optional<TaskNumber> next =
      std::nullopt;             // ask for `before = next`; nullopt: this was the last
  std::uint32_t looked_at = 0;  // entries walked, at most 20,000 per page
};

struct CancelRequest {
  TaskId id = {};
  std::string reason = {};
  std::vector<NewTask> follow_ups = {};  // stored only if the task becomes final now
};

struct TaskUpdate {
  TaskId id = {};
  std::optional<std::uint8_t> priority = std::nullopt;
  std::optional<TimePoint> start = std::nullopt;
  bool release = false;
  std::optional<std::string> answer = std::nullopt;  // comes with a release
  // The status of one more attempt to deliver the task's webhook; the store counts the attempt.
  std::optional<std::string> delivery_attempt = std::nullopt;
  std::optional<QueueRef> queue = std::nullopt;          // where it moves to
  std::optional<Version> expect_version = std::nullopt;  // another one: `conflict`
};

// The version of a queue: every write moves `updated_at` on, see Writer::put_queue().
struct SeenQueue {
  Uuid id = {};
  TimePoint updated_at{};

  friend bool operator==(const SeenQueue&, const SeenQueue&) = default;
};

struct PutQueue {
  bool replaces = false;
  std::optional<SeenQueue> seen = std::nullopt;  // what must still be stored

  static const PutQueue create;   // an existing queue stays as it is and is returned
  static const PutQueue replace;  // creates it, or replaces all its settings
  // Replaces the settings of a queue that is still as it was seen.
  static PutQueue changed(const Queue& queue) {
    return {.replaces = true, .seen = SeenQueue{queue.settings.id, queue.updated_at}};
  }

  friend bool operator==(const PutQueue&, const PutQueue&) = default;
};
inline constexpr PutQueue PutQueue::create{.replaces = false};
inline constexpr PutQueue PutQueue::replace{.replaces = true};

// The version of a schedule: every write moves `updated_at` on, and a tick moves `next`.
struct SeenSchedule {
  TimePoint updated_at{};
  TimePoint next{};

  friend bool operator==(const SeenSchedule&, const SeenSchedule&) = default;
};

struct PutSchedule {
  bool replaces = false;
  std::optional<SeenSchedule> seen = std::nullopt;  // what must still be stored

  static const PutSchedule create;   // one that is there: `conflict`
  static const PutSchedule replace;  // creates it, or replaces it
  // Replaces a schedule that is still as it was seen.
  static PutSchedule changed(const Schedule& schedule) {
    return {.replaces = true, .seen = SeenSchedule{schedule.updated_at, schedule.next}};
  }

  friend bool operator==(const PutSchedule&, const PutSchedule&) = default;
};
inline constexpr PutSchedule PutSchedule::create{.replaces = false};
inline constexpr PutSchedule PutSchedule::replace{.replaces = true};

struct Fire {
  std::string schedule = {};
  TimePoint nominal{};  // must equal the schedule's `next`
  // The tick that fires; later than `nominal` if missed ticks are skipped. Nullopt: `nominal`.
  std::optional<TimePoint> tick = std::nullopt;
  TimePoint next{};  // the tick after it
  // The `updated_at` of the schedule that this was decided by; nullopt: whatever it is.
  std::optional<TimePoint> seen = std::nullopt;
  NewTask task = {};  // stored in the same commit unless the overlap rule forbids it
};

struct Fired {
  std::optional<Put> put = std::nullopt;  // nullopt: skipped, the last task is still there
  Schedule schedule = {};                 // after the tick
};

struct Memo {
  std::string key = {};
  std::string value = {};
  std::uint64_t version = 0;  // grows with every write; 0: there is none
  std::optional<TimePoint> expires = std::nullopt;

  friend bool operator==(const Memo&, const Memo&) = default;
};

struct Remember {
  std::string key = {};
  std::optional<std::string> value = std::nullopt;       // nullopt: forget
  std::optional<std::uint64_t> expected = std::nullopt;  // the version that must be there; 0: none
  std::optional<Duration> lifetime = std::nullopt;       // nullopt: until forgotten
};

struct Recall {
  std::string prefix = {};
  std::string after = {};     // keys greater than this
  std::uint32_t limit = 100;  // 1 to 1,000
};

enum class Durability : std::uint8_t {
  none = 0,      // everything is lost with the process
  interval = 1,  // up to `loss_window` is lost in a crash
  synced = 2,    // nothing flushed is lost
};

// What this store can do. The conformance suite checks that it tells the truth.
struct Traits {
  std::string name = {};
  Durability durability = Durability::none;
  Duration loss_window{};
  bool leases_survive = false;  // a restart; else running tasks are queued again
  bool exact_order = true;
  bool exact_counts = true;
  std::size_t batch = 1000;
  std::size_t task_size = 1 << 20;
  std::size_t follow_ups = 32;
  Duration time_precision{1};
  bool several_processes = false;
  bool push_wakeups = false;  // on_hint() is heeded
  // `unavailable` may pass: the call's outcome is unknown (all of it or none), and later calls may
  // be good again. Such a store waits by itself between its tries to reconnect, and meanwhile
  // answers at once.
  bool recovers = false;
  // Finished tasks that are kept for a day or longer may outlive that by this much.
  Duration retention_step{};
  // A task that another process put may be passed over for about this long by tasks of its queue
  // that are ready later. Among what one process puts, the order is as `exact_order` says.
  Duration order_step{};
  bool global_events = false;
  bool groups = false;      // queues may have rules for groups
  bool graphs = false;      // tasks may wait for others, and puts may be all or none
  std::size_t readers = 1;  // reads that run at once; more wait for each other

  friend bool operator==(const Traits&, const Traits&) = default;
};

// What other processes may have done to a shared store. Always a hint: it may come for nothing,
// late, or not at all, so a process that heeds it also polls.
struct Hint {
  std::vector<std::string> work = {};  // names of queues that may have tasks to take
  bool queues = false;                 // some may have been created, changed or removed
  bool schedules = false;              // some of these may have been, too
  bool everything = false;             // nothing was heard for a while: all of this

  friend bool operator==(const Hint&, const Hint&) = default;
};

}  // namespace millrace
