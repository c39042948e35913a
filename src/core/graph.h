// Tasks of one put that wait for each other.
#pragma once

#include <millrace/result.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace millrace {

// For each task, the places of those that it waits for. A cycle among them, as places, each waiting
// for the next and the last for the first; empty: there is none.
std::vector<std::size_t> find_cycle(std::span<const std::vector<std::size_t>> waits_for);

// Tasks of a put that is all or none, as far as they can be judged without a store: each is valid,
// no id is there twice, together they are not too large, and they do not wait for each other in a
// cycle. An error says in its field which of the tasks it is about.
Result<void> validate_all(std::span<const NewTask> tasks, TimePoint now);

// The refusal of a cycle; `names` are those of its tasks.
std::unexpected<Error> cycle_refused(const std::vector<std::size_t>& cycle,
                                     const std::vector<std::string>& names);

}  // namespace millrace
