// The broker that owns a store: checks, decides, keeps time.
//
// Verbs come in on any thread, are checked and decided there, and go through the Coalescer to the
// store; answers come back on one of its threads. Upkeep runs beside them as services. Read
// local_work.cc for the hot path, then sweeper.h and scheduler.h.
#pragma once

#include <millrace/ids.h>
#include <millrace/result.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "broker/alerter.h"
#include "broker/books.h"
#include "broker/broker.h"
#include "broker/bulk_verbs.h"
#include "broker/call_on.h"
#include "broker/coalescer.h"
#include "broker/dead_groups.h"
#include "broker/events.h"
#include "broker/family.h"
#include "broker/history.h"
#include "broker/history_writer.h"
#include "broker/manager.h"
#include "broker/metrics_snapshot.h"
#include "broker/reads.h"
#include "broker/scheduler.h"
#include "broker/schedules.h"
#include "broker/search.h"
#include "broker/service_runner.h"
#include "broker/shared_refresh.h"
#include "broker/store_clock.h"
#include "broker/sweeper.h"
#include "broker/task_graph.h"
#include "broker/types_past.h"
#include "core/bulk.h"
#include "core/clock.h"
#include "core/values.h"
#include "store/fwd.h"

namespace millrace {

class TypeSum;

struct LocalBrokerOptions {
  BooksOptions rules = {};
  CoalescerOptions coalescer = {};
  ReadsOptions reads = {};
  // Alerts about queues and the disk; nullopt: none.
  std::optional<AlerterOptions> alerter = std::nullopt;
  // False: nothing happens by itself; call run_services().
  bool keep_time = true;
  // False: another process over the same store promotes, prunes, settles what is overdue and fires
  // schedules.
  bool upkeep = true;
  // With keep_time off: time goes from next_due() to next_due(), however far apart they are.
  bool time_jumps = false;
};

struct Cancelled;
struct Changed;

class LocalBroker final : public Broker, public Schedules, public BulkVerbs {
 public:
  // Both must outlive this, and no other code in this process may call the store meanwhile. Creates
  // the internal queues; a store that cannot do that has failed, and every verb will say so; a
  // store that recovers gets them when it is back.
  LocalBroker(Clock& clock, Store& store, const LocalBrokerOptions& options = {});
  LocalBroker(const LocalBroker&) = delete;
  LocalBroker& operator=(const LocalBroker&) = delete;
  ~LocalBroker() override { stop(); }

  // Refuses new and waiting requests, and finishes what was applied. May be called again. Not from
  // a completion.
  void stop();

  // Does all upkeep that is due now. Only with keep_time off; blocks.
  void run_services();
  // The next moment at which upkeep is due; `never`: none is.
  TimePoint next_due() { return runner_.next_due(); }

  CoalescerStats stats() { return coalescer_.stats(); }
  // How many processors would keep waiting times short, for tools that start workers; 0 without a
  // manager.
  std::uint64_t desired_processors() { return manager_.desired(); }
  ManagerView manager_view() {
    return {.enabled = books_.options.manager, .desired = desired_processors()};
  }

  // For a task that is put later; others may wait for it.
  TaskId new_task_id() { return {books_.ids.next(clock_.now())}; }
  // A page of a list: tasks that match the search.
  void search(Ask ask, ListRequest request, TaskSearch search, Completion<TaskPage> done);
  void family(Ask ask, TaskRef task, Completion<Family> done);
  // At most `limit` tasks, 1 to limits::max_drawn.
  void graph(Ask ask, TaskRef task, std::uint32_t limit, Completion<TaskGraph> done);
  // Dead letters by what they died of.
  DeadGroups& dead_groups() { return dead_groups_; }
  // Adds tasks as they were elsewhere: see Store::restore().
  void restore(Ask ask, std::vector<Task> tasks, Completion<std::vector<Result<Put>>> done);
  // What happens to tasks, for clients that watch.
  EventRing& events() { return books_.events; }
  // What happened to the types of a queue, added up over all points.
  void types(Ask ask, HistoryRequest request, Completion<TypesPast> done);
  // What a metrics scrape needs. Answers even if the store has failed, and says so.
  void metrics(Ask ask, Completion<MetricsSnapshot> done);
  // What happened in the past, one point per minute or hour.
  void history(Ask ask, HistoryRequest request, Completion<History> done);
  // What is not as it should be, as of the last look. Calls no store.
  CurrentAlerts current_alerts();
  // Any read of the store, made beside the rounds on a thread for reads: bounded, and without
  // exceptions. Answered there once everything is durable that it may have seen.
  template <class T>
  void read(const Ask& ask, ReaderCall<Result<T>> look, Completion<T> done,
            ReadCost cost = ReadCost::quick) {
    reads_.read<T>(ask.caller, std::move(look), ask.deadline, std::move(done), cost);
  }

  TimePoint now() override { return clock_.now(); }
  CallerId new_caller() override { return coalescer_.new_caller(); }
  void leave(CallerId caller) override;
  void give_back(const WorkResult& result) override;

  void put(Ask ask, std::vector<NewTask> tasks, Completion<std::vector<Result<Put>>> done) override;
  void put_all(Ask ask, std::vector<NewTask> tasks, Completion<std::vector<Put>> done) override;
  void work(Ask ask, WorkOrder order, Completion<WorkResult> done) override;

  void await(Ask ask, TaskRef task, Duration wait, Completion<Task> done) override;
  void list(Ask ask, ListRequest request, Completion<TaskPage> done) override;
  void explain(Ask ask, TaskRef task, Completion<Explanation> done) override;
  void parents(Ask ask, TaskRef task, ParentsRequest request, Completion<Parents> done) override;
  void cancel(Ask ask, std::vector<TaskId> tasks, std::string reason,
              Completion<States> done) override;
  void retry(Ask ask, std::vector<TaskId> tasks, Completion<States> done) override;
  void remove(Ask ask, std::vector<TaskId> tasks, Completion<States> done) override;
  void update(Ask ask, std::vector<TaskUpdate> updates, Completion<States> done) override;
  void redeliver(Ask ask, TaskId task, Completion<Put> done) override;
  void handle_dead(Ask ask, DeadLetters which, DeadAction action,
                   Completion<Handled> done) override;

  void queues(Ask ask, std::optional<QueueRef> queue,
              Completion<std::vector<QueueView>> done) override;
  void put_queue(Ask ask, QueueSettings settings, PutQueue mode, Completion<Queue> done) override;
  void change_queue(Ask ask, QueueRef queue, QueueChange change, Completion<Queue> done) override;
  void remove_queue(Ask ask, QueueRef queue, bool force, Completion<void> done) override;
  void clear(Ask ask, QueueRef queue, Completion<std::uint64_t> done) override;

  void groups(Ask ask, GroupsRequest request, Completion<GroupPage> done) override;
  void change_group(Ask ask, QueueRef queue, std::string name, GroupChange change,
                    Completion<Group> done) override;

  void schedules(Ask ask, std::optional<std::string> name,
                 Completion<std::vector<Schedule>> done) override;
  void put_schedule(Ask ask, Schedule schedule, PutQueue mode, Completion<Schedule> done) override;
  void change_schedule(Ask ask, std::string name, ScheduleChange change,
                       Completion<Schedule> done) override;
  void remove_schedule(Ask ask, std::string name, Completion<void> done) override;
  void run_schedule(Ask ask, std::string name, Completion<Put> done) override;
  // The same for a caller that may not touch every schedule: `may` is asked about the stored one,
  // if there is one, in the same step, and its error is the answer.
  using MayTouch = std::move_only_function<Result<void>(const Schedule& stored)>;
  void put_schedule(Ask ask, Schedule schedule, PutQueue mode, MayTouch may,
                    Completion<Schedule> done);
  void remove_schedule(Ask ask, std::string name, MayTouch may, Completion<void> done);
  void run_schedule(Ask ask, std::string name, MayTouch may, Completion<Put> done);

  void act(Ask ask, BulkBatch batch, Completion<States> done) override;
  void remember(Ask ask, Remember request, Completion<Memo> done) override;
  void recall(Ask ask, Recall request, Completion<std::vector<Memo>> done) override;

  void workers(Ask ask, Completion<std::vector<WorkerView>> done) override;
  void beat(Ask ask, WorkerReport report, Completion<Instructions> done) override;
  Traits traits() override { return books_.traits; }
  std::optional<Error> failure() override { return coalescer_.failure(); }

 private:
  struct Job;       // a WorkOrder on its way
  struct Rounds;    // work on many tasks, a bounded piece at a time
  struct Problems;  // with queues that a request needs and that cannot be had
  struct Walk;      // through the history

  template <class T>
  void call(const Ask& ask, StoreCall<Result<T>> call, Completion<T> done, std::size_t bytes = 0) {
    coalescer_.call<T>(ask.caller, std::move(call), ask.deadline, std::move(done), bytes);
  }

  template <class T>
  using ActOnTasks = CallOn<Store, Result<T>, const std::vector<Result<Task>>&, TimePoint>;
  template <class T>
  void call_with_tasks(const Ask& ask, std::vector<TaskId> ids, ActOnTasks<T> act,
                       Completion<T> done, Parts parts = head_only);

  // ---- Checks (local_broker.cc) ----
  // A queue that is not known here is added to `unknown`.
  Result<void> check_queue(const Ask& ask, const QueueBook::Reading& book, const QueueRef& queue,
                           std::vector<QueueRef>& unknown) const;
  Result<void> check_task(const Ask& ask, const QueueBook::Reading& book, const NewTask& task,
                          TimePoint now, std::vector<QueueRef>& unknown) const;
  // Makes sure, ahead of the caller's next request, that the unknown queues exist; those that are
  // looked for are not created.
  std::shared_ptr<Problems> need_queues(const Ask& ask, std::vector<QueueRef> unknown,
                                        std::vector<QueueRef> looked_for);
  // Why a client may not do this to a task of that queue; nullopt: it may. A task that it may not
  // see is not there. The one rule for tasks of internal queues: core/bulk.h. What clients may do
  // there needs the scope admin, which the routes check.
  static std::optional<Error> refusal(const Ask& ask, BulkAction action, const TaskId& id,
                                      std::string_view queue);
  // The same for several tasks; empty: none is refused.
  static std::vector<std::optional<Error>> refusals(const Ask& ask, BulkAction action,
                                                    const std::vector<Result<Task>>& tasks);

  std::unexpected<Error> no_graphs(std::string_view field) const;
  // The error of a queue that a put all or none needed, instead of what the store says of it.
  static Error missing_queue(const Problems& problems, const std::vector<QueueRef>& queues,
                             Error error);
  // A put whose id a task has that the caller may not see is a conflict, which says nothing of that
  // task.
  static void hide_others(const Ask& ask, std::vector<Result<Put>>& puts);

  // ---- Work (local_work.cc) ----
  // Queues that are not known here are added to `looked_for`: a take creates none.
  Result<void> check_take(const Ask& ask, const TakeRequest& take,
                          std::vector<QueueRef>& looked_for, TimePoint now);
  void check_takes(const Ask& ask, std::vector<TakeRequest> takes, Job& job,
                   std::vector<QueueRef>& looked_for, TimePoint now);
  Result<void> check_report(const Ask& ask, Report& report, std::vector<QueueRef>& unknown,
                            TimePoint now);
  bool look_up_notes(Job& job);
  bool knows_queues(const Job& job) const;
  // Whether some of the reports end a task whose dead letter needs what the task was put with.
  bool makes_dead_letters(Job& job, TimePoint now) const;
  Result<void> find_notes(Store& store, Job& job);
  Result<void> find_dead(Store& store, Job& job, TimePoint now);
  Result<void> refuse_taken_ids(Store& store, Job& job);
  // With a `store`, settings that are not known are read from it.
  Result<void> decide_all(Job& job, Store* store, TimePoint now);
  Result<WorkResult> work_in_a_call(Store& store, Job& job, TimePoint now);
  void worked(const std::shared_ptr<Job>& job, Result<WorkResult> result);
  void finish(Job& job, WorkResult result);
  void note_settled(const Job& job, const WorkResult& result, TimePoint now);
  void note_costs(const Job& job, const WorkResult& result, TimePoint now);
  void note_extended(const Job& job, const WorkResult& result, TimePoint now);
  void note_taken(const Job& job, WorkResult& result, TimePoint now);

  // ---- Tasks and queues ----
  // Both are decided from `old`, and the store refuses them if it no longer has that.
  Result<Queue> store_queue(Store& store, QueueSettings settings, PutQueue mode, const Queue* old,
                            TimePoint now);
  Result<Queue> store_change(Store& store, const Queue& old, QueueChange& change, TimePoint now);
  void note_queue(const Queue& stored, std::string_view what);
  Result<Group> store_group(Store& store, const QueueRef& queue, const Group& old,
                            GroupChange& change, TimePoint now);
  void next_dead(const std::shared_ptr<Rounds>& rounds, DeadAction action);
  void act_on_dead(const std::shared_ptr<Rounds>& rounds, DeadAction action);
  void next_clear(const std::shared_ptr<Rounds>& rounds);
  void finished(const TaskId& id);
  // Tasks have ended that others may wait for.
  void tell_children() {
    if (books_.traits.graphs) runner_.wake_at(sweeper_, TimePoint::min());
  }
  // Reads the tasks and answers the callers that waited for them.
  void answer_waiters(std::vector<Waiters::Over> over);
  Result<States> cancel_now(Store& store, std::span<const TaskId> ids,
                            std::span<const Result<Task>> tasks, const std::string& reason,
                            std::vector<Cancelled>& cancelled, TimePoint now,
                            std::vector<std::optional<Error>> refused = {});
  // Updates of which some move tasks.
  void move(Ask ask, std::vector<TaskUpdate> updates, Completion<States> done);
  Result<States> move_now(Store& store, const Ask& ask, std::vector<TaskUpdate> updates,
                          const std::vector<Result<Task>>& tasks,
                          const std::vector<QueueRef>& unknown, std::vector<Changed>& changed,
                          TimePoint now);
  void moved(const States& states, const std::vector<QueueRef>& queues,
             std::vector<Changed>& changed);
  // For a batch (local_bulk.cc).
  struct Acting;
  Result<States> act_now(Store& store, Acting& acting, TimePoint now);
  Result<States> act_on(Store& store, Acting& acting, TimePoint now);
  void acted(Acting& acting, const States& states);

  // ---- Schedules ----
  Result<void> check_schedule(const Ask& ask, const Schedule& schedule, TimePoint now) const;
  Result<Schedule> store_schedule(Store& store, const Ask& ask, Schedule schedule,
                                  const Schedule* old, TimePoint now);
  Result<Schedule> store_change(Store& store, const Ask& ask, const Schedule& old,
                                ScheduleChange& change, TimePoint now);

  // ---- History (local_history.cc) ----
  static Result<std::vector<Memo>> recall_page(Reader& reader, Walk& walk, TimePoint now);
  Result<std::vector<Memo>> read_page(Store& store, Walk& walk, TimePoint now);
  void next_page(const std::shared_ptr<Walk>& walk);
  void last_page(const std::shared_ptr<Walk>& walk);
  void add_page(Walk& walk, const std::vector<Memo>& page);
  void walk_history(Ask ask, HistoryRequest request, Completion<History> done,
                    std::shared_ptr<TypeSum> types);
  void add_types(Walk& walk, TimePoint now);
  void keep_last_minute();

  // The store, with the internal queues in it.
  Store& prepared(Store& store);

  // ---- Others, and a store that may be away ----
  void hinted(const Hint& hint);
  void look_again(const Hint& hint);
  void store_changed(const std::optional<Error>& away);

  StoreClock clock_;
  Books books_;
  SharedRefresh refresh_;
  Scheduler scheduler_;
  std::optional<Alerter> alerter_;
  Manager manager_;
  HistoryWriter history_;
  Store& store_;
  Sweeper sweeper_;  // made when the clock follows the store's: it watches the clock
  Coalescer coalescer_;
  Reads reads_;
  DeadGroups dead_groups_;
  ServiceRunner runner_;
  const CallerId self_;
  const bool time_jumps_;
  std::chrono::nanoseconds away_since_{};  // guarded by the Coalescer's lock
  std::atomic<bool> stopped_ = false;
};

}  // namespace millrace
