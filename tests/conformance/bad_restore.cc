// Tasks from elsewhere that make no sense: refused for the same reasons as in a put, and for some
// of their own.
#include <gmock/gmock.h>

#include <functional>
#include <limits>

#include "core/limits.h"
#include "store/store.h"
#include "tests/conformance/conformance.h"

namespace millrace::test {
namespace {

using ::testing::HasSubstr;

struct BadOldTask {
  std::string what;
  std::function<void(Task&)> spoil;
  ErrorCode code;
  std::string allowed;  // what the message must mention
};

std::string text(std::size_t bytes) {
  return std::string(bytes, 'x');
}

// What a put refuses as well.
std::vector<BadOldTask> badly_put() {
  constexpr auto invalid = ErrorCode::invalid;
  constexpr auto too_large = ErrorCode::too_large;
  return {
      {"nil id", [](Task& t) { t.id = {}; }, invalid, "nil"},
      {"space in a queue name", [](Task& t) { t.queue = "my queue"; }, invalid, "A-Z"},
      {"space in a type", [](Task& t) { t.type = "my type"; }, invalid, "A-Z"},
      {"priority 10", [](Task& t) { t.priority = 10; }, invalid, "0 to 9"},
      {"long payload", [](Task& t) { t.payload = text(limits::max_payload + 1); }, too_large,
       "16777216"},
      {"long metadata", [](Task& t) { t.metadata = text(16'385); }, too_large, "16384"},
      {"17 tags", [](Task& t) { t.tags.assign(17, "tag"); }, too_large, "16"},
      {"timeout 0", [](Task& t) { t.timeout = 0s; }, invalid, "timeout"},
      {"empty unique key", [](Task& t) { t.unique = UniqueKey{}; }, invalid, "255"},
      {"callback without a url", [](Task& t) { t.callback = Callback{}; }, invalid, "url"},
      {"retry factor below 1", [](Task& t) { t.retry = RetryRules{.factor = 0.5}; }, invalid, "1"},
      {"negative keep_for", [](Task& t) { t.keep_for = -1ms; }, invalid, "10 years"},
  };
}

std::vector<BadOldTask> badly_kept() {
  constexpr auto invalid = ErrorCode::invalid;
  constexpr auto too_large = ErrorCode::too_large;
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  return {
      {"state 9", [](Task& t) { t.state = static_cast<TaskState>(9); }, invalid, "0 to 8"},
      {"progress 101", [](Task& t) { t.progress = 101; }, invalid, "0 to 100"},
      {"progress NaN", [](Task& t) { t.progress = nan; }, invalid, "0 to 100"},
      {"long result", [](Task& t) { t.result = text(limits::max_result + 1); }, too_large,
       "16777216"},
      {"long worker", [](Task& t) { t.worker = text(256); }, too_large, "255"},
      {"long error", [](Task& t) { t.error = error(text(8193)); }, too_large, "8192"},
      {"101 log lines", [](Task& t) { t.log.resize(101); }, too_large, "100"},
      {"long log line", [](Task& t) { t.log = {{t0, text(2049)}}; }, too_large, "2048"},
      {"21 history lines", [](Task& t) { t.history.resize(21); }, too_large, "20"},
      {"unknown event", [](Task& t) { t.history = {{.event = static_cast<Event>(14)}}; }, invalid,
       "0 to 13"},
      {"long delivery status", [](Task& t) { t.delivery = DeliveryNote{1, text(8193)}; }, too_large,
       "8192"},
  };
}

std::vector<BadOldTask> badly_timed() {
  constexpr auto invalid = ErrorCode::invalid;
  return {
      {"start never", [](Task& t) { t.start = never; }, invalid, "0 to 9999"},
      {"created before time", [](Task& t) { t.created_at = TimePoint::min(); }, invalid,
       "0 to 9999"},
      {"taken before time", [](Task& t) { t.started_at = TimePoint::min(); }, invalid, "0 to 9999"},
      {"start_by never", [](Task& t) { t.start_by = never; }, invalid, "0 to 9999"},
      {"log line never", [](Task& t) { t.log = {{never, "x"}}; }, invalid, "0 to 9999"},
      {"history never", [](Task& t) { t.history = {{.ended_at = never}}; }, invalid, "0 to 9999"},
      {"waiting and finished", [](Task& t) { t.finished_at = t0; }, invalid, "finished_at"},
      {"completed and not finished", [](Task& t) { t.state = TaskState::completed; }, invalid,
       "finished_at"},
      {"dead and to be cancelled",
       [](Task& t) {
         t.state = TaskState::dead;
         t.finished_at = t0;
         t.cancel_requested = true;
       },
       invalid, "cancel_requested"},
  };
}

TEST_P(StoreConformance, a_bad_task_from_elsewhere_is_refused_and_says_what_is_allowed) {
  put(task("q"));
  for (const auto& some : {badly_put(), badly_kept(), badly_timed()}) {
    for (const BadOldTask& bad : some) {
      Task task = old_task("q", {.state = TaskState::queued});
      bad.spoil(task);
      expect_unchanged([&] {
        EXPECT_THAT(try_restore(task), FailsWith(bad.code, HasSubstr(bad.allowed))) << bad.what;
      });
    }
  }
}

TEST_P(StoreConformance, one_bad_task_from_elsewhere_does_not_keep_the_others_out) {
  const std::vector<Task> tasks = {old_task("q", {.state = TaskState::queued}), old_task("nowhere"),
                                   old_task("q", {.priority = 10}),
                                   old_task("q", {.state = TaskState::queued})};
  const auto results = must(store().restore(tasks, now));
  ASSERT_EQ(results.size(), 4U);
  EXPECT_THAT(results[0], IsOk());
  EXPECT_THAT(results[1], FailsWith(ErrorCode::not_found));
  EXPECT_THAT(results[2], FailsWith(ErrorCode::invalid));
  EXPECT_THAT(results[3], IsOk());
  EXPECT_EQ(counts("q").total(), 2U);
}

TEST_P(StoreConformance, too_many_tasks_from_elsewhere_at_once_are_refused_whole) {
  std::vector<Task> tasks;
  for (std::size_t i = 0; i <= store().traits().batch; ++i) tasks.push_back(old_task("q"));
  expect_unchanged(
      [&] { EXPECT_THAT(store().restore(tasks, now), FailsWith(ErrorCode::invalid)); });
  tasks.pop_back();
  EXPECT_EQ(must(store().restore(tasks, now)).size(), tasks.size());
}

TEST_P(StoreConformance, the_greatest_old_task_allowed_is_restored) {
  Task task = old_task("q", {.payload = text(limits::mib), .state = TaskState::dead});
  task.result = text(limits::mib);
  task.error = error(text(limits::max_error_text), text(limits::max_error_code));
  task.log.assign(limits::max_log_lines, {t0, text(limits::max_log_line)});
  task.history.assign(limits::max_history, {.error_message = text(limits::max_error_text)});
  task.created_at = TimePoint{};
  restore(task);
  EXPECT_EQ(find(task.id).log, task.log);
  EXPECT_EQ(find(task.id).created_at, TimePoint{});
}

}  // namespace
}  // namespace millrace::test
