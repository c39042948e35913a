#include "cli/grid.h"

#include <fmt/format.h>
#include <algorithm>

#include "cli/display.h"

namespace millrace::cli {
namespace {

constexpr std::size_t widest_gap = 3;

}  // namespace

Grid::Grid(std::vector<GridColumn> columns, std::size_t width, const Look& look)
    : columns_(std::move(columns)), width_(width), unicode_(look.unicode) {
  for (const GridColumn& each : columns_) widths_.push_back(each.least);
  const auto shown = [&] {
    return static_cast<std::size_t>(
        std::ranges::count_if(widths_, [](std::size_t each) { return each != 0; }));
  };
  const auto used = [&] {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (widths_[i] != 0) sum += widths_[i] + gap_before(i);
    }
    return sum;
  };
  while (used() > width) {
    std::size_t first = columns_.size();
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (widths_[i] == 0 || columns_[i].rank == 0) continue;
      if (first == columns_.size() || columns_[i].rank > columns_[first].rank) first = i;
    }
    if (first == columns_.size()) break;
    widths_[first] = 0;
  }
  std::size_t left = width - std::min(width, used());
  for (bool given = true; given && left != 0;) {
    given = false;
    for (std::size_t i = 0; i < columns_.size() && left != 0; ++i) {
      if (widths_[i] == 0 || widths_[i] >= columns_[i].most) continue;
      ++widths_[i], --left, given = true;
    }
  }
  if (shown() > 1) gap_ = std::min(widest_gap, 1 + left / (shown() - 1));
}

std::size_t Grid::gap_before(std::size_t column) const {
  for (std::size_t i = column; i-- != 0;) {
    if (widths_[i] == 0) continue;
    // Between numbers and the text to their right there is one blank more.
    return columns_[i].right && !columns_[column].right ? gap_ + 1 : gap_;
  }
  return 0;
}

Line Grid::head(Paint paint) const {
  const std::string_view down = unicode_ ? "▼" : "v";
  const std::string_view up = unicode_ ? "▲" : "^";
  std::vector<Cell> titles;
  for (const GridColumn& each : columns_) {
    std::string title = each.title;
    if (each.order != GridColumn::Order::none) {
      const std::string_view mark = each.order == GridColumn::Order::falling ? down : up;
      title = each.right ? fmt::format("{}{}", mark, title) : fmt::format("{} {}", title, mark);
    }
    titles.emplace_back(std::move(title), paint);
  }
  return row(titles, 1);
}

Line Grid::row(const std::vector<Cell>& cells) const {
  return row(cells, 0);
}

Line Grid::row(const std::vector<Cell>& cells, std::size_t into_gap) const {
  Line line;
  std::size_t start = 0;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (widths_[i] == 0) continue;
    start += gap_before(i);
    const std::size_t end = start + widths_[i];
    const std::size_t room = widths_[i] + (columns_[i].right && start != 0 ? into_gap : 0);
    const std::string text = shortened(printable(cells[i].text), room, unicode_);
    line.pad_to(columns_[i].right ? end - std::min(end, columns_of(text)) : start);
    line.add(text, cells[i].paint);
    start = end;
  }
  line.cut(width_, unicode_);
  return line;
}

}  // namespace millrace::cli
