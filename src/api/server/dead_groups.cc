#include "api/server/dead_groups.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "core/clip.h"
#include "core/error_group.h"
#include "core/limits.h"

namespace millrace::api {
namespace {

constexpr Duration patience = std::chrono::seconds(30);
constexpr Duration shortest_rest = std::chrono::seconds(1);
constexpr int rest_for_each = 20;       // of the time that a walk took
constexpr std::size_t most_known = 16;  // filters that are remembered

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
  Broker& broker;
  Wanted wanted = {};
  Ask ask = {};
  TimePoint began{};
  FoundGroups found = {};
  std::optional<TaskNumber> before = std::nullopt;
  std::unordered_map<std::uint64_t, DeadGroup> groups = {};

  void add(const Task& task) {
    // All queues are all but those that are named only.
    if (!wanted.queue && task.queue.starts_with('$')) return;
    std::string pattern = error_pattern(task.error ? task.error->message : "");
    const std::string_view code = task.error ? std::string_view(task.error->code) : "";
    const std::uint64_t key = error_group_of(task.queue, task.type, code, pattern);
    const auto [at, fresh] = groups.try_emplace(key);
    DeadGroup& group = at->second;
    if (fresh) group = group_of(task, key, std::move(pattern));
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

  Known result() {
    for (auto& [key, group] : groups) found.groups.push_back(std::move(group));
    std::ranges::sort(found.groups, comes_first);
    if (found.groups.size() > most_groups) {
      found.more = found.groups.size() - most_groups;
      found.groups.resize(most_groups);
    }
    found.as_of = broker.now();
    const Duration took = found.as_of - began;
    return {.wanted = std::move(wanted),
            .found = std::make_shared<const FoundGroups>(std::move(found)),
            .took = took};
  }
};

void DeadGroups::find(Broker& broker, const Ask& ask, Wanted wanted, Completion<Found> done) {
  // The counters cost next to nothing, and tell whether something has changed.
  const auto queue = wanted.queue;
  broker.queues(ask, queue,
                [this, &broker, wanted = std::move(wanted),
                 done = std::move(done)](Result<std::vector<QueueView>> queues) mutable {
                  if (!queues) return done(std::unexpected(std::move(queues.error())));
                  find(broker, Waiting{.wanted = std::move(wanted),
                                       .total = dead_in(*queues),
                                       .done = std::move(done)});
                });
}

void DeadGroups::find(Broker& broker, Waiting waiting) {
  std::unique_lock lock(mutex_);
  if (const Found found = known(waiting.wanted, waiting.total, broker.now())) {
    lock.unlock();
    return waiting.done(found);
  }
  waiting_.push_back(std::move(waiting));
  if (std::exchange(walking_, true)) return;
  const Waiting first{.wanted = waiting_.front().wanted, .total = waiting_.front().total};
  lock.unlock();
  start(broker, first);
}

// What was found lately. Where something has changed since, after a rest only.
DeadGroups::Found DeadGroups::known(const Wanted& wanted, std::uint64_t total,
                                    TimePoint now) const {
  const auto at = std::ranges::find(known_, wanted, &Known::wanted);
  if (at == known_.end()) return nullptr;
  const Duration rest = std::max(shortest_rest, at->took * rest_for_each);
  const Duration good_for = at->found->total == total ? std::max(fresh, rest) : rest;
  const bool good = now >= at->found->as_of && now - at->found->as_of < good_for;
  return good ? at->found : nullptr;
}

void DeadGroups::start(Broker& broker, const Waiting& first) {
  const TimePoint now = broker.now();
  step(std::make_unique<Walk>(
      Walk{.broker = broker,
           .wanted = first.wanted,
           .ask = {.caller = broker.new_caller(), .deadline = later(now, patience)},
           .began = now,
           .found = {.total = first.total}}));
}

void DeadGroups::step(WalkPtr walk) {
  ListRequest request{.queue = walk->wanted.queue,
                      .states = {TaskState::failed, TaskState::dead},
                      .type = walk->wanted.type,
                      .before = walk->before,
                      .limit = limits::max_page};
  Broker& broker = walk->broker;
  const Ask ask = walk->ask;
  broker.list(ask, std::move(request),
              [this, &broker, walk = std::move(walk)](Result<TaskPage> page) mutable {
                if (!page) {
                  const Wanted wanted = walk->wanted;
                  return end(broker, wanted, std::unexpected(std::move(page.error())));
                }
                for (const Task& task : page->tasks) walk->add(task);
                walk->found.looked_at += page->looked_at;
                walk->before = page->next;
                if (page->next && walk->found.looked_at < most_looked_at) {
                  return step(std::move(walk));
                }
                walk->found.complete = !page->next;
                const Wanted wanted = walk->wanted;
                end(broker, wanted, walk->result());
              });
}

void DeadGroups::end(Broker& broker, const Wanted& wanted, Result<Known> known) {
  std::vector<Waiting> answered;
  std::optional<Waiting> next;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(known_, [&](const Known& one) { return one.wanted == wanted; });
    if (known) known_.push_back(*known);
    if (known_.size() > most_known) known_.pop_front();
    const auto others = std::ranges::stable_partition(
        waiting_, [&](const Waiting& one) { return !(one.wanted == wanted); });
    std::ranges::move(others, std::back_inserter(answered));
    waiting_.erase(others.begin(), others.end());
    walking_ = !waiting_.empty();
    if (walking_) {
      next = Waiting{.wanted = waiting_.front().wanted, .total = waiting_.front().total};
    }
  }
  for (Waiting& one : answered) {
    if (known) {
      one.done(known->found);
    } else {
      one.done(std::unexpected(known.error()));
    }
  }
  if (next) start(broker, *next);
}

}  // namespace millrace::api
