// The Store contract: where tasks live.
//
// Every store - in memory, journal, PostgreSQL, Redis, Tarantool, SQS - implements this class and
// passes tests/conformance. Rules that hold for every method:
//
//   * Time is passed in: `now` is the caller's moment; a store never looks at a clock. Moments
//     need not increase from call to call.
//   * A store persists what was decided and decides nothing itself; core/transition.h says where
//     an event leads.
//   * Batches: each item has its own result, in the order of the items. An item that fails changes
//     nothing, and the others go on. A batch larger than traits().batch is refused whole (invalid).
//   * One call is one commit: all of it is there or none.
//   * A call returns when its change is applied. It is durable after the next flush(). Whoever
//     answers a caller flushes first.
//   * A queue may be named by its name, its number or its UUID. An unknown one is `not_found`.
//   * A value outside core/limits.h is `invalid` or `too_large`, with a message that says what is
//     allowed.
//   * Expected failures are returned, never thrown. `unavailable` on any call means that the
//     store has failed; it stays so until it is reopened - unless traits() say `recovers`: then
//     what became of that one call is unknown, and later ones may be good again.
//   * Not thread-safe, but flush() may run on a second thread while the next calls are applied.
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
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace millrace {

struct WorkResult {
  std::vector<Result<Settled>> settled = {};
  std::vector<Result<Extended>> extended = {};
  std::vector<Result<std::vector<Lease>>> taken = {};
};

// A lease past its end, or a waiting task past its `start_by`: what the broker must settle.
struct Overdue {
  Lease lease = {};         // the task; its token is nil where it waits
  Expectation expect = {};  // Lost or Unchanged, ready to be put into a settlement
  bool cancel_requested = false;

  friend bool operator==(const Overdue&, const Overdue&) = default;
};

struct Advanced {
  std::size_t promoted = 0;                      // delayed or retrying, now queued
  std::size_t removed = 0;                       // by retention or a queue's removal
  std::size_t lifted = 0;                        // pauses and drains that ended
  bool more = false;                             // the limit was reached: call again
  std::optional<TimePoint> next = std::nullopt;  // when something falls due again, if anything

  friend bool operator==(const Advanced&, const Advanced&) = default;
};

using TaskRef = std::variant<TaskId, TaskNumber>;

struct ListRequest {
  std::optional<QueueRef> queue = std::nullopt;  // nullopt: all queues
  std::vector<TaskState> states = {};            // empty: every state
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
  bool full = false;                                // with payload, result, log and history
};

struct TaskPage {
  std::vector<Task> tasks = {};  // newest number first
  std::optional<TaskNumber> next =
      std::nullopt;             // ask for `before = next`; nullopt: this was the last
  std::uint32_t looked_at = 0;  // entries walked, at most 20,000 a page
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
  std::optional<DeliveryNote> delivery = std::nullopt;
  std::optional<QueueRef> queue = std::nullopt;  // where it moves to
};

// The version of a queue: every write moves `updated_at` on, see Store::put_queue().
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
  TimePoint nominal{};  // the tick; must equal the schedule's `next`
  TimePoint next{};     // the tick after it
  NewTask task = {};    // stored in the same commit unless the overlap rule forbids it
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
  // be good again. Such a store waits by itself between its tries to come back, and answers
  // meanwhile at once.
  bool recovers = false;
  // Finished tasks that are kept for a day or longer may outlive that by this much.
  Duration retention_step{};
  bool global_events = false;

  friend bool operator==(const Traits&, const Traits&) = default;
};

// What others may have done to a store that several processes share. Always a hint: it may come for
// nothing, late, or not at all, and whoever heeds it polls behind it.
struct Hint {
  std::vector<std::string> work = {};  // names of queues that may have tasks to take
  bool queues = false;                 // some may have been created, changed or removed
  bool schedules = false;              // so may some of these
  bool everything = false;             // nobody listened for a while: all of this, everywhere

  friend bool operator==(const Hint&, const Hint&) = default;
};

class Store {
 public:
  virtual ~Store() = default;

  // ---- Hot path --------------------------------------------------------------------------------

  // Adds tasks. Checked in this order: id, values, same id (the existing task, whatever the
  // payload, marked `existing`), unique key (the holder, marked `existing`), queue active, not
  // draining and not being removed (`conflict`), max_depth, put_rate (`limited` with retry_after).
  // Existing tasks cost no depth and no rate. A task is `created` if held, `delayed` if it starts
  // after now, else `queued` with the ready moment max(now, start).
  virtual Result<std::vector<Result<Put>>> put(std::span<const NewTask> tasks, TimePoint now) = 0;

  // Settles, extends, then takes, in this order and in one commit.
  //
  // Settle: applies the event if the expectation holds. An unknown task: `not_found`.
  //   Held:      state processing and the token equal. Equal but settled by it: `already`.
  //              Otherwise `lease_lost`.
  //   Lost:      state processing, token and lease end equal, and that end <= now; else
  //              `lease_lost`.
  //   Unchanged: still waiting, same version, start_by <= now; else `conflict`.
  // A cancel request on a running task and an event other than done, cancel: `cancel_requested`,
  // nothing changed. Follow-ups are stored with it; they skip depth, rate, `active` and draining;
  // one with an invalid value, or for a queue that is unknown or being removed, refuses the whole
  // settlement. A finished task that its retention does not keep is gone at once.
  //
  // Extend: prolongs the lease to now + lease, but not past the start of the run + timeout + 30 s
  // where a timeout is set; a lease that already lasts longer stays. Adds progress and log lines
  // (the newest 100 stay). Another token: `lease_lost`.
  //
  // Take: up to `most` due tasks of each named queue in that order, each by effective priority
  // (9 first; plus one for each `ageing` waited, at most 9), ready moment, number; due whether
  // promoted or not. Nothing from a queue that is inactive, paused or being removed; never above
  // max_concurrent or process_rate. Every lease gets a new token. A take ends early with the task
  // that brings its payloads to 16 MiB or more, so that an answer fits into memory.
  virtual Result<WorkResult> work(std::span<const Settlement> settlements,
                                  std::span<const Extension> extensions,
                                  std::span<const TakeRequest> takes, TimePoint now) = 0;

  // Makes everything applied before this call durable, as far as traits() promise. `limited`: there
  // is no space for it now. Nothing is lost or answered; flush again when there may be.
  //
  // A store that recovers answers `unavailable` if anything applied since the last good flush may
  // be lost, even where it is back by now: what a server had not written when it crashed is gone.
  virtual Result<void> flush() = 0;

  // ---- Upkeep ----------------------------------------------------------------------------------

  // Leases past their end and waiting tasks past their start_by, earliest first, at most `limit`
  // (1 to 1,000). Changes nothing: the broker decides and settles.
  virtual Result<std::vector<Overdue>> due(TimePoint now, std::size_t limit) = 0;

  // Cancelled tasks are kept as completed ones are; failed and dead ones are the dead letters.
  // Promotes due tasks, lifts pauses and drains that ended, ends unique windows and memos, prunes
  // by retention, empties removed queues: at most `limit` (1 to 10,000) tasks, windows and memos
  // touched a call. `next` is the first moment after `now` at which this call or due() will find
  // something new.
  virtual Result<Advanced> advance(TimePoint now, std::size_t limit) = 0;

  // ---- Operate ---------------------------------------------------------------------------------

  // One task with everything. Unknown: `not_found`.
  virtual Result<Task> find(const TaskRef& task) = 0;

  // Tasks by number, newest first, filtered. Never scans more than 20,000 entries, nor gives more
  // than 16 MiB of payloads and results and a task: a page may be short and still have a `next`.
  virtual Result<TaskPage> list(const ListRequest& request) = 0;

  // Counters of one queue or of all, by name. Exact where traits() say so, and O(1) a queue.
  virtual Result<std::vector<QueueCounts>> counts(const std::optional<QueueRef>& queue,
                                                  TimePoint now) = 0;

  // Waiting: cancelled now, with the follow-ups (which are checked in any case). Running: the
  // request is noted, the holder learns of it when it extends; again is no error. Final:
  // `conflict`. The result is the state after.
  virtual Result<std::vector<Result<TaskState>>> cancel(std::span<const CancelRequest> requests,
                                                        TimePoint now) = 0;

  // Operator's retry: failed, dead and cancelled tasks start a new life in `queued` with counters
  // at zero and without a start_by; the old outcome goes into the history. Another state:
  // `conflict`; so is a unique key that somebody else holds by now.
  virtual Result<std::vector<Result<TaskState>>> retry(std::span<const TaskId> tasks,
                                                       TimePoint now) = 0;

  // Removes waiting or final tasks for good. Running: `conflict`. Returns the state it had.
  virtual Result<std::vector<Result<TaskState>>> remove(std::span<const TaskId> tasks,
                                                        TimePoint now) = 0;

  // Priority, start time, release: of waiting tasks (`conflict` otherwise); priority keeps the
  // ready moment, a new start re-sorts (a `retrying` task stays so). Release of a task that is not
  // `created`: `conflict`; it is ready at max(now, its start). Delivery notes: of any task. Returns
  // the state after.
  //
  // Queue: moves a waiting, failed, dead or cancelled task (`conflict` otherwise) to another queue;
  // that it is in already is no error. An unknown target: `not_found`; one that is inactive,
  // draining or being removed: `conflict`, as for a put. Skips depth and rate of the target, as
  // follow-ups do: it is an operator's act. Everything else stays: id, number, state, ready moment,
  // counters, outcome, and so its place among the tasks of the target. The unique key it holds goes
  // along, a window to its old end; `conflict` if somebody in the target holds the same. Retention
  // of a final task is the target's from now on, and what that does not keep goes with the next
  // advance(). A full store may refuse moves as it does puts.
  virtual Result<std::vector<Result<TaskState>>> update(std::span<const TaskUpdate> updates,
                                                        TimePoint now) = 0;

  // Adds tasks as they were elsewhere, from an export: everything is kept but number, version and
  // lease, which are this store's to give. `processing` becomes `queued` with the same start and
  // counters; the token it had elsewhere is none that this store will give out. Checked in this
  // order: values, same id (the existing task, marked `existing`), unique key (the holder, marked
  // `existing`, if the task would hold it in its state), not being removed (`conflict`). Skips
  // depth, rate, `active` and draining. A window counts from `created_at`. Retention counts from
  // `finished_at`, and what it no longer keeps goes with the next advance().
  virtual Result<std::vector<Result<Put>>> restore(std::span<const Task> tasks, TimePoint now) = 0;

  // ---- Queues ----------------------------------------------------------------------------------

  // Creates a queue or replaces its settings; returns what is stored. A number or UUID that
  // another queue has: `conflict`. Creating needs an id. A change of a queue that is no longer as
  // it was seen, or gone: `conflict`. So that this is noticed, every write of a queue, by upkeep
  // and by a removal too, sets `updated_at` to `now`, or to 1 ms after what it was if that is
  // later.
  virtual Result<Queue> put_queue(const QueueSettings& settings, PutQueue mode, TimePoint now) = 0;

  // One queue or all, by name.
  virtual Result<std::vector<Queue>> queues(const std::optional<QueueRef>& queue) = 0;

  // Removes an empty queue; with tasks in it `conflict`, unless forced: then it is marked and
  // advance() empties and removes it in bounded rounds.
  virtual Result<void> remove_queue(const QueueRef& queue, bool force, TimePoint now) = 0;

  // Removes up to `limit` (1 to 10,000) waiting tasks, oldest first; returns how many. Call until
  // fewer than `limit` came back. Running and final tasks stay.
  virtual Result<std::size_t> clear(const QueueRef& queue, std::size_t limit, TimePoint now) = 0;

  // ---- Schedules -------------------------------------------------------------------------------

  // Creates or replaces a schedule. Its task's queue must exist (`not_found`). `last`, `last_task`,
  // `fired`, `skipped` and `created_at` of an existing one stay. A change of one that is no longer
  // as it was seen, or gone: `conflict`. `updated_at` moves with every write, a tick included, as
  // that of queues does. Returns what is stored.
  virtual Result<Schedule> put_schedule(const Schedule& schedule, PutSchedule mode,
                                        TimePoint now) = 0;
  virtual Result<void> remove_schedule(std::string_view name, TimePoint now) = 0;

  // One or all, by name.
  virtual Result<std::vector<Schedule>> schedules(const std::optional<std::string>& name) = 0;

  // Fires one tick: if the schedule's `next` is `nominal`, moves it on and puts the task, in one
  // commit. Another `next`: `conflict` - somebody else fired it; so is a paused schedule. The
  // overlap rule may skip the put. The put skips depth and rate, as follow-ups do.
  virtual Result<Fired> fire(const Fire& tick, TimePoint now) = 0;

  // ---- Shared ----------------------------------------------------------------------------------

  // Small values under compare-and-set: keys, registry, progress of long work. Another version
  // than `expected`: `conflict`. An ended lifetime is as good as forgotten. No version is ever used
  // twice, whatever was forgotten between. Forgetting what is not there is no error. Returns what
  // is stored now (version 0 once forgotten).
  virtual Result<Memo> remember(const Remember& request, TimePoint now) = 0;

  // Memos by prefix, in order of their keys, expired ones left out.
  virtual Result<std::vector<Memo>> recall(const Recall& request, TimePoint now) = 0;

  // The store's own clock, for stores that several processes share; nullopt: use yours.
  virtual Result<std::optional<TimePoint>> time() = 0;

  virtual Traits traits() const = 0;

  // Names of queues that may have work now; all that have some are among them.
  virtual Result<std::vector<std::string>> ready(TimePoint now) = 0;

  // Whom to tell of what other processes do, where traits() say push_wakeups; others never tell.
  // Called on a thread of the store's, one call at a time, and may only post: it must not call the
  // store. Replaces the one given before, of which no call runs any more when this returns.
  virtual void on_hint(std::function<void(const Hint&)> /*tell*/) {}  // NOLINT: overridden
};

}  // namespace millrace
