#include "core/validate.h"

#include "core/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace millrace {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

const TimePoint now{hours(500'000)};
const std::string name_rule = "; allowed are A-Z a-z 0-9 . _ : - (1 to 100 of them)";

// Empty if there is nothing wrong; else "code: message".
std::string verdict(const Result<void>& result) {
  if (result) return "";
  return std::string(name_of(result.error().code)) + ": " + result.error().message;
}

NewTask a_task() {
  NewTask task;
  task.id.value.bytes[15] = 1;
  task.queue = "mail";
  task.type = "send";
  task.payload = R"({"to":"a@example.com"})";
  return task;
}

// What validate() says of a task after `change`.
template <class Change>
std::string task_with(Change change) {
  NewTask task = a_task();
  change(task);
  return verdict(validate(task, now));
}

// ---- Fields ------------------------------------------------------------------------------------

template <class Change>
std::string wrong_field(Change change) {
  NewTask task = a_task();
  change(task);
  return validate(task, now).error().field;
}

TEST(ValidateTask, the_error_has_the_field_that_is_wrong) {
  EXPECT_EQ(wrong_field([](NewTask& t) { t.id = {}; }), "id");
  EXPECT_EQ(wrong_field([](NewTask& t) { t.queue = "a b"; }), "queue");
  EXPECT_EQ(wrong_field([](NewTask& t) { t.queue = QueueNumber{-1}; }), "queue");
  EXPECT_EQ(wrong_field([](NewTask& t) { t.type = "a b"; }), "type");
  EXPECT_EQ(wrong_field([](NewTask& t) { t.delay = Duration(-1); }), "delay_ms");
  EXPECT_EQ(wrong_field([](NewTask& t) { t.timeout = Duration(0); }), "timeout_ms");
  EXPECT_EQ(wrong_field([](NewTask& t) { t.tags = {"a", ""}; }), "tags[1]");
  EXPECT_EQ(wrong_field([](NewTask& t) { t.start_by = never; }), "start_by");
}

TEST(ValidateTake, one_queue_needs_no_list) {
  TakeRequest take{.worker = "w", .queues = {{.queue = "a b", .most = 1}}};
  EXPECT_EQ(validate(take).error().field, "queue");
  take.queues.insert(take.queues.begin(), Want{.queue = "a", .most = 1});
  EXPECT_EQ(validate(take).error().field, "queues[1].queue");
}

// ---- Names -------------------------------------------------------------------------------------

TEST(ValidateName, letters_digits_and_four_signs_are_allowed) {
  for (const char* name : {"a", "Z9", "mail.eu-1:fast_lane", "-", "0"}) {
    EXPECT_THAT(verdict(validate_name("queue name", name, false)), IsEmpty());
  }
  EXPECT_THAT(verdict(validate_name("queue name", std::string(100, 'x'), false)), IsEmpty());
}

TEST(ValidateName, every_other_byte_is_refused_with_its_position) {
  const std::string allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-";
  for (int byte = 0; byte < 256; ++byte) {
    const std::string name = std::string("ab") + static_cast<char>(byte);
    const bool good = allowed.find(static_cast<char>(byte)) != std::string::npos;
    EXPECT_EQ(validate_name("queue name", name, true).has_value(), good) << byte;
  }
}

TEST(ValidateName, the_message_shows_the_name_the_character_and_what_is_allowed) {
  EXPECT_EQ(verdict(validate_name("queue name", "a b", false)),
            "invalid: queue name \"a b\" has ' ' at position 2" + name_rule);
  EXPECT_EQ(verdict(validate_name("task type", "ab\n", false)),
            "invalid: task type \"ab\\x0a\" has \"\\x0a\" at position 3" + name_rule);
  EXPECT_EQ(verdict(validate_name("queue name", "", false)),
            "invalid: queue name is empty" + name_rule);
  EXPECT_THAT(verdict(validate_name("queue name", std::string(101, 'x'), false)),
              AllOf(HasSubstr("has 101 characters"), HasSubstr(name_rule)));
}

TEST(ValidateName, a_dollar_stands_in_front_of_internal_names_only) {
  EXPECT_THAT(verdict(validate_name("queue name", "$webhooks", true)), IsEmpty());
  EXPECT_EQ(verdict(validate_name("queue name", "$webhooks", false)),
            "invalid: queue name \"$webhooks\" has '$' at position 1" + name_rule);
  EXPECT_EQ(verdict(validate_name("queue name", "$", true)),
            "invalid: queue name \"$\" has nothing after its '$'" + name_rule);
  EXPECT_THAT(verdict(validate_name("queue name", "a$", true)), HasSubstr("position 2"));
  EXPECT_THAT(verdict(validate_name("queue name", "$$a", true)), HasSubstr("position 2"));
  EXPECT_THAT(verdict(validate_name("queue name", "$" + std::string(100, 'x'), true)),
              HasSubstr("101 characters"));
}

// ---- Tasks -------------------------------------------------------------------------------------

TEST(ValidateTask, an_ordinary_task_and_a_full_one_are_fine) {
  EXPECT_THAT(verdict(validate(a_task(), now)), IsEmpty());
  NewTask task = a_task();
  task.type = "";
  task.payload = std::string(limits::max_payload, 'p');
  task.metadata = std::string(limits::max_metadata, 'm');
  task.priority = 9;
  task.delay = limits::max_delay;
  task.timeout = Duration(1);
  task.keep_for = Duration::zero();
  task.retry = RetryRules{};
  task.unique = UniqueKey{.key = std::string(255, 'k')};
  task.callback = Callback{.url = "https://example.com/hook"};
  task.tags.assign(16, std::string(100, 't'));
  task.group = "\u0433\u0440\u0443\u043f\u043f\u0430";
  EXPECT_THAT(verdict(validate(task, now)), IsEmpty());
}

TEST(ValidateTask, a_nil_id_is_refused) {
  EXPECT_THAT(task_with([](NewTask& t) { t.id = {}; }), HasSubstr("invalid: task id is nil"));
}

TEST(ValidateTask, a_queue_may_be_named_in_three_ways) {
  Uuid id;
  id.bytes[0] = 1;
  EXPECT_THAT(task_with([](NewTask& t) { t.queue = "$internal"; }), IsEmpty());
  EXPECT_THAT(task_with([](NewTask& t) { t.queue = QueueNumber{0}; }), IsEmpty());
  EXPECT_THAT(task_with([&](NewTask& t) { t.queue = id; }), IsEmpty());
  EXPECT_THAT(task_with([](NewTask& t) { t.queue = "a b"; }), HasSubstr("queue name \"a b\""));
  EXPECT_THAT(task_with([](NewTask& t) { t.queue = ""; }), HasSubstr("queue name is empty"));
  EXPECT_EQ(task_with([](NewTask& t) { t.queue = QueueNumber{-3}; }),
            "invalid: queue number is -3; allowed are 0 and up");
  EXPECT_THAT(task_with([](NewTask& t) { t.queue = Uuid{}; }), HasSubstr("queue id is nil"));
}

TEST(ValidateTask, a_type_is_a_name) {
  EXPECT_THAT(task_with([](NewTask& t) { t.type = "send/sms"; }),
              HasSubstr("task type \"send/sms\" has '/' at position 5"));
}

// S0-009, S2-051
TEST(ValidateTask, sizes_have_their_limits) {
  EXPECT_EQ(task_with([](NewTask& t) { t.payload.resize(limits::max_payload + 1); }),
            "too_large: payload has 16777217 bytes; at most 16777216 are allowed");
  EXPECT_EQ(task_with([](NewTask& t) { t.metadata.resize(limits::max_metadata + 1); }),
            "too_large: metadata has 16385 bytes; at most 16384 are allowed");
  EXPECT_EQ(task_with([](NewTask& t) { t.tags.assign(17, "t"); }),
            "too_large: 17 tags are too many; at most 16 are allowed");
  EXPECT_THAT(task_with([](NewTask& t) { t.tags = {std::string(101, 't')}; }),
              HasSubstr("too_large: tag has 101 bytes"));
  EXPECT_THAT(task_with([](NewTask& t) { t.client_id = std::string(256, 'c'); }),
              HasSubstr("too_large: client id has 256 bytes"));
  EXPECT_THAT(task_with([](NewTask& t) { t.request_id = std::string(256, 'c'); }),
              HasSubstr("too_large: request id"));
  EXPECT_THAT(task_with([](NewTask& t) { t.group = std::string(256, 'c'); }),
              HasSubstr("too_large: group"));
  EXPECT_THAT(task_with([](NewTask& t) { t.content_type = std::string(256, 'c'); }),
              HasSubstr("too_large: content type"));
}

TEST(ValidateTask, labels_are_text_without_control_characters) {
  EXPECT_EQ(task_with([](NewTask& t) { t.group = "a\nb"; }),
            "invalid: group \"a\\x0ab\" has \"\\x0a\" at position 2; allowed is UTF-8 without "
            "control characters");
  EXPECT_THAT(task_with([](NewTask& t) { t.tags = {"ok", ""}; }), HasSubstr("a tag is empty"));
  EXPECT_THAT(task_with([](NewTask& t) { t.client_id = std::string(1, '\0'); }),
              HasSubstr("client id \"\\x00\""));
  EXPECT_THAT(task_with([](NewTask& t) { t.content_type = "a\x7f"; }), HasSubstr("position 2"));
}

// S4-017 D-27
TEST(ValidateTask, priorities_end_at_nine) {
  EXPECT_EQ(task_with([](NewTask& t) { t.priority = 10; }),
            "invalid: priority is 10; allowed are 0 to 9");
}

// S1-024
TEST(ValidateTask, start_and_delay_exclude_each_other) {
  EXPECT_EQ(task_with([](NewTask& t) {
              t.start = now;
              t.delay = seconds(1);
            }),
            "invalid: both start and delay are given; allowed is one of them");
}

// S1-025
TEST(ValidateTask, a_delay_is_from_nothing_to_ten_years) {
  EXPECT_THAT(task_with([](NewTask& t) { t.delay = Duration::zero(); }), IsEmpty());
  EXPECT_EQ(task_with([](NewTask& t) { t.delay = Duration(-1500); }),
            "invalid: delay is -1s500ms; allowed are 0s to 10 years");
  EXPECT_THAT(task_with([](NewTask& t) { t.delay = limits::max_delay + Duration(1); }),
              HasSubstr("invalid: delay is"));
}

TEST(ValidateTask, a_start_may_lie_in_the_past_but_not_beyond_ten_years) {
  EXPECT_THAT(task_with([](NewTask& t) { t.start = TimePoint::min(); }), IsEmpty());
  EXPECT_THAT(task_with([](NewTask& t) { t.start = now + limits::max_delay; }), IsEmpty());
  EXPECT_THAT(task_with([](NewTask& t) { t.start = now + limits::max_delay + Duration(1); }),
              AllOf(HasSubstr("invalid: start is 20"), HasSubstr("at most 10 years ahead")));
  EXPECT_THAT(task_with([](NewTask& t) { t.start = never; }), HasSubstr("invalid: start is"));
}

TEST(ValidateTask, start_by_is_not_before_the_start) {
  EXPECT_THAT(task_with([](NewTask& t) { t.start_by = now - seconds(1); }), IsEmpty())
      << "a put repeated late must still find its task";
  EXPECT_THAT(task_with([](NewTask& t) { t.start_by = t.start = now + seconds(5); }), IsEmpty());
  EXPECT_THAT(task_with([](NewTask& t) {
                t.start = now + seconds(5);
                t.start_by = now + seconds(4);
              }),
              HasSubstr("invalid: start_by is 2027-01-15T08:00:04.000Z, before the start at "
                        "2027-01-15T08:00:05.000Z"));
  EXPECT_THAT(task_with([](NewTask& t) {
                t.delay = seconds(5);
                t.start_by = now + seconds(4);
              }),
              HasSubstr("before the start"));
  EXPECT_THAT(task_with([](NewTask& t) { t.start_by = never; }),
              HasSubstr("invalid: start_by is 9999-12-31"));
}

TEST(ValidateTask, times_of_a_run_are_in_bounds) {
  EXPECT_EQ(task_with([](NewTask& t) { t.timeout = Duration::zero(); }),
            "invalid: timeout is 0s; allowed are 1ms to 10 years");
  EXPECT_THAT(task_with([](NewTask& t) { t.timeout = Duration::max(); }), HasSubstr("timeout"));
  EXPECT_THAT(task_with([](NewTask& t) { t.keep_for = Duration(-1); }),
              HasSubstr("invalid: keep_for is -1ms"));
}

TEST(ValidateTask, its_policy_key_and_callback_are_checked) {
  EXPECT_THAT(task_with([](NewTask& t) { t.retry.emplace().factor = 0.5; }),
              HasSubstr("retry factor is 0.5"));
  EXPECT_THAT(task_with([](NewTask& t) { t.unique.emplace(); }), HasSubstr("unique key is empty"));
  EXPECT_THAT(task_with([](NewTask& t) { t.callback.emplace(); }), HasSubstr("callback url"));
}

// ---- Schedules ---------------------------------------------------------------------------------

template <class Change>
std::string schedule_with(Change change) {
  Schedule schedule{.name = "nightly", .rule = {.cron = "0 3 * * *"}};
  schedule.task.queue = "mail";
  change(schedule);
  return verdict(validate(schedule));
}

TEST(ValidateSchedule, a_cron_and_an_interval_are_fine_without_an_id) {
  EXPECT_THAT(schedule_with([](Schedule&) {}), IsEmpty());
  EXPECT_THAT(schedule_with([](Schedule& s) { s.rule = {.every = seconds(30)}; }), IsEmpty());
  EXPECT_THAT(schedule_with([](Schedule& s) { s.task.delay = seconds(30); }), IsEmpty());
}

TEST(ValidateSchedule, it_is_either_a_cron_or_an_interval) {
  EXPECT_EQ(schedule_with([](Schedule& s) { s.rule.every = seconds(1); }),
            "invalid: both cron and every are given; allowed is either a cron expression or an "
            "interval");
  EXPECT_THAT(schedule_with([](Schedule& s) { s.rule = {}; }),
              HasSubstr("neither cron nor every is given"));
}

TEST(ValidateSchedule, every_part_is_in_range) {
  EXPECT_THAT(schedule_with([](Schedule& s) { s.name = "a b"; }), HasSubstr("schedule name"));
  EXPECT_THAT(schedule_with([](Schedule& s) { s.rule.cron = std::string(256, '*'); }),
              HasSubstr("too_large: cron"));
  EXPECT_THAT(schedule_with([](Schedule& s) { s.rule.zone = std::string(65, 'Z'); }),
              HasSubstr("too_large: zone"));
  EXPECT_EQ(schedule_with([](Schedule& s) { s.rule = {.every = Duration(99)}; }),
            "invalid: every is 99ms; allowed are 100ms to 10 years");
  EXPECT_THAT(schedule_with([](Schedule& s) { s.rule = {.every = seconds(-1)}; }),
              HasSubstr("every is -1s"));
  EXPECT_THAT(schedule_with([](Schedule& s) { s.rule = {.every = hours(1), .anchor = never}; }),
              HasSubstr("anchor"));
  EXPECT_THAT(schedule_with([](Schedule& s) { s.missed_most = 0; }), HasSubstr("missed_most"));
  EXPECT_THAT(schedule_with([](Schedule& s) { s.missed_most = 1001; }), HasSubstr("1 to 1000"));
  EXPECT_THAT(schedule_with([](Schedule& s) { s.jitter = Duration(-1); }), HasSubstr("jitter"));
  EXPECT_THAT(schedule_with([](Schedule& s) { s.overlap = Overlap(3); }),
              HasSubstr("overlap is 3"));
  EXPECT_THAT(schedule_with([](Schedule& s) { s.missed = Missed(3); }), HasSubstr("missed is 3"));
  EXPECT_THAT(schedule_with([](Schedule& s) { s.rule.dst = DstPolicy(3); }), HasSubstr("dst is 3"));
}

TEST(ValidateSchedule, its_task_is_checked_and_has_no_moments_of_its_own) {
  EXPECT_THAT(schedule_with([](Schedule& s) { s.task.queue = "a b"; }), HasSubstr("queue name"));
  EXPECT_THAT(schedule_with([](Schedule& s) { s.task.start = now; }),
              HasSubstr("allowed is a delay"));
  EXPECT_THAT(schedule_with([](Schedule& s) { s.task.start_by = now; }),
              HasSubstr("allowed is a delay"));
}

// ---- Work --------------------------------------------------------------------------------------

TEST(ValidateTake, one_queue_and_many_are_fine) {
  EXPECT_THAT(verdict(validate(TakeRequest{.worker = "w1", .queues = {{.queue = "a"}}})),
              IsEmpty());
  EXPECT_THAT(verdict(validate(TakeRequest{
                  .worker = "",
                  .queues = {{.queue = "a", .most = 400}, {.queue = QueueNumber{1}, .most = 600}},
                  .lease = seconds(1)})),
              IsEmpty());
}

TEST(ValidateTake, its_numbers_are_in_range) {
  const auto take = [](const std::vector<Want>& queues,
                       std::optional<Duration> lease = std::nullopt) {
    return verdict(validate(TakeRequest{.worker = "w", .queues = queues, .lease = lease}));
  };
  EXPECT_THAT(take({}), HasSubstr("a take names no queue"));
  EXPECT_THAT(take({{.queue = "a b"}}), HasSubstr("queue name"));
  EXPECT_EQ(take({{.queue = "a", .most = 0}}), "invalid: most is 0; allowed are 1 to 1000");
  EXPECT_THAT(take({{.queue = "a", .most = 1001}}), HasSubstr("most is 1001"));
  EXPECT_THAT(take({{.queue = "a", .most = 501}, {.queue = "b", .most = 500}}),
              HasSubstr("most of all queues together is 1001"));
  EXPECT_THAT(take({{.queue = "a"}}, Duration(999)), HasSubstr("lease is 999ms"));
  EXPECT_THAT(take({{.queue = "a"}}, hours(13)), HasSubstr("lease is 13h"));
  EXPECT_THAT(
      verdict(validate(TakeRequest{.worker = std::string(256, 'w'), .queues = {{.queue = "a"}}})),
      HasSubstr("too_large: worker"));
}

template <class Change>
std::string extension_with(Change change) {
  Extension extension{.id = a_task().id, .token = Token{1}};
  change(extension);
  return verdict(validate(extension));
}

TEST(ValidateExtension, heartbeats_with_and_without_news_are_fine) {
  EXPECT_THAT(extension_with([](Extension&) {}), IsEmpty());
  EXPECT_THAT(extension_with([](Extension& e) {
                e.lease = seconds(60);
                e.progress = 100.0;
                e.log.assign(100, std::string(2048, 'l'));
              }),
              IsEmpty());
}

TEST(ValidateExtension, every_part_is_in_range) {
  EXPECT_THAT(extension_with([](Extension& e) { e.id = {}; }), HasSubstr("task id is nil"));
  EXPECT_THAT(extension_with([](Extension& e) { e.lease = Duration(1); }), HasSubstr("lease"));
  EXPECT_EQ(extension_with([](Extension& e) { e.progress = 100.5; }),
            "invalid: progress is 100.5; allowed are 0 to 100");
  EXPECT_THAT(extension_with([](Extension& e) { e.progress = -1; }), HasSubstr("progress"));
  EXPECT_THAT(extension_with([](Extension& e) { e.progress = std::nan(""); }),
              HasSubstr("progress is nan"));
  EXPECT_THAT(extension_with([](Extension& e) { e.log.resize(101); }),
              HasSubstr("too_large: 101 log lines are too many"));
  EXPECT_THAT(extension_with([](Extension& e) { e.log = {std::string(2049, 'l')}; }),
              HasSubstr("too_large: log line has 2049 bytes"));
}

template <class Change>
std::string settlement_with(Change change) {
  Settlement settlement{.id = a_task().id, .expect = Held{Token{1}}};
  change(settlement);
  return verdict(validate(settlement));
}

TEST(ValidateSettlement, each_expectation_has_its_events) {
  using enum Event;
  const auto allowed = [](const Expectation& expect) {
    std::vector<Event> events;
    for (std::size_t e = 0; e < event_count; ++e) {
      const bool good = settlement_with([&](Settlement& s) {
                          s.expect = expect;
                          s.event = Event(e);
                        }).empty();
      if (good) events.push_back(Event(e));
    }
    return events;
  };
  EXPECT_THAT(allowed(Held{}),
              testing::ElementsAre(done, retry, fail, exhaust, snooze, give_back, cancel, park));
  EXPECT_THAT(allowed(Lost{}), testing::ElementsAre(exhaust, lose, cancel));
  EXPECT_THAT(allowed(Unchanged{}), testing::ElementsAre(cancel, expire));
}

TEST(ValidateSettlement, the_message_names_the_event_and_the_allowed_ones) {
  EXPECT_EQ(
      settlement_with([](Settlement& s) { s.event = Event::lose; }),
      "invalid: lose is not a way to settle this; the holder of a lease may settle done, retry, "
      "fail, exhaust, snooze, give_back, cancel and park");
  EXPECT_THAT(settlement_with([](Settlement& s) { s.expect = Lost{}; }),
              HasSubstr("a lost lease ends in lose, exhaust or cancel"));
  EXPECT_THAT(settlement_with([](Settlement& s) { s.expect = Unchanged{}; }),
              HasSubstr("a wait ends in expire"));
}

TEST(ValidateSettlement, sizes_have_their_limits) {
  EXPECT_THAT(settlement_with([](Settlement& s) { s.id = {}; }), HasSubstr("task id is nil"));
  EXPECT_THAT(settlement_with([](Settlement& s) { s.ready = never; }), HasSubstr("ready"));
  EXPECT_THAT(settlement_with([](Settlement& s) { s.result.resize(limits::max_result); }),
              IsEmpty());
  EXPECT_THAT(settlement_with([](Settlement& s) { s.result.resize(limits::max_result + 1); }),
              HasSubstr("too_large: result has 16777217 bytes"));
  const auto error = [](std::string TaskError::* field, std::size_t size) {
    return settlement_with(
        [&](Settlement& s) { s.error.emplace().*field = std::string(size, 'e'); });
  };
  EXPECT_THAT(error(&TaskError::message, 8192), IsEmpty());
  EXPECT_THAT(error(&TaskError::code, 101), HasSubstr("too_large: error code has 101"));
  EXPECT_THAT(error(&TaskError::message, 8193), HasSubstr("too_large: error message has 8193"));
  EXPECT_THAT(error(&TaskError::details, 8193), HasSubstr("too_large: error details"));
  EXPECT_THAT(error(&TaskError::stack, 8193), HasSubstr("too_large: error stack"));
}

TEST(ValidateSettlement, follow_ups_are_few_and_small_together) {
  const auto follow_ups = [](std::size_t count, std::size_t bytes) {
    return settlement_with([&](Settlement& s) {
      s.follow_ups.assign(count, a_task());
      for (NewTask& task : s.follow_ups) task.payload = std::string(bytes, 'p');
    });
  };
  EXPECT_THAT(follow_ups(32, limits::max_follow_up_bytes / 32), IsEmpty());
  EXPECT_THAT(follow_ups(33, 1), HasSubstr("too_large: 33 follow-ups are too many"));
  EXPECT_THAT(follow_ups(32, limits::max_follow_up_bytes / 32 + 1),
              HasSubstr("too_large: follow-ups together has"));
}

}  // namespace
}  // namespace millrace
