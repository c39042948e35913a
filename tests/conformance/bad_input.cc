// Tasks that make no sense: each is refused with a code and a message that says what is allowed.
#include <gmock/gmock.h>

#include "core/limits.h"
#include "store/store.h"
#include "tests/conformance/conformance.h"

namespace millrace::test {
namespace {

using ::testing::HasSubstr;

struct BadTask {
  std::string what;
  NewTask task;
  ErrorCode code;
  std::string allowed;  // what the message must mention
};

std::string text(std::size_t bytes) {
  return std::string(bytes, 'x');
}

std::vector<BadTask> badly_named() {
  constexpr auto invalid = ErrorCode::invalid;
  NewTask nil = task("q");
  nil.id = {};
  return {
      {"nil id", nil, invalid, "nil"},
      {"empty queue name", task(""), invalid, "1 to 100"},
      {"space in a queue name", task("my queue"), invalid, "A-Z a-z 0-9 . _ : -"},
      {"slash in a queue name", task("a/b"), invalid, "A-Z a-z 0-9 . _ : -"},
      {"umlaut in a queue name", task("m\xc3\xbchle"), invalid, "A-Z a-z 0-9 . _ : -"},
      {"NUL in a queue name", task(std::string("a\0b", 3)), invalid, "A-Z a-z 0-9 . _ : -"},
      {"queue name of 101", task(text(101)), invalid, "1 to 100"},
      {"dollar inside a queue name", task("a$b"), invalid, "A-Z a-z 0-9 . _ : -"},
      {"nil queue id", task(Uuid{}), invalid, "nil"},
      {"negative queue number", task(QueueNumber{-1}), invalid, "0"},
      {"space in a type", task("q", {.type = "my type"}), invalid, "A-Z a-z 0-9 . _ : -"},
      {"type of 101", task("q", {.type = text(101)}), invalid, "1 to 100"},
  };
}

std::vector<BadTask> badly_timed() {
  constexpr auto invalid = ErrorCode::invalid;
  const TimePoint too_late = t0 + limits::max_delay + 1ms;
  return {
      {"start and delay", task("q", {.start = t0, .delay = 1s}), invalid, "one of"},  // S1-024
      {"negative delay", task("q", {.delay = -1ms}), invalid, "10 years"},
      {"delay over ten years", task("q", {.delay = limits::max_delay + 1ms}), invalid, "10 years"},
      {"greatest delay there is", task("q", {.delay = Duration::max()}), invalid, "10 years"},
      {"start over ten years ahead", task("q", {.start = too_late}), invalid, "10 years"},
      {"start never", task("q", {.start = never}), invalid, "10 years"},
      {"start_by over ten years ahead", task("q", {.start_by = too_late}), invalid, "10 years"},
      {"start_by before start", task("q", {.start = t0 + 2s, .start_by = t0 + 1s}), invalid,
       "start"},
      {"timeout 0", task("q", {.timeout = 0s}), invalid, "timeout"},
      {"negative timeout", task("q", {.timeout = -1s}), invalid, "timeout"},
      {"negative keep_for", task("q", {.keep_for = -1ms}), invalid, "10 years"},
      {"window of 0",
       task("q", {.unique = UniqueKey{.key = "k", .scope = UniqueScope::window, .window = 0s}}),
       invalid, "window"},
  };
}

std::vector<BadTask> badly_sized() {
  constexpr auto invalid = ErrorCode::invalid;
  constexpr auto too_large = ErrorCode::too_large;
  const std::vector<std::string> many_tags(17, "tag");
  return {
      {"priority 10", task("q", {.priority = 10}), invalid, "0 to 9"},
      {"priority 255", task("q", {.priority = 255}), invalid, "0 to 9"},
      {"payload over 16 MiB", task("q", {.payload = text(limits::max_payload + 1)}), too_large,
       "16777216"},
      {"metadata over 16 KiB", task("q", {.metadata = text(16 * limits::kib + 1)}), too_large,
       "16384"},
      {"17 tags", task("q", {.tags = many_tags}), too_large, "16"},
      {"empty tag", task("q", {.tags = {""}}), invalid, "1 to 100"},
      {"tag of 101", task("q", {.tags = {text(101)}}), too_large, "100"},
      {"unique key of 256", task("q", {.unique = UniqueKey{.key = text(256)}}), too_large, "255"},
      {"empty unique key", task("q", {.unique = UniqueKey{.key = ""}}), invalid, "255"},
      {"unique key that is no text", task("q", {.unique = UniqueKey{.key = "\xFF"}}), invalid,
       "UTF-8"},
      {"client id of 256", task("q", {.client_id = text(256)}), too_large, "255"},
      {"request id of 256", task("q", {.request_id = text(256)}), too_large, "255"},
      {"group of 256", task("q", {.group = text(256)}), too_large, "255"},
      {"content type of 256", task("q", {.content_type = text(256)}), too_large, "255"},
      {"callback without a url", task("q", {.callback = Callback{.url = ""}}), invalid, "url"},
      {"callback url of 2049", task("q", {.callback = Callback{.url = "http://" + text(2042)}}),
       too_large, "2048"},
      {"retry factor below 1", task("q", {.retry = RetryRules{.factor = 0.5}}), invalid, "1"},
      {"retry base negative", task("q", {.retry = RetryRules{.base = -1s}}), invalid, "10 years"},
      {"jitter share over 1", task("q", {.retry = RetryRules{.jitter_share = 1.5}}), invalid,
       "0 to 1"},
  };
}

std::vector<BadTask> bad_tasks() {
  std::vector<BadTask> all;
  for (const auto& some : {badly_named(), badly_timed(), badly_sized()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

TEST_P(StoreConformance, a_bad_task_is_refused_says_what_is_allowed_and_changes_nothing) {
  put(task("q"));
  for (const BadTask& bad : bad_tasks()) {
    expect_unchanged([&] {
      EXPECT_THAT(try_put(bad.task), FailsWith(bad.code, HasSubstr(bad.allowed))) << bad.what;
    });
  }
}

TEST_P(StoreConformance, a_bad_follow_up_is_refused_in_the_same_way) {
  put(task("q"));
  const Lease lease = take_one("q");
  const TaskId waiting = put(task("q")).id;
  for (const BadTask& bad : bad_tasks()) {
    expect_unchanged([&] {
      EXPECT_THAT(try_settle(with(done(lease), {bad.task})),
                  FailsWith(bad.code, HasSubstr(bad.allowed)))
          << bad.what;
      EXPECT_THAT(try_cancel({.id = waiting, .follow_ups = {bad.task}}),
                  FailsWith(bad.code, HasSubstr(bad.allowed)))
          << bad.what;
    });
  }
}

TEST_P(StoreConformance, a_bad_task_of_a_tick_is_refused_in_the_same_way) {
  must(store().put_schedule(
      {.name = "tick", .rule = {.every = 1s}, .task = NewTask{.queue = "q"}, .next = t0},
      PutSchedule::replace, now));
  for (const BadTask& bad : bad_tasks()) {
    expect_unchanged([&] {
      EXPECT_THAT(
          store().fire({.schedule = "tick", .nominal = t0, .next = t0 + 1s, .task = bad.task}, now),
          FailsWith(bad.code, HasSubstr(bad.allowed)))
          << bad.what;
    });
  }
}

TEST_P(StoreConformance, the_greatest_values_allowed_are_accepted) {
  make_queue(text(100));
  const std::vector<NewTask> good = {
      task(text(100), {.type = text(100), .priority = 9}),
      task("q", {.priority = 0, .delay = limits::max_delay}),
      task("q", {.start = now + limits::max_delay, .start_by = now + limits::max_delay}),
      task("q", {.payload = text(limits::mib)}),
      task("q", {.metadata = text(16 * limits::kib)}),
      task("q", {.tags = std::vector<std::string>(16, text(100))}),
      task("q", {.unique = UniqueKey{.key = text(255)}}),
      task("q", {.content_type = text(255),
                 .client_id = text(255),
                 .request_id = text(255),
                 .group = text(255)}),
      task("q", {.keep_for = limits::max_delay}),
      task("q", {.retry = RetryRules{.max_retries = 0}}),
      task("q", {.retry = RetryRules{.max_retries = unlimited}}),
  };
  for (const NewTask& each : good) {
    EXPECT_THAT(try_put(each), IsOk()) << ::testing::PrintToString(each);
  }
}

TEST_P(StoreConformance, internal_names_are_allowed_to_callers_of_the_store) {
  make_queue("$webhooks");
  EXPECT_THAT(try_put(task("$webhooks", {.type = "$deliver"})), IsOk());
  EXPECT_THAT(try_put(task("$")), FailsWith(ErrorCode::invalid));
}

// S1-025: a time far from now neither overflows nor crashes.
TEST_P(StoreConformance, moments_at_the_edge_of_time_are_handled) {
  now = t0 + 24h * 365 * 100;
  EXPECT_THAT(try_put(task("q", {.delay = limits::max_delay})), IsOk());
  EXPECT_THAT(try_put(task("q", {.start = TimePoint{}})), IsOk());
  EXPECT_THAT(take("q"), ::testing::SizeIs(1));
}

}  // namespace
}  // namespace millrace::test
