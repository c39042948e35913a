#include "transfer/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <sstream>

#include "core/transition.h"
#include "store/faulty.h"
#include "store/store.h"
#include "tests/support/driver.h"
#include "tests/support/matchers.h"
#include "tests/support/model_store.h"
#include "transfer/export.h"

namespace millrace::transfer {
namespace {

using namespace std::chrono_literals;
using test::must;
using test::StoreDriver;
using test::t0;
using test::task;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::unique_ptr<Store> open_model() {
  return std::make_unique<test::ModelStore>();
}

std::string text_of(Store& store, TimePoint now) {
  std::ostringstream out;
  must(export_store(store, out, now));
  return out.str();
}

ImportReport import_text(const std::string& text, Store& store, TimePoint now,
                         const ImportOptions& options = {}) {
  std::istringstream in(text);
  return import_store(in, store, now, options);
}

std::string error_of(const ImportReport& report) {
  return report.error ? report.error->message : "";
}

// Everything a store can hold, with something running.
void fill(StoreDriver& driver) {
  driver.make_queue(test::queue("q", {.number = QueueNumber{7},
                                      .paused_until = never,
                                      .max_depth = 2,
                                      .types = {{.type = "a", .timeout = 1s}}}));
  driver.make_queue("work");
  driver.make_queue(test::queue("letters", {.dead_letter_queue = "work"}));
  driver.one_in_each_state("work");
  driver.put(task("work", {.payload = "\xff", .unique = UniqueKey{.key = "k"}}));
  driver.put(
      task("work", {.unique = UniqueKey{.key = "w", .scope = UniqueScope::window, .window = 1h}}));
  const Lease lease = driver.take_one("work");
  must(driver.try_extend(
      {.id = lease.id, .token = lease.token, .progress = 50.5, .log = {"l\xfe"}}));
  driver.pass(1s);
  driver.settle(test::failed(lease, test::error("no\xff", "code")));
  driver.put(task("work"));
  driver.take_one("work");
  Store& store = driver.store();
  must(store.remember({.key = "for ever", .value = std::string("\0", 1)}, driver.now));
  must(store.remember({.key = "for now", .value = "v", .lifetime = 1h}, driver.now));
  must(store.put_schedule(
      {.name = "s", .rule = {.cron = "* * * * *"}, .task = task("q"), .next = driver.now},
      PutSchedule::replace, driver.now));
}

// What may differ between a store and what was imported from it.
Task comparable(Task each) {
  each.number = {};
  each.version = {};
  each.lease_until.reset();
  if (each.state == TaskState::processing) each.state = TaskState::queued;
  return each;
}

void expect_same(Store& first, Store& second, TimePoint now) {
  const auto tasks = [](Store& store) {
    std::vector<Task> all;
    for (const Task& each : StoreDriver(store).list({.detail = Detail::full}))
      all.push_back(comparable(each));
    return all;
  };
  EXPECT_EQ(tasks(first), tasks(second));
  const auto settings = [](Store& store) {
    std::vector<QueueSettings> all;
    for (const Queue& queue : must(store.queues(std::nullopt))) all.push_back(queue.settings);
    return all;
  };
  EXPECT_EQ(settings(first), settings(second));
  EXPECT_EQ(must(first.schedules(std::nullopt)).size(),
            must(second.schedules(std::nullopt)).size());
  const auto memos = [now](Store& store) {
    auto all = must(store.recall({.limit = 1000}, now));
    for (Memo& memo : all) memo.version = 0;
    return all;
  };
  EXPECT_EQ(memos(first), memos(second));
}

// S0-076
TEST(Import, makes_an_equal_store_of_an_export) {
  const auto first = open_model();
  StoreDriver driver(*first);
  fill(driver);
  driver.pass(1min);
  const auto second = open_model();
  const ImportReport report = import_text(text_of(*first, driver.now), *second, driver.now);
  EXPECT_EQ(error_of(report), "");
  EXPECT_EQ(report.added, (Counts{.queues = 3, .schedules = 1, .memos = 2, .tasks = 12}));
  expect_same(*first, *second, driver.now);
  EXPECT_EQ(must(first->schedules("s")).front().rule, must(second->schedules("s")).front().rule);
  EXPECT_EQ(must(first->schedules("s")).front().next, must(second->schedules("s")).front().next);
}

// D-07
TEST(Import, queues_what_was_running) {
  const auto first = open_model();
  StoreDriver driver(*first);
  driver.make_queue("q");
  driver.put(task("q"));
  const Lease lease = driver.take_one("q");
  const auto second = open_model();
  import_text(text_of(*first, driver.now), *second, driver.now);
  EXPECT_EQ(StoreDriver(*second).state_of(lease.id), TaskState::queued);
  EXPECT_EQ(StoreDriver(*second).take_one("q").id, lease.id);
}

TEST(Import, keeps_the_order_in_which_equal_tasks_are_taken) {
  const auto first = open_model();
  StoreDriver driver(*first);
  driver.make_queue("q");
  for (int i = 0; i < 2500; ++i)
    driver.put(task("q", {.priority = static_cast<std::uint8_t>(i % 3)}));
  const auto second = open_model();
  EXPECT_EQ(import_text(text_of(*first, driver.now), *second, driver.now).added.tasks, 2500U);
  StoreDriver other(*second);
  other.now = driver.now;
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(test::ids_of(driver.take("q")), test::ids_of(other.take("q")));
  }
}

TEST(Import, a_second_time_changes_nothing) {
  const auto first = open_model();
  StoreDriver driver(*first);
  fill(driver);
  const std::string text = text_of(*first, driver.now);
  const auto second = open_model();
  const ImportReport once = import_text(text, *second, driver.now);
  const std::string before = test::dump(*second, driver.now);
  const ImportReport twice = import_text(text, *second, driver.now + 1s);
  EXPECT_EQ(test::dump(*second, driver.now), before);
  EXPECT_EQ(twice.added, Counts{});
  EXPECT_EQ(twice.existing, once.added);
  EXPECT_EQ(error_of(twice), "");
}

TEST(Import, leaves_what_is_there_as_it_is) {
  const auto first = open_model();
  StoreDriver driver(*first);
  fill(driver);
  const auto second = open_model();
  StoreDriver other(*second);
  other.make_queue(test::queue("work", {.description = "mine"}));
  const TaskId holder = other.put(task("work", {.unique = UniqueKey{.key = "k"}})).id;
  must(second->remember({.key = "for now", .value = "mine"}, t0));
  must(second->put_schedule({.name = "s", .rule = {.every = 9s}, .task = {.queue = "work"}},
                            PutSchedule::replace, t0));
  const ImportReport report = import_text(text_of(*first, driver.now), *second, driver.now);
  EXPECT_EQ(error_of(report), "");
  EXPECT_EQ(report.existing, (Counts{.queues = 1, .schedules = 1, .memos = 1}));
  EXPECT_EQ(report.key_held, 1U);
  EXPECT_EQ(other.find_queue("work").settings.description, "mine");
  EXPECT_EQ(must(second->schedules("s")).front().rule.every, 9s);
  EXPECT_EQ(other.state_of(holder), TaskState::queued);
}

TEST(Import, gives_memos_the_rest_of_their_lifetime) {
  const auto first = open_model();
  must(first->remember({.key = "brief", .value = "v", .lifetime = 1min}, t0));
  must(first->remember({.key = "long", .value = "v", .lifetime = 1h}, t0));
  const std::string text = text_of(*first, t0);
  const auto second = open_model();
  const ImportReport report = import_text(text, *second, t0 + 1min);
  EXPECT_EQ(report.added.memos, 1U);
  EXPECT_EQ(report.expired, 1U);
  EXPECT_EQ(must(second->recall({}, t0 + 1min)).front().expires, t0 + 1h);
}

// ---- Damage ------------------------------------------------------------------------------------

class DamagedImport : public ::testing::Test {
 protected:
  DamagedImport() {
    StoreDriver driver(*source_);
    driver.make_queue("q");
    for (int i = 0; i < 5; ++i) driver.put(task("q"));
    std::istringstream in(text_of(*source_, t0));
    for (std::string line; std::getline(in, line);) lines_.push_back(line);
  }

  ImportReport run() {
    std::string text;
    for (const auto& line : lines_) text += line + "\n";
    return import_text(text, *target_, t0);
  }
  std::uint64_t tasks() {
    const auto counts = must(target_->counts(std::nullopt, t0));
    return counts.empty() ? 0 : counts.front().total();
  }

  std::unique_ptr<Store> source_ = open_model();
  std::unique_ptr<Store> target_ = open_model();
  std::vector<std::string> lines_;  // header, queue, five tasks, end
};

TEST_F(DamagedImport, a_file_cut_between_lines_is_noticed_and_its_lines_are_in) {
  lines_.resize(5);
  EXPECT_THAT(error_of(run()), HasSubstr("after line 5 without its closing line"));
  EXPECT_EQ(tasks(), 3U);
}

TEST_F(DamagedImport, a_file_cut_anywhere_is_noticed) {
  const std::string text = text_of(*source_, t0);
  for (std::size_t size = 0; size + 1 < text.size(); size += 7) {
    const auto target = open_model();
    EXPECT_TRUE(import_text(text.substr(0, size), *target, t0).error) << size;
  }
}

TEST_F(DamagedImport, a_bad_line_is_named_and_only_what_is_before_it_is_in) {
  const std::pair<std::string, std::string> bad[] = {
      {"{\"task\":", "line 5: the JSON ends in the middle"},
      {"[]", "line 5: a line must be an object with one key"},
      {R"({"job":{}})", R"(line 5: "job" is not known; known are queue)"},
      {R"({"task":{"id":7}})", "line 5: task.id is 7"},
      {R"({"queue":{"name":"a b","id":"00000000-0000-7000-8000-000000000001"}})",
       "line 5: queue name \"a b\""},
      {R"({"schedule":{"name":"s","rule":{"every_ms":1000},"task":{"queue":"nowhere"}}})",
       "line 5: no such queue"},
      {R"({"memo":{"key":"","value":""}})", "line 5: a key is needed"},
      {lines_[0], "line 5: the opening line of an export is not its first"},
      {R"({"end":{"tasks":2}})",
       "line 5: the export had 0 queues, 0 groups, 0 schedules, 0 memos and 2 tasks"},
      {std::string(40, '['), "line 5: "},
  };
  for (const auto& [line, message] : bad) {
    target_ = open_model();
    const auto good = lines_[4];
    lines_[4] = line;
    EXPECT_THAT(error_of(run()), HasSubstr(message));
    EXPECT_EQ(tasks(), 2U) << line;
    lines_[4] = good;
  }
}

TEST_F(DamagedImport, a_task_that_the_store_refuses_is_named_by_its_line) {
  const auto at = lines_[4].find("\"priority\":5");
  lines_[4].replace(at, 12, "\"priority\":10");
  const ImportReport report = run();
  EXPECT_THAT(error_of(report), HasSubstr("line 5: priority is 10; allowed are 0 to 9"));
  EXPECT_EQ(report.added.tasks, tasks());
}

TEST_F(DamagedImport, a_missing_line_in_the_middle_is_noticed) {
  lines_.erase(lines_.begin() + 3);
  EXPECT_THAT(error_of(run()),
              HasSubstr("5 tasks when it was written, and this file has 1, 0, 0, 0 and 4"));
}

TEST_F(DamagedImport, lines_after_the_end_are_refused_and_empty_ones_are_nothing) {
  lines_.emplace_back("");
  EXPECT_EQ(error_of(run()), "");
  lines_.push_back(lines_[3]);
  EXPECT_THAT(error_of(run()), HasSubstr("line 10: there are lines after the closing line"));
}

TEST_F(DamagedImport, a_file_of_the_first_minor_is_read_as_strictly_as_one_of_this) {
  lines_[0] = R"({"millrace_export":{"format":1,"minor":0}})";
  EXPECT_EQ(error_of(run()), "");
  lines_[4].insert(lines_[4].size() - 2, R"(,"colour":"red")");
  EXPECT_THAT(error_of(run()), HasSubstr(R"(line 5: task."colour" is not known)"));
}

TEST_F(DamagedImport, another_format_is_refused_and_a_newer_minor_one_may_have_more) {
  const std::string header = lines_[0];
  lines_[0] = R"({"millrace_export":{"format":2}})";
  EXPECT_THAT(error_of(run()), HasSubstr("format 2, but this version reads format 1"));
  EXPECT_EQ(tasks(), 0U);
  lines_[4].insert(lines_[4].size() - 2, R"(,"colour":"red")");
  lines_[0] = header;
  EXPECT_THAT(error_of(run()), HasSubstr(R"(line 5: task."colour" is not known)"));
  lines_[0] = R"({"millrace_export":{"format":1,"minor":3}})";
  lines_.insert(lines_.begin() + 1, R"({"colour":{"name":"red"}})");
  EXPECT_EQ(error_of(run()), "");
  EXPECT_EQ(tasks(), 5U);
}

TEST_F(DamagedImport, what_is_no_export_is_told_from_one) {
  for (const char* text :
       {"hello", "[]", "{}", "{\"tables\":1}", "\xff\xfe{", "{\"millrace_export"}) {
    EXPECT_TRUE(import_text(text, *target_, t0).error) << text;
  }
  EXPECT_EQ(error_of(import_text("", *target_, t0)), "the input is empty");
  EXPECT_THAT(error_of(import_text("hello", *target_, t0)), HasSubstr("neither an export"));
}

TEST_F(DamagedImport, line_ends_of_another_system_and_a_byte_order_mark_are_no_damage) {
  lines_[0].insert(0, "\xEF\xBB\xBF");
  for (auto& line : lines_) line += "\r";
  EXPECT_EQ(error_of(run()), "");
  EXPECT_EQ(tasks(), 5U);
}

// ---- A store that fails ------------------------------------------------------------------------

TEST(Import, stops_where_the_store_fails_and_goes_on_when_run_again) {
  const auto first = open_model();
  StoreDriver driver(*first);
  fill(driver);
  const std::string text = text_of(*first, driver.now);
  for (const auto when : {Fault::When::before, Fault::When::after}) {
    for (std::uint64_t call = 1;; ++call) {
      const auto inner = open_model();
      FaultyStore store(*inner);
      store.plan({.call = call, .when = when});
      const ImportReport report = import_text(text, store, driver.now);
      if (store.faults() == 0) break;
      EXPECT_TRUE(report.error) << "call " << call;
      store.heal();
      EXPECT_EQ(error_of(import_text(text, store, driver.now)), "");
      expect_same(*first, *inner, driver.now);
    }
  }
}

// Writes down what it is asked for.
class Watched : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<std::vector<Result<Put>>> restore(std::span<const Task> tasks, TimePoint now) override {
    sizes.push_back(tasks.size());
    flushed = false;
    return ForwardingStore::restore(tasks, now);
  }
  Result<void> flush() override {
    flushed = true;
    return ForwardingStore::flush();
  }
  std::vector<std::size_t> sizes;
  bool flushed = false;
};

TEST(Import, brings_tasks_in_batches_and_makes_each_durable) {
  const auto first = open_model();
  StoreDriver driver(*first);
  driver.make_queue("q");
  for (int i = 0; i < 2100; ++i) driver.put(task("q"));
  const auto inner = open_model();
  Watched store(*inner);
  import_text(text_of(*first, t0), store, t0);
  EXPECT_THAT(store.sizes, ElementsAre(1000, 1000, 100));
  EXPECT_TRUE(store.flushed);
}

TEST(Import, makes_smaller_batches_of_larger_tasks) {
  const auto first = open_model();
  StoreDriver driver(*first);
  driver.make_queue("q");
  for (int i = 0; i < 7; ++i) driver.put(task("q", {.payload = std::string(1 << 20, 'x')}));
  const auto inner = open_model();
  Watched store(*inner);
  import_text(text_of(*first, t0), store, t0);
  EXPECT_THAT(store.sizes, ElementsAre(3, 3, 1));
}

TEST(Import, tells_how_far_it_is) {
  const auto first = open_model();
  StoreDriver driver(*first);
  driver.make_queue("q");
  for (int i = 0; i < 2100; ++i) driver.put(task("q"));
  const auto second = open_model();
  std::vector<std::uint64_t> told;
  const std::string text = text_of(*first, t0);
  import_text(text, *second, t0, {.progress = [&](const ImportReport& so_far, std::uint64_t bytes) {
                told.push_back(so_far.added.tasks);
                EXPECT_LE(bytes, text.size());
              }});
  EXPECT_THAT(told, ElementsAre(0, 1000, 2100));
}

}  // namespace
}  // namespace millrace::transfer
