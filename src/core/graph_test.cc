#include "core/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/limits.h"
#include "core/uuid.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

using Places = std::vector<std::size_t>;

TEST(Graph, without_a_cycle) {
  EXPECT_EQ(find_cycle({}), Places{});
  EXPECT_EQ(find_cycle(std::vector<Places>{{}, {0}, {0, 1}, {2, 1}}), Places{});
}

TEST(Graph, names_the_cycle_and_nothing_beside_it) {
  // 4 waits for 0, which waits for 1, which waits for 2, which waits for 0.
  EXPECT_EQ(find_cycle(std::vector<Places>{{1}, {3, 2}, {0}, {}, {0}}), (Places{0, 1, 2}));
  EXPECT_EQ(find_cycle(std::vector<Places>{{}, {1}}), Places{1});
}

TEST(Graph, a_long_chain_needs_no_deep_stack) {
  std::vector<Places> chain(100'000);
  for (std::size_t i = 0; i + 1 < chain.size(); ++i) chain[i] = {i + 1};
  EXPECT_EQ(find_cycle(chain), Places{});
  chain.back() = {0};
  EXPECT_EQ(find_cycle(chain).size(), chain.size());
}

// Ten thousand tasks that wait for a thousand each would be 160 MB of ids.
TEST(Graph, what_tasks_wait_for_counts_for_their_size) {
  const TimePoint now{std::chrono::hours(24 * 365 * 56)};
  UuidSource ids(1);
  After after;
  for (std::size_t i = 0; i < limits::max_parents; ++i) after.tasks.push_back({ids.next(now)});
  const std::size_t most = limits::max_put_all_bytes / (after.tasks.size() * sizeof(TaskId));
  std::vector<NewTask> tasks;
  for (std::size_t i = 0; i <= most; ++i) {
    tasks.push_back({.id = {ids.next(now)}, .queue = "q", .after = after});
  }
  const auto refused = validate_all(tasks, now);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::too_large);
  EXPECT_THAT(refused.error().message, HasSubstr("tasks together"));
  tasks.pop_back();
  EXPECT_TRUE(validate_all(tasks, now));
}

}  // namespace
}  // namespace millrace
