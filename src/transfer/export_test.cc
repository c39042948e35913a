#include "transfer/export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <sstream>

#include "core/uuid.h"
#include "store/faulty.h"
#include "store/store.h"
#include "tests/support/driver.h"
#include "tests/support/matchers.h"
#include "tests/support/model_store.h"
#include "transfer/exporter.h"
#include "transfer/import.h"

namespace millrace::transfer {
namespace {

using namespace std::chrono_literals;
using test::FailsWith;
using test::must;
using test::StoreDriver;
using test::task;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::unique_ptr<Store> open_model() {
  return std::make_unique<test::ModelStore>();
}

std::vector<std::string> lines_of(Store& store, TimePoint now) {
  std::ostringstream out;
  must(export_store(store, out, now));
  std::vector<std::string> lines;
  std::istringstream in(out.str());
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(Export, begins_with_its_format_and_ends_with_its_counts) {
  const auto store = open_model();
  StoreDriver driver(*store);
  driver.make_queue("q");
  driver.put(task("q", {.payload = "{\"a\": 1}"}));
  must(store->remember({.key = "k", .value = "v"}, driver.now));
  must(store->put_schedule({.name = "s", .rule = {.every = 1s}, .task = {.queue = "q"}},
                           PutSchedule::replace, driver.now));
  EXPECT_THAT(
      lines_of(*store, driver.now),
      ElementsAre(R"({"millrace_export":{"format":1,"minor":2,"store":"model",)"
                  R"("exported_at":"2030-01-01T00:00:00.000Z"}})",
                  StartsWith(R"({"queue":{"name":"q",)"), StartsWith(R"({"schedule":{"name":"s",)"),
                  R"({"memo":{"key":"k","value":"v","version":1}})",
                  AllOf(StartsWith(R"({"task":{"id":")"), HasSubstr(R"("payload":"{\"a\": 1}")")),
                  R"({"end":{"queues":1,"schedules":1,"memos":1,"tasks":1}})"));
}

TEST(Export, writes_queues_after_those_that_their_dead_letters_go_to) {
  const auto store = open_model();
  StoreDriver driver(*store);
  driver.make_queue("z");
  driver.make_queue(test::queue("m", {.dead_letter_queue = "z"}));
  driver.make_queue(test::queue("a", {.dead_letter_queue = "m"}));
  driver.make_queue("b");
  std::vector<std::string> names;
  for (const auto& line : lines_of(*store, driver.now)) {
    constexpr std::string_view begin = R"({"queue":{"name":")";
    if (line.starts_with(begin)) names.push_back(line.substr(begin.size(), 1));
  }
  EXPECT_THAT(names, ElementsAre("b", "z", "m", "a"));
}

TEST(Export, writes_tasks_in_the_order_of_their_arrival_whatever_their_number) {
  const auto store = open_model();
  StoreDriver driver(*store);
  driver.make_queue("a");
  driver.make_queue("b");
  for (const std::size_t total : {0U, 1U, 63U, 64U, 65U, 128U, 129U, 500U}) {
    for (auto there = driver.list().size(); there < total; ++there) {
      driver.put(task(there % 3 == 0 ? "a" : "b", {.type = std::to_string(there)}));
    }
    std::size_t expected = 0;
    for (const auto& line : lines_of(*store, driver.now)) {
      if (!line.starts_with(R"({"task")")) continue;
      EXPECT_THAT(line, HasSubstr("\"type\":\"" + std::to_string(expected) + "\""));
      ++expected;
    }
    EXPECT_EQ(expected, total);
  }
}

// A store whose pages are cut short, as the contract allows.
class ShortPages : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<TaskPage> list(const ListRequest& request) override {
    ListRequest shorter = request;
    shorter.limit = std::min<std::uint32_t>(request.limit, 1 + ++calls_ % 7);
    return ForwardingStore::list(shorter);
  }

 private:
  std::uint32_t calls_ = 0;
};

TEST(Export, writes_every_task_once_though_pages_come_short) {
  test::ModelStore inner;
  ShortPages store(inner);
  StoreDriver driver(store);
  driver.make_queue("q");
  for (int i = 0; i < 200; ++i) driver.put(task("q", {.type = std::to_string(i)}));
  const auto lines = lines_of(store, driver.now);
  ASSERT_EQ(lines.size(), 203U);
  for (std::size_t i = 0; i < 200; ++i) {
    EXPECT_THAT(lines[2 + i], HasSubstr("\"type\":\"" + std::to_string(i) + "\""));
  }
}

TEST(Export, tells_how_far_it_is) {
  const auto store = open_model();
  StoreDriver driver(*store);
  driver.make_queue("q");
  for (int i = 0; i < 150; ++i) driver.put(task("q"));
  std::ostringstream out;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> told;
  must(export_store(*store, out, driver.now,
                    [&](auto done, auto total) { told.emplace_back(done, total); }));
  EXPECT_THAT(told, ElementsAre(std::pair(64, 150), std::pair(150, 150)));
}

TEST(Export, leaves_out_what_is_on_its_way_out_and_says_so) {
  const auto store = open_model();
  StoreDriver driver(*store);
  driver.make_queue("going");
  driver.make_queue("staying");
  driver.put(task("going"));
  driver.put(task("staying"));
  must(store->put_schedule({.name = "s", .rule = {.every = 1s}, .task = {.queue = "going"}},
                           PutSchedule::replace, driver.now));
  must(store->remove_queue("going", true, driver.now));
  std::ostringstream out;
  const ExportReport report = must(export_store(*store, out, driver.now));
  EXPECT_EQ(report.written, (Counts{.queues = 1, .tasks = 1}));
  EXPECT_THAT(report.left_out,
              ElementsAre(HasSubstr("queue \"going\""), HasSubstr("schedule \"s\"")));
}

TEST(Export, writes_memos_of_more_than_one_page) {
  const auto store = open_model();
  for (int i = 0; i < 40; ++i) {
    must(store->remember({.key = "k" + std::to_string(i), .value = "v"}, test::t0));
  }
  std::ostringstream out;
  EXPECT_EQ(must(export_store(*store, out, test::t0)).written.memos, 40U);
}

TEST(Export, fails_where_the_output_cannot_be_written) {
  const auto store = open_model();
  StoreDriver(*store).make_queue("q");
  std::ostringstream out;
  out.setstate(std::ios::badbit);
  EXPECT_THAT(export_store(*store, out, test::t0),
              FailsWith(ErrorCode::unavailable, HasSubstr("disk full")));
}

// What goes on while a server is exported must not make the export unusable.
TEST(Export, has_the_queues_of_tasks_that_were_moved_meanwhile_and_nothing_newer) {
  const auto store = open_model();
  StoreDriver driver(*store);
  driver.make_queue("q");
  const auto moved = driver.put(task("q"));
  Exporter exporter;
  std::string text;
  must(exporter.read(*store, driver.now));
  exporter.write(text);
  driver.make_queue("late");
  const TaskUpdate update{.id = moved.id, .queue = QueueRef("late")};
  must(must(store->update(std::span(&update, 1), driver.now)).at(0));
  const auto newer = driver.put(task("q"));
  while (must(exporter.read(*store, driver.now))) exporter.write(text);
  EXPECT_THAT(text, Not(HasSubstr(to_text(newer.id.value))));
  const auto copy = open_model();
  std::istringstream in(text);
  const auto report = import_store(in, *copy, driver.now);
  EXPECT_EQ(report.error, std::nullopt);
  EXPECT_EQ(must(find_task(*copy, moved.id)).queue, "late");
}

class CountsQueueReads : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<std::vector<Queue>> queues(const std::optional<QueueRef>& queue) override {
    ++reads;
    return ForwardingStore::queues(queue);
  }
  int reads = 0;
};

TEST(Export, reads_the_queues_once_however_many_schedules_name_them) {
  test::ModelStore inner;
  CountsQueueReads store(inner);
  StoreDriver driver(store);
  const Uuid id = test::fresh_id().value;
  driver.make_queue({.name = "q", .number = QueueNumber{7}, .id = id});
  const std::vector<QueueRef> names{"q", QueueNumber{7}, id};
  for (int i = 0; i < 30; ++i) {
    must(store.put_schedule({.name = "s" + std::to_string(i),
                             .rule = {.every = 1s},
                             .task = {.queue = names[static_cast<std::size_t>(i) % names.size()]}},
                            PutSchedule::replace, driver.now));
  }
  std::ostringstream out;
  store.reads = 0;
  EXPECT_EQ(must(export_store(store, out, driver.now)).written.schedules, 30U);
  EXPECT_EQ(store.reads, 1);
}

TEST(Export, says_which_schedules_have_no_queue) {
  const auto store = open_model();
  StoreDriver driver(*store);
  driver.make_queue("q");
  must(store->put_schedule({.name = "s", .rule = {.every = 1s}, .task = {.queue = "q"}},
                           PutSchedule::replace, driver.now));
  must(store->remove_queue("q", false, driver.now));
  std::ostringstream out;
  EXPECT_THAT(must(export_store(*store, out, driver.now)).left_out,
              ElementsAre(HasSubstr("queue \"q\""), HasSubstr("schedule \"s\"")));
}

TEST(Export, leaves_operations_on_many_tasks_out) {
  const auto store = open_model();
  StoreDriver driver(*store);
  driver.make_queue("$bulk");
  driver.put(task("$bulk"));
  must(store->remember({.key = "$bulk/one", .value = "v"}, driver.now));
  must(store->remember({.key = "$history/one", .value = "v"}, driver.now));
  EXPECT_EQ(lines_of(*store, driver.now).back(),
            R"({"end":{"queues":0,"schedules":0,"memos":1,"tasks":0}})");
}

TEST(Export, passes_every_failure_of_the_store_on) {
  const auto inner = open_model();
  StoreDriver driver(*inner);
  driver.make_queue("q");
  driver.put(task("q"));
  must(inner->put_schedule({.name = "s", .rule = {.every = 1s}, .task = {.queue = "q"}},
                           PutSchedule::replace, driver.now));
  FaultyStore store(*inner);
  std::uint64_t call = 1;
  for (;; ++call) {
    store.plan({.call = call});
    std::ostringstream out;
    const auto report = export_store(store, out, driver.now);
    if (store.faults() == 0) break;
    EXPECT_THAT(report, FailsWith(ErrorCode::unavailable)) << "call " << call;
  }
  EXPECT_EQ(call, 7U) << "the newest task, counts, queues, schedules, memos, tasks";
}

TEST(Export, of_tasks_that_wait_for_others_can_be_read_in_any_order) {
  const auto store = open_model();
  StoreDriver driver(*store);
  driver.make_queue("q");
  const TaskId parent = driver.put(task("q")).id;
  const TaskId done = driver.put(task("q")).id;
  const TaskId child =
      driver.put(task("q", {.after = After{.tasks = {done, parent}, .otherwise = Otherwise::hold}}))
          .id;
  for (const Lease& lease : driver.take("q")) {
    if (lease.id == done) driver.settle(test::done(lease));
  }
  auto lines = lines_of(*store, driver.now);
  std::reverse(lines.begin() + 2, lines.end() - 1);
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  const auto other = open_model();
  StoreDriver into(*other);
  std::istringstream in(text);
  EXPECT_EQ(import_store(in, *other, into.now).error, std::nullopt);
  const Task moved = into.find(child);
  EXPECT_EQ(moved.after, driver.find(child).after);
  EXPECT_THAT(moved.waits_for, ElementsAre(parent));
  into.settle(test::done(into.take_one("q")));
  EXPECT_EQ(into.state_of(child), TaskState::queued);
}

}  // namespace
}  // namespace millrace::transfer
