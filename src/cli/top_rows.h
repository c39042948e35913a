// The rows of the panes of `millrace top`.
#pragma once

#include <millrace/time.h>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/grid.h"
#include "cli/table.h"
#include "cli/top_state.h"

namespace millrace::cli {

struct Pane {
  std::string title = {};
  std::string nothing = {};  // the text if there are no rows
  std::uint64_t total = 0;   // how many the server has, read or not
  Grid grid;
  std::vector<std::string> keys = {};
  std::vector<std::vector<Cell>> cells = {};
};

Pane pane_of(const TopState& state, TopPane pane, std::size_t width, const Look& look,
             TimePoint server_now);

// A rate in six columns.
std::string top_rate(double rate);

}  // namespace millrace::cli
