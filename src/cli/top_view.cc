#include "cli/top_view.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include "cli/ages.h"
#include "cli/console.h"
#include "cli/display.h"
#include "cli/grid.h"
#include "cli/top_rows.h"

namespace millrace::cli {
namespace {

constexpr std::size_t head_lines = 2;
constexpr std::size_t foot_lines = 1;
constexpr std::size_t pane_head_lines = 2;  // a rule with its title, and the titles of the columns
constexpr std::size_t least_pane = pane_head_lines + 2;

// ---- How many lines each pane gets ----

using Heights = std::array<std::size_t, top_pane_count>;

Heights wanted(const TopState& state) {
  // An empty pane has no column titles, but a text.
  const auto rows = [](std::size_t count) { return pane_head_lines + count; };
  return {rows(queues_of(state).size()), rows(running_of(state).size()),
          rows(dead_of(state).size())};
}

// No pane gets more than it wants, nor less than an equal share unless it wants less. If there is
// not enough for three, the active pane gets all lines.
Heights heights_of(const TopState& state, ScreenSize size) {
  Heights heights{};
  std::size_t left = size.rows - std::min(size.rows, head_lines + foot_lines);
  if (left < top_pane_count * least_pane) {
    heights[static_cast<std::size_t>(state.pane)] = left;
    return heights;
  }
  const Heights want = wanted(state);
  for (bool given = true; given && left != 0;) {
    given = false;
    for (std::size_t i = 0; i < top_pane_count && left != 0; ++i) {
      if (heights[i] == want[i]) continue;
      ++heights[i], --left, given = true;
    }
  }
  return heights;
}

// ---- Head and foot ----

struct Part {
  std::string label = {};
  std::string value = {};
  std::string unit = {};
  Paint paint = Paint::none;
};

// Those that fit, the first first.
Line line_of(std::span<const Part> parts, std::size_t width) {
  Line line;
  for (const Part& each : parts) {
    Line piece;
    if (line.width() != 0) piece.add("  ");
    piece.add(each.label, Paint::faint);
    piece.add(each.value, each.paint);
    piece.add(each.unit, Paint::faint);
    if (line.width() != 0 && line.width() + piece.width() > width) continue;
    for (const Span& span : piece.spans()) line.add(span.text, span.paint);
  }
  line.cut(width);
  return line;
}

Line server_line(const TopState& state, std::size_t width, TimePoint now) {
  std::vector<Part> parts = {{.label = "millrace ", .value = state.url, .paint = Paint::title}};
  if (!state.facts) return line_of(parts, width);
  const wire::ServerInfo& server = state.facts->server;
  parts.push_back({.value = server.version});
  parts.push_back(
      {.value = store_text(server.store),
       .paint = server.store.durability == Durability::none ? Paint::warning : Paint::none});
  if (server.started_at) {
    const Duration up = later(now, state.facts->ahead) - *server.started_at;
    parts.push_back({.label = "up ", .value = brief(std::max(up, Duration{}))});
  }
  if (server.connections) {
    parts.push_back({.value = grouped(*server.connections),
                     .unit = *server.connections == 1 ? " connection" : " connections"});
  }
  return line_of(parts, width);
}

Line totals_line(const TopState& state, std::size_t width, TimePoint now) {
  if (state.silent_since) {
    const Duration silent = std::max(now - *state.silent_since, Duration{});
    Line line(fmt::format("no answer for {}, trying again",
                          brief(std::chrono::floor<std::chrono::seconds>(silent))),
              Paint::bad);
    if (!state.trouble.empty()) line.add(fmt::format(": {}", state.trouble), Paint::bad);
    line.cut(width);
    return line;
  }
  if (!state.facts) return Line("asking ...", Paint::faint);
  std::uint64_t ready = 0;
  std::uint64_t running = 0;
  std::uint64_t waiting = 0;
  std::uint64_t dead = 0;
  double put = 0;
  double take = 0;
  double done = 0;
  for (const QueueView& each : state.facts->queues) {
    ready += each.counts.ready(), running += each.counts.taken();
    waiting += each.counts.later() + each.counts.of(TaskState::created), dead += dead_in(each);
    put += each.stats.put_rate, take += each.stats.take_rate;
    done += each.stats.finish_rate;
  }
  const auto rate = [](double each) { return each > 0 ? top_rate(each) : "0"; };
  const std::vector<Part> parts = {
      {.value = compact(ready), .unit = " ready", .paint = Paint::title},
      {.value = compact(running), .unit = " running", .paint = running ? Paint::busy : Paint::none},
      {.value = compact(dead), .unit = " dead", .paint = dead ? Paint::bad : Paint::none},
      {.value = compact(waiting), .unit = " later"},
      {.value = rate(put), .unit = " put/s"},
      {.value = rate(take), .unit = " taken/s"},
      {.value = rate(done), .unit = " done/s"}};
  return line_of(parts, width);
}

Line foot_line(const TopState& state, std::size_t width, const Look& look) {
  Line line;
  if (state.mode == TopMode::asking) {
    line.add(question_of(state.asked), Paint::warning);
    line.cut(width - std::min<std::size_t>(width, 7), look.unicode);
    line.add(" y / n ", Paint::title);
  } else if (state.mode == TopMode::filtering) {
    line.add("queues with: ", Paint::faint);
    line.add(state.filter + (look.unicode ? "▏" : "_"), Paint::title);
    line.add("   Enter keeps it, Esc drops it", Paint::faint);
  } else if (!state.message.empty()) {
    line.add(state.message, state.message_is_bad ? Paint::bad : Paint::good);
  } else {
    const auto key = [&](std::string_view name, std::string_view what) {
      if (line.width() + columns_of(name) + what.size() + 3 > width) return;
      if (line.width() != 0) line.add("  ");
      line.add(name, Paint::title);
      line.add(fmt::format(" {}", what), Paint::faint);
    };
    key("q", "quit"), key("?", "help"), key("Tab", "pane"), key("p", "pause"), key("r", "retry");
    key("s", "sort"), key("/", "filter"), key(look.unicode ? "↑↓" : "j k", "select");
  }
  line.cut(width, look.unicode);
  return line;
}

// ---- Panes ----

// "── running 3 of 12 ─────"
Line rule(const TopState& state, TopPane pane, const Pane& rows, std::size_t seen,
          std::size_t width, const Look& look) {
  const std::string_view dash = look.unicode ? "─" : "-";
  const bool active = state.pane == pane;
  Line line;
  const auto draw = [&](std::size_t to) {
    std::string text;
    for (std::size_t at = line.width(); at < to; ++at) text += dash;
    line.add(text, Paint::faint);
  };
  draw(2);
  line.add(fmt::format(" {} ", rows.title), active ? Paint::title : Paint::none);
  const std::size_t shown = std::min(seen, rows.keys.size());
  line.add(shown < rows.total ? fmt::format("{} of {} ", shown, compact(rows.total))
                              : fmt::format("{} ", compact(rows.total)),
           Paint::faint);
  if (!state.filter.empty()) line.add(fmt::format("with {} ", state.filter), Paint::warning);
  draw(width);
  line.cut(width, look.unicode);
  return line;
}

void draw_pane(Screen& screen, const TopState& state, TopPane pane, std::size_t height,
               std::size_t width, const Look& look, TimePoint server_now) {
  if (height == 0) return;
  const Pane rows = pane_of(state, pane, width, look, server_now);
  const std::size_t seen = height - std::min(height, pane_head_lines);
  const bool active = state.pane == pane;
  screen.push_back(rule(state, pane, rows, seen, width, look));
  if (rows.keys.empty()) {
    screen.emplace_back(rows.nothing, Paint::faint);
    screen.back().cut(width, look.unicode);
    return;
  }
  screen.push_back(rows.grid.head(active ? Paint::title : Paint::faint));
  const std::size_t selected = selected_row(selection_of(state, pane), rows.keys);
  // Scrolls down until the selected row is visible.
  const std::size_t first = active && selected >= seen ? selected + 1 - seen : 0;
  for (std::size_t i = first; i < std::min(rows.keys.size(), first + seen); ++i) {
    Line line = rows.grid.row(rows.cells[i]);
    if (active && i == selected) line.invert(width);
    screen.push_back(std::move(line));
  }
}

// ---- Help ----

constexpr auto help = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"arrows j k", "select a row"},
    {"PgUp PgDn g G", "a page up or down, first, last"},
    {"Tab", "the next pane"},
    {"s S", "sort queues by the next or last column"},
    {"/", "only queues with a text in their name"},
    {"p", "pause or resume the selected queue"},
    {"r", "retry the selected dead letter, or all"},
    {"", "dead letters of the selected queue"},
    {"R", "retry all dead letters of that queue"},
    {"q Esc Ctrl-C", "quit"},
});

void draw_help(Screen& screen, ScreenSize size, const Look& look) {
  constexpr std::size_t names = 15;
  std::size_t wide = 0;
  for (const auto& [name, what] : help) wide = std::max(wide, names + what.size());
  wide = std::min(wide, size.columns - 4);
  const std::string_view dash = look.unicode ? "─" : "-";
  const std::string_view side = look.unicode ? "│" : "|";
  const auto border = [&](std::string_view left, std::string_view right) {
    std::string text(look.unicode ? left : "+");
    for (std::size_t i = 0; i < wide + 2; ++i) text += dash;
    return text + std::string(look.unicode ? right : "+");
  };
  const std::size_t indent = (size.columns - wide - 4) / 2;
  const std::size_t height = std::min(help.size() + 2, size.rows);
  screen.resize(size.rows);
  std::size_t row = (size.rows - height) / 2;
  const std::size_t end = row + height - 1;
  const auto draw = [&](const auto& fill) {
    Line line;
    line.pad_to(indent);
    fill(line);
    screen[row++] = std::move(line);
  };
  draw([&](Line& line) { line.add(border("╭", "╮"), Paint::faint); });
  for (const auto& [name, what] : help) {
    if (row == end) break;
    draw([&](Line& line) {
      line.add(fmt::format("{} ", side), Paint::faint);
      Line text(fmt::format("{:<{}}", name, names), Paint::title);
      text.add(what);
      text.cut(wide, look.unicode);
      for (const Span& span : text.spans()) line.add(span.text, span.paint);
      line.pad_to(indent + wide + 2);
      line.add(fmt::format(" {}", side), Paint::faint);
    });
  }
  draw([&](Line& line) { line.add(border("╰", "╯"), Paint::faint); });
}

}  // namespace

Screen top_screen(const TopState& state, ScreenSize size, const Look& look, TimePoint now) {
  if (size.columns < least_top_size.columns || size.rows < least_top_size.rows) {
    Line line(fmt::format("needs {}x{}", least_top_size.columns, least_top_size.rows));
    line.cut(size.columns, look.unicode);
    return size.rows == 0 ? Screen{} : Screen{std::move(line)};
  }
  const std::size_t width = size.columns;
  const TimePoint server_now = state.facts ? later(now, state.facts->ahead) : now;
  Screen screen = {server_line(state, width, now), totals_line(state, width, now)};
  const Heights heights = heights_of(state, size);
  for (std::size_t i = 0; i < top_pane_count; ++i) {
    draw_pane(screen, state, TopPane(i), heights[i], width, look, server_now);
  }
  if (state.silent_since) {
    // The screen is out of date.
    for (std::size_t i = head_lines; i < screen.size(); ++i) screen[i].repaint(Paint::faint);
  }
  screen.resize(size.rows - foot_lines);
  screen.push_back(foot_line(state, width, look));
  if (state.mode == TopMode::helping) draw_help(screen, size, look);
  return screen;
}

std::size_t rows_seen(const TopState& state, ScreenSize size) {
  const std::size_t height = heights_of(state, size)[static_cast<std::size_t>(state.pane)];
  return height - std::min(height, pane_head_lines);
}

std::size_t most_rows(ScreenSize size) {
  const std::size_t others = head_lines + foot_lines + pane_head_lines;
  return size.rows - std::min(size.rows, others);
}

std::string compact(std::uint64_t number) {
  if (number < 100'000) return grouped(number);
  constexpr std::array<std::string_view, 6> units = {"k", "M", "G", "T", "P", "E"};
  auto value = static_cast<double>(number) / 1000;
  std::size_t unit = 0;
  // 999.5k would be written as 1000k.
  while (value >= 999.5 && unit + 1 < units.size()) value /= 1000, ++unit;
  if (value >= 99.95) return fmt::format("{:.0f}{}", value, units[unit]);
  return value >= 9.995 ? fmt::format("{:.1f}{}", value, units[unit])
                        : fmt::format("{:.2f}{}", value, units[unit]);
}

std::string store_text(const Traits& traits) {
  switch (traits.durability) {
    case Durability::none:
      return traits.name + (traits.name == "memory" ? ", lost with the process" : ", not synced");
    case Durability::interval:
      return fmt::format("{}, synced every {}", traits.name, brief(traits.loss_window));
    case Durability::synced:
      break;
  }
  return traits.name + ", synced";
}

}  // namespace millrace::cli
