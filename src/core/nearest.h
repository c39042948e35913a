// Suggests the name that a mistyped one may have meant.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace millrace {

// How many letters must be changed, added, dropped or swapped with their neighbour.
std::size_t distance(std::string_view a, std::string_view b);

// The first of the nearest names; empty if there are none. Only the beginning of a long text is
// compared, so the cost is bounded.
std::string_view nearest(std::string_view word, std::span<const std::string_view> names);

// The nearest name, if it is near enough to be what was meant: one letter off, or at most a third
// of its letters. Empty: none is.
std::string_view near_enough(std::string_view word, std::span<const std::string_view> names);

}  // namespace millrace
