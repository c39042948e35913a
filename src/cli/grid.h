// Rows in columns for a screen of a given width: on a narrow screen the less important columns are
// dropped, the others share the width.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/screen.h"
#include "cli/table.h"

namespace millrace::cli {

struct GridColumn {
  std::string title = {};
  bool right = false;
  std::size_t least = 6;  // its minimal width
  std::size_t most = 0;   // its width if there is room; at least `least`
  unsigned rank = 0;      // the greatest is dropped first; 0 is never dropped
  // The mark in the title of the column by which the rows are sorted.
  enum class Order : std::uint8_t { none, rising, falling } order = Order::none;
};

class Grid {
 public:
  // Lines that are `width` wide at most.
  Grid(std::vector<GridColumn> columns, std::size_t width, const Look& look);

  bool shows(std::size_t column) const { return widths_[column] != 0; }
  Line head(Paint paint) const;
  // The cells of all columns, also of those that are not shown.
  Line row(const std::vector<Cell>& cells) const;

 private:
  std::size_t gap_before(std::size_t column) const;
  // Right-aligned cells may use this much of the gap before them.
  Line row(const std::vector<Cell>& cells, std::size_t into_gap) const;

  std::vector<GridColumn> columns_;
  std::vector<std::size_t> widths_;  // 0: not shown
  std::size_t gap_ = 1;
  std::size_t width_;
  bool unicode_;
};

}  // namespace millrace::cli
