// The Store contract: where tasks live.
//
// Every store - in memory, journal, PostgreSQL, Redis, Tarantool, SQS - implements these two
// interfaces and passes tests/conformance. Rules that hold for every method:
//
//   * Time is passed in: `now` is the caller's moment; a store never looks at a clock. Moments
//     need not increase from call to call.
//   * A store persists what was decided and decides nothing itself; core/transition.h says where
//     an event leads.
//   * A queue may be named by its name, its number or its UUID. An unknown one is `not_found`.
//   * A value outside core/limits.h is `invalid` or `too_large`, with a message that says what is
//     allowed.
//   * Expected failures are returned, never thrown. `unavailable` on a call of the Writer means
//     that the store has failed; it stays so until it is reopened - unless traits() say `recovers`:
//     then what became of that one call is unknown, and later ones may be good again.
#pragma once

#include <millrace/ids.h>
#include <millrace/queue.h>
#include <millrace/result.h>
#include <millrace/schedule.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <millrace/work.h>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/values.h"

namespace millrace {

// The calls that change a store.
//
//   * Batches: each item has its own result, in the order of the items. An item that fails changes
//     nothing, and the others go on. A batch larger than traits().batch is refused whole (invalid).
//   * One call is one commit: all of it is there or none.
//   * A call returns when its change is applied. It is durable after the next flush(), and a caller
//     is answered only then.
//   * One thread calls, but flush() may run on a second thread while the next calls are applied.
class Writer {
 public:
  virtual ~Writer() = default;

  // ---- Hot path --------------------------------------------------------------------------------

  // Adds tasks. Checked in this order: id, values, same id (the existing task, whatever the
  // payload, marked `existing`, with its queue), unique key (the holder, marked `existing`), queue
  // active, not draining and not being removed (`conflict`), the queue's max_task_size
  // (`too_large`), max_depth, that of its group, put_rate (`limited` with retry_after). Existing
  // tasks cost no depth and no rate. A task is `created` if held, `delayed` if it starts after now,
  // else `queued` with the ready moment max(now, start). It gets the keep_completed and keep_dead
  // of its type in the queue, where it has no rule of its own for that end, and is kept by these
  // once it has ended so.
  //
  // With the unique key's on_conflict replace or postpone, the holder gets all that the put gives
  // and keeps its id, number and created_at (`replaced`): if it waits and has never run, in an
  // earlier life neither, if it waits for no other task and its key is not held by a window.
  // Otherwise the holder stays as it is. The queue must be open and allow the size; depth and rate
  // do not count. Its state is that of a new task; its start, with `postpone`, is at most
  // created_at + max_delay and not before now. A holder that was ready and still is keeps its ready
  // moment. Follow-ups and ticks replace in the same way; restore() never does.
  //
  // A task with `after` waits for those tasks, its parents: it is `created` until they have ended,
  // and is told of each end in the commit that brings it. A parent that is not there (put before
  // it, or earlier in the batch) is `not_found`, as the last check.
  //   Completed, or any end if `when` says `ended`: the parent no longer counts. Once none counts,
  //     the task is released: ready at max(now, its start).
  //   Otherwise, by `otherwise`: `run` counts it no longer either. `hold` goes on to wait for it: a
  //     retry may complete it yet. `cancel`: due() returns the task, to be settled as cancelled; no
  //     later end of a parent changes that.
  // A parent that had ended when the task was put tells it at once. One that ends while more than
  // 1,000 wait for it, or more than 10,000 in one call, tells the others from advance(). A task
  // that is to be cancelled may count for several if it waits for many. A parent that is revived
  // before it has told all, and ends again, tells all that wait for it then how it ended last. A
  // task that is released by update(), or ends, waits no longer. A parent stays, whatever its
  // retention, until it has told all. A parent that is removed before it has ended counts as
  // cancelled; where it cannot tell all at once, it is cancelled instead of removed. A restored
  // task waits for those that its `waits_for` names, also if they are not there (yet).
  // Where traits() have no graphs: `invalid`.
  virtual Result<std::vector<Result<Put>>> put(std::span<const NewTask> tasks, TimePoint now) = 0;

  // The same, for all of the tasks or none: up to 10,000 of at most 64 MiB, in which each
  // task that one of them waits for counts 16 bytes. They may wait for each
  // other, in any order; a cycle is `invalid`. The first error of a task, with its place in front
  // of the field (`tasks[3].queue`), refuses all. An existing task is no error; a task that waits
  // for one that was not added, because another holds its unique key, waits for that holder.
  virtual Result<std::vector<Put>> put_all(std::span<const NewTask> tasks, TimePoint now) = 0;

  // Settles, extends, then takes, in this order and in one commit.
  //
  // Settle: applies the event if the expectation holds. An unknown task: `not_found`.
  //   Held:      state processing and the token equal. Equal but settled by it: `already`.
  //              Otherwise `lease_lost`.
  //   Lost:      state processing, token and lease end equal, and that end <= now; else
  //              `lease_lost`.
  //   Unchanged: still waiting, same version, and for `expire` start_by <= now, for `cancel` one
  //              that due() returns because of a parent; else `conflict`.
  // A start_by counts until the task starts, which is when a worker gets it: a task that waits
  // again after that has none any more. Only a give_back of a lease that never reached a worker
  // (`started` is false) leaves it. A cancel request on a running task and an event other than
  // done, cancel: `cancel_requested`, nothing changed. A result larger than the task's queue
  // allows: `too_large`. Follow-ups are stored with it; they skip depth, rate, `active`, draining
  // and max_task_size; one with an invalid value, or for a queue that is unknown or being removed,
  // refuses the whole settlement. A finished task that its retention does not keep is gone at once.
  //
  // Park: the task waits in `created` until update() releases it, or advance() does at `ready`,
  // which may be `never`. An answer that it was released with before is gone.
  //
  // A checkpoint, of an extension or a settlement, replaces the one that the task has. Every lease
  // has the checkpoint, and the answer of the last release; both end with the task.
  //
  // Extend: prolongs the lease to now + lease, but not past the start of the run + timeout + 30 s
  // where a timeout is set; a lease that already lasts longer stays. Adds progress and log lines
  // (the newest 100 stay). Another token: `lease_lost`.
  //
  // Take: up to `most` due tasks of each named queue in that order, each by effective priority
  // (9 first; plus one for each `ageing` waited, at most 9), ready moment, number; due whether
  // promoted or not. A task that is `queued` is due although its ready moment is after `now`: it
  // was ready when it was queued, and the clock has been set back since. Never a task whose
  // start_by is before `now`, whether due() has shown it or not. Nothing from a queue that is
  // inactive, paused or being removed; never above max_concurrent or process_rate. Every lease gets
  // a new token. A take ends early with the task that brings its payloads, checkpoints and
  // answers to 16 MiB or more, so that what it gives fits into memory.
  //
  // Cost: where `rate_of` says so, a process_rate counts what a task costs instead of one. A task
  // is given out if as much as it costs has room, or if nothing else counts and it costs more than
  // `max`. A settlement with `cost` corrects what counts for its run: more counts from now on, less
  // as of the take. A task that goes on keeps the cost that it was put with.
  //
  // Groups: where the queue has rules for them, its tasks with the same `group` are one group, and
  // those without are another, the group "", to which no limit applies. Never above max_concurrent
  // or process_rate of a group, and none while it is paused. A task of a group without room stays
  // as it is and does not keep those of other groups waiting. Of each group that has room, the
  // first task in the order above stands for it, and the next one is, by `order`:
  //   arrival: the first of these, in the order above.
  //   fair:    among those of the highest effective priority, that of the group with the least
  //            turn, then the first in the order above. With each task, the turn of a group becomes
  //            the greater one of its own and the queue's, plus turn_length / its weight; that of
  //            the queue becomes the greater one. A group that had neither waiting nor running
  //            tasks begins at the queue's turn plus turn_length / its weight.
  //   serial:  as arrival, but a group runs one task at a time, and the one that stands for it is
  //            that with the lowest number of those that wait. If it is not due, its group waits.
  //            Tasks that are `created` and have never run are passed over; with retry_holds false
  //            so are those that have run before and are not due.
  // A change of `order` begins the turns anew: all are 0.
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

  // Leases past their end and waiting tasks whose start_by has come, earliest first, then tasks to
  // be cancelled because of a parent, at most `limit` (1 to 1,000). A store may end early with the
  // one that brings their payloads to 16 MiB or more, so that they fit into memory. Changes
  // nothing: the broker decides and settles. Where leases are not asked for, those that may not be
  // lost yet take no place: they hide no start_by, however many they are.
  virtual Result<std::vector<Overdue>> due(TimePoint now, const DueRequest& request) = 0;

  // Promotes due tasks, releases parked ones whose time has come, tells tasks that wait for others
  // what they have not been told yet (which counts as a task touched), lifts pauses and drains that
  // ended, ends unique windows and memos, prunes by retention, empties removed queues: at most
  // `limit` (1 to 10,000) tasks, windows and memos touched per call. Cancelled tasks are kept as
  // completed ones are; failed and dead ones are the dead letters. `next` is the first moment after
  // `now` at which this call or due() will find something new.
  virtual Result<Advanced> advance(TimePoint now, std::size_t limit) = 0;

  // ---- Operate ---------------------------------------------------------------------------------

  // Waiting: cancelled now, with the follow-ups (which are checked in any case). Running: the
  // request is noted, the holder learns of it when it extends; a repeat is fine. Final:
  // `conflict`. The result is the state after.
  virtual Result<std::vector<Result<TaskState>>> cancel(std::span<const CancelRequest> requests,
                                                        TimePoint now) = 0;

  // Operator's retry: failed, dead and cancelled tasks start a new life in `queued` with counters
  // at zero and without a start_by; the old outcome goes into the history. Another state:
  // `conflict`; so is a unique key that another task holds by now.
  virtual Result<std::vector<Result<TaskState>>> retry(std::span<const TaskId> tasks,
                                                       TimePoint now) = 0;

  // Removes waiting or final tasks for good. Running: `conflict`; so is one that has not told all
  // tasks that waited for it. Returns the state it had.
  virtual Result<std::vector<Result<TaskState>>> remove(std::span<const TaskId> tasks,
                                                        TimePoint now) = 0;

  // Priority, start time, release: of waiting tasks (`conflict` otherwise); priority keeps the
  // ready moment, a new start re-sorts (a `retrying` task stays so). Release of a task that is not
  // `created`: `conflict`. A held task is ready at max(now, its start), a parked one now, or at the
  // start given with the release. An answer comes with a release (`invalid` without one) and stays
  // until the task is parked again or completed. A delivery attempt: of any task; it adds one to
  // the attempts and replaces the last status, so that no attempt is lost when two deliveries
  // report at the same time. A task with another version than expected: `conflict`. Returns the
  // state after.
  //
  // Queue: moves a waiting, failed, dead or cancelled task (`conflict` otherwise) to another queue;
  // a task that is already in it stays there. An unknown target: `not_found`; one that is inactive,
  // draining or being removed: `conflict`, as for a put. Skips depth, rate and max_task_size of
  // the target: it is an operator's act. Everything else stays: id, number, state, ready moment,
  // counters, outcome, and so its place among the tasks of the target. The unique key it holds goes
  // along, a window to its old end; `conflict` if a task of the target holds the same. Retention of
  // a final task is the target's from now on, and what that does not keep goes with the next
  // advance(). A full store may refuse moves as it does puts.
  virtual Result<std::vector<Result<TaskState>>> update(std::span<const TaskUpdate> updates,
                                                        TimePoint now) = 0;

  // Adds tasks as they were elsewhere, from an export: everything is kept but number, version and
  // lease, which this store gives anew. `processing` becomes `queued` with the same start and
  // counters, and without a start_by, because it has run; this store will never give out the token
  // it had elsewhere. Checked in this order:
  // values, same id (the existing task, marked `existing`), unique key (the holder, marked
  // `existing`, if the task would hold it in its state), not being removed (`conflict`). Skips
  // depth, rate, `active`, draining and max_task_size. A window counts from `created_at`. Retention
  // counts from `finished_at`, and what it no longer keeps goes with the next advance().
  virtual Result<std::vector<Result<Put>>> restore(std::span<const Task> tasks, TimePoint now) = 0;

  // ---- Queues ----------------------------------------------------------------------------------

  // Creates a queue or replaces its settings; returns what is stored. A number or UUID that
  // another queue has: `conflict`. Creating needs an id. A change of a queue that is no longer as
  // it was seen, or gone: `conflict`. So that this is noticed, every write of a queue, by upkeep
  // and by a removal too, sets `updated_at` to `now`, or to 1 ms after what it was if that is
  // later.
  //
  // Its dead_letter_queue must exist (`not_found`), not be being removed, and must not lead back to
  // it by those of other queues (`conflict`, with the path). It is the broker that puts dead
  // letters there, as follow-ups.
  virtual Result<Queue> put_queue(const QueueSettings& settings, PutQueue mode, TimePoint now) = 0;

  // Removes an empty queue; with tasks in it `conflict`, unless forced: then it is marked and
  // advance() empties and removes it in bounded rounds. One that is the dead_letter_queue of
  // another: `conflict`, forced or not.
  virtual Result<void> remove_queue(const QueueRef& queue, bool force, TimePoint now) = 0;

  // Removes up to `limit` (1 to 10,000) waiting tasks, oldest first; returns how many. Call until
  // fewer than `limit` came back. Running and final tasks stay.
  virtual Result<std::size_t> clear(const QueueRef& queue, std::size_t limit, TimePoint now) = 0;

  // What one group of a queue does differently; returns the group as it is now. A queue without
  // rules for groups, what is stored no longer being as it was seen, or more than 10,000 of a
  // queue: `conflict`. One that has ended (`until` is not after `now`) is as good as none. They all
  // end when the queue's rules for groups do. Where traits() have no groups, rules for groups,
  // rates of cost and this are `invalid`.
  virtual Result<Group> put_group(const PutGroup& change, TimePoint now) = 0;

  // ---- Schedules -------------------------------------------------------------------------------

  // Creates or replaces a schedule. Its task's queue must exist (`not_found`) and allow its payload
  // (`too_large`); that a queue allows less later keeps no tick from firing. `last`, `last_task`,
  // `fired`, `skipped` and `created_at` of an existing one stay. A change of one that is no longer
  // as it was seen, or gone: `conflict`. `updated_at` moves with every write, a tick included, as
  // that of queues does. Returns what is stored.
  virtual Result<Schedule> put_schedule(const Schedule& schedule, PutSchedule mode,
                                        TimePoint now) = 0;
  virtual Result<void> remove_schedule(std::string_view name, TimePoint now) = 0;

  // Fires one tick: if the schedule's `next` is `nominal`, moves it on and puts the task, in one
  // commit. Another `next`: `conflict`, since another server fired it; so are a paused schedule and
  // one that has changed since it was seen, whose rule or task may be another by now. The
  // overlap rule may skip the put. The put skips depth and rate, as follow-ups do.
  virtual Result<Fired> fire(const Fire& tick, TimePoint now) = 0;

  // ---- Shared ----------------------------------------------------------------------------------

  // Small values under compare-and-set: keys, registry, progress of long work. Another version
  // than `expected`: `conflict`. An ended lifetime is as good as forgotten. No version is ever used
  // twice, whatever was forgotten between. Forgetting what is not there is no error. Returns what
  // is stored now (version 0 once forgotten).
  virtual Result<Memo> remember(const Remember& request, TimePoint now) = 0;
};

// The calls that read a store and change nothing.
//
//   * May be called from several threads at once, and while a call of the Writer runs. A read goes
//     by steps. A call of the Writer waits for one step at most, never for a disk. A step waits for
//     the call of the Writer that is under way, and where calls and steps follow each other without
//     pause lets 8 more go first, for each step that waits before it.
//   * Sees everything that was applied before it began. What it saw may not be durable yet: its
//     caller is answered after a flush() that began when the read was over.
//   * Is bounded in entries walked, in bytes read and in reads of a disk, and so in time; a step in
//     memory takes about a millisecond at most. A page may be short and says how far it looked.
//   * Fails alone: `corrupt`, or `unavailable` with a retry_after, say that the bytes for this
//     answer are damaged or cannot be read now, and where they are. Others may be good. A store
//     that has failed answers `unavailable` without one, to every call.
class Reader {
 public:
  virtual ~Reader() = default;

  // The tasks, each with the parts wanted, in the order asked; an unknown one is `not_found`. At
  // most traits().batch. A whole task may have 40 MiB, so the caller must bound how many it asks
  // for at once.
  virtual Result<std::vector<Result<Task>>> find(std::span<const TaskRef> tasks, Parts parts) = 0;

  // Tasks by number, newest first, filtered. A page ends after 20,000 entries walked, 16 MiB read
  // or 512 separate reads of a disk, whatever of that it returns; it may be short, even empty, and
  // still have a `next`. A task that matches all the while is on one page, once, whatever changes
  // meanwhile. `waits_for` finds those that wait for a task by an index; entries walked are then
  // those alone, and a store whose traits() have no graphs finds none.
  virtual Result<TaskPage> list(const ListRequest& request) = 0;

  // Counters of one queue or of all, by name. Exact where traits() say so, and O(1) per queue.
  virtual Result<std::vector<QueueCounts>> counts(const std::optional<QueueRef>& queue,
                                                  TimePoint now) = 0;

  // One queue or all, by name.
  virtual Result<std::vector<Queue>> queues(const std::optional<QueueRef>& queue) = 0;

  // Groups of a queue that have tasks waiting or running, or an override; in no order that means
  // anything, but each that is there all the while is on one page, once. The group "" is not among
  // them. Counted whether or not the queue has rules for groups.
  virtual Result<GroupPage> groups(const GroupsRequest& request, TimePoint now) = 0;

  // One schedule or all, by name.
  virtual Result<std::vector<Schedule>> schedules(const std::optional<std::string>& name) = 0;

  // Memos by prefix, in order of their keys, expired ones left out.
  virtual Result<std::vector<Memo>> recall(const Recall& request, TimePoint now) = 0;

  // Names of queues that may have work now: every queue that has some is among them.
  virtual Result<std::vector<std::string>> ready(TimePoint now) = 0;

  // The store's own clock, for stores that several processes share; nullopt: use yours.
  virtual Result<std::optional<TimePoint>> time() = 0;

  virtual Traits traits() const = 0;

  // The function that the store calls when other processes change something, where traits() say
  // push_wakeups. The store calls it on a thread of its own, one call at a time. The function may
  // only post; it must not call the store. It replaces the function given before, of which no call
  // runs any more when this returns.
  virtual void on_hint(std::function<void(const Hint&)> /*tell*/) {}  // NOLINT: overridden
};

class Store : public Writer, public Reader {};

// One task, with everything.
Result<Task> find_task(Reader& reader, const TaskRef& task, Parts parts = {});

}  // namespace millrace
