// Proves that the words of the files of SQL (sql/words.cmake) mean what core says.
#include <algorithm>
#include <array>
#include <cstddef>

#include "core/limits.h"
#include "core/transition.h"
#include "store/book/tally.h"
#include "store/postgres/format.h"
#include "store/postgres/keeping.h"
#include "store/postgres/sql.h"

namespace millrace::store_postgres {
namespace {

namespace words = sql::words;

constexpr bool is(int word, TaskState state) {
  return word == static_cast<int>(state);
}

static_assert(is(words::created, TaskState::created));
static_assert(is(words::queued, TaskState::queued));
static_assert(is(words::delayed, TaskState::delayed));
static_assert(is(words::processing, TaskState::processing));
static_assert(is(words::retrying, TaskState::retrying));
static_assert(is(words::completed, TaskState::completed));
static_assert(is(words::failed, TaskState::failed));
static_assert(is(words::dead, TaskState::dead));
static_assert(is(words::cancelled, TaskState::cancelled));

// Whether these are the states of which `wanted` is true, and no others.
template <std::size_t size>
constexpr bool are(const std::array<int, size>& numbers, bool (*wanted)(TaskState)) {
  for (std::size_t state = 0; state < state_count; ++state) {
    const bool is_there = std::ranges::count(numbers, static_cast<int>(state)) == 1;
    if (is_there != wanted(static_cast<TaskState>(state))) return false;
  }
  return std::ranges::all_of(numbers, [](int number) { return number < int{state_count}; });
}

static_assert(are(words::waiting_states, is_waiting));
static_assert(are(words::final_states, is_final));
static_assert(are(words::dead_letter_states, book::is_dead_letter));
static_assert(are(words::live_states, [](TaskState state) { return !is_final(state); }));
static_assert(are(words::ready_states, [](TaskState state) {
  return next_state(state, Event::take) == TaskState::processing;
}));
static_assert(are(words::later_states, [](TaskState state) {
  return next_state(state, Event::become_due) == TaskState::queued;
}));
static_assert(next_state(TaskState::processing, Event::done) == TaskState::completed,
              "done.sql says so");

static_assert(words::own_finished == book::own_finished);
static_assert(words::own_dead == book::own_dead);
static_assert(words::lowest_priority == 0 && words::highest_priority == limits::max_priority);
static_assert(words::highest_priority == int{priority_count} - 1);
static_assert(words::until_started == static_cast<int>(UniqueScope::until_started));
static_assert(words::newest_format == newest_format);
static_assert(words::kept_nowhere == kept_nowhere && words::kept_nowhere < 0);
static_assert(words::row_by_row == row_by_row);
static_assert(words::for_ever == for_ever);

}  // namespace
}  // namespace millrace::store_postgres
