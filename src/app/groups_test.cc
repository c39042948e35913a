// What a program says of groups and costs.
#include <millrace/app.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/driver.h"

namespace millrace {
namespace {

using namespace std::chrono_literals;
using test::must;
using ::testing::ElementsAre;
using ::testing::SizeIs;

const TimePoint monday = std::chrono::sys_days(std::chrono::year(2026) / 1 / 5);

struct Prompt {
  std::string text;
};
MILLRACE_FIELDS(Prompt, text)

AppOptions quiet() {
  return {.log = [](std::string_view) {}, .virtual_time = monday};
}

TEST(AppGroups, the_rules_of_a_queue_are_declared) {
  App app("memory:", quiet());
  const GroupRules rules{.order = GroupOrder::fair, .max_concurrent = 2, .weight = 3};
  app.handle<Prompt>(
      "prompts",
      {.process_rate = Rate{.max = 100, .per = 1min}, .rate_of = RateOf::cost, .groups = rules},
      [](const Prompt&) {});
  must(app.step(monday));
  const QueueSettings stored = must(app.client().settings("prompts"));
  EXPECT_EQ(stored.groups, rules);
  EXPECT_EQ(stored.rate_of, RateOf::cost);
}

TEST(AppGroups, a_handler_says_what_its_run_has_cost) {
  App app("memory:", quiet());
  std::vector<std::uint32_t> costs;
  auto prompts = app.handle<Prompt>(
      "prompts", {.process_rate = Rate{.max = 100, .per = 1min}, .rate_of = RateOf::cost},
      [&](const Prompt&, Context& task) {
        costs.push_back(task.task().cost);
        task.cost(1000);
        task.cost(10);  // the last word
      });
  for (int i = 0; i < 8; ++i) prompts({"hello"}, {.cost = 60});
  must(app.step(monday));
  // Four runs have used 40, so that another 60 fit; after the fifth, 50 are used.
  EXPECT_THAT(costs, SizeIs(5));
  must(app.step(monday + 5min));
  EXPECT_THAT(costs, SizeIs(8));
  EXPECT_EQ(costs.front(), 60U);
}

TEST(AppGroups, groups_wait_for_their_rate_in_virtual_time) {
  App app("memory:", quiet());
  std::vector<std::string> ran;
  auto prompts = app.handle<Prompt>(
      "prompts", {.groups = GroupRules{.process_rate = Rate{.max = 1, .per = 1min}}},
      [&](const Prompt& prompt) { ran.push_back(prompt.text); });
  for (const char* text : {"a1", "a2", "a3"}) prompts({text}, {.group = "a"});
  prompts({"b1"}, {.group = "b"});
  must(app.step(monday));
  EXPECT_THAT(ran, ElementsAre("a1", "b1"));
  must(app.step(monday + 10min));
  EXPECT_THAT(ran, ElementsAre("a1", "b1", "a2", "a3"));
}

}  // namespace
}  // namespace millrace
