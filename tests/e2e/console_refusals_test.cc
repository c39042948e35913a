// What goes wrong with the commands over HTTP: the exit code, and what people are told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "tests/e2e/console.h"

namespace millrace::test {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* an_id = "01890a5d-ac96-774b-bcce-b302099a8057";

struct Bad {
  std::vector<std::string> words;
  const char* told;
};

std::vector<Bad> about_tasks() {
  return {
      {{"put"}, "QUEUE is required"},
      {{"put", "q", "{\"a\""}, "the JSON ends in the middle"},
      {{"put", "q", "{} x"}, "unexpected text after"},
      {{"put", "q", "{}", "--priority", "urgent"}, "0 to 9"},
      {{"put", "q", "{}", "--delay", "soon"}, "30s"},
      {{"put", "q", "{}", "--wait=soon"}, "30s"},
      {{"put", "q", "{}", "--at", "tomorrow"}, "2027-01-31T09:00:00Z"},
      {{"put", "q", "{}", "--id", "7"}, "UUID"},
      {{"put", "q", "{}", "--lines"}, "standard input"},
      {{"put", "q", "--lines", "--id", an_id}, "for one task"},
      {{"put", "q", "{}", "--after", "7"}, "--after is \"7\"; write a UUID"},
      {{"put", "q", "{}", "--when", "ended"}, "need --after"},
      {{"put", "q", "{}", "--after", an_id, "--otherwise", "holt"}, "the nearest is hold"},
      {{"put", "q", "--task-lines", "--priority", "1"}, "leave the flags out"},
      {{"put", "q", "{}", "--prority", "1"}, "the nearest is --priority"},
      {{"task"}, "which task?"},
      {{"task", "nope"}, "its number"},
      {{"task", "shwo", an_id}, "is not a task"},
      {{"task", "cancel"}, "ID is required"},
      {{"task", "change", an_id}, "nothing to change"},
      {{"task", "wait", an_id, "--timeout", "x"}, "30s"},
      {{"tasks", "--state", "deda"}, "the nearest is dead"},
      {{"tasks", "--limit", "0"}, "allowed are 1 to"},
      {{"tasks", "--since", "yesterday"}, "how long ago"},
      {{"tasks", "emails"}, "emails"},
      {{"tasks", "cancel"}, "which tasks?"},
      {{"tasks", "cancel", "--all", "--queue", "q"}, "give one"},
      {{"tasks", "priority", "10", "--queue", "q"}, "0 to 9"},
      {{"tasks", "move", "--queue", "q"}, "QUEUE is required"},
      {{"bulk", "show", "7"}, "UUID"},
      {{"events", "--count", "0"}, "allowed are 1 to"},
      {{"events", "--id", "7"}, "UUID"},
      {{"events", "--event", "daed"}, "the nearest is dead"},
  };
}

std::vector<Bad> about_queues_and_more() {
  return {
      {{"queues", "shwo"}, "the nearest is show"},
      {{"queues", "create", "q", "--group-order", "fiar"}, "the nearest is fair"},
      {{"put", "q", "{}", "--cost", "-1"}, "allowed are 0 to"},
      {{"groups"}, "which queue?"},
      {{"groups", "q", "--most", "0"}, "allowed are 1 to"},
      {{"groups", "set", "q", "acme"}, "nothing to change"},
      {{"groups", "set", "q"}, "GROUP is required"},
      {{"groups", "set", "q", "acme", "--rate", "fast"}, "100/1m"},
      {{"groups", "set", "q", "acme", "--weight", "3", "--until", "0s"}, "in the past"},
      {{"groups", "pause", "q", "acme", "--for", "1m", "--until", "1m"}, "exclude each other"},
      {{"queues", "create", "q", "--rate", "fast"}, "100/1m"},
      {{"queues", "create", "q", "--keep-dead", "x"}, "forever"},
      {{"queues", "change", "q"}, "nothing to change"},
      {{"queues", "pause", "q", "--for", "1m", "--until", "2m"}, "give one"},
      {{"dead", "retry"}, "which dead letters?"},
      {{"dead", "retry", an_id, "--all"}, "not several"},
      {{"dead", "remove", "7"}, "by their ids"},
      {{"schedules", "create", "s"}, "--queue NAME"},
      {{"schedules", "create", "s", "--queue", "q"}, "--cron"},
      {{"schedules", "create", "s", "--queue", "q", "--cron", "* *"}, "5 fields"},
      {{"schedules", "create", "s", "--queue", "q", "--cron", "* * * * *", "--zone", "Mars"},
       "Mars"},
      {{"schedules", "create", "s", "--queue", "q", "--every", "1m", "--payload", "{"}, "not JSON"},
      {{"schedules", "next", "s", "--count", "0"}, "1 to 1000"},
      {{"keys", "create", "--name", "x", "--scope", "root"}, "not a scope"},
      {{"--json", "queues"}, "--json goes after the command"},
      {{"stats", "a", "b"}, "b"},
      {{"workers", "a", "b"}, "b"},
  };
}

TEST_F(ConsoleTest, what_is_not_understood_is_2_and_says_what_is_allowed) {
  std::vector<Bad> all = about_tasks();
  std::ranges::move(about_queues_and_more(), std::back_inserter(all));
  for (const Bad& each : all) {
    const Ran ran = run(each.words);
    EXPECT_EQ(ran.exit, 2) << ::testing::PrintToString(each.words) << ran.err;
    EXPECT_THAT(ran.err, AllOf(HasSubstr("error: "), HasSubstr(each.told)));
    EXPECT_THAT(ran.out, IsEmpty());
  }
  EXPECT_THAT(run({"queues"}).err, HasSubstr("no queues yet")) << "nothing of it was done";
  EXPECT_EQ(run_program({"completion", "tcsh"}).exit, 2);
  EXPECT_EQ(run_program({"queues", "--server", "ftp://x"}).exit, 2);
  EXPECT_EQ(run_program({"queues", "--key-file", "/nowhere/at/all"}).exit, 2);
}

TEST_F(ConsoleTest, what_is_not_there_is_5_and_the_nearest_is_named) {
  EXPECT_EQ(run({"queues", "create", "emails"}).exit, 0);
  EXPECT_EQ(run({"schedules", "create", "daily", "--every", "1h", "--queue", "emails"}).exit, 0);
  const std::vector<std::pair<std::vector<std::string>, std::string>> all = {
      {{"queues", "show", "emials"}, "The nearest is emails"},
      {{"queues", "pause", "emials"}, "The nearest is emails"},
      {{"queues", "change", "emials", "--lease", "1m"}, "The nearest is emails"},
      {{"queues", "clear", "emials", "--yes"}, "The nearest is emails"},
      {{"queues", "remove", "emials"}, "The nearest is emails"},
      {{"stats", "emials"}, "The nearest is emails"},
      {{"task", an_id}, "millrace tasks"},
      {{"task", "wait", an_id}, "millrace tasks"},
      {{"task", "cancel", an_id}, "millrace tasks"},
      {{"task", "explain", an_id}, "millrace tasks"},
      {{"task", "log", an_id}, "millrace tasks"},
      {{"task", "result", "77"}, "millrace tasks"},
      {{"task", "remove", an_id, "--yes"}, "millrace tasks"},
      {{"schedules", "show", "dialy"}, "The nearest is daily"},
      {{"schedules", "run", "dialy"}, "The nearest is daily"},
      {{"schedules", "change", "dialy", "--every", "2h"}, "The nearest is daily"},
      {{"schedules", "remove", "dialy"}, "The nearest is daily"},
      {{"workers", "nobody"}, "No worker has asked"},
      {{"keys", "revoke", "0123456789abcdef", "--yes"}, "keys list"},
  };
  for (const auto& [words, told] : all) {
    const Ran ran = run(words);
    EXPECT_EQ(ran.exit, 5) << ::testing::PrintToString(words) << ran.err;
    EXPECT_THAT(ran.err, AllOf(StartsWith("error: "), HasSubstr(told))) << words[0] << words[1];
  }
}

TEST_F(ConsoleTest, until_empty_ends_at_a_queue_that_gives_no_tasks) {
  out_of({"put", "q", "1"});
  out_of({"queues", "pause", "q"});
  work("q", {"cat"});
  EXPECT_THAT(out_of({"tasks", "--state", "queued"}), HasSubstr("q"));
}

TEST(ConsoleAlone, a_put_that_was_not_answered_tells_its_id) {
  const Ran ran =
      run_program({"put", "q", "{}", "--retry-for", "0s", "--server", "http://127.0.0.1:1"});
  EXPECT_THAT(ran.err, ContainsRegex("--id [0-9a-f-]{36}"));
}

TEST(ConsoleAlone, no_server_is_6_and_says_how_to_start_one) {
  const std::vector<std::vector<std::string>> all = {{"put", "q", "{}", "--retry-for", "0s"},
                                                     {"task", an_id},
                                                     {"tasks"},
                                                     {"queues"},
                                                     {"queues", "create", "q"},
                                                     {"dead"},
                                                     {"schedules"},
                                                     {"workers"},
                                                     {"stats"},
                                                     {"keys", "list"},
                                                     {"bulk"},
                                                     {"events"},
                                                     {"tasks", "cancel", "--all"}};
  for (auto words : all) {
    words.insert(words.end(), {"--server", "http://127.0.0.1:1"});
    const Ran ran = run_program(words);
    EXPECT_EQ(ran.exit, 6) << words[0];
    EXPECT_THAT(ran.err, AllOf(HasSubstr("connection refused"), HasSubstr("millrace serve")));
  }
}

TEST(ConsoleAlone, a_wrong_key_is_7_and_says_which_one) {
  const TemporaryDirectory directory;
  const std::string data = directory / "data";
  const auto key = [&](const char* name, const char* scope) {
    Ran made = run_program({"keys", "create", "--store", data, "--name", name, "--scope", scope});
    EXPECT_EQ(made.exit, 0) << made.err;
    write_file(directory / name, made.out);
    return directory / name;
  };
  const std::string admin = key("admin", "admin");
  const std::string reader = key("reader", "read");
  write_file(directory / "bad",
             "mr_0123456789abcdef_0123456789012345678901234567890123456789012\n");
  ServerProcess server({"--store", data});
  ASSERT_TRUE(server.ready());
  const auto run = [&](std::vector<std::string> words, const std::string& file) {
    words.insert(words.end(), {"--server", "http://127.0.0.1:" + std::to_string(server.port())});
    if (!file.empty()) words.insert(words.end(), {"--key-file", file});
    return run_program(words);
  };
  const Ran none = run({"queues"}, "");
  EXPECT_EQ(none.exit, 7);
  EXPECT_THAT(none.err, AllOf(HasSubstr("No key was sent"), HasSubstr("--key-file")));
  const Ran wrong = run({"queues"}, directory / "bad");
  EXPECT_EQ(wrong.exit, 7);
  EXPECT_THAT(wrong.err, AllOf(HasSubstr("The key mr_0123456789abcdef from " + (directory / "bad")),
                               Not(HasSubstr("_01234567890123"))));
  EXPECT_EQ(run({"queues"}, reader).exit, 0);
  const Ran put = run({"put", "q", "{}"}, reader);
  EXPECT_EQ(put.exit, 7);
  EXPECT_THAT(put.err, HasSubstr("lacks the scope"));
  EXPECT_EQ(run({"put", "q", "{}"}, admin).exit, 0);
  // Keys of a server, by a server.
  const Ran made =
      run({"keys", "create", "--name", "ci", "--scope", "put,read", "--queue", "ci.*"}, admin);
  EXPECT_EQ(made.exit, 0) << made.err;
  EXPECT_THAT(made.out, MatchesRegex("mr_[0-9a-f]{16}_.{43}\n"));
  const Ran list = run({"keys", "list"}, admin);
  EXPECT_THAT(list.out, AllOf(HasSubstr("put, read"), HasSubstr("ci.*"), HasSubstr("reader")));
  EXPECT_EQ(run({"keys", "revoke", made.out.substr(3, 16), "--yes"}, admin).exit, 0);
  EXPECT_THAT(run({"keys", "list", "--json"}, admin).out,
              AllOf(StartsWith(R"({"keys":[)"), Not(HasSubstr("ci.*"))));
  const Ran taken = run_program({"keys", "list", "--store", data});
  EXPECT_EQ(taken.exit, 1);
  EXPECT_THAT(taken.err, HasSubstr("millrace keys list --server http://"));
}

}  // namespace
}  // namespace millrace::test
