// Operations on many tasks: requests, progress and views. Both ways, for the server and for its
// client. The request is also the payload of the task that runs the operation.
#pragma once

#include <millrace/result.h>
#include <millrace/task.h>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/wire/input.h"
#include "core/bulk.h"

namespace millrace::wire {

// {"action":…,"filter":{…},"priority":…,"to":…,"reason":…,"dry_run":…}. Refuses contradictions;
// does not check whether queues exist.
Read<BulkRequest> read_bulk(std::string_view text);
std::string bulk_text(const BulkRequest& request);
// Refuses a priority, a queue to move to and a reason that do not belong to the action, and an
// action without what it needs of them.
void check_words(const BulkRequest& request, Input& in);
// The message for a name that is not an error group.
std::string no_error_group(std::string_view given);
// The same from a task's payload.
Result<BulkRequest> bulk_from(std::string_view payload);

// The progress that is stored between two pages.
std::string progress_text(const BulkProgress& progress);
Result<BulkProgress> progress_from(std::string_view text);
// {"looked_at":…,"matched":…,"done":…,"refused":…}: the result of the task.
std::string result_text(const BulkProgress& progress);

// From the task and its stored progress, if there is any; a completed operation has its result.
// `corrupt`: the task is not an operation.
Result<BulkOperation> operation_of(const Task& task, std::string_view memo);
std::string view_of(const BulkOperation& operation);
// In the client; `unavailable` if the answer cannot be read.
Result<BulkOperation> operation_from(std::string_view text);

// Operations, newest first.
struct BulkPage {
  std::vector<BulkOperation> operations = {};
  std::optional<TaskNumber> next = std::nullopt;  // ask for `before = next`
};
std::string page_of(const BulkPage& page);
Result<BulkPage> bulk_page_from(std::string_view text);

}  // namespace millrace::wire
