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
  check_bans(tree, complaints);
  return complaints;
}

Complaints check_statement(const std::string& statement) {
  return check("src/api/server/a.cc", "awaitable<void> f() {\n  g();\n  " + statement + "\n}\n");
}

auto complains(std::size_t line, const char* part) {
  return ElementsAre(
      AllOf(Field(&Complaint::line, line), Field(&Complaint::message, HasSubstr(part))));
}

}  // namespace

TEST(Bans, the_clock_is_read_in_one_file) {
  const std::string text = "int a;\nauto t = std::chrono::system_clock::now();\n";
  EXPECT_THAT(check("src/core/retry.cc", text), complains(2, "take `now` as an argument"));
  EXPECT_THAT(check("src/core/clock.cc", text), IsEmpty());
  EXPECT_THAT(check("src/core/retry.cc", "clock_gettime(CLOCK_REALTIME, &t);"),
              complains(1, "clock_gettime reads the clock"));
}

TEST(Bans, speaking_of_the_clock_is_not_reading_it) {
  EXPECT_THAT(check("src/core/a.cc", "// not steady_clock::now()\nauto s = \"_clock::now()\";"),
              IsEmpty());
  EXPECT_THAT(check("src/core/a.cc", "auto t = clock.now();"), IsEmpty());
}

TEST(Bans, locks_are_those_that_clang_knows) {
  const std::string text = "int a;\nstd::mutex mutex_;\n";
  EXPECT_THAT(check("src/broker/events.h", text), complains(2, "core/mutex.h"));
  EXPECT_THAT(check("src/broker/events.cc", "const std::scoped_lock lock(mutex_);"),
              complains(1, "std::scoped_lock"));
  EXPECT_THAT(check("src/core/mutex.h", text), IsEmpty());
  EXPECT_THAT(check("src/broker/events_test.cc", text), IsEmpty());
  EXPECT_THAT(check("tests/sim/a.cc", text), IsEmpty());
  EXPECT_THAT(check("src/broker/events.cc", "// std::mutex\nMutex mutex_;"), IsEmpty());
}

TEST(Bans, tests_do_not_sleep) {
  const std::string text = "void f() { std::this_thread::sleep_for(1ms); }";
  EXPECT_THAT(check("src/core/a_test.cc", text), complains(1, "ManualClock"));
  EXPECT_THAT(check("tests/sim/a.cc", "sleep(1);"), complains(1, "sleep in a test"));
  EXPECT_THAT(check("src/worker/a.cc", text), IsEmpty());
  EXPECT_THAT(check("tests/sim/a.cc", "bool sleep = true; // sleep()"), IsEmpty());
}

TEST(Bans, notes_are_not_left_behind) {
  EXPECT_THAT(check("src/core/a.h", "int a;\nint b;  // FIXME: wrong\n"), complains(2, "FIXME"));
  EXPECT_THAT(check("src/core/a.h", "/* XXX */"), complains(1, "XXX"));
  EXPECT_THAT(check("src/core/a.h", "auto a = \"XXX\"; // XXXL"), IsEmpty());
}

TEST(Bans, no_folder_for_everything) {
  EXPECT_THAT(check("src/util/a.cc", ""), complains(1, "the room that uses it"));
  EXPECT_THAT(check("src/api/common/notes.md", ""), complains(1, "common"));
  EXPECT_THAT(check("src/api/helpers/a.h", ""), complains(1, "helpers"));
  EXPECT_THAT(check("src/api/utility.cc", ""), IsEmpty());
}

TEST(Bans, co_await_has_no_aggregates_in_its_expression) {
  for (const char* statement : {
           "co_await f({.queue = name});",
           "co_await f(Opts{name});",
           "auto x = co_await f(Opts{name}, 1);",
           "auto x = g({.queue = name}) + co_await h();",
           "auto x = Opts{name}.size + co_await h();",
           "if (co_await f({1})) { g(); }",
           "while (a) co_await f({1});",
           "co_await f([s] { use(s); });",
           "co_return g(co_await f(), Opts{name});",
       }) {
    EXPECT_THAT(check_statement(statement), complains(3, "std::move")) << statement;
  }
}

TEST(Bans, co_await_of_named_things_is_fine) {
  for (const char* statement : {
           "co_await f(std::move(opts));",
           "if (co_await f(a)) { g(); }",
           "if (const auto x = co_await f(a); x) { g(); }",
           "for (auto& x : co_await f(a)) { g({1}); }",
           "while (!co_await f(a)) { g(); }",
           "auto a = f({1}); co_await std::move(a);",
           "g({1}); co_await h();",
           "{ g(); } co_await h();",
           "co_await h(); g({1});",
           "co_return Opts{name};",
       }) {
    EXPECT_THAT(check_statement(statement), IsEmpty()) << statement;
  }
}

}  // namespace millrace::tidy
