#include "broker/lease_book.h"

#include <algorithm>
#include <utility>

#include "core/ensure.h"
#include "core/mutex.h"

namespace millrace {
namespace {

constexpr std::size_t listed_tasks = 100;  // of one worker
// In all: writers wait while they are copied.
constexpr std::size_t described_tasks = 5000;

template <class T>
std::shared_ptr<const LeaseExtras> extras_of(const T& task) {
  if (!task.max_lost && !task.retry && !task.callback) return nullptr;
  LeaseExtras extras{.max_lost = task.max_lost, .retry = task.retry, .callback = task.callback};
  if (task.callback) extras.request_id = task.request_id;
  return std::make_shared<const LeaseExtras>(std::move(extras));
}

}  // namespace

LeaseNote note_of(const Lease& lease) {
  return {.id = lease.id,
          .token = lease.token,
          .queue = lease.queue,
          .type = lease.type,
          .client_id = lease.client_id,
          .priority = lease.priority,
          .cost = lease.cost,
          .counters = lease.counters,
          .start = lease.start,
          .started_at = lease.started_at,
          .extras = extras_of(lease)};
}

LeaseNote note_of(const Task& task, Token token) {
  return {.id = task.id,
          .token = token,
          .queue = task.queue,
          .type = task.type,
          .client_id = task.client_id,
          .priority = task.priority,
          .cost = task.cost,
          .counters = task.counters,
          .start = task.start,
          .started_at = task.started_at.value_or(task.start),
          .extras = extras_of(task)};
}

Lease lease_of(const LeaseNote& note) {
  Lease lease{.id = note.id,
              .token = note.token,
              .queue = note.queue,
              .type = note.type,
              .counters = note.counters,
              .start = note.start,
              .started_at = note.started_at};
  if (note.extras) {
    lease.max_lost = note.extras->max_lost;
    lease.retry = note.extras->retry;
  }
  return lease;
}

const LeaseNote* LeaseBook::Writing::find(TaskId id, Token token) const {
  book_.mutex_.assert_held();
  const auto found = book_.notes_.find(token.value);
  return found == book_.notes_.end() || found->second.note.id != id ? nullptr : &found->second.note;
}

void LeaseBook::Writing::asked(const std::string& worker, std::vector<std::string> queues,
                               TimePoint now, std::uint64_t owner) {
  book_.mutex_.assert_held();
  if (Worker* entry = book_.worker(worker, owner, now)) entry->queues = std::move(queues);
}

bool LeaseBook::Writing::may_use(const std::string& worker, std::uint64_t owner,
                                 TimePoint now) const {
  book_.mutex_.assert_held();
  const auto found = book_.workers_.find(worker);
  return found == book_.workers_.end() || !book_.is_others(found->second, owner, now);
}

void LeaseBook::Writing::taken(const std::string& worker, const Lease& lease, TimePoint now,
                               std::uint64_t owner) {
  book_.mutex_.assert_held();
  const auto [at, added] = book_.notes_.try_emplace(lease.token.value);
  if (!added) return;
  Entry& entry = at->second;
  entry.note = note_of(lease);
  entry.until = lease.until;
  book_.ages_.push_back(lease.token.value);
  if (Worker* holder = book_.worker(worker, owner, now)) {
    ++holder->taken;
    ++holder->holding;
    entry.worker = holder;
    entry.before = holder->last;
    if (holder->last != nullptr) holder->last->after = &entry;
    holder->last = &entry;
  }
  book_.make_room();
}

bool LeaseBook::Writing::reported(WorkerReport report, TimePoint now, std::uint64_t owner) {
  book_.mutex_.assert_held();
  Worker* worker = book_.worker(report.worker, owner, now);
  if (worker == nullptr) return false;
  book_.drop_report(*worker);
  const std::size_t queues = report.queues.size();
  if (book_.reports_ + queues > book_.options_.reports) return false;
  book_.reports_ += queues;
  worker->report = std::move(report);
  worker->reported = now;
  return true;
}

const LeaseNote* LeaseBook::Writing::extended(Token token, TimePoint until, TimePoint now) {
  book_.mutex_.assert_held();
  const auto found = book_.notes_.find(token.value);
  if (found == book_.notes_.end()) return nullptr;
  found->second.until = until;
  if (Worker* holder = found->second.worker; holder != nullptr) {
    holder->last_seen = std::max(holder->last_seen, now);
  }
  return &found->second.note;
}

void LeaseBook::Writing::ended(Token token, bool settled, TimePoint now) {
  book_.mutex_.assert_held();
  const auto found = book_.notes_.find(token.value);
  if (found == book_.notes_.end()) return;
  if (Worker* holder = found->second.worker; holder != nullptr && settled) {
    ++holder->settled;
    holder->last_seen = std::max(holder->last_seen, now);
  }
  book_.erase(found);
}

void LeaseBook::drop_report(Worker& worker) {
  if (!worker.report) return;
  ensure(reports_ >= worker.report->queues.size(), "more reports are dropped than were counted");
  reports_ -= worker.report->queues.size();
  worker.report.reset();
}

void LeaseBook::erase(std::unordered_map<std::uint64_t, Entry>::iterator at) {
  const Entry& entry = at->second;
  if (entry.worker != nullptr) {
    ensure(entry.worker->holding > 0, "a lease ended of a worker that holds none");
    --entry.worker->holding;
    if (entry.before != nullptr) entry.before->after = entry.after;
    if (entry.after != nullptr) entry.after->before = entry.before;
    if (entry.worker->last == &entry) entry.worker->last = entry.before;
  }
  notes_.erase(at);
}

void LeaseBook::make_room() {
  while (notes_.size() > options_.notes) {
    ensure(!ages_.empty(), "a lease is noted that has no age");
    const auto oldest = notes_.find(ages_.front());
    ages_.pop_front();
    if (oldest != notes_.end()) erase(oldest);
  }
  constexpr std::size_t slack = 1024;
  if (ages_.size() <= 2 * notes_.size() + slack) return;
  std::erase_if(ages_,
                [this](std::uint64_t token) REQUIRES(mutex_) { return !notes_.contains(token); });
}

bool LeaseBook::is_others(const Worker& worker, std::uint64_t owner, TimePoint now) const {
  return owner != 0 && worker.owner != owner && now - worker.last_seen <= options_.owned;
}

LeaseBook::Worker* LeaseBook::worker(const std::string& name, std::uint64_t owner, TimePoint now) {
  auto found = workers_.find(name);
  if (found == workers_.end()) {
    if (workers_.size() >= options_.workers) forget_idle(now);
    if (workers_.size() >= options_.workers) return nullptr;
    found = workers_.emplace(name, Worker{.first_seen = now, .owner = owner}).first;
  }
  if (is_others(found->second, owner, now)) return nullptr;
  if (owner != 0) found->second.owner = owner;
  found->second.last_seen = std::max(found->second.last_seen, now);
  return &found->second;
}

// Forgets workers that were idle for too long and, if that is not enough, the one idle for longest,
// so that workers with ever new names do not keep others out.
void LeaseBook::forget_idle(TimePoint now) {
  for (auto at = workers_.begin(); at != workers_.end();) {
    Worker& worker = at->second;
    if (worker.holding != 0 || now - worker.last_seen <= options_.idle) {
      ++at;
      continue;
    }
    drop_report(worker);
    at = workers_.erase(at);
  }
  if (workers_.size() < options_.workers) return;
  auto longest = workers_.end();
  for (auto at = workers_.begin(); at != workers_.end(); ++at) {
    if (at->second.holding != 0) continue;
    if (longest == workers_.end() || at->second.last_seen < longest->second.last_seen) longest = at;
  }
  if (longest == workers_.end()) return;
  drop_report(longest->second);
  workers_.erase(longest);
}

std::vector<WorkerView> LeaseBook::workers(bool details) {
  const Lock lock(mutex_);
  std::size_t described = 0;
  std::vector<WorkerView> views;
  views.reserve(workers_.size());
  for (const auto& [name, worker] : workers_) {
    WorkerView& view = views.emplace_back(WorkerView{.name = name,
                                                     .queues = worker.queues,
                                                     .first_seen = worker.first_seen,
                                                     .last_seen = worker.last_seen,
                                                     .taken = worker.taken,
                                                     .settled = worker.settled,
                                                     .holding = worker.holding,
                                                     .report = worker.report});
    for (const Entry* at = worker.last; at != nullptr && view.tasks.size() < listed_tasks;
         at = at->before) {
      const LeaseNote& note = at->note;
      view.tasks.push_back(note.id);
      if (!details || described == described_tasks) continue;
      ++described;
      view.running.push_back({.id = note.id,
                              .queue = note.queue,
                              .type = note.type,
                              .since = note.started_at,
                              .until = at->until});
    }
  }
  return views;
}

std::vector<WorkerReport> LeaseBook::reports(TimePoint since) {
  const Lock lock(mutex_);
  std::vector<WorkerReport> reports;
  for (const auto& [name, worker] : workers_) {
    if (worker.report && worker.reported >= since) reports.push_back(*worker.report);
  }
  return reports;
}

bool LeaseBook::knows(TaskId id, Token token) {
  const Writing writing(*this);
  return writing.find(id, token) != nullptr;
}

std::size_t LeaseBook::size() {
  const Lock lock(mutex_);
  return notes_.size();
}

}  // namespace millrace
