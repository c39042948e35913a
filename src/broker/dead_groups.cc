#include "broker/dead_groups.h"

#include <fmt/format.h>
#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "broker/local_broker.h"
#include "core/mutex.h"

namespace millrace {
namespace {

constexpr Duration page_patience = std::chrono::seconds(30);
constexpr Duration shortest_rest = std::chrono::seconds(1);
constexpr int rest_for_each = 20;       // times as long as the walk took
constexpr std::size_t most_known = 16;  // filters that are remembered
constexpr std::chrono::milliseconds between_looks(50);

Error walks_are_stopping() {
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

}  // namespace

struct DeadGroups::Walk {
  Wanted wanted = {};
  std::uint64_t total = 0;
  Ask ask = {};
  TimePoint began{};
  DeadWalk walk;
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
    if (waiting.total == 0) {  // also if some were there a moment ago
      lock.unlock();
      return waiting.done(std::make_shared<const FoundGroups>(FoundGroups{.as_of = now}));
    }
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
  if (stopping_) return walks_are_stopping();
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
  for (Waiting& one : refused) one.done(std::unexpected(walks_are_stopping()));
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
  step(WalkPtr(
      new Walk{.wanted = first.wanted,
               .total = first.total,
               .ask = {.caller = broker_.new_caller(), .deadline = later(now, page_patience)},
               .began = now,
               .walk = DeadWalk(dead_, first.wanted.queue, first.wanted.type)}));
}

void DeadGroups::step(WalkPtr walk) {
  const Ask ask = walk->ask;
  DeadWalk& next = walk->walk;
  broker_.read<bool>(
      ask, [&next](Reader& reader, TimePoint) { return next.step(reader); },
      [this, walk = std::move(walk)](const Result<bool>& over) mutable {
        if (!over) return end(std::move(walk), std::unexpected(over.error()));
        if (!*over) return step(std::move(walk));
        FoundGroups& found = walk->walk.found();
        found.total = walk->total;
        found.as_of = broker_.now();
        end(std::move(walk), std::make_shared<const FoundGroups>(std::move(found)));
      },
      ReadCost::walk);
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
