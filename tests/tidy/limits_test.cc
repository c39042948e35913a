#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tidy/rules.h"

namespace millrace::tidy {

namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

Complaints check(std::string path, std::string text) {
  Tree tree;
  tree.add(std::move(path), std::move(text));
  Complaints complaints;
  check_limits(tree, complaints);
  return complaints;
}

auto complains(std::size_t line, const char* part) {
  return ElementsAre(
      AllOf(Field(&Complaint::line, line), Field(&Complaint::message, HasSubstr(part))));
}

std::string repeated(std::size_t times, std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < times; ++i) result += text;
  return result;
}

}  // namespace

TEST(Limits, a_line_has_at_most_100_columns) {
  EXPECT_THAT(check("src/core/a.h", "\n" + std::string(100, 'a')), IsEmpty());
  EXPECT_THAT(check("src/core/a.h", "\n" + std::string(101, 'a')), complains(2, "101 columns"));
  EXPECT_THAT(check("src/core/README.md", std::string(101, 'a')), IsEmpty());
}

TEST(Limits, columns_are_characters_not_bytes) {
  EXPECT_THAT(check("src/core/a.h", repeated(100, "…")), IsEmpty());
  EXPECT_THAT(check("src/core/a.h", repeated(101, "…")), complains(1, "101 columns"));
}

TEST(Limits, a_file_has_at_most_600_lines) {
  EXPECT_THAT(check("src/core/a.h", repeated(600, "int a;\n")), IsEmpty());
  EXPECT_THAT(check("src/core/a.h", repeated(601, "int a;\n")), complains(601, "split the file"));
}

TEST(Limits, a_function_has_at_most_70_lines) {
  EXPECT_THAT(check("src/core/a.cc", "void f() {\n" + repeated(68, "g();\n") + "}\n"), IsEmpty());
  EXPECT_THAT(check("src/core/a.cc", "\nvoid f() {\n" + repeated(69, "g();\n") + "}\n"),
              complains(2, "f has 71 lines"));
}

TEST(Limits, there_are_at_most_15_public_headers) {
  Tree tree;
  Complaints complaints;
  for (char c = 'a'; c < 'a' + 15; ++c) tree.add(std::string("include/millrace/") + c + ".h", "");
  check_limits(tree, complaints);
  EXPECT_THAT(complaints, IsEmpty());
  tree.add("include/millrace/z.h", "");
  check_limits(tree, complaints);
  EXPECT_THAT(complaints, complains(1, "public headers"));
}

}  // namespace millrace::tidy
