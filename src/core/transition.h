// The life of a task: where each event leads from each state. Stores persist what this table says
// and decide nothing themselves. docs/states.md shows the same table; a test compares the two.
#pragma once

#include <millrace/task.h>
#include <millrace/time.h>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <string_view>

#include "core/ensure.h"

namespace millrace {

namespace detail {

// One cell of the table. `unstated` is what a forgotten cell becomes, and does not compile; `none`
// says that the event cannot happen in the state.
enum class Cell : std::uint8_t {
  unstated = 0,
  none,
  created,
  queued,
  delayed,
  processing,
  retrying,
  completed,
  failed,
  dead,
  cancelled,
};

// [event][state]
using StateTable = std::array<std::array<Cell, state_count>, event_count>;

constexpr StateTable make_state_table() {
  constexpr Cell no = Cell::none;
  constexpr Cell hold = Cell::created;
  constexpr Cell queue = Cell::queued;
  constexpr Cell delay = Cell::delayed;
  constexpr Cell run = Cell::processing;
  constexpr Cell retry = Cell::retrying;
  constexpr Cell done = Cell::completed;
  constexpr Cell fail = Cell::failed;
  constexpr Cell dead = Cell::dead;
  constexpr Cell cancel = Cell::cancelled;
  // clang-format off
  return {{
    // from          created queued  delayed processing retrying completed failed dead  cancelled
    /*release*/    {{queue,  no,     no,     no,        no,      no,       no,    no,    no}},
    /*become_due*/ {{no,     no,     queue,  no,        queue,   no,       no,    no,    no}},
    /*take*/       {{no,     run,    run,    no,        run,     no,       no,    no,    no}},
    /*done*/       {{no,     no,     no,     done,      no,      no,       no,    no,    no}},
    /*retry*/      {{no,     no,     no,     retry,     no,      no,       no,    no,    no}},
    /*fail*/       {{no,     no,     no,     fail,      no,      no,       no,    no,    no}},
    /*exhaust*/    {{no,     no,     no,     dead,      no,      no,       no,    no,    no}},
    /*snooze*/     {{no,     no,     no,     delay,     no,      no,       no,    no,    no}},
    /*give_back*/  {{no,     no,     no,     queue,     no,      no,       no,    no,    no}},
    /*lose*/       {{no,     no,     no,     queue,     no,      no,       no,    no,    no}},
    /*cancel*/     {{cancel, cancel, cancel, cancel,    cancel,  no,       no,    no,    no}},
    /*expire*/     {{cancel, cancel, cancel, no,        cancel,  no,       no,    no,    no}},
    /*revive*/     {{no,     no,     no,     no,        no,      no,       queue, queue, queue}},
    /*park*/       {{no,     no,     no,     hold,      no,      no,       no,    no,    no}},
  }};
  // clang-format on
}

inline constexpr StateTable state_table = make_state_table();

}  // namespace detail

// Where `event` leads from `state`; nullopt where it cannot happen. `release` leads to `queued`
// here; the ready moment decides between `queued` and `delayed`: see waiting_state(). `take` leads
// out of `delayed` and `retrying` too: due tasks are handed out, promoted or not.
constexpr std::optional<TaskState> next_state(TaskState state, Event event) {
  using detail::Cell;
  const Cell cell =
      detail::state_table[static_cast<std::size_t>(event)][static_cast<std::size_t>(state)];
  if (cell <= Cell::none) return std::nullopt;
  return static_cast<TaskState>(static_cast<std::uint8_t>(cell) -
                                static_cast<std::uint8_t>(Cell::created));
}

// The same for a caller that has made sure that the event can happen.
constexpr TaskState state_after(
    TaskState state, Event event,
    const std::source_location& where = std::source_location::current()) {
  return ensured(next_state(state, event), "an event happened in a state that it cannot happen in",
                 where);
}

// Where a task that is not held waits: `delayed` until its ready moment has come, `queued` from
// that moment on.
constexpr TaskState waiting_state(TimePoint ready, TimePoint now) {
  return ready > now ? TaskState::delayed : TaskState::queued;
}

// No more work will be done on the task unless an operator revives it.
constexpr bool is_final(TaskState state) {
  return state == TaskState::completed || state == TaskState::failed || state == TaskState::dead ||
         state == TaskState::cancelled;
}

// Neither running nor final: what `max_depth` counts, and what may be cancelled at once.
constexpr bool is_waiting(TaskState state) {
  return state == TaskState::created || state == TaskState::queued || state == TaskState::delayed ||
         state == TaskState::retrying;
}

// The names used by every interface. An unknown number gives "unknown".
constexpr std::string_view name_of(TaskState state) {
  switch (state) {
    case TaskState::created:
      return "created";
    case TaskState::queued:
      return "queued";
    case TaskState::delayed:
      return "delayed";
    case TaskState::processing:
      return "processing";
    case TaskState::retrying:
      return "retrying";
    case TaskState::completed:
      return "completed";
    case TaskState::failed:
      return "failed";
    case TaskState::dead:
      return "dead";
    case TaskState::cancelled:
      return "cancelled";
  }
  return "unknown";
}

constexpr std::string_view name_of(Event event) {
  switch (event) {
    case Event::release:
      return "release";
    case Event::become_due:
      return "become_due";
    case Event::take:
      return "take";
    case Event::done:
      return "done";
    case Event::retry:
      return "retry";
    case Event::fail:
      return "fail";
    case Event::exhaust:
      return "exhaust";
    case Event::snooze:
      return "snooze";
    case Event::give_back:
      return "give_back";
    case Event::lose:
      return "lose";
    case Event::cancel:
      return "cancel";
    case Event::expire:
      return "expire";
    case Event::revive:
      return "revive";
    case Event::park:
      return "park";
  }
  return "unknown";
}

// The state with exactly this name; nullopt for any other text.
constexpr std::optional<TaskState> state_from_name(std::string_view name) {
  for (std::size_t i = 0; i < state_count; ++i) {
    const auto state = static_cast<TaskState>(i);
    if (name_of(state) == name) return state;
  }
  return std::nullopt;
}

namespace detail {

constexpr bool every_cell_is_stated() {
  for (const auto& row : state_table) {
    for (const Cell cell : row) {
      if (cell == Cell::unstated) return false;
    }
  }
  return true;
}

// A final state is left by `revive` alone, and `completed` not even by that.
constexpr bool final_states_stay() {
  for (std::size_t s = 0; s < state_count; ++s) {
    const auto state = static_cast<TaskState>(s);
    if (!is_final(state)) continue;
    for (std::size_t e = 0; e < event_count; ++e) {
      const auto event = static_cast<Event>(e);
      const bool may = event == Event::revive && state != TaskState::completed;
      if (next_state(state, event).has_value() != may) return false;
    }
  }
  return true;
}

static_assert(every_cell_is_stated(), "the table has no entry for a pair of state and event");
static_assert(final_states_stay(),
              "a final state is left by another event than an operator's retry");
static_assert(next_state(TaskState::processing, Event::done) == TaskState::completed);

}  // namespace detail

}  // namespace millrace
