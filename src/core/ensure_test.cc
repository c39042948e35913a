#include "core/ensure.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

namespace millrace {
namespace {

TEST(Ensure, a_true_condition_lets_the_process_go_on) {
  ensure(true, "nothing is wrong");
  static_assert((ensure(true, "nothing is wrong"), true));
}

// In every build, also in release: the message names the file, the line and what is wrong.
TEST(EnsureDeathTest, a_false_condition_ends_the_process) {
  EXPECT_DEATH(ensure(1 + 1 == 3, "one and one is not three"),
               "ensure_test.cc:[0-9]+: one and one is not three");
}

TEST(Ensure, gives_what_is_there) {
  std::optional<std::string> text = "there";
  ensured(text, "no text") += " it is";
  EXPECT_EQ(*text, "there it is");
  int number = 7;
  ensured(&number, "no number") = 8;
  EXPECT_EQ(number, 8);
  EXPECT_EQ(ensured(std::optional(9), "no number"), 9);
  EXPECT_EQ(*ensured(std::optional(std::make_unique<int>(10)), "no number"), 10);
}

TEST(EnsureDeathTest, an_empty_optional_ends_the_process) {
  const std::optional<int> none;
  EXPECT_DEATH(ensured(none, "there is no number"), "ensure_test.cc:[0-9]+: there is no number");
  const int* nothing = nullptr;
  EXPECT_DEATH(ensured(nothing, "there is no number"), "there is no number");
}

}  // namespace
}  // namespace millrace
