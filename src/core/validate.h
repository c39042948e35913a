// Refuses what makes no sense before it reaches a store.
//
// The functions change nothing and return the first error: `too_large` where a size or a number of
// things exceeds core/limits.h, `invalid` for everything else. The message names the value, shows
// it (shortened, made printable), and says what is allowed; the error has its field.
#pragma once

#include <millrace/queue.h>
#include <millrace/result.h>
#include <millrace/schedule.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <millrace/work.h>
#include <string_view>

#include "core/check.h"
#include "core/values.h"

namespace millrace {

// A name is 1 to 100 of A-Z a-z 0-9 . _ : -. With `internal_allowed` a `$` may stand in front: such
// names belong to Millrace itself. Stores allow them, the broker refuses them to callers.
Result<void> validate_name(const What& what, std::string_view name, bool internal_allowed);

// For a queue that does not exist yet: a name that cannot be mistaken for a number, an id or a
// path.
Result<void> check_new_queue_name(const What& what, std::string_view name);

// A task to be put at `now`; its id must not be nil. Runs for every put, so the good case is cheap.
// An empty type is allowed (queues with one kind of task have none), and so are internal names.
Result<void> validate(const NewTask& task, TimePoint now);

// A task from another store, to be restored: the fields of a put are within the limits of a put,
// what happened to it within those of extensions and settlements, every moment is in the years 0 to
// 9999, and `finished_at` is set in the final states only. Number, version and lease are not
// checked.
Result<void> validate(const Task& task);

// Settings to be stored. A nil id is allowed (the stored one stays), and so are internal names.
Result<void> validate(const QueueSettings& queue);

// What one group of a queue does differently, to be stored.
Result<void> validate(const PutGroup& change);

// At most max_page groups, and a name that a group may have.
Result<void> validate(const GroupsRequest& request);

// The structure of a schedule. core/tick.h checks the cron text and the zone. Its task needs no id;
// it may have a delay, but no moments of its own (start, start_by), since every tick puts it anew.
// What the store keeps (next, last, counters) is not checked.
Result<void> validate(const Schedule& schedule);

// At least one queue, at least one task from each, at most limits::max_batch together.
Result<void> validate(const TakeRequest& request);
// A refusal of one queue of a take as one of the take: a single queue needs no list.
Result<void> in_take(const TakeRequest& request, std::size_t place, Result<void> checked);

// The store checks whether the token is the right one.
Result<void> validate(const Extension& extension);

// Sizes, the number and total size of follow-ups, and that the event suits the expectation: a
// holder settles done, retry, fail, exhaust, snooze, give_back or cancel; the timer settles lose,
// exhaust or cancel for a lost lease, expire or cancel for a wait. Each follow-up is a put of its
// own: the store passes it through validate(NewTask).
Result<void> validate(const Settlement& settlement);

}  // namespace millrace
