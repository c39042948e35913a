#include "core/lock_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>

#include "core/ensure.h"

namespace millrace {
namespace {

struct HeldLock {
  const void* mutex = nullptr;
  LockRank rank = LockRank::none;
};

// The mutexes that this thread holds. A plain array: it exists before anything is made and after
// everything is gone, since threads lock until their end.
constexpr std::size_t most_held = 16;
thread_local std::array<HeldLock, most_held> held_locks;
thread_local std::size_t held_count = 0;

}  // namespace

void check_lock_order(const void* mutex, LockRank rank) noexcept {
  for (const HeldLock& held : std::span(held_locks).first(held_count)) {
    ensure(held.mutex != mutex, "a thread locks a mutex that it holds already");
    if (rank == LockRank::none || held.rank < rank) continue;
    const std::string what = fmt::format(
        "a mutex of rank {} is locked under one of rank {}, against their order (LockRank)",
        static_cast<int>(rank), static_cast<int>(held.rank));
    violated(what.c_str(), std::source_location::current());
  }
  ensure(held_count < most_held, "a thread holds more than 16 mutexes");
  held_locks[held_count++] = {mutex, rank};
}

void forget_lock(const void* mutex) noexcept {
  const auto held = std::span(held_locks).first(held_count);
  const auto found = std::ranges::find(held, mutex, &HeldLock::mutex);
  ensure(found != held.end(), "a thread unlocks a mutex that it does not hold");
  *found = held.back();
  --held_count;
}

bool holds_lock(const void* mutex) noexcept {
  const auto held = std::span(held_locks).first(held_count);
  return std::ranges::find(held, mutex, &HeldLock::mutex) != held.end();
}

}  // namespace millrace
