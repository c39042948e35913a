#include "store/embedded/turns.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace millrace::embedded {
namespace {

TEST(Turns, one_thread_at_a_time) {
  Turns turns;
  int value = 0;
  std::vector<std::jthread> threads;
  threads.emplace_back([&] {
    for (int i = 0; i < 20'000; ++i) {
      const Turns::Change change(turns);
      ++value;
    }
  });
  for (int reader = 0; reader < 3; ++reader) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20'000; ++i) {
        const Turns::Step step(turns);
        ++value;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(value, 80'000);
  EXPECT_EQ(turns.steps(), 60'000U);
}

TEST(Turns, a_turn_inside_a_change_is_part_of_it) {
  Turns turns;
  {
    const Turns::Change outer(turns);
    const Turns::Change inner(turns);
    const Turns::Step step(turns);
  }
  const Turns::Step free_again(turns);
}

// The number of changes that a step let go first, where they follow each other without pause.
TEST(Turns, after_so_many_changes_the_turn_is_given_to_the_step_that_waits) {
  Turns turns;
  for (int round = 0; round < 50; ++round) {
    std::uint64_t changes = 0;  // in turns, as the next
    std::uint64_t before_step = 0;
    std::jthread reader;
    {
      const Turns::Change change(turns);
      reader = std::jthread([&] {
        const Turns::Step step(turns);
        before_step = changes;
      });
      while (turns.steps_waiting() == 0) std::this_thread::yield();
    }
    for (int i = 0; i < 1000; ++i) {
      const Turns::Change change(turns);
      ++changes;
    }
    reader.join();
    EXPECT_LE(before_step, Turns::most_passes);
  }
}

TEST(Turns, a_change_waits_for_one_step_however_many_wait_before_it) {
  Turns turns;
  std::string order;  // in turns
  std::vector<std::jthread> threads;
  {
    const Turns::Step step(turns);
    for (int i = 1; i <= 3; ++i) {
      threads.emplace_back([&] {
        const Turns::Step waiting(turns);
        order += 's';
      });
      while (turns.steps_waiting() < static_cast<std::uint64_t>(i)) std::this_thread::yield();
    }
    threads.emplace_back([&] {
      const Turns::Change change(turns);
      order += 'c';
    });
    while (turns.changes_waiting() == 0) std::this_thread::yield();
    order += '.';
  }
  threads.clear();
  EXPECT_EQ(order, ".csss");
}

}  // namespace
}  // namespace millrace::embedded
