// The state of `millrace top`: what it knows, what its user has chosen, and what keys do. Without a
// terminal, a server or a clock.
#pragma once

#include <millrace/result.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/wire/answers.h"
#include "broker/broker.h"

namespace millrace::cli {

// A server's answers at one moment.
struct TopFacts {
  wire::ServerInfo server = {};
  std::vector<QueueView> queues = {};
  std::vector<Task> running = {};  // longest first
  std::vector<Task> dead = {};     // last failure first
  // Why there are no tasks: a key for some queues only cannot list those of all.
  std::string refused = {};
  TimePoint at{};  // our time, when the last answer came
  // How far the server's clock is ahead of ours.
  Duration ahead{};
};

enum class TopPane : std::uint8_t { queues, running, dead };
inline constexpr std::size_t top_pane_count = 3;

// The columns of the table of queues.
enum class QueueColumn : std::uint8_t {
  name,
  ready,
  running,
  later,
  dead,
  put_rate,
  take_rate,
  done_rate,
  oldest,
  waited,
  ran,
  state,
};
inline constexpr std::size_t queue_column_count = 12;

// An action beyond the screen that a key asks for.
struct Quit {};
struct PauseQueue {
  std::string queue = {};
  bool resume = false;
};
struct RetryTask {
  TaskId id = {};
  std::string queue = {};
};
struct RetryQueue {
  std::string queue = {};
  std::uint64_t count = 0;
};
using Wish = std::variant<std::monostate, Quit, PauseQueue, RetryTask, RetryQueue>;

enum class TopMode : std::uint8_t { watching, filtering, asking, helping };

// The selection: by name or id, so that it stays when rows move, and its place, in case the row is
// gone.
struct Selection {
  std::string key = {};
  std::size_t row = 0;
};

struct TopState {
  std::string url = {};
  std::optional<TopFacts> facts = std::nullopt;
  // Since when the server has not answered, and the last reason; nullopt: it answers.
  std::optional<TimePoint> silent_since = std::nullopt;
  std::string trouble = {};
  // The result of the last action.
  std::string message = {};
  bool message_is_bad = false;

  TopMode mode = TopMode::watching;
  TopPane pane = TopPane::queues;
  QueueColumn sort = QueueColumn::name;
  std::string filter = {};
  std::string filter_before = {};  // while a new one is typed
  Wish asked = {};                 // while it waits for yes or no
  Selection queue = {};
  Selection running = {};
  Selection dead = {};
};

enum class Key : std::uint8_t {
  text,  // a character: KeyPress::text
  up,
  down,
  page_up,
  page_down,
  home,
  end,
  tab,
  back_tab,
  enter,
  escape,
  backspace,
  interrupt,  // Ctrl-C
  suspend,    // Ctrl-Z
  redraw,     // Ctrl-L
};

struct KeyPress {
  Key key = Key::text;
  std::string text = {};

  friend bool operator==(const KeyPress&, const KeyPress&) = default;
};

// The rows that a pane shows, after filter and sort.
std::vector<const QueueView*> queues_of(const TopState& state);
std::vector<const Task*> running_of(const TopState& state);
std::vector<const Task*> dead_of(const TopState& state);

// The selected row: the one with that key, else the one at its place.
std::size_t selected_row(const Selection& selection, const std::vector<std::string>& keys);

std::vector<std::string> keys_of(const TopState& state, TopPane pane);
const Selection& selection_of(const TopState& state, TopPane pane);

bool is_paused(const Queue& queue, TimePoint now);
std::uint64_t dead_in(const QueueView& view);

// Handles a key; `page` is how many rows of the active pane are visible.
Wish press(TopState& state, const KeyPress& pressed, std::size_t page, TimePoint now);

// "Pause emails?" for an action that needs a confirmation.
std::string question_of(const Wish& wish);

}  // namespace millrace::cli
