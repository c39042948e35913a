#include "tests/e2e/fault_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/time_text.h"
#include "core/transition.h"
#include "core/uuid.h"
#include "store/store.h"

namespace millrace::test {
namespace {

constexpr std::size_t most_complaints = 10;
// Servers ask the database for its time every few seconds and count on by themselves.
constexpr Duration clocks_differ{50};

std::string name_of(const TaskId& id) {
  return to_text(id.value);
}

// The lease was alive from `got` up to here at least: its holder knew of it, had not asked for its
// end, and it had not run out.
TimePoint surely_until(const ToldLease& lease, const std::optional<TimePoint>& ending) {
  return std::min(lease.until - clocks_differ, ending.value_or(never));
}

// Every task of the queue, whole.
Result<std::map<TaskId, Task>> all_of(Store& store, const std::string& queue) {
  std::map<TaskId, Task> found;
  ListRequest request{.queue = QueueRef(queue), .limit = 1000, .detail = Detail::full};
  while (true) {
    auto page = store.list(request);
    if (!page) return std::unexpected(page.error());
    for (Task& task : page->tasks) found.emplace(task.id, std::move(task));
    if (!page->next) return found;
    request.before = page->next;
  }
}

}  // namespace

std::string fault_payload(const TaskId& id) {
  return "work on " + name_of(id);
}

std::string fault_result(const TaskId& id, Token token) {
  return fmt::format("done {} {}", name_of(id), to_text(token));
}

// ---- What clients hear
// ---------------------------------------------------------------------------

void FaultHistory::complain(std::string what) {
  if (complaints_.size() < most_complaints) complaints_.push_back(std::move(what));
}

void FaultHistory::wrong(std::string what) {
  const std::scoped_lock lock(mutex_);
  complain(std::move(what));
  changed_.notify_all();
}

void FaultHistory::put(const TaskId& id, std::size_t server) {
  const std::scoped_lock lock(mutex_);
  tasks_[id].put = true;
  ++figures_.all_put;
  ++figures_.put[server];
  changed_.notify_all();
}

void FaultHistory::taken(const ToldLease& lease) {
  const std::scoped_lock lock(mutex_);
  if (!tokens_.insert(lease.token).second) {
    complain(fmt::format("token {} was given out twice", to_text(lease.token)));
  }
  tasks_[lease.id].leases.push_back({.lease = lease});
}

FaultHistory::Known* FaultHistory::find(const TaskId& id, Token token) {
  for (Known& known : tasks_[id].leases) {
    if (known.lease.token == token) return &known;
  }
  complain(name_of(id) + " is settled by a worker that never took it");
  return nullptr;
}

void FaultHistory::settling(const TaskId& id, Token token, bool done, TimePoint now) {
  const std::scoped_lock lock(mutex_);
  Known* known = find(id, token);
  if (known == nullptr) return;
  if (!known->ending) known->ending = now;
  known->may_be_done = known->may_be_done || done;
}

void FaultHistory::settled(const TaskId& id, Token token, bool done, TimePoint now,
                           std::size_t server) {
  const std::scoped_lock lock(mutex_);
  Known* known = find(id, token);
  if (known == nullptr || !done) return;
  known->done = now;
  ++figures_.all_done;
  ++figures_.done[server];
  changed_.notify_all();
}

void FaultHistory::refused(const TaskId& id, Token token, TimePoint asked) {
  const std::scoped_lock lock(mutex_);
  const Known* known = find(id, token);
  if (known == nullptr || asked >= known->lease.until - clocks_differ) return;
  complain(fmt::format("{} was leased until {} and lost at {}", name_of(id),
                       format_time(known->lease.until), format_time(asked)));
}

// ---- What the test asks
// --------------------------------------------------------------------------

FaultFigures FaultHistory::figures() const {
  const std::scoped_lock lock(mutex_);
  return figures_;
}

bool FaultHistory::comes_to(Duration limit,
                            const std::function<bool(const FaultFigures&)>& that) const {
  std::unique_lock lock(mutex_);
  bool came = false;
  changed_.wait_for(lock, limit, [&] {
    came = that(figures_);
    return came || !complaints_.empty();
  });
  return came && complaints_.empty();
}

std::string FaultHistory::check(Store& store, const std::string& queue, TimePoint now) const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> out = complaints_;
  const auto found = all_of(store, queue);
  if (!found) return found.error().message;
  decltype(QueueCounts::by) recount{};
  for (const auto& [id, task] : *found) {
    ++recount[static_cast<std::size_t>(task.state)][task.priority];
    if (!tasks_.contains(id)) out.push_back(name_of(id) + " is there and was never put");
  }
  for (const auto& [id, tale] : tasks_) {
    check_leases(id, tale, out);
    const auto at = found->find(id);
    if (at != found->end()) {
      check_task(id, tale, at->second, out);
    } else if (tale.put || !tale.leases.empty()) {
      out.push_back(name_of(id) + " was acknowledged and is lost");
    }
  }
  const auto counts = store.counts(QueueRef(queue), now);
  if (!counts) return counts.error().message;
  if (counts->front().by != recount) {
    out.push_back(fmt::format("the counters of {} differ from a recount: {} in all, {} are there",
                              queue, counts->front().total(), found->size()));
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(out.size(), most_complaints); ++i) text += out[i] + "\n";
  if (out.size() > most_complaints) text += fmt::format("… {} in all\n", out.size());
  return text;
}

void FaultHistory::check_leases(const TaskId& id, const Tale& tale, std::vector<std::string>& out) {
  std::size_t completed = 0;
  for (std::size_t i = 0; i < tale.leases.size(); ++i) {
    const Known& one = tale.leases[i];
    completed += one.done ? 1 : 0;
    for (std::size_t j = 0; j < tale.leases.size(); ++j) {
      const Known& other = tale.leases[j];
      const TimePoint both_from = std::max(one.lease.got, other.lease.got);
      const TimePoint both_until =
          std::min(surely_until(one.lease, one.ending), surely_until(other.lease, other.ending));
      if (j > i && both_from < both_until) {
        out.push_back(fmt::format("{} was held by {} and {} from {} to {}", name_of(id),
                                  to_text(one.lease.token), to_text(other.lease.token),
                                  format_time(both_from), format_time(both_until)));
      }
      if (one.done && other.lease.asked > *one.done) {
        out.push_back(name_of(id) + " was completed and then given out");
      }
    }
  }
  if (completed > 1) out.push_back(name_of(id) + " was completed by two");
}

void FaultHistory::check_task(const TaskId& id, const Tale& tale, const Task& task,
                              std::vector<std::string>& out) {
  if (task.payload != fault_payload(id)) out.push_back(name_of(id) + " has another payload");
  if (task.state != TaskState::completed) {
    out.push_back(fmt::format("{} is {}", name_of(id), millrace::name_of(task.state)));
    return;
  }
  bool known = false;
  for (const Known& lease : tale.leases) {
    const bool its = task.result == fault_result(id, lease.lease.token);
    known = known || (its && lease.may_be_done);
    if (lease.done && !its) out.push_back(name_of(id) + " has the result of another worker");
  }
  if (!known) out.push_back(name_of(id) + " is completed and no worker did it");
}

}  // namespace millrace::test
