// What the broker remembers of the leases it gave out, and who holds them, so that deciding about a
// report needs no read from the store. Nothing is lost with the book: a report about a lease that
// is not remembered (after a restart, or beyond the bound) costs a read.
#pragma once

#include <millrace/ids.h>
#include <millrace/retry.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <millrace/work.h>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "broker/broker.h"
#include "core/mutex.h"

namespace millrace {

// What few tasks have.
struct LeaseExtras {
  std::optional<std::uint32_t> max_lost = std::nullopt;
  std::optional<RetryRules> retry = std::nullopt;
  std::optional<Callback> callback = std::nullopt;
  std::string request_id = {};  // for the callback
};

// What deciding about a lease and reporting on it need. None of it changes while the lease lasts.
struct LeaseNote {
  TaskId id = {};
  Token token = {};
  std::string queue = {};
  std::string type = {};
  std::string client_id = {};
  std::uint8_t priority = default_priority;
  std::uint32_t cost = 1;
  Counters counters = {};
  TimePoint start{};
  TimePoint started_at{};
  std::shared_ptr<const LeaseExtras> extras = nullptr;  // null: there are none
};

LeaseNote note_of(const Lease& lease);
// For a running task that was read from the store; its token is the one from the report.
LeaseNote note_of(const Task& task, Token token);
// The lease as decisions need it: only what was noted.
Lease lease_of(const LeaseNote& note);

struct LeaseBookOptions {
  std::size_t notes = 200'000;
  std::size_t workers = 10'000;
  std::size_t reports = 100'000;  // in all; one is a worker's report about one queue
  // How long until a worker that holds nothing is forgotten.
  Duration idle = std::chrono::hours(24);
  // How long until the name of a worker that was not seen may be used by another owner.
  Duration owned = std::chrono::minutes(2);
};

class LeaseBook {
 public:
  explicit LeaseBook(const LeaseBookOptions& options = {}) : options_(options) {}

  // One lock for everything that a request brings.
  class SCOPED_CAPABILITY Writing {
   public:
    explicit Writing(LeaseBook& book) ACQUIRE(book.mutex_) : book_(book), lock_(book.mutex_) {}
    Writing(const Writing&) = delete;
    Writing& operator=(const Writing&) = delete;
    ~Writing() RELEASE() = default;

    // The note of the lease with this token on this task; null: not remembered.
    const LeaseNote* find(TaskId id, Token token) const;
    // A worker asked for tasks of these queues.
    void asked(const std::string& worker, std::vector<std::string> queues, TimePoint now,
               std::uint64_t owner = 0);
    void taken(const std::string& worker, const Lease& lease, TimePoint now,
               std::uint64_t owner = 0);
    // Whether this owner may use the name of a worker. What it does under the name of another
    // owner's worker is not noted of that worker.
    bool may_use(const std::string& worker, std::uint64_t owner, TimePoint now) const;
    // The holder sent a heartbeat. Null: not remembered.
    const LeaseNote* extended(Token token, TimePoint until, TimePoint now);
    // A worker reported; false: there was no room to keep it.
    bool reported(WorkerReport report, TimePoint now, std::uint64_t owner = 0);
    // The lease is over; `settled`: its holder ended it.
    void ended(Token token, bool settled, TimePoint now);

   private:
    LeaseBook& book_;
    Lock<Mutex> lock_;
  };

  // `details`: also describes each task that they hold.
  std::vector<WorkerView> workers(bool details = true);
  // The reports of workers that have reported since then.
  std::vector<WorkerReport> reports(TimePoint since);
  // Whether a lease with this token on this task is remembered.
  bool knows(TaskId id, Token token);
  std::size_t size();

 private:
  struct Worker;
  struct Entry {
    LeaseNote note = {};
    TimePoint until{};
    // Leases of the same worker are linked; null: the worker is not in the register.
    Worker* worker = nullptr;
    Entry* before = nullptr;
    Entry* after = nullptr;
  };
  struct Worker {
    std::vector<std::string> queues = {};
    TimePoint first_seen{};
    TimePoint last_seen{};
    std::uint64_t taken = 0;
    std::uint64_t settled = 0;
    std::uint64_t holding = 0;
    Entry* last = nullptr;  // the newest lease it holds
    std::optional<WorkerReport> report = std::nullopt;
    TimePoint reported{};
    std::uint64_t owner = 0;
  };

  // Null: there is no room for it, or it is another owner's.
  Worker* worker(const std::string& name, std::uint64_t owner, TimePoint now) REQUIRES(mutex_);
  bool is_others(const Worker& worker, std::uint64_t owner, TimePoint now) const;
  void forget_idle(TimePoint now) REQUIRES(mutex_);
  void drop_report(Worker& worker) REQUIRES(mutex_);
  void erase(std::unordered_map<std::uint64_t, Entry>::iterator at) REQUIRES(mutex_);
  void make_room() REQUIRES(mutex_);

  const LeaseBookOptions options_;
  Mutex mutex_{LockRank::leases};
  std::unordered_map<std::uint64_t, Entry> notes_ GUARDED_BY(mutex_);  // by token
  // Oldest first, including some that have ended.
  std::deque<std::uint64_t> ages_ GUARDED_BY(mutex_);
  std::map<std::string, Worker> workers_ GUARDED_BY(mutex_);
  std::size_t reports_ GUARDED_BY(mutex_) = 0;  // queues that workers report about
};

}  // namespace millrace
