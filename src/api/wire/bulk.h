// Operations on many tasks: what is asked for, how far they came, and what is shown of them. Both
// ways, for the server and for its client. The request is also the payload of the task that does
// it.
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

// {"action":…,"filter":{…},"priority":…,"to":…,"reason":…,"dry_run":…}. Refused where it cannot
// mean anything; whether queues are there is not looked at.
Read<BulkRequest> read_bulk(std::string_view text);
std::string bulk_text(const BulkRequest& request);
// What is said of an error_group that is none.
std::string no_error_group(std::string_view given);
// The same from a task's payload.
Result<BulkRequest> bulk_from(std::string_view payload);

// What is remembered between two pages.
std::string progress_text(const BulkProgress& progress);
Result<BulkProgress> progress_from(std::string_view text);
// {"looked_at":…,"matched":…,"done":…,"refused":…}: the result of the task.
std::string result_text(const BulkProgress& progress);

// From its task and what is remembered of it, if anything is; one that completed has its result.
// `corrupt`: it is no operation.
Result<BulkOperation> operation_of(const Task& task, std::string_view memo);
std::string view_of(const BulkOperation& operation);
// On the client's side; `unavailable` if it cannot be read.
Result<BulkOperation> operation_from(std::string_view text);

// Operations, newest first.
struct BulkPage {
  std::vector<BulkOperation> operations = {};
  std::optional<TaskNumber> next = std::nullopt;  // ask for `before = next`
};
std::string page_of(const BulkPage& page);
Result<BulkPage> bulk_page_from(std::string_view text);

}  // namespace millrace::wire
