#include "tests/tidy/requirements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::tidy {

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> mentions(std::string text) {
  Tree tree;
  tree.add("src/core/a_test.cc", std::move(text));
  std::vector<std::string> result;
  for (const Mention& mention : mentions_in(tree.files[0])) {
    result.push_back(mention.id + " " + std::to_string(mention.line) + " " + mention.test);
  }
  return result;
}

}  // namespace

TEST(Requirements, reads_single_ids) {
  EXPECT_THAT(ids_in("// S1-026"), ElementsAre("S1-026"));
  EXPECT_THAT(ids_in("// S1-026: lost, S0-015 and (S2-006)."),
              ElementsAre("S1-026", "S0-015", "S2-006"));
}

TEST(Requirements, reads_ranges_with_any_dots) {
  for (const char* text : {"S0-015…018", "S0-015..018", "S0-015...018", "S0-015…S0-018"}) {
    EXPECT_THAT(ids_in(text), ElementsAre("S0-015", "S0-016", "S0-017", "S0-018")) << text;
  }
}

TEST(Requirements, reads_lists) {
  EXPECT_THAT(ids_in("// S1-010, 012,014"), ElementsAre("S1-010", "S1-012", "S1-014"));
  EXPECT_THAT(ids_in("// S0-015…016, 058..059, S1-001"),
              ElementsAre("S0-015", "S0-016", "S0-058", "S0-059", "S1-001"));
}

TEST(Requirements, is_not_misled_by_prose) {
  EXPECT_THAT(ids_in("// S1-010, 100 tasks"), ElementsAre("S1-010"));
  EXPECT_THAT(ids_in("// PS1-010 S1-0101 S1-01 S-001 S1-010x S1-"), IsEmpty());
  EXPECT_THAT(ids_in("// S1-010. 011 is another"), ElementsAre("S1-010"));
}

TEST(Requirements, a_comment_above_a_test_belongs_to_it) {
  EXPECT_THAT(mentions("// S1-001\n// more\nTEST(A, b) {\n}\n\n// S1-002\nTEST_P(C, d) {\n}\n"),
              ElementsAre("S1-001 1 A.b", "S1-002 6 C.d"));
}

TEST(Requirements, a_comment_in_or_beside_a_test_belongs_to_it) {
  EXPECT_THAT(mentions("TEST(A, b) {  // S1-001\n  f();  // S1-002\n  // S1-003\n}\n"),
              ElementsAre("S1-001 1 A.b", "S1-002 2 A.b", "S1-003 3 A.b"));
}

TEST(Requirements, any_other_comment_belongs_to_the_file) {
  EXPECT_THAT(mentions("// S1-001\n#include <a>\nTEST(A, b) {\n}\n// S1-002\nint f();\n"),
              ElementsAre("S1-001 1 ", "S1-002 5 "));
}

TEST(Requirements, a_test_may_be_declared_on_two_lines) {
  EXPECT_THAT(mentions("// S1-001\nTEST(A,\n     b) {\n}\n"), ElementsAre("S1-001 1 A.b"));
}

TEST(Requirements, an_id_in_a_literal_is_no_mention) {
  EXPECT_THAT(mentions("TEST(A, b) {\n  f(\"// S1-001\");\n}\n"), IsEmpty());
}

TEST(Requirements, tests_name_only_ids_that_exist) {
  Tree tree;
  tree.add(std::string(requirements_path), "# id\tstatement\nS1-001\tTasks are put\n");
  tree.add("tests/conformance/put.cc", "// S1-001, S1-999\nTEST(A, b) {}\n");
  tree.add("src/core/a.cc", "// S1-998 is not named by a test\n");
  Complaints complaints;
  check_requirements(tree, complaints);
  ASSERT_EQ(complaints.size(), 1U);
  EXPECT_EQ(complaints[0].path, "tests/conformance/put.cc");
  EXPECT_THAT(complaints[0].message, HasSubstr("S1-999 is not in docs/requirements.tsv"));
}

TEST(Requirements, the_report_says_what_is_named_and_what_is_not) {
  Tree tree;
  tree.add(std::string(requirements_path), "S1-001\tTasks are put\nS1-002\tTasks are taken\n");
  tree.add("tests/conformance/put.cc", "// S1-001\nTEST(Put, stores) {}\n");
  EXPECT_EQ(requirements_report(tree),
            "S1-001  tests/conformance/put.cc:1 Put.stores\n\nNamed by no test yet:\n"
            "S1-002  Tasks are taken\n\n2 requirements: 1 named by tests, 1 not yet\n");
}

}  // namespace millrace::tidy
