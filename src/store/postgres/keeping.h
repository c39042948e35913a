// How long finished tasks stay, as the tables have it.
#pragma once

#include <millrace/queue.h>
#include <millrace/task.h>
#include <cstdint>
#include <optional>

#include "store/embedded/slot.h"

namespace millrace::store_postgres {

// Where a queue's finished tasks go: nowhere, where they leave one by one, with the table of their
// day after so many days, or to where they stay.
inline constexpr std::int16_t kept_nowhere = -1;
inline constexpr std::int16_t row_by_row = 0;
inline constexpr std::int16_t for_ever = 32767;
std::int16_t class_of(const Keep& keep);

// Where a final task goes and when.
struct Keeping {
  std::int16_t task_class = row_by_row;
  std::optional<TimePoint> goes_at = std::nullopt;
};
// A task that ends now goes to the table of its class and day. One that ended before (it is
// restored, moved, or its notes change) goes where tasks leave one by one.
Keeping keeping_of(const embedded::Slot& slot, const NewTask& given, const QueueSettings& settings,
                   bool ends_now);

}  // namespace millrace::store_postgres
