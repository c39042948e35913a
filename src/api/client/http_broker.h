// The Broker of a remote server: every verb is a request of its HTTP API.
//
// Differences from a LocalBroker, because of the network between two processes:
//   * Every verb may end with `unavailable`: it is not known then what the server did. Puts carry
//     ids, so they are repeated automatically when the connection is lost, and a caller may repeat
//     them; settling twice is answered `already`.
//   * Concurrent requests of one caller may overtake each other.
//   * Ask::deadline is checked before a request is sent. Ask::internal, names that begin with $ and
//     TaskUpdate::delivery_attempt are for the process that owns the store, whose worker delivers
//     webhooks: `invalid` here, since a client that wrote attempts would forge their record.
//   * A refused key, and an answer that does not come from a Millrace server, are `invalid`; but
//     `unavailable` if results or heartbeats were sent, because those stay valid.
//   * A poll whose caller has left runs to its end; its tasks are given back.
//   * A take waits for at most a minute. An order with several takes, or with more than fits into
//     one request, becomes several requests, one after another.
//   * change_queue, change_group and change_schedule read and write in two requests. Only the
//   fields that change
//     are written, so edits of other fields in between stay. They are decided again if the server
//     answers 409 and has another value by then.
//   * Counters by state and priority: see wire/answers.h.
#pragma once

#include <millrace/result.h>
#include <millrace/time.h>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <vector>

#include "access/key.h"
#include "api/wire/answers.h"
#include "api/wire/bulk.h"
#include "api/wire/dead.h"
#include "api/wire/events.h"
#include "api/wire/history.h"
#include "broker/broker.h"
#include "broker/events.h"
#include "broker/history.h"
#include "broker/schedules.h"
#include "core/clock.h"
#include "core/mutex.h"
#include "core/uuid.h"
#include "outgoing/http_client.h"

namespace millrace {

struct HttpBrokerOptions {
  std::string url = {};                         // http(s)://host[:port], without a path
  std::string key = {};                         // empty: none is sent
  Duration timeout = std::chrono::seconds(30);  // of every call, in addition to the wait of a take
  // Of calls that only extend leases, if shorter: a second try must fit before the leases end.
  Duration heartbeat_timeout = std::chrono::seconds(10);
  // The authorities to trust (PEM); empty: the system's.
  std::string ca_file = {};
};

inline constexpr std::string_view work_target = "/v1/work";

class HttpBroker final : public Broker, public Schedules {
 public:
  // Checks the options without connecting: the server may start later. `invalid`: the URL or the
  // key cannot be right. The clock must outlive the broker.
  static Result<std::unique_ptr<HttpBroker>> open(Clock& clock, HttpBrokerOptions options);
  HttpBroker(const HttpBroker&) = delete;
  HttpBroker& operator=(const HttpBroker&) = delete;
  // Calls under way end with `unavailable`.
  ~HttpBroker() override;

  // Asks the server for its version and store; from then on traits() are those of its store.
  void check(Completion<wire::ServerInfo> done);

  // ---- Operations on many tasks, which run inside the server (http_bulk.cc) ----
  // Starts one; the answer is its present state, not its end. Queues may be named in any way.
  void start_bulk(Ask ask, BulkRequest request, Completion<BulkOperation> done);
  // Answered when the operation has ended, or with its state after `wait`.
  void bulk_operation(Ask ask, TaskId id, Duration wait, Completion<BulkOperation> done);
  // Newest first; `before` is the `next` of the previous page.
  void bulk_operations(Ask ask, std::optional<TaskNumber> before, std::uint32_t limit,
                       Completion<wire::BulkPage> done);
  // `conflict`: it has ended. A running one ends before its next page.
  void cancel_bulk(Ask ask, TaskId id, std::string reason, Completion<BulkOperation> done);
  // Sends an export to the server without parsing it: see POST /v1/import. `more` fills the room
  // with the next bytes and returns how many; 0: nothing follows.
  void import_lines(Ask ask, std::function<Result<std::size_t>(std::span<char> room)> more,
                    Completion<wire::Imported> done);
  // Everything in the server as the lines of an export; `take` gets them as they arrive. Without
  // the closing line the export is incomplete: see GET /v1/export.
  void export_lines(Ask ask, std::function<Result<void>(std::string_view piece)> take,
                    Completion<void> done);

  // ---- Observability (http_observability.cc) ----
  // Dead letters by what they died of, the largest groups first. The queue as the API names it.
  void dead_groups(Ask ask, std::optional<std::string> queue, std::optional<std::string> type,
                   std::uint32_t limit, Completion<FoundGroups> done);
  void history(Ask ask, HistoryRequest request, Completion<History> done);
  // The text that Prometheus reads.
  void metrics(Ask ask, Completion<std::string> done);
  // Calls `tell` with each event until the server ends the stream; the answer is then the id to
  // continue after. `after`: such an id; empty: from now on. `tell` runs on the client's thread,
  // which all requests share; its error ends the stream and is the answer.
  void events(Ask ask, const EventFilter& filter, std::string after,
              std::function<Result<void>(const wire::StreamedEvent&)> tell,
              Completion<std::string> done);

  TimePoint now() override { return clock_.now(); }
  CallerId new_caller() override;
  void leave(CallerId caller) override;
  void give_back(const WorkResult& result) override;

  void put(Ask ask, std::vector<NewTask> tasks, Completion<std::vector<Result<Put>>> done) override;
  void put_all(Ask ask, std::vector<NewTask> tasks, Completion<std::vector<Put>> done) override;
  void work(Ask ask, WorkOrder order, Completion<WorkResult> done) override;

  void await(Ask ask, TaskRef task, Duration wait, Completion<Task> done) override;
  void list(Ask ask, ListRequest request, Completion<TaskPage> done) override;
  void parents(Ask ask, TaskRef task, ParentsRequest request, Completion<Parents> done) override;
  void explain(Ask ask, TaskRef task, Completion<Explanation> done) override;
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

  void workers(Ask ask, Completion<std::vector<WorkerView>> done) override;
  void beat(Ask ask, WorkerReport report, Completion<Instructions> done) override;
  Traits traits() override;

  // ---- What only a server has ----
  // Pauses or resumes a schedule in one request, whatever else is changed meanwhile.
  void pause_schedule(Ask ask, std::string name, bool paused, Completion<Schedule> done);
  void keys(Ask ask, Completion<std::vector<access::Key>> done);
  void create_key(Ask ask, access::KeyRequest wanted, Completion<access::MadeKey> done);
  void revoke_key(Ask ask, std::string id, bool force, Completion<void> done);

  // The HTTP status of the last answer; 0: there was none. Lets a caller tell a server that is away
  // from one that refused.
  int last_status() const { return last_status_; }
  // A server that is away may come back, so nothing has failed permanently.
  std::optional<Error> failure() override { return std::nullopt; }

 private:
  struct Request {
    std::string method = "GET";
    std::string target = {};  // after the URL: /v1/tasks?limit=1
    std::string body = {};
    Duration wait{};                     // time that the server may take in addition to the timeout
    bool waits = false;                  // uses the connections of calls that wait
    Duration timeout = Duration::max();  // if shorter than the timeout of all calls
    unsigned repeats = 0;                // how often to repeat it if no answer comes
    bool as_it_is = false;               // the answer unchanged, also if it means an error
    // A body of lines, of any length and duration.
    std::function<Result<std::size_t>(std::span<char> room)> lines = {};
    // Gets the body of a 2xx answer as it arrives, for any duration.
    std::function<Result<void>(std::string_view piece)> on_piece = {};
  };
  struct PutJob;    // a put under way
  struct WorkJob;   // a WorkOrder under way
  struct StateJob;  // one request per task, for many tasks
  template <class T>
  struct Edit;  // a change of a queue or a schedule under way
  using Reply = outgoing::HttpReply;
  using OneState = std::move_only_function<void(std::size_t, Completion<TaskState>)>;

  HttpBroker(Clock& clock, HttpBrokerOptions options);

  // ---- Requests (http_broker.cc) ----
  std::stop_token token_of(CallerId caller);
  // Turns error answers into errors. Does not answer a caller that has left.
  void send(const Ask& ask, Request request, Completion<Reply> done);
  void work_ended();
  void send_on(Request request, std::stop_token stop, std::chrono::nanoseconds until,
               Completion<Reply> done);
  // Turns error answers into errors. `denied`: the answer is not about what was sent; the key was
  // refused, or the answer does not come from a Millrace server.
  Result<Reply> judged(Result<Reply> reply, bool* denied = nullptr) const;
  // Sends, and reads the answer's body with `read`, a function Result<T>(std::string_view).
  template <class T, class ReadAnswer>
  void call(const Ask& ask, Request request, ReadAnswer read, Completion<T> done) {
    send(ask, std::move(request), [read, done = std::move(done)](Result<Reply> reply) mutable {
      if (!reply) return done(std::unexpected(std::move(reply.error())));
      done(read(reply->body));
    });
  }
  void call(const Ask& ask, Request request, Completion<void> done);

  // ---- Put and work (http_work.cc) ----
  void next_put(std::shared_ptr<PutJob> job);
  void next_work(std::shared_ptr<WorkJob> job);
  // Gives back the tasks of an answer that came too late.
  void give_back_unread(std::string_view answer);

  // ---- Queues and schedules (http_queues.cc) ----
  template <class T>
  void try_edit(std::shared_ptr<Edit<T>> edit);

  // ---- Tasks (http_tasks.cc) ----
  void await_more(Ask ask, TaskRef task, Duration left, Completion<Task> done);
  void each(std::size_t count, OneState one, Completion<States> done);
  void update_one(const Ask& ask, const TaskUpdate& update, Completion<TaskState> done);
  void state_of(const Ask& ask, Request request, Completion<TaskState> done);

  Clock& clock_;
  const HttpBrokerOptions options_;
  Mutex mutex_;
  Condition quiet_;
  std::atomic<int> last_status_ = 0;
  // Requests under way that may bring tasks, or give them back.
  std::size_t working_ GUARDED_BY(mutex_) = 0;
  std::uint64_t last_caller_ GUARDED_BY(mutex_) = 0;
  std::unordered_map<std::uint64_t, std::stop_source> callers_ GUARDED_BY(mutex_);
  UuidSource ids_ GUARDED_BY(mutex_);
  Traits traits_;
  // The clients come last: their completions use the members above until they are gone. Waiting
  // calls have a client of their own, so that they cannot hold all connections while a heartbeat is
  // due. Its completions may use both clients; those of the first one use only the first.
  outgoing::HttpClient client_;
  outgoing::HttpClient waiting_;
};

}  // namespace millrace
