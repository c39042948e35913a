// The order in which a thread may lock mutexes, checked while the program runs: by debug builds and
// by those with sanitizers, so that every test run under them proves it.
#pragma once

#include <cstdint>

namespace millrace {

// A thread that holds a mutex may lock only mutexes of a greater rank. Threads may lock a mutex
// without a rank whatever else they hold; the only check is that no thread locks it twice.
enum class LockRank : std::uint8_t {
  none = 0,
  // An app and its worker (app/app_parts.h, worker/parts.h, worker/run.h).
  app_end = 10,
  app_signals = 12,
  worker_stop = 14,
  worker = 16,
  run = 18,
  // The broker hears of changes by other servers (store/postgres/listener.h).
  hints = 30,
  // The books of a broker (broker/books.h): a thread that locks several goes down this list.
  queues = 40,
  events = 50,
  metrics = 60,
  leases = 70,
  // The embedded stores: a flush, and what waits for it; files.
  store_flush = 110,
  store_pending = 120,
  store_files = 130,
  // The book of API keys and what one of them has used (access/key_book.h).
  keys = 150,
  key = 160,
  // The rounds of calls (broker/coalescer.h). A store that is back is told under this lock.
  rounds = 180,
  // Held for a few lines that lock nothing else but the log.
  leaf = 200,
  log = 250,
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
