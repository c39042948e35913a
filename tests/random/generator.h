// Makes random sequences: mostly sensible calls, sometimes invalid ones, on few names, so that
// calls affect each other. It runs what it makes on a ModelStore to know what is worth doing next.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/random/dice.h"
#include "tests/random/operation.h"
#include "tests/random/side.h"

namespace millrace::test {

// What the stores can do that not every store can.
struct Abilities {
  bool graphs = false;  // tasks may wait for others, and puts may be all or none
  bool groups = false;  // queues may have rules for groups, and rates of cost
};
Abilities abilities_of(const Traits& traits);

// The same seed and length, the same sequence.
Sequence generate(std::uint64_t seed, std::size_t length, Abilities can = {});

inline constexpr std::uint32_t queue_count = 4;
inline constexpr std::array<const char*, queue_count> queue_names = {"mail", "bulk", "slow",
                                                                     "misc"};

class Generator {
 public:
  explicit Generator(std::uint64_t seed, Abilities can = {});

  Sequence run(std::size_t length);

 private:
  bool lonely() const { return crowd_ < 10; }
  void pass_time();
  std::vector<TimePoint> coming_moments();
  void look_around();
  Call next();
  Call next_operation();
  Call next_named();

  // Tasks.
  NewTask new_task();
  void add_conflict(NewTask& task);
  void add_moments(NewTask& task);
  void add_policy(NewTask& task);
  void add_parents(NewTask& task);
  void add_labels(NewTask& task);
  std::string odd_text();
  std::string checkpoint();
  std::string bytes();
  std::vector<NewTask> follow_ups(std::uint32_t percent);
  PutStep put();
  PutAllStep put_all();

  // Working.
  WorkStep work();
  SettlePart settle_part();
  SettlePart held_part(const TaskId& id);
  SettlePart lost_part(const TaskId& id);
  SettlePart expired_part();
  Outcome outcome();
  TokenPick token_pick();
  ExtendPart extend_part();
  TakeRequest take();

  // Operating.
  ListStep list();
  CancelStep cancel();
  TaskUpdate update();
  RestoreStep restore();
  Task old_task();

  // Things with a name.
  PutQueueStep put_queue(std::uint32_t queue);
  PutScheduleStep put_schedule();
  QueueSettings settings(std::uint32_t queue);
  void add_limits(QueueSettings& settings);
  Rate rate();
  GroupRules group_rules();
  std::string some_group();
  PutGroupStep put_group();
  GroupOverride group_override();
  GroupsStep groups();
  Keep keep();
  Schedule schedule();
  FireStep fire();
  RememberStep remember();

  // Making something invalid.
  RetryRules bad_rules();
  Callback bad_callback();
  UniqueKey bad_key();
  TaskError bad_error();
  void spoil(NewTask& task);
  void spoil(SettlePart& part);
  void spoil(TakeRequest& request);
  void spoil(QueueSettings& settings);
  void spoil(GroupRules& rules);
  void spoil(PutGroup& change);
  void spoil(Schedule& schedule);

  // Picking.
  QueueRef some_queue();
  TaskId some_task();
  TaskId task_in(bool (*wanted)(TaskState));
  std::vector<TaskId> some_tasks(bool (*wanted)(TaskState));
  // Up to `usual`; sometimes at or just outside the edge of what is allowed.
  std::uint32_t some_limit(std::uint32_t usual, std::uint32_t most);
  Duration soon();  // from nothing to a few minutes, short ones more often
  QueueSettings settings_of(const std::string& queue);

  Dice dice_;
  const Abilities can_;
  // Most sequences are small, so that calls affect each other; a few have crowds of tasks.
  std::uint32_t scale_ = 1;
  std::size_t crowd_ = 0;  // above it fewer are put: few tasks have longer lives
  Side model_;
  TimePoint now_;
  std::uint32_t last_task_ = 0;
  std::vector<TaskId> leased_;  // every task that was ever taken
  std::vector<Task> tasks_;     // the tasks at the last look
  std::vector<Queue> queues_;
  std::vector<Schedule> schedules_;
};

}  // namespace millrace::test
