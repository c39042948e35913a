// `millrace bench` against a real server: what it tells, and that it leaves nothing behind.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <csignal>

#include "tests/e2e/program.h"
#include "tests/e2e/server.h"
#include "tests/e2e/terminal.h"

namespace millrace::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class BenchTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(server_.ready()) << server_.said(); }

  std::string url() const { return fmt::format("http://127.0.0.1:{}", server_.port()); }
  Ran bench(std::vector<std::string> flags) const {
    flags.insert(flags.begin(), {"bench", "--server", url()});
    return run_program(flags);
  }
  // A forced removal goes on after it is answered.
  bool is_gone(const std::string& queue) const {
    for (int i = 0; i < 10'000; ++i) {
      if (server_.ask({.path = "/v1/queues/" + queue}).status == 404) return true;
    }
    return false;
  }
  std::string line(const std::string& flags) const {
    return fmt::format("{} bench --server {} {}", MILLRACE_PROGRAM, url(), flags);
  }

  ServerProcess server_{{"--store", "memory:"}};
};

TEST_F(BenchTest, puts_works_tells_and_cleans_up) {
  const Ran ran = bench({"--tasks", "1050", "--batch", "100", "--connections", "3"});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_THAT(ran.err, IsEmpty());
  EXPECT_THAT(ran.out,
              AllOf(StartsWith("1,050 tasks of 200 bytes, 100 per request, 3 connections\n"),
                    HasSubstr("memory, lost with the process"), HasSubstr("\nput "),
                    HasSubstr("\nwork "), HasSubstr("one at a time: start"),
                    HasSubstr("kept in memory only"), HasSubstr("Measured from ")));
  EXPECT_TRUE(is_gone("bench"));
  EXPECT_THAT(server_.ask({.path = "/v1/tasks"}).body, HasSubstr(R"("tasks":[])"));
}

TEST_F(BenchTest, json_has_the_figures) {
  const Ran ran = bench({"--tasks", "300", "--batch", "1", "--payload", "2", "--json"});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_THAT(ran.out,
              AllOf(HasSubstr(R"("durability":"none")"), HasSubstr(R"("put":{"tasks":300,)"),
                    HasSubstr(R"("work":{"tasks":300,)"), HasSubstr(R"("trickle":{"tasks":200,)"),
                    HasSubstr(R"("errors":0)"), Not(HasSubstr(R"("error":)"))));
}

TEST_F(BenchTest, what_is_kept_can_be_worked_later_and_is_not_mixed_with_more) {
  const Ran put = bench({"--tasks", "500", "--put-only", "--keep", "--queue", "b2"});
  EXPECT_EQ(put.exit, 0) << put.err;
  EXPECT_THAT(put.out, AllOf(HasSubstr("\nput "), Not(HasSubstr("\nwork "))));
  EXPECT_THAT(put.err, HasSubstr("\"b2\" is kept"));
  const Ran again = bench({"--tasks", "5", "--queue", "b2"});
  EXPECT_EQ(again.exit, 1);
  EXPECT_THAT(again.err, AllOf(HasSubstr("holds 500 tasks of an earlier bench"),
                               HasSubstr("--work-only"), HasSubstr("queues remove b2")));
  const Ran work = bench({"--work-only", "--queue", "b2", "--json"});
  EXPECT_EQ(work.exit, 0) << work.err;
  EXPECT_THAT(work.out, AllOf(HasSubstr(R"("work":{"tasks":500,)"), Not(HasSubstr(R"("put":)"))));
  EXPECT_TRUE(is_gone("b2"));
  const Ran nothing = bench({"--work-only", "--queue", "b2"});
  EXPECT_EQ(nothing.exit, 5);
  EXPECT_THAT(nothing.err, HasSubstr("--put-only --keep"));
}

TEST_F(BenchTest, a_queue_that_bench_did_not_make_is_not_touched) {
  server_.ask({.method = "POST", .path = "/v1/queues/emails/tasks", .body = "{}"});
  for (const char* flag : {"--keep", "--put-only", "--work-only"}) {
    const Ran ran = bench({"--tasks", "5", "--queue", "emails", flag});
    EXPECT_EQ(ran.exit, 1) << flag;
    EXPECT_THAT(ran.err, AllOf(HasSubstr("was not made by"), HasSubstr("holds 1 task")));
  }
  EXPECT_THAT(server_.ask({.path = "/v1/queues/emails/stats"}).body, HasSubstr(R"("queued":1)"));
}

TEST_F(BenchTest, bad_input_is_named) {
  const std::vector<std::vector<std::string>> bad = {
      {"--tasks", "0"},         {"--tasks", "many"},  {"--tasks", "-1"},   {"--payload", "1"},
      {"--payload", "2000000"}, {"--batch", "0"},     {"--batch", "1001"}, {"--connections", "0"},
      {"--connections", "65"},  {"--connections", ""}};
  for (const auto& flags : bad) {
    const Ran ran = bench(flags);
    EXPECT_EQ(ran.exit, 2) << flags[0] << flags[1];
    EXPECT_THAT(ran.err, HasSubstr(flags[0]));
  }
  EXPECT_EQ(bench({"--put-only", "--work-only"}).exit, 2);
  EXPECT_EQ(bench({"--fast"}).exit, 2);
  EXPECT_NE(bench({"--queue", "$bulk"}).exit, 0);
  EXPECT_NE(bench({"--queue", "no such name!"}).exit, 0);
  EXPECT_EQ(run_program({"bench", "--server", "http://127.0.0.1:1"}).exit, 6);
}

TEST_F(BenchTest, a_key_that_may_not_is_told) {
  const TemporaryDirectory scratch;
  const std::string data = scratch / "data";
  const Ran key =
      run_program({"keys", "create", "--store", data, "--name", "a", "--scope", "read,put,work"});
  ASSERT_EQ(key.exit, 0) << key.err;
  write_file(scratch / "key", key.out);
  ServerProcess guarded({"--store", data});
  ASSERT_TRUE(guarded.ready());
  const std::string there = fmt::format("http://127.0.0.1:{}", guarded.port());
  EXPECT_EQ(run_program({"bench", "--server", there}).exit, 7);
  const Ran ran = run_program({"bench", "--server", there, "--key-file", scratch / "key"});
  EXPECT_EQ(ran.exit, 7) << ran.err;
}

TEST_F(BenchTest, ctrl_c_stops_cleans_up_and_tells) {
  if (!Terminal::installed()) GTEST_SKIP() << "there is no tmux here";
  Terminal terminal(line("-n 100000000"), 100, 30);
  ASSERT_TRUE(terminal.says("putting ["));
  terminal.press("C-c");
  EXPECT_EQ(terminal.exit(), 1);
  EXPECT_TRUE(terminal.shows("exit="));
  EXPECT_THAT(terminal.screen(), AllOf(HasSubstr("Stopped before the end"), HasSubstr("put ")));
  EXPECT_TRUE(is_gone("bench"));
}

TEST_F(BenchTest, a_server_that_dies_is_told) {
  if (!Terminal::installed()) GTEST_SKIP() << "there is no tmux here";
  Terminal terminal(line("-n 100000000"), 100, 30);
  ASSERT_TRUE(terminal.says("putting ["));
  server_.signal(SIGKILL);
  EXPECT_EQ(terminal.exit(), 6) << terminal.screen();
  EXPECT_TRUE(terminal.shows("exit="));
  EXPECT_THAT(terminal.screen(),
              AllOf(HasSubstr("\"bench\" could not be removed"), HasSubstr("error: ")));
}

}  // namespace
}  // namespace millrace::test
