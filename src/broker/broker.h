// What a task means: the interface that the API, the workers and the tools use.
//
// The broker checks requests, fills in what was left out, decides what becomes of a task when a run
// ends, and keeps time. broker/local_broker.h owns a store; another implementation talks to a
// server.
//
// Every verb takes a completion. The broker calls it exactly once, on one of its threads or before
// the verb returns, unless the caller has left. A completion may only post work to another thread.
// Nothing is answered before it is stored.
#pragma once

#include <millrace/graph.h>
#include <millrace/ids.h>
#include <millrace/queue.h>
#include <millrace/result.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <millrace/work.h>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "broker/caller.h"
#include "core/values.h"

namespace millrace {

// Whether a caller may see and touch what is in a queue.
using MaySee = std::function<bool(std::string_view queue)>;

// Who asks, and until when the request must have begun; after that the answer is `unavailable` and
// nothing was changed.
struct Ask {
  CallerId caller = {};
  TimePoint deadline = never;
  // The request comes from inside this process, not over the network: it may use names that begin
  // with $.
  bool internal = false;
  // Whose workers these are, where callers must not use the names of each other's workers; 0: of
  // callers that may do everything.
  std::uint64_t owner = 0;
  // The key that asks, where the number of queues that it may create is bounded; 0: it is not.
  std::uint64_t key = 0;
  // Asked about the queue of each task, in the step that reads the task or acts on it: so a task
  // that is moved meanwhile is judged by where it is then. What the caller may not see is answered
  // as what is not there. Empty: it may see everything.
  MaySee may_see = {};

  bool sees(std::string_view queue) const { return internal || !may_see || may_see(queue); }
};

// How a lease ended, in its holder's words. The broker decides what that means for the task.
struct Report {
  TaskId id = {};
  Token token = {};
  Outcome outcome = {};
  std::vector<NewTask> follow_ups = {};                  // stored in the same commit
  std::optional<std::string> checkpoint = std::nullopt;  // replaces that of a task that goes on
  std::optional<std::uint32_t> cost = std::nullopt;      // what the run has really cost
};

// Settles, extends and takes, in this order and in one commit.
struct WorkOrder {
  std::vector<Report> reports = {};
  std::vector<Extension> extensions = {};
  std::vector<TakeRequest> takes = {};
  // How long the takes may wait for tasks if there are none; ignored if the order also has reports
  // or extensions.
  Duration wait{};
};

// Why a task is not running.
enum class Gate : std::uint8_t {
  final = 0,        // it has ended
  running = 1,      // it is running
  held = 2,         // it waits for a release
  not_due = 3,      // its start, or its next try, is later
  inactive = 4,     // its queue is switched off or being removed
  paused = 5,       // its queue is paused
  concurrency = 6,  // its queue runs as many tasks as max_concurrent allows
  rate = 7,         // its queue has started as many tasks as its rate allows
  no_worker = 8,    // no worker asks for tasks of its queue
  behind = 9,       // other tasks come before it
  next = 10,        // nothing stands in its way: the next take gets it
  parked = 11,      // it has run, and waits for an answer
  waits_for = 12,   // other tasks must end before it
  // Of its group, where its queue has rules for groups.
  group_paused = 13,
  group_concurrency = 14,  // it runs as many tasks as its max_concurrent allows
  group_rate = 15,         // it has started as many tasks as its process_rate allows
  group_serial = 16,       // another of its tasks comes before this one
};
inline constexpr std::size_t gate_count = 17;

struct ParentsRequest {
  std::uint32_t from = 0;     // a place among them
  std::uint32_t limit = 100;  // 1 to 1,000
};

// A page ends early with the parent whose result brings it to 16 MiB.
struct Parents {
  std::vector<Parent> parents = {};  // in the order of the put
  std::uint32_t total = 0;
  std::uint32_t waits_for = 0;                       // so many of all have not ended as they must
  std::optional<std::uint32_t> next = std::nullopt;  // where to go on; nullopt: these were the last

  friend bool operator==(const Parents&, const Parents&) = default;
};

struct Explanation {
  TaskId id = {};
  TaskState state = TaskState::queued;
  Gate gate = Gate::next;
  std::string sentence = {};                          // for people
  std::optional<TimePoint> until = std::nullopt;      // when the gate opens, where that is known
  std::optional<std::uint64_t> ahead = std::nullopt;  // about how many tasks are before it
  std::optional<TimePoint> estimate = std::nullopt;   // about when it will start
};

// What happened in a queue since this broker started.
struct QueueStats {
  TimePoint since{};
  std::uint64_t put = 0;
  std::uint64_t taken = 0;
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;  // final failures: states failed and dead
  std::uint64_t retried = 0;
  std::uint64_t snoozed = 0;
  std::uint64_t given_back = 0;
  std::uint64_t lost = 0;
  std::uint64_t cancelled = 0;   // including expired ones
  double mean_run_seconds = 0;   // of runs that ended, well or not
  double mean_wait_seconds = 0;  // from ready to taken
  // Per second, over the last minute.
  double put_rate = 0;
  double take_rate = 0;
  double finish_rate = 0;
  double fail_rate = 0;                                // failed for good
  double retry_rate = 0;                               // failed, and will be retried
  std::optional<TimePoint> last_asked = std::nullopt;  // when a worker last asked for tasks
};

struct QueueView {
  Queue queue = {};
  QueueCounts counts = {};
  QueueStats stats = {};
};

// What a worker reports about one of its queues. The sums count from the worker's start.
struct QueueReport {
  std::string queue = {};
  std::uint32_t processors = 0;  // that may work on it now
  std::uint32_t most = 0;        // the most that may ever work on it: its concurrency
  std::uint32_t busy = 0;        // that run a handler now
  std::uint64_t handled = 0;     // tasks whose handler ended, well or not
  std::uint64_t errors = 0;
  std::uint64_t retried = 0;
  Duration busy_time{};  // spent in handlers
  std::string last_error = {};
};

// What a worker reports about itself with its heartbeat.
struct WorkerReport {
  std::string worker = {};
  std::uint32_t processors = 0;  // in all
  std::vector<QueueReport> queues = {};
  bool stopping = false;  // it takes no more
};

struct Assignment {
  std::string queue = {};
  std::uint32_t processors = 0;

  friend bool operator==(const Assignment&, const Assignment&) = default;
};

// What the broker answers to a worker's heartbeat.
struct Instructions {
  // How many processors each queue gets from the next batch on; nullopt: no change.
  std::optional<std::vector<Assignment>> assignments = std::nullopt;
};

// A task that a worker holds.
struct HeldTask {
  TaskId id = {};
  std::string queue = {};
  std::string type = {};
  TimePoint since{};
  TimePoint until{};  // when its lease ends

  friend bool operator==(const HeldTask&, const HeldTask&) = default;
};

// A worker that asked for work through this broker, and what it holds.
struct WorkerView {
  std::string name = {};
  std::vector<std::string> queues = {};  // of its last take
  TimePoint first_seen{};
  TimePoint last_seen{};
  std::uint64_t taken = 0;
  std::uint64_t settled = 0;
  std::uint64_t holding = 0;
  std::vector<TaskId> tasks = {};      // held now, 100 at most
  std::vector<HeldTask> running = {};  // the same; fewer where there are very many workers
  // From its last beat; nullopt for a worker that only takes and settles.
  std::optional<WorkerReport> report = std::nullopt;
  // What the manager last decided for it; empty without a manager.
  std::vector<Assignment> assignments = {};
};

// What the manager shows of itself.
struct ManagerView {
  bool enabled = false;
  std::uint64_t desired = 0;  // processors that would keep waiting times short
};

// Which tasks an operation on many is about: those named, or dead letters by filter.
struct DeadLetters {
  std::vector<TaskId> ids = {};                  // at most limits::max_batch; or, if empty:
  std::optional<QueueRef> queue = std::nullopt;  // nullopt: all queues
  std::optional<std::string> type = std::nullopt;
};

enum class DeadAction : std::uint8_t { retry, remove };

struct Handled {
  std::uint64_t done = 0;
  std::uint64_t refused = 0;  // gone, or not a dead letter any more
};

// Every page, from the first on: page(ParentsRequest) returns a Result<Parents>.
template <class Page>
Result<std::vector<Parent>> all_parents(const Page& page) {
  std::vector<Parent> all;
  for (ParentsRequest request{.limit = 1000};;) {
    Result<Parents> some = page(request);
    if (!some) return std::unexpected(std::move(some.error()));
    for (Parent& parent : some->parents) all.push_back(std::move(parent));
    if (!some->next || *some->next <= request.from) return all;
    request.from = *some->next;
  }
}

using QueueChange = std::move_only_function<Result<void>(QueueSettings&)>;
using GroupChange = std::move_only_function<Result<void>(GroupOverride&)>;

class Broker {
 public:
  virtual ~Broker() = default;

  virtual TimePoint now() = 0;
  virtual CallerId new_caller() = 0;
  // The caller has left: its requests that were not applied are dropped, and tasks taken for it are
  // given back.
  virtual void leave(CallerId caller) = 0;
  // Gives back tasks whose taker had left when the answer came.
  virtual void give_back(const WorkResult& result) = 0;

  // ---- Hot path --------------------------------------------------------------------------------

  // Tasks without an id get one; unknown queues are created (a setting). Names that begin with $
  // are refused unless the ask is internal; this holds for every verb that puts, takes or creates.
  // Each task has its own result.
  virtual void put(Ask ask, std::vector<NewTask> tasks,
                   Completion<std::vector<Result<Put>>> done) = 0;

  // The same for all of them or none: see Writer::put_all(). At most limits::max_put_all.
  virtual void put_all(Ask ask, std::vector<NewTask> tasks, Completion<std::vector<Put>> done) = 0;

  virtual void work(Ask ask, WorkOrder order, Completion<WorkResult> done) = 0;

  // ---- Tasks -----------------------------------------------------------------------------------

  // Answered when the task is final, or with its current state after `wait`.
  virtual void await(Ask ask, TaskRef task, Duration wait, Completion<Task> done) = 0;
  void find(Ask ask, TaskRef task, Completion<Task> done) {
    await(std::move(ask), task, Duration::zero(), std::move(done));
  }
  virtual void list(Ask ask, ListRequest request, Completion<TaskPage> done) = 0;
  virtual void explain(Ask ask, TaskRef task, Completion<Explanation> done) = 0;

  // The tasks that a task waits or waited for, with what came of them.
  virtual void parents(Ask ask, TaskRef task, ParentsRequest request, Completion<Parents> done) = 0;

  using States = std::vector<Result<TaskState>>;
  virtual void cancel(Ask ask, std::vector<TaskId> tasks, std::string reason,
                      Completion<States> done) = 0;
  virtual void retry(Ask ask, std::vector<TaskId> tasks, Completion<States> done) = 0;
  virtual void remove(Ask ask, std::vector<TaskId> tasks, Completion<States> done) = 0;
  // If the queue to move to does not exist, it is created (a setting), as for a put.
  virtual void update(Ask ask, std::vector<TaskUpdate> updates, Completion<States> done) = 0;

  // Calls a finished task's webhook once more, whatever became of the last delivery. `conflict` if
  // the task is not final or has no callback. The result is the task that delivers the webhook.
  virtual void redeliver(Ask ask, TaskId task, Completion<Put> done) = 0;

  // Retries or removes all dead letters that fit, in bounded rounds.
  virtual void handle_dead(Ask ask, DeadLetters which, DeadAction action,
                           Completion<Handled> done) = 0;

  // ---- Queues ----------------------------------------------------------------------------------

  // One queue or all, by name; internal ones (`$...`) only by name.
  virtual void queues(Ask ask, std::optional<QueueRef> queue,
                      Completion<std::vector<QueueView>> done) = 0;
  // `create` of a queue that exists is a `conflict`; `replace` creates or replaces. The broker sets
  // `mode.seen` itself.
  virtual void put_queue(Ask ask, QueueSettings settings, PutQueue mode,
                         Completion<Queue> done) = 0;
  // Reads, changes and writes in one step: if another server writes in between, `change` is called
  // again with what is stored by then; after several such tries the answer is `conflict`.
  virtual void change_queue(Ask ask, QueueRef queue, QueueChange change,
                            Completion<Queue> done) = 0;
  virtual void remove_queue(Ask ask, QueueRef queue, bool force, Completion<void> done) = 0;
  // Removes all waiting tasks, in bounded rounds; the result is how many.
  virtual void clear(Ask ask, QueueRef queue, Completion<std::uint64_t> done) = 0;

  // ---- Groups of a queue -----------------------------------------------------------------------

  // Those with tasks that wait or run, or with an override: see Reader::groups().
  virtual void groups(Ask ask, GroupsRequest request, Completion<GroupPage> done) = 0;
  // Changes what one group does differently, as change_queue() changes settings. `change` gets an
  // empty override where there is none; if it leaves one that says nothing, there is none again.
  // One that would have ended already: `invalid`.
  virtual void change_group(Ask ask, QueueRef queue, std::string name, GroupChange change,
                            Completion<Group> done) = 0;

  // ---- Workers and the store -------------------------------------------------------------------

  virtual void workers(Ask ask, Completion<std::vector<WorkerView>> done) = 0;
  // A worker's own heartbeat, beside those of its leases: the worker reports, and learns what to
  // do.
  virtual void beat(Ask ask, WorkerReport report, Completion<Instructions> done) = 0;
  virtual Traits traits() = 0;
  // The error with which the store has failed, if it has. If the store recovers (traits()): why it
  // is away now.
  virtual std::optional<Error> failure() = 0;
};

}  // namespace millrace
