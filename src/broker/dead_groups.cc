#include "broker/dead_groups.h"

#include <fmt/format.h>
#include <algorithm>
#include <functional>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "core/clip.h"
#include "core/error_group.h"
#include "core/limits.h"
#include "core/mutex.h"

namespace millrace {
namespace {

constexpr Duration patience = std::chrono::seconds(30);
constexpr Duration shortest_rest = std::chrono::seconds(1);
constexpr int rest_for_each = 20;       // times as long as the walk took
constexpr std::size_t most_known = 16;  // filters that are remembered
constexpr std::chrono::milliseconds between_looks(50);

Error stopping() {
  return {ErrorCode::unavailable, "the server is stopping"};
}

Error busy(std::string_view why, std::optional<Duration> wait) {
  Error error{ErrorCode::unavailable, fmt::format("{}; ask again later", why)};
  error.retry_after = wait;
  return error;
}

std::uint64_t dead_in(const std::vector<QueueView>& queues) {
  std::uint64_t sum = 0;
  for (const QueueView& view : queues) {
    sum += view.counts.of(TaskState::failed) + view.counts.of(TaskState::dead);
  }
  return sum;
}

TimePoint failed_at(const Task& task) {
  if (task.error && task.error->failed_at != TimePoint{}) return task.error->failed_at;
  return task.finished_at.value_or(task.updated_at);
}

DeadGroup group_of(const Task& task, std::uint64_t key, std::string pattern) {
  return {.key = error_group_name(key),
          .queue = task.queue,
          .type = task.type,
          .code = task.error ? task.error->code : std::string(),
          .message = std::move(pattern),
          .first_at = failed_at(task),
          .last_at = failed_at(task)};
}

// Larger first, then those that grew last.
bool comes_first(const DeadGroup& a, const DeadGroup& b) {
  if (a.count != b.count) return a.count > b.count;
  if (a.last_at != b.last_at) return a.last_at > b.last_at;
  return a.key < b.key;
}

}  // namespace

struct DeadGroups::Walk {
  Wanted wanted = {};
  Ask ask = {};
  TimePoint began{};
  FoundGroups found = {};
  std::optional<TaskNumber> before = std::nullopt;
  std::unordered_map<std::uint64_t, DeadGroup> groups = {};

  void add(const Task& task) {
    // "All queues" means all but the internal ones, which must be named.
    if (!wanted.queue && task.queue.starts_with('$')) return;
    std::string pattern = error_pattern(task.error ? task.error->message : "");
    const std::string_view code = task.error ? std::string_view(task.error->code) : "";
    const std::uint64_t key = error_group_of(task.queue, task.type, code, pattern);
    const auto [at, is_new] = groups.try_emplace(key);
    DeadGroup& group = at->second;
    if (is_new) group = group_of(task, key, std::move(pattern));
    ++group.count;
    const TimePoint when = failed_at(task);
    group.first_at = std::min(group.first_at, when);
    group.last_at = std::max(group.last_at, when);
    if (group.samples.size() == most_samples) return;
    group.samples.push_back(
        {.id = task.id,
         .number = task.number,
         .message = clip(task.error ? task.error->message : std::string(), most_message),
         .failed_at = when});
  }

  Found result(TimePoint now) {
    for (auto& [key, group] : groups) found.groups.push_back(std::move(group));
    std::ranges::sort(found.groups, comes_first);
    if (found.groups.size() > most_groups) {
      found.more = found.groups.size() - most_groups;
      found.groups.resize(most_groups);
    }
    found.as_of = now;
    return std::make_shared<const FoundGroups>(std::move(found));
  }
};

// ---- Asking ------------------------------------------------------------------------------------

void DeadGroups::find(const Ask& ask, Wanted wanted, Completion<Found> done) {
  // The counters cost next to nothing, and show whether something has changed.
  const auto queue = wanted.queue;
  Waiting waiting{.wanted = std::move(wanted),
                  .caller = ask.caller,
                  .deadline = ask.deadline,
                  .done = std::move(done)};
  broker_.queues(
      ask, queue,
      [this, waiting = std::move(waiting)](const Result<std::vector<QueueView>>& queues) mutable {
        if (!queues) return waiting.done(std::unexpected(queues.error()));
        waiting.total = dead_in(*queues);
        find(std::move(waiting));
      });
}

void DeadGroups::find(Waiting waiting) {
  {
    Lock lock(mutex_);
    const TimePoint now = broker_.now();
    if (const Found found = known(waiting.wanted, waiting.total, now)) {
      lock.unlock();
      return waiting.done(found);
    }
    if (auto refused = refusal(waiting, now)) {
      lock.unlock();
      return waiting.done(std::unexpected(std::move(*refused)));
    }
    waiting_.push_back(std::move(waiting));
    if (keep_time_ && !thread_.joinable()) thread_ = std::thread([this] { keep_time(); });
  }
  changed_.notify_all();
  go_on();
}

// What was found lately. If something has changed since, only until the rest after its walk ends.
DeadGroups::Found DeadGroups::known(const Wanted& wanted, std::uint64_t total,
                                    TimePoint now) const {
  const auto at = std::ranges::find(known_, wanted, &Known::wanted);
  if (at == known_.end()) return nullptr;
  const Duration rest = std::max(shortest_rest, at->took * rest_for_each);
  const Duration good_for = at->found->total == total ? std::max(fresh, rest) : rest;
  const bool good = now >= at->found->as_of && now - at->found->as_of < good_for;
  return good ? at->found : nullptr;
}

std::optional<Error> DeadGroups::refusal(const Waiting& waiting, TimePoint now) const {
  if (stopping_) return stopping();
  const Duration rest = rest_left(now);
  if (waiting.deadline != never && now + rest >= waiting.deadline) {
    return busy("dead letters were counted a moment ago, which took long", rest);
  }
  std::vector<const Wanted*> different;
  for (const Waiting& one : waiting_) {
    if (one.wanted == waiting.wanted) return std::nullopt;
    const auto same = [&](const Wanted* other) { return *other == one.wanted; };
    if (std::ranges::none_of(different, same)) different.push_back(&one.wanted);
  }
  if (different.size() < most_wanted) return std::nullopt;
  return busy("too many callers wait for groups of other queues and types",
              std::max(rest, shortest_rest));
}

Duration DeadGroups::rest_left(TimePoint now) const {
  const bool rests = now >= rests_since_ && now - rests_since_ < rest_;
  return rests ? rest_ - (now - rests_since_) : Duration::zero();
}

// ---- Waiting -----------------------------------------------------------------------------------

// In the order in which they came.
template <class Test>
std::vector<DeadGroups::Waiting> DeadGroups::taken_out(Test test) {
  std::vector<Waiting> out;
  const auto found = std::ranges::stable_partition(waiting_, std::not_fn(test));
  std::ranges::move(found, std::back_inserter(out));
  waiting_.erase(found.begin(), found.end());
  return out;
}

void DeadGroups::tick() {
  go_on();
}

// Their answers are dropped, outside the lock.
void DeadGroups::leave(CallerId caller) {
  std::vector<Waiting> gone;
  const Lock lock(mutex_);
  gone = taken_out([&](const Waiting& one) { return one.caller == caller; });
}

void DeadGroups::stop() {
  std::vector<Waiting> refused;
  std::thread thread;
  {
    const Lock lock(mutex_);
    stopping_ = true;
    refused = taken_out([&](const Waiting& one) REQUIRES(mutex_) { return one.wanted != walked_; });
    thread = std::move(thread_);
  }
  changed_.notify_all();
  if (thread.joinable()) thread.join();
  for (Waiting& one : refused) one.done(std::unexpected(stopping()));
}

std::size_t DeadGroups::waiting() {
  const Lock lock(mutex_);
  return waiting_.size();
}

void DeadGroups::keep_time() {
  Lock lock(mutex_);
  while (!stopping_) {
    // There is nothing to do until a caller comes.
    changed_.wait(mutex_, [this]() REQUIRES(mutex_) { return stopping_ || !waiting_.empty(); });
    if (changed_.wait_for(mutex_, between_looks, [this]() REQUIRES(mutex_) { return stopping_; }))
      return;
    lock.unlock();
    tick();
    lock.lock();
  }
}

// ---- Walking -----------------------------------------------------------------------------------

// Starts the next walk, if a caller waits for one and there is time for it.
void DeadGroups::go_on() {
  std::vector<Waiting> late;
  std::optional<Waiting> next;
  {
    const Lock lock(mutex_);
    const TimePoint now = broker_.now();
    late = taken_out([&](const Waiting& one) { return one.deadline <= now; });
    const bool may = !walked_ && !stopping_ && rest_left(now) == Duration::zero();
    if (may && !waiting_.empty()) {
      const Waiting& first = waiting_.front();
      next = Waiting{.wanted = first.wanted, .total = first.total};
      walked_ = first.wanted;
    }
  }
  for (Waiting& one : late) {
    one.done(
        std::unexpected(busy("other groups were counted until the deadline of the request", {})));
  }
  if (next) start(*next);
}

void DeadGroups::start(const Waiting& first) {
  const TimePoint now = broker_.now();
  step(std::make_unique<Walk>(
      Walk{.wanted = first.wanted,
           .ask = {.caller = broker_.new_caller(), .deadline = later(now, patience)},
           .began = now,
           .found = {.total = first.total}}));
}

void DeadGroups::step(WalkPtr walk) {
  ListRequest request{.queue = walk->wanted.queue,
                      .states = {TaskState::failed, TaskState::dead},
                      .type = walk->wanted.type,
                      .before = walk->before,
                      .limit = limits::max_page};
  const Ask ask = walk->ask;
  broker_.list(ask, std::move(request),
               [this, walk = std::move(walk)](Result<TaskPage> page) mutable {
                 if (!page) {
                   return end(std::move(walk), std::unexpected(std::move(page.error())));
                 }
                 for (const Task& task : page->tasks) walk->add(task);
                 walk->found.looked_at += page->looked_at;
                 walk->before = page->next;
                 if (page->next && walk->found.looked_at < most_looked_at) {
                   return step(std::move(walk));
                 }
                 walk->found.complete = !page->next;
                 Found found = walk->result(broker_.now());
                 end(std::move(walk), std::move(found));
               });
}

void DeadGroups::end(WalkPtr walk, Result<Found> found) {
  const Wanted wanted = walk->wanted;
  std::vector<Waiting> answered;
  {
    const Lock lock(mutex_);
    const TimePoint now = broker_.now();
    const Duration took = std::max(now - walk->began, Duration::zero());
    rests_since_ = now;
    rest_ = took * rest_for_each;
    walked_.reset();
    std::erase_if(known_, [&](const Known& one) { return one.wanted == wanted; });
    if (found) known_.push_back({.wanted = wanted, .found = *found, .took = took});
    if (known_.size() > most_known) known_.pop_front();
    answered = taken_out([&](const Waiting& one) { return one.wanted == wanted; });
  }
  for (Waiting& one : answered) one.done(found);
  go_on();
}

}  // namespace millrace
