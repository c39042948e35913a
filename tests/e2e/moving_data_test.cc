// Export, import and verify with the real program, between real stores.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "disk/real_disk.h"
#include "store/embedded/journal/format.h"
#include "store/embedded/journal/journal.h"
#include "store/embedded/snapshot/snapshot.h"
#include "store/store.h"
#include "tests/e2e/program.h"
#include "tests/support/driver.h"

namespace millrace::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

std::unique_ptr<Store> open_data(const std::string& path) {
  return must(open_journal(must(open_directory(path, DirectoryMode::make)), {}));
}

// Tasks in every state, a schedule, a memo, bytes that are not text.
std::vector<Task> fill(Store& store) {
  StoreDriver driver(store);
  driver.make_queue(queue("mail", {.number = QueueNumber{3}, .max_depth = 1000}));
  driver.one_in_each_state("mail");
  for (int i = 0; i < 300; ++i) {
    driver.put(task("mail", {.payload = "\xff" + std::to_string(i), .tags = {"t"}}));
  }
  must(store.remember({.key = "k", .value = "v"}, driver.now));
  must(store.put_schedule(
      {.name = "s", .rule = {.every = 1s}, .task = {.queue = "mail"}, .next = t0},
      PutSchedule::replace, driver.now));
  must(store.flush());
  return driver.list({.detail = Detail::full});
}

std::vector<Task> comparable(std::vector<Task> tasks) {
  for (Task& each : tasks) {
    each.number = {};
    each.version = {};
    each.lease_until.reset();
    if (each.state == TaskState::processing) each.state = TaskState::queued;
  }
  return tasks;
}

class MovingData : public ::testing::Test {
 protected:
  MovingData() : tasks_(fill(*open_data(directory_ / "data"))) {}

  TemporaryDirectory directory_;
  std::vector<Task> tasks_;
};

TEST_F(MovingData, from_a_journal_to_another_keeps_every_task_and_its_order) {
  const std::string file = directory_ / "backup.jsonl";
  const Ran exported = run_program({"export", directory_ / "data", "--output", file});
  EXPECT_EQ(exported.exit, 0) << exported.err;
  EXPECT_EQ(exported.out, "");
  EXPECT_EQ(exported.err, "exported 1 queue, 1 schedule, 1 memo and 309 tasks to " + file + "\n");
  const Ran imported = run_program({"import", file, "--into", "journal:" + (directory_ / "copy")});
  EXPECT_EQ(imported.exit, 0) << imported.err;
  EXPECT_EQ(imported.err, "added 1 queue, 1 schedule, 1 memo and 309 tasks\n");
  const auto copy = open_data(directory_ / "copy");
  EXPECT_EQ(comparable(StoreDriver(*copy).list({.detail = Detail::full})), comparable(tasks_));
}

TEST_F(MovingData, through_a_pipe_into_a_snapshot_and_back) {
  const Ran exported = run_program({"export", "journal:" + (directory_ / "data")});
  write_file(directory_ / "piped", exported.out);
  const std::string snapshot = "memory:?snapshot=" + (directory_ / "tasks");
  EXPECT_EQ(run_program({"import", "-", "--into", snapshot}, directory_ / "piped").exit, 0);
  const Ran again = run_program({"export", snapshot});
  EXPECT_EQ(again.exit, 0) << again.err;
  write_file(directory_ / "again", again.out);
  EXPECT_EQ(run_program({"import", directory_ / "again", "--into", directory_ / "back"}).exit, 0);
  const auto back = open_data(directory_ / "back");
  EXPECT_EQ(comparable(StoreDriver(*back).list({.detail = Detail::full})), comparable(tasks_));
}

TEST_F(MovingData, an_export_changes_nothing_and_an_import_twice_adds_nothing) {
  const Ran first = run_program({"export", directory_ / "data"});
  EXPECT_EQ(run_program({"export", directory_ / "data"}).out.substr(200), first.out.substr(200));
  write_file(directory_ / "file", first.out);
  const Ran imported = run_program({"import", directory_ / "file", "--into", directory_ / "data"});
  EXPECT_EQ(imported.exit, 0);
  EXPECT_THAT(imported.err,
              AllOf(HasSubstr("added no queues, no schedules, no memos and no tasks"),
                    HasSubstr("left as they were: 1 queue, 1 schedule, 1 memo and 309")));
}

TEST_F(MovingData, an_interrupted_import_goes_on_when_it_is_run_again) {
  const Ran exported = run_program({"export", directory_ / "data"});
  write_file(directory_ / "cut", exported.out.substr(0, exported.out.size() / 2));
  write_file(directory_ / "whole", exported.out);
  const Ran cut = run_program({"import", directory_ / "cut", "--into", directory_ / "copy"});
  EXPECT_EQ(cut.exit, 1);
  EXPECT_THAT(cut.err, HasSubstr("error: line "));
  EXPECT_EQ(run_program({"import", directory_ / "whole", "--into", directory_ / "copy"}).exit, 0);
  const auto copy = open_data(directory_ / "copy");
  EXPECT_EQ(comparable(StoreDriver(*copy).list({.detail = Detail::full})), comparable(tasks_));
}

// S0-076
TEST_F(MovingData, a_queue_state_comes_into_the_queue_that_is_named) {
  write_file(directory_ / "queue-state.json", R"({
  "queues": { "high": [], "medium": ["task-00000000-0000-4000-8000-000000000001"], "low": [] },
  "tasks": [ { "id": "task-00000000-0000-4000-8000-000000000001", "type": "claude-query",
               "status": "queued", "createdAt": "2025-04-15T14:30:00Z", "payload": {"a": 0.5} } ]
})");
  const Ran imported = run_program({"import", directory_ / "queue-state.json", "--into",
                                    directory_ / "copy", "--queue", "claude"});
  EXPECT_EQ(imported.exit, 0) << imported.err;
  const auto copy = open_data(directory_ / "copy");
  EXPECT_EQ(StoreDriver(*copy).take_one("claude").payload, R"({"a":0.5})");
}

// S0-075
TEST_F(MovingData, a_queue_state_is_written_where_that_is_asked_for) {
  {
    const auto data = open_data(directory_ / "claude");
    StoreDriver driver(*data);
    driver.make_queue("claude");
    for (int i = 0; i < 5; ++i) {
      driver.put(task("claude", {.type = "claude-query", .payload = R"({"a": 0.50})"}));
    }
    must(data->flush());
  }
  const std::string file = directory_ / "queue-state.json";
  const Ran exported =
      run_program({"export", directory_ / "claude", "--format", "queue-state", "-o", file});
  EXPECT_EQ(exported.exit, 0) << exported.err;
  EXPECT_EQ(exported.err, "exported 1 queue, no schedules, no memos and 5 tasks to " + file + "\n");
  const std::string text = read_file(file);
  EXPECT_THAT(text, AllOf(StartsWith("{\n  \"queues\": {\n    \"high\": [],\n    \"medium\": [\n"),
                          HasSubstr("\n  \"tasks\": [\n    {\n      \"id\": \"task-"),
                          HasSubstr("\n      \"payload\": {\n        \"a\": 0.50\n      },\n")));
  const Ran imported = run_program({"import", file, "--into", directory_ / "copy"});
  EXPECT_EQ(imported.exit, 0) << imported.err;
  EXPECT_EQ(imported.err, "added 1 queue, no schedules, no memos and 5 tasks\n");
}

TEST_F(MovingData, a_queue_state_that_cannot_be_is_refused) {
  const std::string data = directory_ / "data";
  const Ran bytes = run_program({"export", data, "--format", "queue-state"});
  EXPECT_EQ(bytes.exit, 1);
  EXPECT_THAT(bytes.err, HasSubstr("bytes that are not text"));
  EXPECT_EQ(bytes.out, "");
  EXPECT_EQ(run_program({"export", data, "--format", "xml"}).exit, 2);
  EXPECT_EQ(run_program({"export", data, "--queue", "mail"}).exit, 2);
}

TEST_F(MovingData, a_journal_is_verified_and_damage_is_found) {
  const Ran good = run_program({"verify", directory_ / "data"});
  EXPECT_EQ(good.exit, 0) << good.err;
  EXPECT_THAT(good.out, HasSubstr("tasks                    309\n"));
  const std::string name = embedded::segment_name(1);
  std::string bytes = read_file(directory_ / ("data/" + name));
  ASSERT_GT(bytes.size(), 2000U);
  bytes[1500] = static_cast<char>(bytes[1500] ^ 1);
  write_file(directory_ / ("data/" + name), bytes);
  const Ran bad = run_program({"verify", directory_ / "data"});
  EXPECT_EQ(bad.exit, 3) << bad.err;
  EXPECT_THAT(bad.err, HasSubstr(name));
  const Ran exported = run_program({"export", directory_ / "data"});
  EXPECT_EQ(exported.exit, 3) << exported.err;
}

TEST_F(MovingData, what_is_not_there_or_in_use_is_named) {
  const Ran missing = run_program({"export", directory_ / "nowhere"});
  EXPECT_EQ(missing.exit, 1);
  EXPECT_THAT(missing.err, HasSubstr("nowhere"));
  const TemporaryDirectory empty;
  EXPECT_THAT(run_program({"export", empty / ""}).err, HasSubstr("holds no journal"));
  EXPECT_EQ(run_program({"verify", empty / ""}).exit, 1);
  EXPECT_THAT(run_program({"export", "memory:?snapshot=" + (empty / "gone")}).err,
              HasSubstr("holds no gone"));
  EXPECT_THAT(run_program({"export", "memory:"}).err, HasSubstr("memory:?snapshot=FILE"));
  const auto used = open_data(directory_ / "data");
  const Ran busy = run_program({"export", directory_ / "data"});
  EXPECT_EQ(busy.exit, 1);
  EXPECT_THAT(busy.err, HasSubstr("in use by another process"));
}

TEST(Program, explains_itself) {
  const Ran help = run_program({"--help"});
  EXPECT_EQ(help.exit, 0);
  EXPECT_THAT(help.out, HasSubstr("Examples:"));
  EXPECT_THAT(run_program({"--version"}).out, MatchesRegex("millrace [0-9]+\\.[0-9]+\\.[0-9]+\n"));
  EXPECT_EQ(run_program({"exprot"}).exit, 2);
  EXPECT_EQ(run_program({}).exit, 2);
}

}  // namespace
}  // namespace millrace::test
