#include "plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test_planner.h"
#include "tests/support/matchers.h"

namespace planner {
namespace {

using millrace::ErrorCode;
using millrace::test::FailsWith;
using millrace::test::IsOk;
using ::testing::ElementsAre;

std::vector<std::string> order_of(const Plan& plan) {
  std::vector<std::string> names;
  const auto order = in_order(plan).value();
  for (const Step* step : order) names.push_back(step->name);
  return names;
}

TEST(Plan, steps_come_after_those_they_need_and_otherwise_as_they_stand) {
  EXPECT_THAT(order_of(shed()), ElementsAre("ground", "walls", "roof"));
  Plan plan = shed();
  for (Step& step : plan.steps) step.needs.clear();
  EXPECT_THAT(order_of(plan), ElementsAre("roof", "walls", "ground"));
  plan.steps[0].needs = {"ground", "walls"};
  EXPECT_THAT(order_of(plan), ElementsAre("walls", "ground", "roof"));
}

TEST(Plan, what_is_wrong_is_named) {
  const auto wrong = [](auto change) {
    Plan plan = shed();
    change(plan);
    const auto order = in_order(plan);
    EXPECT_THAT(order, FailsWith(ErrorCode::invalid));
    return order ? "" : order.error().message;
  };
  EXPECT_EQ(
      wrong([](Plan& plan) { plan.name = "../shed"; }),
      R"("../shed" cannot be the name of a plan: 1 to 40 small letters, digits and dashes are)");
  EXPECT_EQ(wrong([](Plan& plan) { plan.name = ""; }),
            R"("" cannot be the name of a plan: 1 to 40 small letters, digits and dashes are)");
  EXPECT_EQ(wrong([](Plan& plan) { plan.steps[0].name = std::string(41, 'x'); }),
            "\"" + std::string(41, 'x') +
                "\" cannot be the name of a step: 1 to 40 small letters, digits and dashes are");
  EXPECT_EQ(wrong([](Plan& plan) { plan.steps.clear(); }),
            "plan shed has 0 steps; 1 to 100 are allowed");
  EXPECT_EQ(wrong([](Plan& plan) { plan.steps.resize(101); }),
            "plan shed has 101 steps; 1 to 100 are allowed");
  EXPECT_EQ(wrong([](Plan& plan) { plan.steps[1].name = "roof"; }),
            "plan shed has two steps called roof");
  EXPECT_EQ(wrong([](Plan& plan) { plan.steps[0].needs = {"door"}; }),
            "step roof needs door, which is not a step of plan shed");
  EXPECT_EQ(wrong([](Plan& plan) { plan.steps[2].needs = {"ground"}; }),
            "steps of plan shed wait for each other: roof, walls, ground");
  EXPECT_EQ(wrong([](Plan& plan) { plan.artifacts.clear(); }),
            "plan shed has 0 artifacts; 1 to 32 are allowed");
  EXPECT_EQ(wrong([](Plan& plan) { plan.artifacts.resize(33); }),
            "plan shed has 33 artifacts; 1 to 32 are allowed");
  EXPECT_EQ(wrong([](Plan& plan) { plan.artifacts[0].file = "a.txt"; }),
            R"("a.txt" cannot be the file of an artifact: a name with .md or .json is)");
  EXPECT_EQ(wrong([](Plan& plan) { plan.artifacts[0].file = "index.md"; }),
            "index.md is the list of the other artifacts");
  EXPECT_EQ(wrong([](Plan& plan) { plan.artifacts[1].file = "walls.md"; }),
            "plan shed has two artifacts walls.md");
  EXPECT_EQ(wrong([](Plan& plan) { plan.artifacts[1].steps = {"door"}; }),
            "artifact roof.json contains door, which is not a step of plan shed");
}

TEST(Plan, names_and_files_are_plain) {
  for (const char* good : {"a", "a-1", "0"}) EXPECT_TRUE(is_name(good)) << good;
  for (const char* bad : {"", "A", "a b", "a/b", "..", "a.b", "ä"})
    EXPECT_FALSE(is_name(bad)) << bad;
  for (const char* good : {"a.md", "a-1.json"}) EXPECT_TRUE(is_file(good)) << good;
  for (const char* bad : {"", ".md", "a", "a.", "a.md.md", "../a.md", "a.txt"}) {
    EXPECT_FALSE(is_file(bad)) << bad;
  }
  EXPECT_EQ(name_of("A shed!"), "a-shed");
  EXPECT_EQ(name_of("  --Big  Shed-- "), "big-shed");
  EXPECT_EQ(name_of("Сарай"), "plan");
  EXPECT_EQ(name_of(std::string(39, 'a') + " b"), std::string(39, 'a'));
}

// S4-043
TEST(Plan, a_request_becomes_a_plan_that_can_be_executed) {
  const auto plan = make_plan({"A shed", {"Roof", "Walls"}});
  ASSERT_THAT(plan, IsOk());
  EXPECT_THAT(order_of(*plan),
              ElementsAre("outline-1", "draft-1", "outline-2", "draft-2", "summary"));
  const std::vector<std::string> most(31, "t");
  const auto long_one = make_plan({"", most});
  ASSERT_THAT(long_one, IsOk());
  EXPECT_THAT(in_order(*long_one), IsOk());
  EXPECT_THAT(make_plan({"A shed", std::vector<std::string>(32, "t")}),
              FailsWith(ErrorCode::invalid));
}

TEST(Plan, actions_make_text_of_what_they_need) {
  const std::vector<std::string> needed{"one two", "three"};
  EXPECT_EQ(run_action({"s", Action::write, "text", {}}, needed), "text");
  EXPECT_EQ(run_action({"s", Action::join, "text", {}}, needed), "text\n\none two\n\nthree");
  EXPECT_EQ(run_action({"s", Action::count, "words", {}}, needed), "3 words");
}

}  // namespace
}  // namespace planner
