// Checks of the program against itself. They stay on in release builds: a process that has found
// itself wrong ends at once with a message, before it stores or answers something wrong.
//
// For invariants only. What comes from outside (callers, files, the network, what a database's
// tables hold) is refused with an Error instead.
#pragma once

#include <source_location>
#include <type_traits>
#include <utility>

namespace millrace {

// Writes "<file>:<line>: <what>" to stderr and aborts.
[[noreturn, gnu::cold]] void violated(const char* what, const std::source_location& where) noexcept;

// `what` says what is wrong if it does not hold: "a task that is not queued was taken".
constexpr void ensure(bool holds, const char* what,
                      const std::source_location& where = std::source_location::current()) {
  if (!holds) [[unlikely]]
    violated(what, where);
}

// The value of an optional (or behind a pointer) that cannot be empty here.
template <class Holder>
constexpr decltype(auto) ensured(
    Holder&& holder, const char* what,
    const std::source_location& where = std::source_location::current()) {
  ensure(static_cast<bool>(holder), what, where);
  using Dereferenced = decltype(*std::forward<Holder>(holder));
  // A temporary gives a copy: a reference into it would dangle.
  if constexpr (std::is_rvalue_reference_v<Dereferenced>) {
    return std::remove_cvref_t<Dereferenced>(*std::forward<Holder>(holder));
  } else {
    return static_cast<Dereferenced>(*std::forward<Holder>(holder));
  }
}

}  // namespace millrace
