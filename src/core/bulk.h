// Operations on many tasks by filter: the request, the tasks it matches, its progress.
//
// worker/bulk_walk.h walks the tasks; broker/local_bulk.cc acts on them.
#pragma once

#include <millrace/ids.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

// The queue whose tasks are such operations; memos of the same name hold their progress.
inline constexpr std::string_view bulk_queue = "$bulk";
inline constexpr std::string_view bulk_memos = "$bulk/";
// Why a running operation was cancelled, until it has stopped.
inline constexpr std::string_view bulk_reasons = "$bulk/why/";
// How long finished operations and their progress are kept.
inline constexpr Duration bulk_kept_for = std::chrono::hours(24 * 7);
inline constexpr std::uint32_t bulk_kept = 1000;

enum class BulkAction : std::uint8_t { cancel = 0, retry = 1, remove = 2, priority = 3, move = 4 };
inline constexpr std::size_t bulk_action_count = 5;

constexpr std::string_view name_of(BulkAction action) {
  constexpr std::string_view names[] = {"cancel", "retry", "remove", "priority", "move"};
  const auto number = static_cast<std::size_t>(action);
  return number < bulk_action_count ? names[number] : "unknown";
}

// A task must match every field that is given.
struct BulkFilter {
  std::optional<QueueRef> queue = std::nullopt;  // nullopt: all but the internal ones
  std::vector<TaskState> states = {};            // empty: see states_of()
  std::optional<std::string> type = std::nullopt;
  std::optional<std::string> client_id = std::nullopt;
  std::optional<std::string> group = std::nullopt;
  std::optional<std::string> tag = std::nullopt;
  std::optional<std::uint8_t> priority = std::nullopt;
  std::optional<TimePoint> created_from = std::nullopt;   // inclusive
  std::optional<TimePoint> created_until = std::nullopt;  // exclusive
  std::optional<std::string> error_code = std::nullopt;
  std::optional<std::string> text = std::nullopt;         // anywhere in the task; core/task_text.h
  std::optional<std::string> error_group = std::nullopt;  // a name of core/error_group.h

  friend bool operator==(const BulkFilter&, const BulkFilter&) = default;
};

struct BulkRequest {
  TaskId id = {};  // of the operation; nil: one is made
  BulkAction action = BulkAction::cancel;
  BulkFilter filter = {};
  std::optional<std::uint8_t> priority = std::nullopt;  // of BulkAction::priority
  std::optional<QueueRef> to = std::nullopt;            // of BulkAction::move
  std::string reason = {};                              // of BulkAction::cancel
  bool dry_run = false;                                 // looks and counts only

  friend bool operator==(const BulkRequest&, const BulkRequest&) = default;
};

// Whether the action is possible on tasks in this state.
bool applies(BulkAction action, TaskState state);

// The states that are looked at: those named or, if none is named, all that the action applies to.
// Without named states a retry takes dead letters only.
std::vector<TaskState> states_of(const BulkRequest& request);

// Whether a named queue may be worked on: of internal ones only `$webhooks` and `$alerts`, whose
// tasks may be retried and removed.
bool may_touch(BulkAction action, std::string_view queue);

// Whether the request is about this task. Tasks of internal queues match only if the filter names
// their queue. Tasks that already are as requested (in the target queue, with the new priority) do
// not match. REQUIRES: queues of the request are names.
bool fits(const BulkRequest& request, const Task& task);

// A task as the walk saw it.
struct BulkSeen {
  TaskId id = {};
  Version version = {};
  std::optional<TimePoint> finished_at = std::nullopt;

  friend bool operator==(const BulkSeen&, const BulkSeen&) = default;
};

// The progress of an operation. Stored before each page is acted on, so that a worker that
// continues after a crash knows what may have been done already.
struct BulkProgress {
  std::uint64_t about = 0;  // how many tasks there were to look at
  std::uint64_t looked_at = 0;
  std::uint64_t matched = 0;
  std::uint64_t done = 0;
  std::uint64_t refused = 0;
  std::string refusal = {};                         // why the first one was refused
  std::optional<TaskNumber> before = std::nullopt;  // where the walk goes on; nullopt: it is over
  std::vector<BulkSeen> pending = {};               // being acted on; matched, but not yet counted

  friend bool operator==(const BulkProgress&, const BulkProgress&) = default;
};

// An operation as the API shows it.
struct BulkOperation {
  TaskId id = {};
  BulkRequest request = {};
  TaskState state = TaskState::queued;  // of its task
  bool cancel_requested = false;
  BulkProgress progress = {};
  TimePoint created_at{};
  std::optional<TimePoint> started_at = std::nullopt;
  std::optional<TimePoint> finished_at = std::nullopt;
  std::optional<TaskError> error = std::nullopt;
};

// A part of a page, to be acted on.
struct BulkBatch {
  BulkRequest request = {};
  std::vector<BulkSeen> tasks = {};
  // Tasks that ended again since they were seen are refused even if they still match: this
  // operation itself may have given them their new life. Other changes, such as the note of a
  // delivered webhook, do not matter.
  bool not_twice = false;
};

}  // namespace millrace
