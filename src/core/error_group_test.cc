#include "core/error_group.h"

#include <gtest/gtest.h>

#include "core/utf8.h"

namespace millrace {
namespace {

Task dead(std::string message, std::string code = "exit_1") {
  Task task;
  task.queue = "emails", task.type = "welcome", task.state = TaskState::dead;
  task.error = TaskError{.code = std::move(code), .message = std::move(message)};
  return task;
}

TEST(ErrorGroup, names_of_one_task_or_moment_are_left_out_of_the_pattern) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"connection refused by 10.0.0.7:5432", "connection refused by #"},
      {"timed out after 30s", "timed out after #s"},
      {"no user \"Ann\" in 'eu-1'", "no user # in #"},
      {"mailbox of ann.lee+x@example.org. Full", "mailbox of #. Full"},
      {"task 01a1e03f-2d76-7677-b9dd-0d9d98455722 is gone", "task # is gone"},
      {"at 2026-11-15T17:26:44.760Z: late", "at #: late"},
      {"object 9f86d081884c7d65 is not there", "object # is not there"},
      {"segfault at 0x7ffe12 in worker12", "segfault at # in worker#"},
      {"customer cus_9s6XKzkNRiz8i3", "customer cus_#"},
      {"1,234 of 5 rows", "# of # rows"},
      {"line one\n\t  line two", "line one line two"},
  };
  for (const auto& [message, pattern] : cases) EXPECT_EQ(error_pattern(message), pattern);
}

TEST(ErrorGroup, what_tells_errors_apart_stays) {
  EXPECT_EQ(error_pattern("can't reach the server, it's down"),
            "can't reach the server, it's down");
  EXPECT_EQ(error_pattern("a \" that never ends"), "a \" that never ends");
  EXPECT_EQ(error_pattern("deadbeef is no number"), "deadbeef is no number");
  EXPECT_EQ(error_pattern("нет связи с сервером"), "нет связи с сервером");
  EXPECT_EQ(error_pattern(""), "");
  EXPECT_EQ(error_pattern(" \n "), "");
}

TEST(ErrorGroup, a_pattern_is_short_and_stays_text) {
  std::string russian;
  for (int i = 0; i < 1000; ++i) russian += "ж";
  const std::string pattern = error_pattern(russian);
  EXPECT_LE(pattern.size(), 200U);
  EXPECT_TRUE(is_utf8(pattern));
  EXPECT_LE(error_pattern(std::string(100'000, '"')).size(), 200U);
  EXPECT_LE(error_pattern(std::string(100'000, '\xff')).size(), 200U);
  EXPECT_EQ(error_pattern(std::string(5000, '7')), "#");
}

TEST(ErrorGroup, tasks_that_died_of_the_same_error_are_one_group) {
  const auto group = error_group_of(dead("user 17 is unknown"));
  EXPECT_EQ(group, error_group_of(dead("user 4,711 is unknown")));
  EXPECT_NE(group, error_group_of(dead("user 17 is blocked")));
  EXPECT_NE(group, error_group_of(dead("user 17 is unknown", "exit_2")));
  Task other = dead("user 17 is unknown");
  other.queue = "reports";
  EXPECT_NE(group, error_group_of(other));
  other = dead("user 17 is unknown");
  other.type = "goodbye";
  EXPECT_NE(group, error_group_of(other));
}

TEST(ErrorGroup, names_do_not_run_into_each_other) {
  EXPECT_NE(error_group_of("a", "bc", "", ""), error_group_of("ab", "c", "", ""));
  EXPECT_NE(error_group_of("a", "", "b", ""), error_group_of("a", "b", "", ""));
}

TEST(ErrorGroup, a_task_without_an_error_has_a_group) {
  Task task = dead("x");
  task.error.reset();
  EXPECT_EQ(error_group_of(task), error_group_of("emails", "welcome", "", ""));
}

// Stored operations name groups, so this number may never change.
TEST(ErrorGroup, the_name_of_a_group_stays_for_ever) {
  const auto group = error_group_of(dead("connection refused by 10.0.0.7:5432"));
  EXPECT_EQ(error_group_name(group), "14bc8e47bb166d10");
  EXPECT_TRUE(is_error_group_name(error_group_name(group)));
  EXPECT_EQ(error_group_name(1), "0000000000000001");
}

TEST(ErrorGroup, other_texts_are_no_names) {
  for (const std::string_view text :
       {"", "1", "00000000000000001", "000000000000000g", "000000000000000A", "0x00000000000001"}) {
    EXPECT_FALSE(is_error_group_name(text)) << text;
  }
}

}  // namespace
}  // namespace millrace
