// One step of a random sequence, as plain data.
//
// Tasks are named by their ids, which the generator gives out, so a step keeps its meaning when the
// steps before it are dropped. Values that only a store can give (tokens, numbers, versions) are
// named by their role ("the latest token of that task"); each side fills in its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/values.h"

namespace millrace::test {

enum class TokenPick : std::uint8_t {
  latest = 0,   // of the last lease this store gave for the task
  earlier = 1,  // of the lease before it
  garbage = 2,  // one that was never given out
  nil = 3,
};

enum class ExpectKind : std::uint8_t { held = 0, lost = 1, unchanged = 2 };

struct SettlePart {
  Settlement settlement;  // all but the expectation
  ExpectKind kind = ExpectKind::held;
  TokenPick token = TokenPick::latest;
  Duration until_skew{};          // lost: distance from the last known end
  std::int32_t version_skew = 0;  // unchanged: distance from the version the task has
};

struct ExtendPart {
  Extension extension;  // all but the token
  TokenPick token = TokenPick::latest;
};

struct PutStep {
  std::vector<NewTask> tasks;
};
// All of the tasks or none.
struct PutAllStep {
  std::vector<NewTask> tasks;
};
struct WorkStep {
  std::vector<SettlePart> settlements;
  std::vector<ExtendPart> extensions;
  std::vector<TakeRequest> takes;
};
// Asks what is overdue and remembers the answer.
struct DueStep {
  std::size_t limit = 100;
};
// Settles the first `most` entries of the last answer to DueStep, as the broker would: leases as
// lost, waiting tasks as expired. They may have changed by now.
struct SettleDueStep {
  std::size_t most = 100;
  bool exhaust = false;  // give lost tasks up instead of queueing them again
};
// Advances until nothing is left to do, `limit` tasks per call.
struct AdvanceStep {
  std::size_t limit = 100;
};
struct FindStep {
  TaskId id;
  bool by_number = false;
};
// Walks all pages.
struct ListStep {
  ListRequest request;
  std::optional<TaskId> before = std::nullopt;  // starts after this task
};
struct CountsStep {
  std::optional<QueueRef> queue;
};
struct CancelStep {
  std::vector<CancelRequest> requests;
};
struct RetryStep {
  std::vector<TaskId> tasks;
};
struct RemoveStep {
  std::vector<TaskId> tasks;
};
struct UpdateStep {
  std::vector<TaskUpdate> updates;
};
struct RestoreStep {
  std::vector<Task> tasks;
};
struct PutQueueStep {
  QueueSettings settings;
  PutQueue mode = PutQueue::replace;
};
struct QueuesStep {
  std::optional<QueueRef> queue;
};
struct RemoveQueueStep {
  QueueRef queue;
  bool force = false;
};
struct ClearStep {
  QueueRef queue;
  std::size_t limit = 10;
};
struct PutGroupStep {
  PutGroup change;
};
// One group, or all pages of a list.
struct GroupsStep {
  GroupsRequest request;
};
struct PutScheduleStep {
  Schedule schedule;
  PutSchedule mode = PutSchedule::replace;
};
struct RemoveScheduleStep {
  std::string name;
};
struct SchedulesStep {
  std::optional<std::string> name;
};
struct FireStep {
  Fire tick;
};

enum class VersionPick : std::uint8_t {
  any = 0,      // no expectation
  none = 1,     // expected 0
  current = 2,  // the last known version
  stale = 3,    // the one before it
};
struct RememberStep {
  Remember request;  // all but the expected version
  VersionPick expected = VersionPick::any;
};
struct RecallStep {
  Recall request;
};
struct WaitStep {};
// Reads everything that can be seen; groups only of stores that have them.
struct LookStep {
  bool groups = false;
};

using Call = std::variant<PutStep, PutAllStep, WorkStep, DueStep, SettleDueStep, AdvanceStep,
                          FindStep, ListStep, CountsStep, CancelStep, RetryStep, RemoveStep,
                          UpdateStep, RestoreStep, PutQueueStep, QueuesStep, RemoveQueueStep,
                          ClearStep, PutGroupStep, GroupsStep, PutScheduleStep, RemoveScheduleStep,
                          SchedulesStep, FireStep, RememberStep, RecallStep, WaitStep, LookStep>;

struct Operation {
  TimePoint now{};
  Call call;
};

using Sequence = std::vector<Operation>;

}  // namespace millrace::test
