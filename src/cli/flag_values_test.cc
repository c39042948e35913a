#include "cli/flag_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/new_task.h"
#include "cli/queue_flags.h"
#include "core/time_text.h"
#include "core/uuid.h"
#include "tests/support/temporary_directory.h"

#include <fstream>
#include <sstream>

namespace millrace::cli {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

const TimePoint now = parse_time("2026-01-02T03:04:05Z").value();

template <class T>
std::string refusal(const Result<T>& result) {
  return result ? "it was accepted" : result.error().message;
}

TEST(FlagValues, good_words) {
  EXPECT_EQ(duration_of("--delay", "1h30m"), 90min);
  EXPECT_EQ(moment_of("--at", "10m", now), now + 10min);
  EXPECT_EQ(moment_of("--at", "2026-01-02T03:04:05Z", now), now);
  EXPECT_EQ(past_of("--since", "1h", now), now - 1h);
  EXPECT_EQ(number_of("--n", "7", 1, 9), 7U);
  EXPECT_EQ(count_of("--retries", "unlimited"), unlimited);
  EXPECT_EQ(count_of("--retries", "0"), 0U);
  EXPECT_EQ(priority_of("--priority", "9"), 9);
  EXPECT_EQ(priority_of("--priority", "high"), 8);
  EXPECT_EQ(rate_of("--rate", "100/1m"), (Rate{100, 1min}));
  EXPECT_EQ(keep_of("--keep", "24h"), (Keep{.for_time = 24h}));
  EXPECT_EQ(keep_of("--keep", "1000"), (Keep{.last = 1000}));
  EXPECT_EQ(keep_of("--keep", "24h,1000"), (Keep{.for_time = 24h, .last = 1000}));
  EXPECT_EQ(keep_of("--keep", "forever"), Keep{});
  EXPECT_EQ(keep_of("--keep", "none"), (Keep{.for_time = 0ms}));
  EXPECT_EQ(bool_of("--active", "false"), false);
  EXPECT_EQ(state_of("--state", "dead"), TaskState::dead);
  EXPECT_EQ(task_of("17"), TaskRef(TaskNumber{17}));
  const char* id = "01890a5d-ac96-774b-bcce-b302099a8057";
  EXPECT_EQ(task_of(std::string("task-") + id), TaskRef(task_id_from_text(id).value()));
}

TEST(FlagValues, bad_words_are_refused_with_what_is_allowed) {
  EXPECT_THAT(refusal(duration_of("--delay", "5")),
              AllOf(HasSubstr("--delay is \"5\""), HasSubstr("30s")));
  EXPECT_THAT(refusal(moment_of("--at", "soon", now)), HasSubstr("2027-01-31T09:00:00Z"));
  EXPECT_THAT(refusal(number_of("--n", "10", 1, 9)), HasSubstr("allowed are 1 to 9"));
  EXPECT_THAT(refusal(number_of("--n", "-1", 0, 9)), HasSubstr("allowed"));
  EXPECT_THAT(refusal(number_of("--n", "", 0, 9)), HasSubstr("allowed"));
  EXPECT_THAT(refusal(count_of("--retries", "4294967295")), HasSubstr("unlimited"));
  for (const char* each : {"10", "", "urgent", "-1", "5.0"}) {
    EXPECT_THAT(refusal(priority_of("--priority", each)), HasSubstr("0 to 9")) << each;
  }
  for (const char* each : {"100", "0/1s", "5/", "/1s", "5/0s", "x/1s", "5/1"}) {
    EXPECT_THAT(refusal(rate_of("--rate", each)), HasSubstr("100/1m")) << each;
  }
  for (const char* each : {"", "1h,2h", "1,2", "soon", "1h,1,1"}) {
    EXPECT_THAT(refusal(keep_of("--keep", each)), HasSubstr("forever")) << each;
  }
  EXPECT_THAT(refusal(state_of("--state", "deda")), HasSubstr("the nearest is dead"));
  EXPECT_THAT(refusal(task_of("nope")), HasSubstr("its number"));
  EXPECT_THAT(refusal(task_of("0")), HasSubstr("its number"));
  EXPECT_THAT(refusal(task_of("00000000-0000-0000-0000-000000000000")), HasSubstr("is not a task"));
}

TEST(QueueFlagsTest, flags_become_settings) {
  const QueueFlags flags{
      .retryable = "listed", .jitter = "additive", .jitter_share = "0.1", .cap_after_jitter = "on"};
  QueueSettings settings;
  ASSERT_TRUE(apply(flags, settings));
  const RetryRules rules{.jitter = Jitter::additive,
                         .jitter_share = 0.1,
                         .cap_after_jitter = true,
                         .retryable = Retryable::listed};
  EXPECT_EQ(settings.retry, rules);
  ASSERT_TRUE(apply({.dead_letter_queue = "bin"}, settings));
  EXPECT_EQ(settings.dead_letter_queue, "bin");
  ASSERT_TRUE(apply({.dead_letter_queue = "none"}, settings));
  EXPECT_EQ(settings.dead_letter_queue, "");
  EXPECT_THAT(refusal(apply({.jitter_share = "much"}, settings)), HasSubstr("such as 0.2"));
  EXPECT_THAT(refusal(apply({.retry_factor = "x"}, settings)), HasSubstr("such as 2 or 1.5"));
}

TEST(QueueFlagsTest, flags_become_rules_for_groups) {
  QueueSettings settings;
  ASSERT_TRUE(apply({.rate_of = "cost"}, settings));
  EXPECT_EQ(settings.rate_of, RateOf::cost);
  EXPECT_EQ(settings.groups, std::nullopt);
  ASSERT_TRUE(apply({.group_max_concurrent = "2", .group_rate = "100/1m", .group_rate_of = "cost"},
                    settings));
  const GroupRules rules{
      .max_concurrent = 2, .process_rate = Rate{.max = 100, .per = 1min}, .rate_of = RateOf::cost};
  EXPECT_EQ(settings.groups, rules);
  ASSERT_TRUE(apply({.group_order = "serial",
                     .group_max_concurrent = "none",
                     .group_rate = "none",
                     .group_rate_of = "tasks",
                     .group_max_depth = "9",
                     .group_weight = "3",
                     .group_retry_holds = "false"},
                    settings));
  const GroupRules others{
      .order = GroupOrder::serial, .max_depth = 9, .weight = 3, .retry_holds = false};
  EXPECT_EQ(settings.groups, others);
  EXPECT_THAT(refusal(apply({.group_order = "none", .group_weight = "3"}, settings)),
              HasSubstr("takes the rules for groups away"));
  EXPECT_THAT(refusal(apply({.group_order = "fiar"}, settings)), HasSubstr("the nearest is fair"));
  EXPECT_THAT(refusal(apply({.group_weight = "0"}, settings)), HasSubstr("1 to 1000"));
  EXPECT_THAT(refusal(apply({.rate_of = "money"}, settings)), HasSubstr("tasks, cost"));
  EXPECT_EQ(settings.groups->weight, 3U);
  ASSERT_TRUE(apply({.group_order = "none"}, settings));
  EXPECT_EQ(settings.groups, std::nullopt);
}

TEST(QueueFlagsTest, each_flag_alone_is_a_change) {
  for (const auto flag :
       {&QueueFlags::retryable, &QueueFlags::jitter_share, &QueueFlags::cap_after_jitter,
        &QueueFlags::dead_letter_queue, &QueueFlags::rate_of, &QueueFlags::group_order,
        &QueueFlags::group_retry_holds}) {
    QueueFlags flags;
    flags.*flag = "x";
    EXPECT_TRUE(flags.any());
  }
  EXPECT_FALSE(QueueFlags().any());
}

TEST(NewTaskTest, flags_become_a_task) {
  const TaskFlags flags{.type = "welcome",
                        .priority = "low",
                        .at = "1h",
                        .unique = "k",
                        .unique_for = "5m",
                        .tags = {"a", "b"},
                        .retries = "unlimited",
                        .meta = {"x=1", "y=\"2\"", "z="},
                        .text = true};
  const auto task = task_from(flags, "emails", now);
  ASSERT_TRUE(task) << task.error().message;
  EXPECT_EQ(task->queue, QueueRef("emails"));
  EXPECT_EQ(task_from({}, "7", now)->queue, QueueRef(QueueNumber{7}));
  EXPECT_EQ(task->priority, 2);
  EXPECT_EQ(task->start, now + 1h);
  EXPECT_EQ(task->unique, (UniqueKey{"k", UniqueScope::window, 5min}));
  EXPECT_EQ(task->retry->max_retries, unlimited);
  EXPECT_EQ(task->metadata, R"({"x":"1","y":"\"2\"","z":""})");
  EXPECT_EQ(task->content_type, "text/plain");
}

TEST(NewTaskTest, a_unique_key_may_replace_or_postpone) {
  EXPECT_EQ(task_from({.unique = "k", .on_conflict = "replace"}, "q", now)->unique,
            (UniqueKey{.key = "k", .on_conflict = OnConflict::replace}));
  EXPECT_EQ(task_from({.delay = "10s",
                       .unique = "k",
                       .unique_scope = "until_started",
                       .on_conflict = "postpone",
                       .max_delay = "2m"},
                      "q", now)
                ->unique,
            (UniqueKey{.key = "k",
                       .scope = UniqueScope::until_started,
                       .on_conflict = OnConflict::postpone,
                       .max_delay = 2min}));
}

TEST(NewTaskTest, how_long_a_task_is_kept_may_depend_on_its_end) {
  const auto task = task_from({.keep_completed = "0s", .keep_dead = "7d"}, "q", now);
  ASSERT_TRUE(task) << task.error().message;
  EXPECT_EQ(task->keep_completed, Keep{.for_time = 0s});
  EXPECT_EQ(task->keep_dead, Keep{.for_time = 24h * 7});
  EXPECT_THAT(refusal(task_from({.keep_for = "1h", .keep_dead = "7d"}, "q", now)),
              HasSubstr("for every end"));
  EXPECT_THAT(refusal(task_from({.keep_dead = "100"}, "q", now)), HasSubstr("--keep-dead"));
}

TEST(NewTaskTest, a_callback_has_events_and_attempts) {
  const auto task = task_from({.request = "r-1",
                               .parent = "task-01920000-0000-7000-8000-000000000000",
                               .max_lost = "7",
                               .callback = "https://example.org/hook",
                               .callback_events = {"dead", "retrying"},
                               .callback_attempts = "5"},
                              "q", now);
  ASSERT_TRUE(task) << task.error().message;
  const auto events =
      static_cast<unsigned>(CallbackOn::dead) | static_cast<unsigned>(CallbackOn::retrying);
  EXPECT_EQ(task->callback,
            (Callback{"https://example.org/hook", static_cast<std::uint8_t>(events), 5}));
  EXPECT_EQ(task->request_id, "r-1");
  EXPECT_EQ(to_text(task->parent.value), "01920000-0000-7000-8000-000000000000");
  EXPECT_EQ(task->max_lost, 7U);
  EXPECT_THAT(refusal(task_from({.callback_events = {"dead"}}, "q", now)),
              HasSubstr("need --callback URL"));
  EXPECT_THAT(refusal(task_from({.callback = "u", .callback_events = {"deda"}}, "q", now)),
              HasSubstr("the nearest is dead"));
  EXPECT_THAT(refusal(task_from({.callback = "u", .callback_attempts = "101"}, "q", now)),
              HasSubstr("1 to 100"));
}

TEST(NewTaskTest, what_contradicts_itself_is_refused) {
  EXPECT_THAT(refusal(task_from({.delay = "1s", .at = "1h"}, "q", now)), HasSubstr("give one"));
  EXPECT_THAT(refusal(task_from({.unique_for = "1s"}, "q", now)), HasSubstr("--unique KEY"));
  EXPECT_THAT(refusal(task_from({.unique = "k", .unique_scope = "window"}, "q", now)),
              HasSubstr("go together"));
  EXPECT_THAT(refusal(task_from({.unique = "k", .unique_scope = "ever"}, "q", now)),
              HasSubstr("until_started"));
  EXPECT_THAT(refusal(task_from({.on_conflict = "replace"}, "q", now)), HasSubstr("--unique KEY"));
  EXPECT_THAT(refusal(task_from({.unique = "k", .on_conflict = "merge"}, "q", now)),
              HasSubstr("postpone"));
  EXPECT_THAT(refusal(task_from({.unique = "k", .on_conflict = "postpone"}, "q", now)),
              HasSubstr("needs --delay"));
  EXPECT_THAT(
      refusal(task_from({.unique = "k", .on_conflict = "replace", .max_delay = "1m"}, "q", now)),
      HasSubstr("is for --on-conflict postpone"));
  EXPECT_THAT(refusal(task_from(
                  {.delay = "1s", .unique = "k", .on_conflict = "postpone", .max_delay = "long"},
                  "q", now)),
              HasSubstr("--max-delay"));
  EXPECT_THAT(refusal(task_from({.meta = {"x"}}, "q", now)), HasSubstr("KEY=VALUE"));
  EXPECT_THAT(refusal(task_from({.id = "17"}, "q", now)), HasSubstr("UUID"));
  EXPECT_THAT(refusal(payload_from("x", {.text = true, .base64 = true})), HasSubstr("give one"));
}

TEST(NewTaskTest, json_is_checked_and_the_place_is_pointed_at) {
  EXPECT_EQ(payload_from(" {\"a\": 1}\n", {}), " {\"a\": 1}");
  EXPECT_EQ(payload_from("", {}), "");
  EXPECT_EQ(refusal(payload_from("{\"a\": x}", {})),
            "the payload is not JSON: not JSON from position 7 on\n"
            "  {\"a\": x}\n"
            "        ^");
  EXPECT_THAT(refusal(payload_from("{\n  \"ключ\": y,\n}", {})),
              HasSubstr("\n    \"ключ\": y,\n            ^"));
  EXPECT_THAT(refusal(payload_from("{} {}", {})), HasSubstr("\n  {} {}\n     ^"));
  EXPECT_EQ(payload_from("{ no \n", {.text = true}), "{ no \n");
  EXPECT_EQ(payload_from("x", {.content_type = "text/csv"}), "x");
  EXPECT_EQ(payload_from("AP8=\n", {.base64 = true}), std::string("\0\xff", 2));
  EXPECT_FALSE(payload_from("!", {.base64 = true}));
  EXPECT_THAT(refusal(payload_from(std::string((1 << 24) + 1, 'x'), {.text = true})),
              HasSubstr("16777216"));
}

TEST(NewTaskTest, payloads_come_from_the_argument_a_file_or_the_input) {
  std::istringstream in("[1,2]\n");
  EXPECT_EQ(payload_bytes("-", in), "[1,2]\n");
  EXPECT_EQ(payload_bytes("{}", in), "{}");
  EXPECT_THAT(refusal(payload_bytes("@/nowhere/at/all", in)), HasSubstr("/nowhere/at/all"));
  std::istringstream again("[3]");
  EXPECT_EQ(payload_bytes("@-", again), "[3]");
}

TEST(NewTaskTest, answers_come_from_there_too_and_may_be_any_text) {
  std::istringstream in("{\"approved\": true}\n");
  EXPECT_EQ(answer_from("@-", in), "{\"approved\": true}");
  EXPECT_EQ(answer_from("yes, do", in), "yes, do");
  EXPECT_EQ(answer_from("\"null\"", in), "\"null\"");
  const test::TemporaryDirectory directory;
  std::ofstream(directory / "text") << "yes\n";
  EXPECT_EQ(answer_from("@" + (directory / "text"), in), "yes\n");
  std::ofstream(directory / "null") << "null\n";
  EXPECT_THAT(refusal(answer_from("@" + (directory / "null"), in)), HasSubstr("--data is null"));
  EXPECT_THAT(refusal(answer_from("@/nowhere/at/all", in)), HasSubstr("/nowhere/at/all"));
  EXPECT_EQ(answer_from(std::string(64 << 10, 'x'), in)->size(), 64U << 10);
  EXPECT_THAT(refusal(answer_from(std::string((64 << 10) + 1, 'x'), in)), HasSubstr("65536"));
}

}  // namespace
}  // namespace millrace::cli
