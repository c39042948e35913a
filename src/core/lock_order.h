// The order in which a thread may lock mutexes, checked while the program runs: by debug builds and
// by those with sanitizers, so that every test run under them proves it.
#pragma once

#include <cstdint>

namespace millrace {

// A thread that holds a mutex may lock only mutexes of a greater rank. Threads may lock a mutex
// without a rank whatever else they hold; the only check is that no thread locks it twice.
enum class LockRank : std::uint8_t {
  none = 0,
  // The books of a broker (broker/books.h): a thread that locks several goes down this list.
  queues = 10,
  events = 20,
  metrics = 30,
  leases = 40,
};

// Called before a mutex is locked and after it was unlocked; ends the process if the order is
// broken. For core/mutex.h alone.
void check_lock_order(const void* mutex, LockRank rank) noexcept;
void forget_lock(const void* mutex) noexcept;
bool holds_lock(const void* mutex) noexcept;

#ifdef NDEBUG
inline constexpr bool lock_order_is_checked = false;
#else
inline constexpr bool lock_order_is_checked = true;
#endif

}  // namespace millrace
