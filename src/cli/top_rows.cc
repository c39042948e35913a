#include "cli/top_rows.h"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>

#include "cli/ages.h"
#include "cli/display.h"
#include "cli/queue_view.h"
#include "cli/top_view.h"
#include "core/uuid.h"

namespace millrace::cli {
namespace {

using namespace std::chrono_literals;

// After this long without a take, a queue counts as without a worker.
constexpr Duration forgotten = 2min;
// From this width on the whole id of a task is shown, else its number.
constexpr std::size_t room_for_ids = 110;
constexpr std::size_t bar_width = 8;

// The widest, rounded up: columns that move with every task are hard to read.
std::size_t room_for(std::size_t widest, std::size_t most) {
  constexpr std::size_t step = 6;
  return std::min(most, (widest + step - 1) / step * step);
}

std::string age_since(const std::optional<TimePoint>& moment, TimePoint now) {
  return moment ? brief(std::max(now - *moment, Duration{})) : "-";
}

Cell rate_cell(double rate) {
  return {top_rate(rate), rate > 0 ? Paint::none : Paint::faint};
}

Cell count_cell(std::uint64_t count, Paint paint = Paint::none) {
  return {compact(count), count == 0 ? Paint::faint : paint};
}

Cell mean_cell(double seconds) {
  if (seconds <= 0) return {"-", Paint::faint};
  return brief(Duration(std::max<std::int64_t>(1, std::llround(seconds * 1000))));
}

// active, or why it is not, in a few columns.
Cell state_cell(const QueueView& view, TimePoint now) {
  const QueueSettings& settings = view.queue.settings;
  if (view.queue.removing) return {"removing", Paint::warning};
  if (!settings.active) return {"inactive", Paint::warning};
  if (is_paused(view.queue, now)) {
    return {*settings.paused_until == never
                ? "paused"
                : fmt::format("paused {}", brief(*settings.paused_until - now)),
            Paint::warning};
  }
  if (settings.draining) return {"draining", Paint::warning};
  const auto& asked = view.stats.last_asked;
  if (view.counts.ready() != 0 && (!asked || now - *asked > forgotten)) {
    return {"no worker", Paint::warning};
  }
  return {"active", Paint::good};
}

std::vector<GridColumn> queue_columns(const std::vector<const QueueView*>& queues,
                                      QueueColumn sort) {
  std::size_t widest = 0;
  for (const QueueView* each : queues) {
    widest = std::max(widest, columns_of(each->queue.settings.name));
  }
  // In the order of QueueColumn.
  std::vector<GridColumn> columns = {
      {.title = "QUEUE", .least = 12, .most = room_for(widest, 60)},
      {.title = "READY", .right = true, .rank = 1},
      {.title = "RUNNING", .right = true, .least = 7, .rank = 2},
      {.title = "LATER", .right = true, .rank = 7},
      {.title = "DEAD", .right = true, .rank = 3},
      {.title = "PUT/S", .right = true, .rank = 6},
      {.title = "TAKE/S", .right = true, .rank = 9},
      {.title = "DONE/S", .right = true, .rank = 5},
      {.title = "OLDEST", .right = true, .rank = 8},
      {.title = "WAITED", .right = true, .rank = 10},
      {.title = "RAN", .right = true, .rank = 11},
      {.title = "STATE", .least = 10, .most = 10, .rank = 4},
  };
  using Order = GridColumn::Order;
  columns[static_cast<std::size_t>(sort)].order =
      sort == QueueColumn::name ? Order::rising : Order::falling;
  return columns;
}

std::vector<Cell> row_of(const QueueView& view, bool shows_state, TimePoint now) {
  const QueueCounts& counts = view.counts;
  const QueueStats& stats = view.stats;
  const Cell state = state_cell(view, now);
  // If there is no room for the state, the colour of the name shows that something is wrong.
  const bool tells = !shows_state && state.paint != Paint::good;
  return {Cell(view.queue.settings.name, tells ? state.paint : Paint::none),
          count_cell(counts.ready(), Paint::title),
          count_cell(counts.taken(), Paint::busy),
          count_cell(counts.later() + counts.of(TaskState::created)),
          count_cell(dead_in(view), Paint::bad),
          rate_cell(stats.put_rate),
          rate_cell(stats.take_rate),
          rate_cell(stats.finish_rate),
          Cell(age_since(counts.oldest, now), counts.oldest ? Paint::none : Paint::faint),
          mean_cell(stats.mean_wait_seconds),
          mean_cell(stats.mean_run_seconds),
          state};
}

// ---- Tasks ----

std::string bar(double percent, const Look& look) {
  const auto full = static_cast<std::size_t>(
      std::clamp(percent, 0.0, 100.0) / 100 * static_cast<double>(bar_width) + 0.5);
  std::string text;
  for (std::size_t i = 0; i < bar_width; ++i) {
    text += i < full ? (look.unicode ? "█" : "#") : (look.unicode ? "░" : ".");
  }
  return text;
}

struct Widest {
  std::size_t queue = 0;
  std::size_t type = 0;
  std::size_t worker = 0;
  std::size_t error = 0;
};

std::string text_of(const std::optional<TaskError>& error) {
  if (!error) return {};
  return error->message.empty() ? error->code : error->message;
}

Widest widest_of(const std::vector<const Task*>& tasks) {
  Widest widest;
  for (const Task* each : tasks) {
    widest.queue = std::max(widest.queue, columns_of(printable(each->queue)));
    widest.type = std::max(widest.type, columns_of(printable(each->type)));
    widest.worker = std::max(widest.worker, columns_of(printable(each->worker)));
    widest.error = std::max(widest.error, columns_of(printable(text_of(each->error))));
  }
  return widest;
}

GridColumn task_column(std::size_t width) {
  return {.title = "TASK", .least = width >= room_for_ids ? std::size_t{36} : std::size_t{8}};
}

std::string name_of(const Task& task, std::size_t width) {
  return width >= room_for_ids ? to_text(task.id.value) : fmt::format("#{}", task.number.value);
}

Cell or_dash(const std::string& text) {
  return text.empty() ? Cell("-", Paint::faint) : Cell(text);
}

Pane running_pane(const TopState& state, std::size_t width, const Look& look, TimePoint now) {
  const auto tasks = running_of(state);
  const Widest widest = widest_of(tasks);
  const bool narrow = width < 70;
  Pane pane{.title = "running",
            .nothing = "nothing runs",
            .grid = Grid(
                {task_column(width),
                 {.title = "QUEUE", .least = 8, .most = room_for(widest.queue, 24)},
                 {.title = "TYPE", .least = 8, .most = room_for(widest.type, 30), .rank = 2},
                 {.title = "WORKER", .least = 10, .most = room_for(widest.worker, 40), .rank = 3},
                 {.title = "RUNS", .right = true, .least = 6},
                 {.title = "PROGRESS", .least = narrow ? 5U : bar_width + 5, .rank = 1}},
                width, look)};
  for (const Task* each : tasks) {
    const std::string percent = fmt::format("{:.0f}%", each->progress);
    Cell progress =
        each->progress > 0
            ? Cell(narrow ? percent : fmt::format("{} {:>4}", bar(each->progress, look), percent),
                   Paint::busy)
            : Cell("-", Paint::faint);
    if (each->cancel_requested) progress = {"cancelling", Paint::warning};
    pane.keys.push_back(to_text(each->id.value));
    pane.cells.push_back({Cell(name_of(*each, width)), each->queue, or_dash(each->type),
                          or_dash(each->worker), age_since(each->started_at, now), progress});
  }
  return pane;
}

Pane dead_pane(const TopState& state, std::size_t width, const Look& look, TimePoint now) {
  const auto tasks = dead_of(state);
  const Widest widest = widest_of(tasks);
  Pane pane{
      .title = "dead letters",
      .nothing = "no dead letters",
      .grid = Grid({task_column(width),
                    {.title = "QUEUE", .least = 8, .most = room_for(widest.queue, 20)},
                    {.title = "TYPE", .least = 8, .most = room_for(widest.type, 20), .rank = 1},
                    {.title = "AGE", .right = true, .least = 6},
                    {.title = "ERROR", .least = 8, .most = room_for(widest.error, 400)}},
                   width, look)};
  for (const Task* each : tasks) {
    pane.keys.push_back(to_text(each->id.value));
    pane.cells.push_back(
        {Cell(name_of(*each, width)), each->queue, or_dash(each->type),
         age_since(each->finished_at, now),
         each->error ? Cell(text_of(each->error), Paint::bad) : Cell("-", Paint::faint)});
  }
  return pane;
}

Pane queues_pane(const TopState& state, std::size_t width, const Look& look, TimePoint now) {
  const auto queues = queues_of(state);
  Pane pane{.title = "queues",
            .nothing = !state.facts           ? ""
                       : state.filter.empty() ? "no queues yet"
                                              : "no queue has that in its name",
            .total = queues.size(),
            .grid = Grid(queue_columns(queues, state.sort), width, look)};
  const bool shows_state = pane.grid.shows(static_cast<std::size_t>(QueueColumn::state));
  for (const QueueView* each : queues) {
    pane.keys.push_back(each->queue.settings.name);
    pane.cells.push_back(row_of(*each, shows_state, now));
  }
  return pane;
}

}  // namespace

std::string top_rate(double rate) {
  return rate < 10'000 ? rate_text(rate) : compact(static_cast<std::uint64_t>(std::llround(rate)));
}

Pane pane_of(const TopState& state, TopPane pane, std::size_t width, const Look& look,
             TimePoint server_now) {
  if (pane == TopPane::queues) return queues_pane(state, width, look, server_now);
  const bool running = pane == TopPane::running;
  Pane rows = running ? running_pane(state, width, look, server_now)
                      : dead_pane(state, width, look, server_now);
  if (state.facts && !state.facts->refused.empty()) rows.nothing = state.facts->refused;
  // The counters include tasks that were not read.
  for (const QueueView* each : queues_of(state)) {
    rows.total += running ? each->counts.taken() : dead_in(*each);
  }
  rows.total = std::max<std::uint64_t>(rows.total, rows.keys.size());
  return rows;
}

}  // namespace millrace::cli
