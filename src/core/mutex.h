// The locks of all rooms. The standard ones say nothing to clang's analysis of threads
// (core/thread_annotations.h) and have no rank (core/lock_order.h); tidy rejects them elsewhere.
//
//   Mutex mutex_;
//   Condition changed_;
//   bool over_ GUARDED_BY(mutex_) = false;
//
//   const Lock lock(mutex_);
//   changed_.wait(mutex_, [this]() REQUIRES(mutex_) { return over_; });
#pragma once

#include <condition_variable>
#include <mutex>
#include <shared_mutex>

#include "core/ensure.h"
#include "core/lock_order.h"
#include "core/thread_annotations.h"

namespace millrace {

template <bool checked>
class CAPABILITY("mutex") BasicMutex {
 public:
  BasicMutex() = default;
  explicit BasicMutex(LockRank rank) : rank_(rank) {}
  BasicMutex(const BasicMutex&) = delete;
  BasicMutex& operator=(const BasicMutex&) = delete;

  void lock() ACQUIRE() {
    if constexpr (checked) check_lock_order(this, rank_);
    mutex_.lock();
  }
  void unlock() RELEASE() {
    mutex_.unlock();
    if constexpr (checked) forget_lock(this);
  }
  // For code that is called with the mutex held where clang cannot see it.
  void assert_held() const ASSERT_HELD() {
    if constexpr (checked) ensure(holds_lock(this), "a mutex is not held");
  }

 private:
  friend class Condition;

  std::mutex mutex_;
  const LockRank rank_ = LockRank::none;
};
using Mutex = BasicMutex<lock_order_is_checked>;

// For data that is read much more often than written.
template <bool checked>
class CAPABILITY("mutex") BasicSharedMutex {
 public:
  BasicSharedMutex() = default;
  explicit BasicSharedMutex(LockRank rank) : rank_(rank) {}
  BasicSharedMutex(const BasicSharedMutex&) = delete;
  BasicSharedMutex& operator=(const BasicSharedMutex&) = delete;

  void lock() ACQUIRE() {
    if constexpr (checked) check_lock_order(this, rank_);
    mutex_.lock();
  }
  void unlock() RELEASE() {
    mutex_.unlock();
    if constexpr (checked) forget_lock(this);
  }
  void lock_shared() ACQUIRE_SHARED() {
    if constexpr (checked) check_lock_order(this, rank_);
    mutex_.lock_shared();
  }
  void unlock_shared() RELEASE_SHARED() {
    mutex_.unlock_shared();
    if constexpr (checked) forget_lock(this);
  }
  void assert_held_shared() const ASSERT_HELD_SHARED() {
    if constexpr (checked) ensure(holds_lock(this), "a mutex is not held");
  }

 private:
  std::shared_mutex mutex_;
  const LockRank rank_ = LockRank::none;
};
using SharedMutex = BasicSharedMutex<lock_order_is_checked>;

// Holds a mutex while it lives, but for the time between unlock() and lock().
template <class Locked>
class [[nodiscard]] SCOPED_CAPABILITY Lock {
 public:
  explicit Lock(Locked& mutex) ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() RELEASE() {
    if (held_) mutex_.unlock();
  }

  void unlock() RELEASE() {
    mutex_.unlock();
    held_ = false;
  }
  void lock() ACQUIRE() {
    mutex_.lock();
    held_ = true;
  }

 private:
  Locked& mutex_;
  bool held_ = true;
};

// Holds a mutex together with other readers.
template <class Locked>
class [[nodiscard]] SCOPED_CAPABILITY SharedLock {
 public:
  explicit SharedLock(Locked& mutex) ACQUIRE_SHARED(mutex) : mutex_(mutex) { mutex_.lock_shared(); }
  SharedLock(const SharedLock&) = delete;
  SharedLock& operator=(const SharedLock&) = delete;
  ~SharedLock() RELEASE_GENERIC() { mutex_.unlock_shared(); }

 private:
  Locked& mutex_;
};

// Gives up a mutex that the caller holds, and locks it again at its end: for a function that is
// called with the mutex held and must let other threads go on for a while.
template <class Locked>
class [[nodiscard]] SCOPED_CAPABILITY Unlocked {
 public:
  explicit Unlocked(Locked& mutex) RELEASE(mutex) : mutex_(mutex) { mutex_.unlock(); }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;
  ~Unlocked() RELEASE() { mutex_.lock(); }

 private:
  Locked& mutex_;
};

// What threads wait for while they hold a mutex, which other threads may lock meanwhile. A
// predicate is called with the mutex held; say so: `[this]() REQUIRES(mutex_) { ... }`.
class Condition {
 public:
  void notify_one() noexcept { condition_.notify_one(); }
  void notify_all() noexcept { condition_.notify_all(); }

  template <bool checked>
  void wait(BasicMutex<checked>& mutex) REQUIRES(mutex) {
    Adopted lock(mutex.mutex_);
    condition_.wait(lock.lock);
  }
  template <bool checked, class Predicate>
  void wait(BasicMutex<checked>& mutex, Predicate predicate) REQUIRES(mutex) {
    Adopted lock(mutex.mutex_);
    condition_.wait(lock.lock, predicate);
  }
  template <bool checked, class Duration>
  std::cv_status wait_for(BasicMutex<checked>& mutex, const Duration& most) REQUIRES(mutex) {
    Adopted lock(mutex.mutex_);
    return condition_.wait_for(lock.lock, most);
  }
  template <bool checked, class Duration, class Predicate>
  bool wait_for(BasicMutex<checked>& mutex, const Duration& most, Predicate predicate)
      REQUIRES(mutex) {
    Adopted lock(mutex.mutex_);
    return condition_.wait_for(lock.lock, most, predicate);
  }
  template <bool checked, class Time>
  std::cv_status wait_until(BasicMutex<checked>& mutex, const Time& end) REQUIRES(mutex) {
    Adopted lock(mutex.mutex_);
    return condition_.wait_until(lock.lock, end);
  }
  template <bool checked, class Time, class Predicate>
  bool wait_until(BasicMutex<checked>& mutex, const Time& end, Predicate predicate)
      REQUIRES(mutex) {
    Adopted lock(mutex.mutex_);
    return condition_.wait_until(lock.lock, end, predicate);
  }

 private:
  // The caller's lock as std::condition_variable wants it; the caller keeps it.
  struct Adopted {
    explicit Adopted(std::mutex& mutex) : lock(mutex, std::adopt_lock) {}
    Adopted(const Adopted&) = delete;
    Adopted& operator=(const Adopted&) = delete;
    ~Adopted() { lock.release(); }
    std::unique_lock<std::mutex> lock;
  };

  std::condition_variable condition_;
};

}  // namespace millrace
