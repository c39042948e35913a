#include "cli/table.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cmath>

#include "cli/console.h"
#include "cli/display.h"

namespace millrace::cli {
namespace {

constexpr std::string_view plain = "\x1b[0m";
constexpr std::size_t gap = 2;
constexpr std::size_t barely = 3;  // columns that stay of what may be shortened

std::string_view code_of(Paint paint) {
  switch (paint) {
    case Paint::none:
      return {};
    case Paint::good:
      return "\x1b[32m";
    case Paint::busy:
      return "\x1b[36m";
    case Paint::warning:
      return "\x1b[33m";
    case Paint::bad:
      return "\x1b[31m";
    case Paint::faint:
      return "\x1b[2m";
    case Paint::title:
      return "\x1b[1m";
  }
  return {};
}

// The text in a column of that width. The last column of a line is not padded.
std::string placed(const Cell& cell, std::size_t width, bool right, bool last, const Look& look) {
  const std::string text = shortened(cell.text, width, look.unicode);
  const std::string space(width - std::min(width, columns_of(text)), ' ');
  const std::string shown = painted(text, cell.paint, look);
  if (right) return space + shown;
  return last ? shown : shown + space;
}

}  // namespace

std::string painted(std::string_view text, Paint paint, const Look& look) {
  if (!look.colours || paint == Paint::none || text.empty()) return std::string(text);
  return fmt::format("{}{}{}", code_of(paint), text, plain);
}

Cell number_cell(std::uint64_t number, Paint paint) {
  return {grouped(number), number == 0 ? Paint::faint : paint};
}

void Table::add(std::vector<Cell> row) {
  row.resize(columns_.size(), Cell(""));
  for (Cell& each : row) each.text = printable(each.text);
  rows_.push_back(std::move(row));
}

std::vector<std::size_t> Table::widths(const Look& look) const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = columns_of(columns_[i].title);
    for (const auto& row : rows_) width = std::max(width, columns_of(row[i].text));
    widths.push_back(width);
  }
  if (look.width == 0) return widths;
  // Takes width from the widest columns that may shrink, until the line fits or none can.
  std::size_t all = gap * (widths.size() - 1);
  for (const std::size_t each : widths) all += each;
  const auto take = [&](const auto& kept) {
    while (all > look.width) {
      std::size_t from = widths.size();
      for (std::size_t i = 0; i < widths.size(); ++i) {
        const bool gives = columns_[i].least != 0 && widths[i] > kept(columns_[i]);
        if (gives && (from == widths.size() || widths[i] > widths[from])) from = i;
      }
      if (from == widths.size()) return;
      --widths[from], --all;
    }
  };
  take([](const Column& column) { return column.least; });
  // Still better than lines that wrap.
  take([](const Column& column) { return std::min(column.least, barely); });
  return widths;
}

std::string Table::text(const Look& look) const {
  const auto width = widths(look);
  std::string out;
  const auto line = [&](const auto& cell_at) {
    std::string text;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const bool last = i + 1 == columns_.size();
      text += placed(cell_at(i), width[i], columns_[i].right, last, look);
      if (!last) text.append(gap, ' ');
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + '\n';
  };
  line([&](std::size_t i) { return Cell(columns_[i].title, Paint::title); });
  for (const auto& row : rows_) {
    line([&](std::size_t i) -> const Cell& { return row[i]; });
  }
  return out;
}

void Sheet::add(std::string name, Cell value) {
  if (value.text.empty()) return;
  value.text = printable(value.text);
  lines_.push_back({std::move(name), std::move(value)});
}

void Sheet::head(std::string title) {
  lines_.push_back({std::move(title), Cell(""), true});
}

std::string Sheet::text(const Look& look) const {
  std::size_t width = 0;
  for (const Line& each : lines_) {
    if (!each.head) width = std::max(width, columns_of(each.name));
  }
  std::string out;
  for (const Line& each : lines_) {
    if (each.head) {
      out += (out.empty() ? "" : "\n") + painted(each.name, Paint::title, look) + '\n';
      continue;
    }
    const std::string space(width - columns_of(each.name) + gap, ' ');
    out += painted(each.name, Paint::faint, look) + space +
           painted(each.value.text, each.value.paint, look) + '\n';
  }
  return out;
}

std::string sparkline(const std::vector<double>& values, const Look& look) {
  constexpr auto bars = std::to_array<std::string_view>({"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"});
  double most = 0;
  for (const double each : values) most = std::max(most, each);
  std::string out;
  for (const double each : values) {
    const double share = most > 0 ? std::max(each, 0.0) / most : 0;
    if (look.unicode) {
      out += bars[std::min(bars.size() - 1,
                           static_cast<std::size_t>(std::ceil(share * (bars.size() - 1))))];
    } else {
      out += static_cast<char>('0' + std::min(9, static_cast<int>(std::ceil(share * 9))));
    }
  }
  return out;
}

}  // namespace millrace::cli
