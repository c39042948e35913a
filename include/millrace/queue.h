// A queue's settings and its counters.
#pragma once

#include <millrace/ids.h>
#include <millrace/retry.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace millrace {

// Never more than `max` in any interval of length `per`.
struct Rate {
  std::uint32_t max = 1;
  Duration per = std::chrono::seconds(1);

  friend bool operator==(const Rate&, const Rate&) = default;
};

// What one type of task does differently from its queue.
struct TypePolicy {
  std::string type = {};
  RetryRules retry = {};
  std::optional<Duration> timeout = std::nullopt;
  std::optional<std::uint32_t> max_lost = std::nullopt;
  std::optional<Keep> keep_completed = std::nullopt;
  std::optional<Keep> keep_dead = std::nullopt;

  friend bool operator==(const TypePolicy&, const TypePolicy&) = default;
};

// What a rate of processing counts: the tasks that are taken, or their cost.
enum class RateOf : std::uint8_t { tasks = 0, cost = 1 };

// Which group of a queue is next.
enum class GroupOrder : std::uint8_t {
  arrival = 0,  // that of the task that is next in the queue
  fair = 1,     // groups have turns, as many as their weights say
  serial = 2,   // as arrival, but one task of a group at a time, none before the one put earlier
};

// Limits and order of each group: of the tasks of a queue with the same `group`.
struct GroupRules {
  GroupOrder order = GroupOrder::arrival;
  std::optional<std::uint32_t> max_concurrent = std::nullopt;
  std::optional<Rate> process_rate = std::nullopt;
  RateOf rate_of = RateOf::tasks;
  std::optional<std::uint64_t> max_depth = std::nullopt;
  std::uint32_t weight = 1;
  bool retry_holds = true;  // serial: a task that has begun and not ended holds up its group

  friend bool operator==(const GroupRules&, const GroupRules&) = default;
};

// What one group does differently.
struct GroupOverride {
  std::optional<std::uint32_t> max_concurrent = std::nullopt;
  std::optional<Rate> process_rate = std::nullopt;
  std::optional<std::uint64_t> max_depth = std::nullopt;
  std::optional<std::uint32_t> weight = std::nullopt;
  std::optional<TimePoint> paused_until = std::nullopt;  // `never`: for ever
  std::optional<TimePoint> until = std::nullopt;         // when all of this ends; nullopt: never

  friend bool operator==(const GroupOverride&, const GroupOverride&) = default;
};

struct QueueSettings {
  // Identity.
  std::string name = {};
  std::optional<QueueNumber> number = std::nullopt;
  Uuid id = {};  // made by the broker when the queue is created; nil keeps the stored one
  std::string description = {};

  // What goes in and out.
  bool active = true;                                    // false refuses puts and takes
  bool draining = false;                                 // refuses puts until the queue is empty
  std::optional<TimePoint> paused_until = std::nullopt;  // stops takes; `never`: for ever
  std::optional<std::uint32_t> max_concurrent = std::nullopt;
  std::optional<std::uint64_t> max_depth = std::nullopt;
  std::optional<Rate> put_rate = std::nullopt;
  std::optional<Rate> process_rate = std::nullopt;
  RateOf rate_of = RateOf::tasks;                             // what process_rate counts
  std::optional<std::uint32_t> max_task_size = std::nullopt;  // bytes; nullopt: 1 MiB
  std::optional<GroupRules> groups = std::nullopt;

  // Order.
  std::uint8_t priority = default_priority;            // among queues
  std::optional<std::uint32_t> weight = std::nullopt;  // default: 1 + priority
  std::optional<Duration> ageing =
      std::nullopt;  // raises the priority by one per this long of waiting

  // A run.
  Duration lease = std::chrono::seconds(60);
  std::optional<Duration> timeout = std::nullopt;
  std::uint32_t batch_size = 10;

  // Failure.
  std::optional<std::uint32_t> max_lost = std::nullopt;  // default 3; unlimited with retries
  RetryRules retry = {};
  std::vector<TypePolicy> types = {};
  bool dead_letters = true;  // false: a task is retried until its handler ends it
  // Where a task that ends failed or dead puts another one, with what became of it; empty: nowhere.
  std::string dead_letter_queue = {};

  // Retention.
  Keep keep_completed = {.for_time = std::chrono::hours(24), .last = 100'000};
  Keep keep_dead = {.for_time = std::chrono::hours(24 * 30), .last = 100'000};

  friend bool operator==(const QueueSettings&, const QueueSettings&) = default;
};

constexpr std::uint32_t weight_of(const QueueSettings& queue) {
  return queue.weight.value_or(1U + queue.priority);
}

struct Queue {
  QueueSettings settings = {};
  TimePoint created_at{};
  TimePoint updated_at{};
  bool removing = false;  // being emptied by a forced removal; refuses puts and takes

  friend bool operator==(const Queue&, const Queue&) = default;
};

struct QueueCounts {
  std::string queue = {};
  std::optional<QueueNumber> number = std::nullopt;
  std::array<std::array<std::uint64_t, priority_count>, state_count> by{};  // [state][priority]
  std::optional<TimePoint> oldest =
      std::nullopt;  // ready moment of the task that has been takeable for longest

  std::uint64_t of(TaskState state) const {
    std::uint64_t sum = 0;
    for (auto count : by[static_cast<std::size_t>(state)]) sum += count;
    return sum;
  }
  // Totals over all priorities, as the API and the console show them.
  std::uint64_t ready() const { return of(TaskState::queued); }
  std::uint64_t taken() const { return of(TaskState::processing); }
  std::uint64_t later() const { return of(TaskState::delayed) + of(TaskState::retrying); }
  std::uint64_t waiting() const { return of(TaskState::created) + ready() + later(); }
  std::uint64_t total() const {
    std::uint64_t sum = 0;
    for (std::size_t state = 0; state < state_count; ++state) sum += of(TaskState(state));
    return sum;
  }

  friend bool operator==(const QueueCounts&, const QueueCounts&) = default;
};

}  // namespace millrace
