#include "core/mutex.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace millrace {
namespace {

using CheckedMutex = BasicMutex<true>;
using CheckedSharedMutex = BasicSharedMutex<true>;

struct Counted {
  Mutex mutex;
  Condition changed;
  int count GUARDED_BY(mutex) = 0;
};

TEST(Mutex, one_thread_at_a_time) {
  Counted counted;
  const auto add = [&counted] {
    for (int i = 0; i < 10'000; ++i) {
      const Lock lock(counted.mutex);
      ++counted.count;
    }
  };
  std::thread other(add);
  add();
  other.join();
  const Lock lock(counted.mutex);
  EXPECT_EQ(counted.count, 20'000);
}

TEST(Condition, waits_until_something_has_changed) {
  Counted counted;
  std::thread other([&counted] {
    const Lock lock(counted.mutex);
    counted.count = 1;
    counted.changed.notify_all();
  });
  {
    const Lock lock(counted.mutex);
    counted.changed.wait(counted.mutex,
                         [&]() REQUIRES(counted.mutex) { return counted.count == 1; });
    EXPECT_EQ(counted.count, 1);
    EXPECT_FALSE(
        counted.changed.wait_for(counted.mutex, std::chrono::milliseconds(1),
                                 [&]() REQUIRES(counted.mutex) { return counted.count == 2; }));
  }
  other.join();
}

TEST(Mutex, can_be_given_up_for_a_while) {
  CheckedMutex mutex;
  Lock lock(mutex);
  lock.unlock();
  {
    const Lock again(mutex);
  }
  lock.lock();
  {
    const Unlocked meanwhile(mutex);
    const Lock again(mutex);
  }
}

TEST(Mutex, going_up_in_rank_is_allowed) {
  CheckedSharedMutex queues(LockRank::queues);
  CheckedMutex events(LockRank::events);
  CheckedMutex leases(LockRank::leases);
  CheckedMutex other;
  const SharedLock first(queues);
  const Lock second(events);
  const Lock third(other);
  const Lock fourth(leases);
}

TEST(Mutex, an_unlocked_mutex_no_longer_counts) {
  CheckedMutex events(LockRank::events);
  CheckedMutex leases(LockRank::leases);
  {
    const Lock lock(leases);
  }
  const Lock first(events);
  const Lock second(leases);
}

TEST(MutexDeathTest, going_down_in_rank_ends_the_process) {
  CheckedMutex events(LockRank::events);
  CheckedMutex leases(LockRank::leases);
  EXPECT_DEATH(
      {
        const Lock first(leases);
        const Lock second(events);
      },
      "rank 50 is locked under one of rank 70, against their order");
}

TEST(MutexDeathTest, readers_keep_the_order) {
  CheckedSharedMutex queues(LockRank::queues);
  CheckedMutex leases(LockRank::leases);
  EXPECT_DEATH(
      {
        const Lock first(leases);
        const SharedLock second(queues);
      },
      "against their order");
}

TEST(MutexDeathTest, two_of_one_rank_are_not_held_together) {
  CheckedMutex one(LockRank::events);
  CheckedMutex two(LockRank::events);
  EXPECT_DEATH(
      {
        const Lock first(one);
        const Lock second(two);
      },
      "against their order");
}

// Clang sees this mistake while it compiles, so its analysis is off here.
void lock_twice(CheckedMutex& mutex) NO_THREAD_SAFETY_ANALYSIS {
  const Lock first(mutex);
  const Lock second(mutex);
}

TEST(MutexDeathTest, locking_twice_ends_the_process) {
  CheckedMutex mutex;
  EXPECT_DEATH(lock_twice(mutex), "a mutex that it holds already");
}

TEST(MutexDeathTest, assert_held_ends_a_process_that_does_not_hold_it) {
  CheckedMutex mutex;
  EXPECT_DEATH(mutex.assert_held(), "a mutex is not held");
  const Lock lock(mutex);
  mutex.assert_held();
}

}  // namespace
}  // namespace millrace
