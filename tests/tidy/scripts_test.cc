#include "tests/tidy/scripts.h"

#include <gtest/gtest.h>

namespace millrace::tidy {

TEST(Scripts, are_tests_by_their_place_or_their_name) {
  for (const char* path :
       {"dashboard/tests/shell.spec.ts", "tests/install/install_test.cmake", "tests/a/run.sh",
        "examples/python/test_worker.py", "examples/node/worker.test.mjs",
        "deploy/prometheus/millrace.rules.test.yml"}) {
    EXPECT_TRUE(is_test_script(path)) << path;
  }
  for (const char* path : {"dashboard/tests/server.ts", "examples/python/worker.py", "dev",
                           "tests/random/README.md", "src/core/uuid_test.cc"}) {
    EXPECT_FALSE(is_test_script(path)) << path;
  }
}

TEST(Scripts, comments_are_told_from_code) {
  ScriptReader typescript("a.spec.ts");
  EXPECT_EQ(typescript.read("f('// no', `/*`); // yes").comment, "// yes");
  EXPECT_EQ(typescript.read("go('http://a/b')").comment, "");
  EXPECT_EQ(typescript.read("f(); /* begins").code, "f(); ");
  EXPECT_EQ(typescript.read("goes on").comment, "goes on");
  EXPECT_EQ(typescript.read("ends */ f()").code, " f()");
  EXPECT_EQ(typescript.read("g()").code, "g()");
  EXPECT_EQ(typescript.read("expect(x) # y").comment, "");

  ScriptReader python("a_test.py");
  EXPECT_EQ(python.read("f('# no', \"it's # no\")  # yes").comment, "# yes");
  EXPECT_EQ(python.read("a = b#c").comment, "");
  EXPECT_EQ(python.read("a // b").comment, "");
}

TEST(Scripts, tests_have_names) {
  EXPECT_EQ(script_test_name("test('a queue\\'s page', async () => {"), "a queue\\'s page");
  EXPECT_EQ(script_test_name("  test(`accessible in ${theme}`, () => {"), "accessible in ${theme}");
  EXPECT_EQ(script_test_name("it(\"runs\", () => {"), "runs");
  EXPECT_EQ(script_test_name("test.describe('a server', () => {"), "a server");
  EXPECT_EQ(script_test_name("    async def test_runs(self):"), "test_runs");
  for (const char* code :
       {"test.use({ flags })", "def run():", "test(name, f)", "expect(test('x'))"}) {
    EXPECT_EQ(script_test_name(code), std::nullopt) << code;
  }
}

}  // namespace millrace::tidy
