#include "cli/top_state.h"

#include <fmt/format.h>
#include <algorithm>
#include <functional>

#include "cli/console.h"
#include "cli/display.h"
#include "core/ascii.h"
#include "core/quote.h"
#include "core/utf8.h"
#include "core/uuid.h"

namespace millrace::cli {
namespace {

constexpr std::size_t longest_filter = 100;

bool passes(const TopState& state, std::string_view queue) {
  const auto same = [](char a, char b) { return ascii::lower(a) == ascii::lower(b); };
  return state.filter.empty() || !std::ranges::search(queue, state.filter, same).empty();
}

// What a queue is sorted by: the greatest first.
double weight_of(const QueueView& view, QueueColumn column) {
  const QueueCounts& counts = view.counts;
  switch (column) {
    case QueueColumn::ready:
      return static_cast<double>(counts.ready());
    case QueueColumn::running:
      return static_cast<double>(counts.taken());
    case QueueColumn::later:
      return static_cast<double>(counts.later() + counts.of(TaskState::created));
    case QueueColumn::dead:
      return static_cast<double>(dead_in(view));
    case QueueColumn::put_rate:
      return view.stats.put_rate;
    case QueueColumn::take_rate:
      return view.stats.take_rate;
    case QueueColumn::done_rate:
      return view.stats.finish_rate;
    case QueueColumn::oldest:
      return counts.oldest ? -static_cast<double>(counts.oldest->time_since_epoch().count())
                           : -1e300;
    case QueueColumn::waited:
      return view.stats.mean_wait_seconds;
    case QueueColumn::ran:
      return view.stats.mean_run_seconds;
    case QueueColumn::name:
    case QueueColumn::state:
      break;
  }
  return 0;
}

std::vector<const Task*> passing(const TopState& state, const std::vector<Task>& tasks) {
  std::vector<const Task*> shown;
  for (const Task& each : tasks) {
    if (passes(state, each.queue)) shown.push_back(&each);
  }
  return shown;
}

Selection& chosen(TopState& state, TopPane pane) {
  if (pane == TopPane::queues) return state.queue;
  return pane == TopPane::running ? state.running : state.dead;
}

void move_to(TopState& state, std::ptrdiff_t row) {
  const auto keys = keys_of(state, state.pane);
  if (keys.empty()) return;
  const auto last = std::ssize(keys) - 1;
  const auto at = static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(row, 0, last));
  chosen(state, state.pane) = {.key = keys[at], .row = at};
}

void move_by(TopState& state, std::ptrdiff_t rows) {
  const auto keys = keys_of(state, state.pane);
  move_to(state,
          static_cast<std::ptrdiff_t>(selected_row(selection_of(state, state.pane), keys)) + rows);
}

void switch_pane(TopState& state, std::size_t by) {
  state.pane = TopPane((static_cast<std::size_t>(state.pane) + by) % top_pane_count);
}

void switch_sort(TopState& state, std::size_t by) {
  // Rows cannot be sorted by state.
  constexpr std::size_t count = queue_column_count - 1;
  state.sort = QueueColumn((static_cast<std::size_t>(state.sort) + by) % count);
}

template <class Row>
const Row* selected(const TopState& state, TopPane pane, const std::vector<const Row*>& rows) {
  if (rows.empty()) return nullptr;
  return rows[selected_row(selection_of(state, pane), keys_of(state, pane))];
}

void tell(TopState& state, std::string text) {
  state.message = std::move(text);
  state.message_is_bad = false;
}

void ask(TopState& state, Wish wish) {
  state.asked = std::move(wish);
  state.mode = TopMode::asking;
}

void ask_to_pause(TopState& state, TimePoint now) {
  const auto* view = selected(state, TopPane::queues, queues_of(state));
  if (view == nullptr) return tell(state, "there is no queue to pause");
  const TimePoint server_now = later(now, state.facts->ahead);
  ask(state,
      PauseQueue{.queue = view->queue.settings.name, .resume = is_paused(view->queue, server_now)});
}

void ask_to_retry_queue(TopState& state, const std::string& queue) {
  const auto& views = state.facts->queues;
  const auto view = std::ranges::find(
      views, queue, [](const QueueView& each) { return each.queue.settings.name; });
  const std::uint64_t count = view == views.end() ? 0 : dead_in(*view);
  if (count == 0) return tell(state, fmt::format("{} has no dead letters", in_quotes(queue)));
  ask(state, RetryQueue{.queue = queue, .count = count});
}

// r: the selected dead letter, or, where queues are selected, all of the queue. R: always all.
void ask_to_retry(TopState& state, bool all) {
  if (state.pane == TopPane::dead) {
    const auto* task = selected(state, TopPane::dead, dead_of(state));
    if (task == nullptr) return tell(state, "there is no dead letter to retry");
    if (all) return ask_to_retry_queue(state, task->queue);
    return ask(state, RetryTask{.id = task->id, .queue = task->queue});
  }
  const auto* view = selected(state, TopPane::queues, queues_of(state));
  if (view == nullptr) return tell(state, "there is no queue whose dead letters could be retried");
  ask_to_retry_queue(state, view->queue.settings.name);
}

Wish press_character(TopState& state, const std::string& text, TimePoint now) {
  if (text == "q") return Quit{};
  if (text == "j") move_by(state, 1);
  if (text == "k") move_by(state, -1);
  if (text == "g") move_to(state, 0);
  if (text == "G") move_by(state, 1'000'000);
  if (text == "s") switch_sort(state, 1);
  if (text == "S") switch_sort(state, queue_column_count - 2);
  if (text == "?" || text == "h") state.mode = TopMode::helping;
  if (text == "/") {
    state.mode = TopMode::filtering;
    state.filter_before = state.filter;
  }
  if (!state.facts) return {};
  if (text == "p") ask_to_pause(state, now);
  if (text == "r" || text == "R") ask_to_retry(state, text == "R");
  return {};
}

Wish press_watching(TopState& state, const KeyPress& pressed, std::size_t page, TimePoint now) {
  const auto rows = static_cast<std::ptrdiff_t>(std::max<std::size_t>(page, 2) - 1);
  state.message.clear();
  switch (pressed.key) {
    case Key::text:
      return press_character(state, pressed.text, now);
    case Key::up:
      move_by(state, -1);
      break;
    case Key::down:
      move_by(state, 1);
      break;
    case Key::page_up:
      move_by(state, -rows);
      break;
    case Key::page_down:
      move_by(state, rows);
      break;
    case Key::home:
      move_to(state, 0);
      break;
    case Key::end:
      move_by(state, 1'000'000);
      break;
    case Key::tab:
      switch_pane(state, 1);
      break;
    case Key::back_tab:
      switch_pane(state, top_pane_count - 1);
      break;
    case Key::escape:
      // Escape clears the filter first.
      if (state.filter.empty()) return Quit{};
      state.filter.clear();
      break;
    default:
      break;
  }
  return {};
}

void press_filtering(TopState& state, const KeyPress& pressed) {
  std::string& filter = state.filter;
  if (pressed.key == Key::text && filter.size() + pressed.text.size() <= longest_filter) {
    filter += pressed.text;
  } else if (pressed.key == Key::backspace && !filter.empty()) {
    // The whole last character.
    while (!filter.empty() && (static_cast<unsigned char>(filter.back()) & 0xc0U) == 0x80U) {
      filter.pop_back();
    }
    if (!filter.empty()) filter.pop_back();
  } else if (pressed.key == Key::escape) {
    filter = state.filter_before;
    state.mode = TopMode::watching;
  } else if (pressed.key == Key::enter || pressed.key == Key::tab) {
    state.mode = TopMode::watching;
  }
}

Wish press_asking(TopState& state, const KeyPress& pressed) {
  const bool yes = pressed.text == "y" || pressed.text == "Y";
  const bool no = pressed.text == "n" || pressed.text == "N" || pressed.text == "q";
  if (!yes && !no && pressed.key != Key::escape) return {};
  state.mode = TopMode::watching;
  Wish wish = std::exchange(state.asked, {});
  if (yes) return wish;
  tell(state, "nothing was changed");
  return {};
}

}  // namespace

bool is_paused(const Queue& queue, TimePoint now) {
  return queue.settings.paused_until && *queue.settings.paused_until > now;
}

std::uint64_t dead_in(const QueueView& view) {
  return view.counts.of(TaskState::failed) + view.counts.of(TaskState::dead);
}

std::vector<const QueueView*> queues_of(const TopState& state) {
  std::vector<const QueueView*> rows;
  if (!state.facts) return rows;
  for (const QueueView& each : state.facts->queues) {
    if (passes(state, each.queue.settings.name)) rows.push_back(&each);
  }
  std::ranges::sort(rows, {}, [](const QueueView* each) { return each->queue.settings.name; });
  if (state.sort != QueueColumn::name) {
    // Equal ones stay in the order of their names.
    std::ranges::stable_sort(rows, std::greater<>(),
                             [&](const QueueView* each) { return weight_of(*each, state.sort); });
  }
  return rows;
}

std::vector<const Task*> running_of(const TopState& state) {
  return state.facts ? passing(state, state.facts->running) : std::vector<const Task*>{};
}

std::vector<const Task*> dead_of(const TopState& state) {
  return state.facts ? passing(state, state.facts->dead) : std::vector<const Task*>{};
}

std::size_t selected_row(const Selection& selection, const std::vector<std::string>& keys) {
  const auto found = std::ranges::find(keys, selection.key);
  if (found != keys.end()) return static_cast<std::size_t>(found - keys.begin());
  return keys.empty() ? 0 : std::min(selection.row, keys.size() - 1);
}

std::vector<std::string> keys_of(const TopState& state, TopPane pane) {
  std::vector<std::string> keys;
  if (pane == TopPane::queues) {
    for (const QueueView* each : queues_of(state)) keys.push_back(each->queue.settings.name);
    return keys;
  }
  const auto tasks = pane == TopPane::running ? running_of(state) : dead_of(state);
  for (const Task* each : tasks) keys.push_back(to_text(each->id.value));
  return keys;
}

const Selection& selection_of(const TopState& state, TopPane pane) {
  if (pane == TopPane::queues) return state.queue;
  return pane == TopPane::running ? state.running : state.dead;
}

Wish press(TopState& state, const KeyPress& pressed, std::size_t page, TimePoint now) {
  if (pressed.key == Key::interrupt) return Quit{};
  switch (state.mode) {
    case TopMode::watching:
      return press_watching(state, pressed, page, now);
    case TopMode::filtering:
      press_filtering(state, pressed);
      return {};
    case TopMode::asking:
      return press_asking(state, pressed);
    case TopMode::helping:
      state.mode = TopMode::watching;  // whatever the key is
      return {};
  }
  return {};
}

std::string question_of(const Wish& wish) {
  if (const auto* pause = std::get_if<PauseQueue>(&wish)) {
    return fmt::format("{} queue {}?", pause->resume ? "Resume" : "Pause", in_quotes(pause->queue));
  }
  if (const auto* task = std::get_if<RetryTask>(&wish)) {
    return fmt::format("Retry task {} of {}?", to_text(task->id.value), in_quotes(task->queue));
  }
  if (const auto* queue = std::get_if<RetryQueue>(&wish)) {
    return fmt::format("Retry {} of {}?", counted(queue->count, "dead letter", "dead letters"),
                       in_quotes(queue->queue));
  }
  return {};
}

}  // namespace millrace::cli
