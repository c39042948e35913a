#include "tests/tidy/requirements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::tidy {

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// "id line test" of each mention.
std::vector<std::string> told(const File& file) {
  std::vector<std::string> result;
  for (const Mention& mention : mentions_in(file)) {
    result.push_back(mention.id + " " + std::to_string(mention.line) + " " + mention.test);
  }
  return result;
}

std::vector<std::string> mentions(std::string text) {
  Tree tree;
  tree.add("src/core/a_test.cc", std::move(text));
  return told(tree.files[0]);
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

TEST(Requirements, scripts_name_them_too) {
  Tree tree;
  tree.add("dashboard/tests/a.spec.ts",
           "// S1-001\ntest('the page opens', () => {\n  f('// S1-009'); // S1-002\n});\n// "
           "S1-003\nconst x = 1;\n");
  EXPECT_THAT(told(tree.files[0]),
              ElementsAre("S1-001 1 the page opens", "S1-002 3 the page opens", "S1-003 5 "));
  Tree python;
  python.add("examples/python/worker_test.py",
             "# S1-001\ndef test_runs():\n    f('# S1-009')\n    # S1-002\n    g()\n\n# "
             "S1-003\nif main:\n    run()\n");
  EXPECT_THAT(told(python.files[0]),
              ElementsAre("S1-001 1 test_runs", "S1-002 4 test_runs", "S1-003 7 "));
}

TEST(Requirements, tests_name_none_that_is_planned) {
  Tree tree;
  tree.add(std::string(requirements_path), "S1-001\tA\nS1-002\tB\n");
  tree.add(std::string(plans_path), "# ids\twhat\nS1-001...002, S1-009\tRedis store\n");
  tree.add("tests/conformance/put.cc", "// S1-001\nTEST(A, b) {}\n");
  Complaints complaints;
  check_requirements(tree, complaints);
  ASSERT_EQ(complaints.size(), 2U);
  EXPECT_EQ(complaints[0].path, plans_path);
  EXPECT_EQ(complaints[0].line, 2U);
  EXPECT_THAT(complaints[0].message, HasSubstr("S1-001 is named at tests/conformance/put.cc:1"));
  EXPECT_THAT(complaints[1].message, HasSubstr("S1-009 is not in docs/requirements.tsv"));
}

TEST(Requirements, the_report_says_what_is_named_what_is_planned_and_what_is_neither) {
  Tree tree;
  tree.add(std::string(requirements_path),
           "S1-001\tTasks are put\nS1-002\tTasks are taken\nS1-003\tTasks are in Redis\n");
  tree.add(std::string(plans_path), "S1-003\tRedis store\n");
  tree.add("tests/conformance/put.cc", "// S1-001\nTEST(Put, stores) {}\n");
  tree.add("dashboard/tests/a.spec.ts", "// S1-001\ntest('puts', () => {});\n");
  EXPECT_EQ(requirements_report(tree),
            "S1-001  dashboard/tests/a.spec.ts:1 puts\n"
            "        tests/conformance/put.cc:1 Put.stores\n\n"
            "Planned, with what it waits for:\nS1-003  Tasks are in Redis [Redis store]\n\n"
            "Without a test:\nS1-002  Tasks are taken\n\n"
            "3 requirements: 1 named by tests, 1 planned, 1 without\n");
}

}  // namespace millrace::tidy
