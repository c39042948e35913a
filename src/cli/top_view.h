// What `millrace top` shows: a screen made of its state, nothing else.
#pragma once

#include <millrace/time.h>
#include <cstddef>
#include <cstdint>
#include <string>

#include "cli/screen.h"
#include "cli/table.h"
#include "cli/top_state.h"

namespace millrace::cli {

// Smaller ones are told so.
inline constexpr ScreenSize least_top_size{.columns = 40, .rows = 10};

// `now` is our time. Every line fits the width, and there are as many as rows at most.
Screen top_screen(const TopState& state, ScreenSize size, const Look& look, TimePoint now);

// How many rows of the active pane are seen at once.
std::size_t rows_seen(const TopState& state, ScreenSize size);

// How many running tasks and dead letters a screen could show at most: no more need be asked for.
std::size_t most_rows(ScreenSize size);

// 99,999, 123k, 1.23M: six columns at most.
std::string compact(std::uint64_t number);

// "journal, synced", "memory, lost with the process".
std::string store_text(const Traits& traits);

}  // namespace millrace::cli
