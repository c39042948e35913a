#include "store/postgres/keeping.h"

#include <algorithm>

#include "core/own_keep.h"
#include "core/transition.h"
#include "store/book/tally.h"

namespace millrace::store_postgres {
namespace {

constexpr Duration a_day = std::chrono::days(1);

}  // namespace

std::int16_t class_of(const Keep& keep) {
  if (keep.last == 0U || keep.for_time == Duration::zero()) return kept_nowhere;
  if (!keep.for_time) return for_ever;
  if (*keep.for_time < a_day) return row_by_row;
  const auto days = (*keep.for_time + a_day - Duration(1)) / a_day;
  return static_cast<std::int16_t>(std::min<Duration::rep>(days, for_ever - 1));
}

Keeping keeping_of(const embedded::Slot& slot, const NewTask& given, const QueueSettings& settings,
                   bool ends_now) {
  if (!is_final(slot.state)) return {};
  if (const auto own = own_keep(given, slot.state)) {
    return {.task_class = row_by_row, .goes_at = later(slot.moment, *own)};
  }
  const Keep& keep =
      book::is_dead_letter(slot.state) ? settings.keep_dead : settings.keep_completed;
  // One that nothing keeps is here only to tell those that wait for it.
  if (ends_now) return {.task_class = std::max(class_of(keep), row_by_row)};
  if (!keep.for_time || *keep.for_time < a_day) return {};
  return {.task_class = row_by_row, .goes_at = later(slot.moment, *keep.for_time)};
}

}  // namespace millrace::store_postgres
