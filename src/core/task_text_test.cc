#include "core/task_text.h"

#include <gmock/gmock.h>

#include "core/uuid.h"

namespace millrace {
namespace {

std::string folded(std::string_view text) {
  std::string out;
  append_folded(out, text);
  return out;
}

bool finds(std::string_view wanted, const Task& task) {
  return TaskText(wanted).in(task);
}

TEST(TaskText, letters_become_small_ones_and_nothing_else_changes) {
  EXPECT_EQ(folded("Ann@Example.ORG 42 {}"), "ann@example.org 42 {}");
  EXPECT_EQ(folded("ЁЖИК Привет"), "ёжик привет");
  EXPECT_EQ(folded("ÄÖÜ × ß ΑΩ"), "äöü × ß αω");
  EXPECT_EQ(folded("日本 🚀"), "日本 🚀");
}

TEST(TaskText, bytes_that_are_no_text_stay_as_they_are) {
  for (const std::string_view bytes : {"\xD0", "\xD0z", "\xC3\xFF", "\xFF\xFE", "\x80\xD0"}) {
    EXPECT_EQ(folded(bytes), bytes);
  }
}

TEST(TaskText, every_part_of_a_task_is_looked_at) {
  const auto one = [](auto set) {
    Task task;
    set(task);
    return task;
  };
  EXPECT_TRUE(finds("NEEDLE", one([](Task& t) { t.type = "a needle"; })));
  EXPECT_TRUE(finds("needle", one([](Task& t) { t.client_id = "Needles"; })));
  EXPECT_TRUE(finds("needle", one([](Task& t) { t.group = "needle"; })));
  EXPECT_TRUE(finds("needle", one([](Task& t) { t.request_id = "needle"; })));
  EXPECT_TRUE(finds("needle", one([](Task& t) { t.worker = "needle"; })));
  EXPECT_TRUE(finds("needle", one([](Task& t) { t.unique = UniqueKey{.key = "needle"}; })));
  EXPECT_TRUE(finds("needle", one([](Task& t) { t.tags = {"a", "needle"}; })));
  EXPECT_TRUE(finds("needle", one([](Task& t) { t.error = TaskError{.message = "needle"}; })));
  EXPECT_TRUE(finds("needle", one([](Task& t) { t.error = TaskError{.code = "needle"}; })));
  EXPECT_TRUE(finds("needle", one([](Task& t) { t.error = TaskError{.details = "needle"}; })));
  EXPECT_TRUE(finds("needle", one([](Task& t) { t.metadata = R"({"a":"needle"})"; })));
  EXPECT_TRUE(finds("needle", one([](Task& t) { t.payload = std::string("\xFF needle"); })));
  EXPECT_TRUE(finds("needle", one([](Task& t) { t.result = "haystack and needle"; })));
  EXPECT_FALSE(finds("needle", one([](Task& t) { t.type = "need"; })));
}

TEST(TaskText, an_id_is_found_by_a_part_of_it) {
  Task task;
  task.id = *task_id_from_text("01890a5d-ac96-774b-bcce-b302099a8057");
  EXPECT_TRUE(finds("AC96-774B", task));
  EXPECT_FALSE(finds("ac96774b", task));
}

TEST(TaskText, one_searcher_serves_many_tasks) {
  TaskText text("Ёж");
  Task task;
  task.payload = "Где ёж?";
  EXPECT_TRUE(text.in(task));
  task.payload = "Нигде";
  EXPECT_FALSE(text.in(task));
}

}  // namespace
}  // namespace millrace
