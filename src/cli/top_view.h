// The screen of `millrace top`, made from its state only.
#pragma once

#include <millrace/time.h>
#include <cstddef>
#include <cstdint>
#include <string>

#include "cli/screen.h"
#include "cli/table.h"
#include "cli/top_state.h"

namespace millrace::cli {

// A smaller terminal gets a message instead.
inline constexpr ScreenSize least_top_size{.columns = 40, .rows = 10};

// `now` is our time. Every line fits the width, and there are at most `rows` lines.
Screen top_screen(const TopState& state, ScreenSize size, const Look& look, TimePoint now);

// How many rows of the active pane are visible.
std::size_t rows_seen(const TopState& state, ScreenSize size);

// Most running tasks and dead letters that a screen can show: no more need to be read.
std::size_t most_rows(ScreenSize size);

// 99,999, 123k, 1.23M: at most six columns.
std::string compact(std::uint64_t number);

// "journal, synced", "memory, lost with the process".
std::string store_text(const Traits& traits);

}  // namespace millrace::cli
