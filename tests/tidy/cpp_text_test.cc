#include "tests/tidy/cpp_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace millrace::tidy {

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string code_of(std::string_view text) {
  return take_apart(text).code;
}

std::vector<std::string> names_in(std::string_view text) {
  std::vector<std::string> names;
  for (const Function& function : functions_in(code_of(text))) names.push_back(function.name);
  return names;
}

}  // namespace

TEST(TakeApart, keeps_length_and_lines) {
  const std::string text = "int a; // one\n/* two\nthree */ int b = '\"';\n\"four\"";
  const CppText parts = take_apart(text);
  EXPECT_EQ(parts.code, "int a;       \n      \n         int b = ' ';\n\"    \"");
  EXPECT_EQ(parts.comments, "       // one\n/* two\nthree */             \n      ");
}

TEST(TakeApart, sees_through_escapes_and_raw_strings) {
  EXPECT_THAT(code_of(R"(auto s = "a\"b{"; x)"), Not(HasSubstr("{")));
  EXPECT_THAT(code_of("auto s = R\"-(a\" { )\" )-\"; x"), Not(HasSubstr("{")));
  EXPECT_THAT(code_of("auto s = R\"(a)\"; {"), HasSubstr("{"));
}

TEST(TakeApart, does_not_take_digit_separators_for_literals) {
  EXPECT_EQ(code_of("f(1'000'000, 0xFF'FF, {2})"), "f(1'000'000, 0xFF'FF, {2})");
  EXPECT_EQ(code_of("f(u8'{', '}')"), "f(u8' ', ' ')");
}

TEST(TakeApart, a_comment_sign_in_a_literal_is_no_comment) {
  EXPECT_THAT(code_of("auto url = \"http://x\"; {"), HasSubstr("{"));
  EXPECT_THAT(take_apart("auto url = \"http://x\";").comments, Not(HasSubstr("/")));
}

TEST(FunctionsIn, measures_from_brace_to_brace) {
  const auto functions = functions_in("int f() {\n  return 1;\n}\n\nvoid g(\n    int a) {}\n");
  ASSERT_EQ(functions.size(), 2U);
  EXPECT_EQ(functions[0].line, 1U);
  EXPECT_EQ(functions[0].length, 3U);
  EXPECT_EQ(functions[1].line, 6U);
  EXPECT_EQ(functions[1].length, 1U);
}

TEST(FunctionsIn, finds_them_in_namespaces_and_classes) {
  EXPECT_THAT(names_in("namespace a { namespace {\n"
                       "template <class T> struct S : Base { int m() const { return 1; }\n"
                       " private:\n  void n() noexcept {} };\n"
                       "enum class E : int { a, b };\n"
                       "struct alignas(64) Slot { void o() {} };\n"
                       "Result<int> Queue::take(Opts o = {}) { if (x) { y(); } }\n"
                       "}}"),
              ElementsAre("m", "n", "o", "Queue::take"));
}

TEST(FunctionsIn, macros_that_declare_need_no_semicolon) {
  EXPECT_THAT(names_in("struct A { int a; };\nMILLRACE_FIELDS(A, a)\n"
                       "namespace b { enum E { c };\nMILLRACE_NAMES(E, c)\nvoid f() {} }"),
              ElementsAre("f"));
}

TEST(FunctionsIn, knows_constructors_with_braced_members) {
  EXPECT_THAT(names_in("Queue::Queue(int a) : size_{a}, name_{\"x\"} { start(); }\n"
                       "Queue::Queue() : size_(0) { start(); }\n"
                       "Queue::~Queue() {}"),
              ElementsAre("Queue::Queue", "Queue::Queue", "Queue::~Queue"));
}

TEST(FunctionsIn, values_with_braces_are_no_functions) {
  EXPECT_THAT(names_in("constexpr int a[] = {1, 2};\nint b{3};\n"
                       "constexpr auto t = std::to_array<Row>({{1, f(2)}, {3, 4}});\n"
                       "const std::vector<int> v = {f(1), g(2)};"),
              IsEmpty());
}

TEST(FunctionsIn, lambdas_and_local_classes_belong_to_the_function_around_them) {
  EXPECT_THAT(names_in("int f() {\n auto g = [&](int x) { return x; };\n"
                       " struct L { int h() { return 1; } };\n return g(1);\n}\nint i() {}"),
              ElementsAre("f", "i"));
}

TEST(FunctionsIn, is_not_misled_by_macros) {
  EXPECT_THAT(names_in("#define BEGIN(x) \\\n  void x() {\nint f() { return 1; }"),
              ElementsAre("f"));
}

TEST(FunctionsIn, names_tests_by_suite_and_test) {
  EXPECT_THAT(names_in("TEST(Cron, parses) {\n}"), ElementsAre("TEST(Cron, parses)"));
}

}  // namespace millrace::tidy
