#include "core/graph.h"

#include <gtest/gtest.h>

#include <vector>

namespace millrace {
namespace {

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

}  // namespace
}  // namespace millrace
