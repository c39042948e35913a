// The Broker of a server somewhere else: every verb is a request of its HTTP API.
//
// What differs from a LocalBroker, since it is another process and there is a network between:
//   * Every verb may end with `unavailable`: nothing is known then of what the server did. Puts
//     carry ids, so they are repeated by themselves when the connection is lost, and may be
//     repeated by anybody; settling twice is answered `already`.
//   * Requests of one caller that are under way at the same time may overtake each other.
//   * Ask::deadline is looked at before a request is sent. Ask::internal, memos, delivery notes and
//     names that begin with $ are not for who comes over a wire: `invalid`.
//   * A key that is refused, and answers of somebody who is no Millrace server, are `invalid`; but
//     `unavailable` where results or heartbeats were sent, which make as much sense as before.
//   * A poll whose caller has left goes on until it is over; what it brings is given back.
//   * A take waits for a minute at most. An order with several takes, or with more than fits into
//     one request, becomes several requests, one after another.
//   * change_queue and change_schedule read and write in two steps. Only what the change touched
//     of a queue is written; a schedule is replaced.
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

#include "api/wire/answers.h"
#include "api/wire/bulk.h"
#include "api/wire/eyes.h"
#include "api/wire/keys.h"
#include "broker/broker.h"
#include "broker/events.h"
#include "broker/history.h"
#include "core/clock.h"
#include "core/mutex.h"
#include "core/uuid.h"
#include "outgoing/http_client.h"

namespace millrace {

struct HttpBrokerOptions {
  std::string url = {};                         // http(s)://host[:port], without a path
  std::string key = {};                         // empty: none is sent
  Duration timeout = std::chrono::seconds(30);  // of every call, beside what a take may wait
  // Of calls that only extend leases, if shorter: there must be time for another before they end.
  Duration pulse_timeout = std::chrono::seconds(10);
  std::string ca_file = {};  // empty: the system's
};

inline constexpr std::string_view work_target = "/v1/work";

class HttpBroker final : public Broker {
 public:
  // Looks at the options and connects to nobody: a server may come later. `invalid`: the URL or the
  // key cannot be right. The clock must outlive the broker.
  static Result<std::unique_ptr<HttpBroker>> open(Clock& clock, HttpBrokerOptions options);
  HttpBroker(const HttpBroker&) = delete;
  HttpBroker& operator=(const HttpBroker&) = delete;
  // What is under way ends with `unavailable`.
  ~HttpBroker() override;

  // Asks the server who it is; from then on traits() are its store's.
  void check(Completion<wire::ServerInfo> done);

  // ---- Operations on many tasks, which go on inside the server (http_bulk.cc) ----
  // Begins one; the answer is how it stands, not its end. Queues may be named in any way.
  void start_bulk(Ask ask, BulkRequest request, Completion<BulkOperation> done);
  // Answered when it has ended, or as it is after `wait`.
  void bulk_operation(Ask ask, TaskId id, Duration wait, Completion<BulkOperation> done);
  // Newest first; `before` is the `next` of the page before.
  void bulk_operations(Ask ask, std::optional<TaskNumber> before, std::uint32_t limit,
                       Completion<wire::BulkPage> done);
  // Ended: `conflict`. A running one ends before its next page.
  void cancel_bulk(Ask ask, TaskId id, std::string reason, Completion<BulkOperation> done);
  // Sends an export to the server, and takes nothing apart: see POST /v1/import. `more` fills the
  // room with the next bytes and says how many; 0: nothing follows.
  void import_lines(Ask ask, std::function<Result<std::size_t>(std::span<char> room)> more,
                    Completion<wire::Imported> done);
  // Everything in the server as the lines of an export; `take` gets them as they come. Where their
  // end is missing, so is something else: see GET /v1/export.
  void export_lines(Ask ask, std::function<Result<void>(std::string_view piece)> take,
                    Completion<void> done);

  // ---- For those who watch (http_eyes.cc) ----
  void history(Ask ask, HistoryRequest request, Completion<History> done);
  // The text that Prometheus reads.
  void metrics(Ask ask, Completion<std::string> done);
  // Tells what happens until the server ends the stream; the answer is then the id to go on after.
  // `after`: such an id; empty: from now on. `tell` is called on the client's thread, where others
  // wait for it; its error ends the stream and is the answer.
  void events(Ask ask, const EventFilter& filter, std::string after,
              std::function<Result<void>(const wire::EventNews&)> tell,
              Completion<std::string> done);

  TimePoint now() override { return clock_.now(); }
  CallerId new_caller() override;
  void leave(CallerId caller) override;
  void give_back(const WorkResult& result) override;

  void put(Ask ask, std::vector<NewTask> tasks, Completion<std::vector<Result<Put>>> done) override;
  void work(Ask ask, WorkOrder order, Completion<WorkResult> done) override;

  void find(Ask ask, TaskRef task, Completion<Task> done) override;
  void await(Ask ask, TaskRef task, Duration wait, Completion<Task> done) override;
  void list(Ask ask, ListRequest request, Completion<TaskPage> done) override;
  void explain(Ask ask, TaskRef task, Completion<Explanation> done) override;
  void cancel(Ask ask, std::vector<TaskId> tasks, std::string reason,
              Completion<States> done) override;
  void retry(Ask ask, std::vector<TaskId> tasks, Completion<States> done) override;
  void remove(Ask ask, std::vector<TaskId> tasks, Completion<States> done) override;
  void update(Ask ask, std::vector<TaskUpdate> updates, Completion<States> done) override;
  void redeliver(Ask ask, TaskId task, Completion<Put> done) override;
  void retry_dead(Ask ask, DeadLetters which, Completion<Handled> done) override;
  void remove_dead(Ask ask, DeadLetters which, Completion<Handled> done) override;

  void queues(Ask ask, std::optional<QueueRef> queue,
              Completion<std::vector<QueueView>> done) override;
  void put_queue(Ask ask, QueueSettings settings, PutQueue mode, Completion<Queue> done) override;
  void change_queue(Ask ask, QueueRef queue, QueueChange change, Completion<Queue> done) override;
  void remove_queue(Ask ask, QueueRef queue, bool force, Completion<void> done) override;
  void clear(Ask ask, QueueRef queue, Completion<std::uint64_t> done) override;

  void schedules(Ask ask, std::optional<std::string> name,
                 Completion<std::vector<Schedule>> done) override;
  void put_schedule(Ask ask, Schedule schedule, PutQueue mode, Completion<Schedule> done) override;
  void change_schedule(Ask ask, std::string name, ScheduleChange change,
                       Completion<Schedule> done) override;
  void remove_schedule(Ask ask, std::string name, Completion<void> done) override;
  void run_schedule(Ask ask, std::string name, Completion<Put> done) override;

  void workers(Ask ask, Completion<std::vector<WorkerView>> done) override;
  void beat(Ask ask, WorkerReport report, Completion<Instructions> done) override;
  void remember(Ask ask, Remember request, Completion<Memo> done) override;
  void recall(Ask ask, Recall request, Completion<std::vector<Memo>> done) override;
  Traits traits() override;
  // ---- What only a server has ----
  void keys(Ask ask, Completion<std::vector<wire::KeyInfo>> done);
  void create_key(Ask ask, wire::KeyInfo wanted, Completion<wire::KeyInfo> done);
  void revoke_key(Ask ask, std::string id, bool force, Completion<void> done);

  // The HTTP status of the answer that came last; 0: none came. For people who must be told whether
  // nobody answered or somebody refused.
  int last_status() const { return last_status_; }
  // A server that is away may come back, so nothing has failed for good.
  std::optional<Error> failure() override { return std::nullopt; }

 private:
  struct Request {
    std::string method = "GET";
    std::string target = {};  // behind the URL: /v1/tasks?limit=1
    std::string body = {};
    Duration wait{};                     // that the server may take beside the timeout
    bool waits = false;                  // goes where others wait, too, and is in nobody's way
    Duration timeout = Duration::max();  // if shorter than that of all calls
    unsigned repeats = 0;                // if no answer comes
    bool as_it_is = false;               // the answer, also if it means an error
    // A body of lines, of any length and for any time.
    std::function<Result<std::size_t>(std::span<char> room)> lines = {};
    // Gets the body of a good answer as it comes, for any time.
    std::function<Result<void>(std::string_view piece)> on_piece = {};
  };
  struct PutJob;    // a put on its way
  struct WorkJob;   // a WorkOrder on its way
  struct StateJob;  // one request for each of many tasks
  using Reply = outgoing::HttpReply;
  using OneState = std::move_only_function<void(std::size_t, Completion<TaskState>)>;

  HttpBroker(Clock& clock, HttpBrokerOptions options);

  // ---- Requests (http_broker.cc) ----
  std::stop_token token_of(CallerId caller);
  // Answers that mean an error become one. Nobody is answered whose caller has left.
  void send(const Ask& ask, Request request, Completion<Reply> done);
  void work_ended();
  void send_on(Request request, std::stop_token stop, std::chrono::nanoseconds until,
               Completion<Reply> done);
  // Answers that mean an error as that error. `denied`: nothing is said about what was sent, only
  // that we may not, or that whoever answered is no Millrace server.
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
  // Of an answer that came too late.
  void give_back_unread(std::string_view answer);

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
  // The last: their completions use the others until they are gone. Calls that wait have their own,
  // lest they hold all connections while a heartbeat is due; their completions may use both, those
  // of the first only the first.
  outgoing::HttpClient client_;
  outgoing::HttpClient waiting_;
};

// The same as a Broker.
Result<std::unique_ptr<Broker>> connect(Clock& clock, HttpBrokerOptions options);

}  // namespace millrace
