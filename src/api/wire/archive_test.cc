#include "api/wire/archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/wire/tree.h"
#include "tests/support/builders.h"
#include "tests/support/matchers.h"

namespace millrace::wire {
namespace {

using namespace std::chrono_literals;
using test::FailsWith;
using test::IsOk;
using test::t0;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

RetryRules all_rules() {
  return {.backoff = Backoff::fixed,
          .base = 5s,
          .factor = 1.25,
          .cap = 1h,
          .jitter = Jitter::additive,
          .jitter_share = 0.7,
          .cap_after_jitter = false,
          .max_retries = unlimited,
          .retryable = Retryable::listed};
}

NewTask full_new_task() {
  return {.id = test::fresh_id(),
          .queue = QueueNumber{7},
          .type = "send",
          .payload = R"({"to": "a@example.org",  "n": 1.50})",
          .content_type = "application/json",
          .priority = 0,
          .held = true,
          .start = t0 + 5ms,
          .delay = 0ms,
          .start_by = t0 + 1h,
          .timeout = 1s,
          .max_lost = 0,
          .retry = all_rules(),
          .unique = UniqueKey{.key = "k", .scope = UniqueScope::window, .window = 5s},
          .callback = Callback{.url = "https://example.org", .events = 5, .max_attempts = 1},
          .keep_for = 0ms,
          .client_id = "c",
          .request_id = "r",
          .group = "g",
          .metadata = "{}",
          .tags = {"a", "m\xc3\xbchle"},
          .parent = test::fresh_id()};
}

Task full_task() {
  Task task = test::old_task("q", {.number = {12}, .version = {3}, .type = "send"});
  task.payload = std::string("\xff\x00\"", 3);
  task.state = TaskState::dead;
  task.priority = 0;
  task.cancel_requested = true;
  task.counters = {.deliveries = 4, .attempts = 3, .retries = 2, .lost = 1};
  task.previous_start = t0 - 1ms;
  task.started_at = t0;
  task.finished_at = t0 + 1ms;
  task.start_by = t0 + 1h;
  task.lease_until = t0 + 2h;
  task.worker = "w";
  task.timeout = 1ms;
  task.max_lost = unlimited;
  task.retry = all_rules();
  task.unique = UniqueKey{.key = "k", .scope = UniqueScope::until_started};
  task.callback = Callback{.url = "https://example.org"};
  task.keep_for = 0ms;
  task.metadata = "\x80";
  task.tags = {"one"};
  task.parent = test::fresh_id();
  task.result = std::string("\0", 1);
  task.error =
      TaskError{.code = "", .message = "m", .details = "\xfe", .stack = "s", .failed_at = t0};
  task.progress = 33.3;
  task.delivery = DeliveryNote{.attempts = 0, .last_status = "\xc3"};
  task.log = {{t0, "first"}, {t0 + 1ms, "\xff"}, {t0, ""}};
  task.history = {{t0, t0 + 1s, Event::give_back, "w", "code", "\xff"}, {}};
  return task;
}

Queue full_queue() {
  Queue queue{.settings = test::queue("q"), .created_at = t0, .updated_at = t0 + 1s};
  QueueSettings& to = queue.settings;
  to.number = QueueNumber{0};
  to.description = "d";
  to.active = false;
  to.draining = true;
  to.paused_until = never;
  to.max_concurrent = 1;
  to.max_depth = 18'000'000'000'000'000'000U;
  to.put_rate = Rate{5, 1min};
  to.process_rate = Rate{1, 1ms};
  to.priority = 9;
  to.weight = 3;
  to.ageing = 1min;
  to.lease = 1h;
  to.timeout = 2h;
  to.batch_size = 1;
  to.max_lost = 0;
  to.retry = all_rules();
  to.types = {{.type = "a", .retry = all_rules(), .timeout = 1s, .max_lost = 2}, {.type = "b"}};
  to.dead_letters = false;
  to.keep_completed = {};
  to.keep_dead = {.for_time = 0ms, .last = unlimited};
  queue.removing = true;
  return queue;
}

Schedule full_schedule() {
  Schedule schedule{.name = "s", .task = full_new_task()};
  schedule.rule = {.cron = "* * * * *", .zone = "", .dst = DstPolicy::both, .anchor = t0};
  schedule.overlap = Overlap::allow;
  schedule.missed = Missed::all;
  schedule.missed_most = 0;
  schedule.jitter = 1s;
  schedule.paused = true;
  schedule.next = t0;
  schedule.last = t0 - 1s;
  schedule.last_task = test::fresh_id();
  schedule.fired = 5;
  schedule.skipped = 6;
  schedule.created_at = t0;
  schedule.updated_at = t0;
  return schedule;
}

// Through text, as it really goes.
template <class T>
Result<T> there_and_back(const T& value) {
  return from_archive<T>(archived(value), "value");
}

TEST(Wire, everything_comes_back_the_same) {
  const Task task = full_task();
  EXPECT_EQ(there_and_back(task), task);
  const NewTask put = full_new_task();
  EXPECT_EQ(there_and_back(put), put);
  const Queue queue = full_queue();
  EXPECT_EQ(there_and_back(queue), queue);
  EXPECT_EQ(there_and_back(queue.settings), queue.settings);
  const Schedule schedule = full_schedule();
  EXPECT_EQ(there_and_back(schedule), schedule);
  const Memo memo{.key = "\xff", .value = "\xfe", .version = 7, .expires = t0};
  EXPECT_EQ(there_and_back(memo), memo);
}

TEST(Wire, values_with_nothing_in_them_come_back_the_same) {
  const Task task = test::old_task("q");
  EXPECT_EQ(there_and_back(task), task);
  const NewTask put{.queue = "q"};
  EXPECT_EQ(there_and_back(put), put);
  const NewTask by_id{.queue = test::fresh_uuid()};
  EXPECT_EQ(there_and_back(by_id), by_id);
  EXPECT_EQ(there_and_back(Queue{}), Queue{});
  EXPECT_EQ(there_and_back(Schedule{}), Schedule{});
  EXPECT_EQ(there_and_back(Memo{}), Memo{});
}

TEST(Wire, a_json_payload_keeps_its_exact_bytes) {
  NewTask put{.queue = "q", .payload = "{ \"b\":1.0,\n\"a\" : 2e0 }"};
  EXPECT_EQ(there_and_back(put)->payload, put.payload);
  EXPECT_THAT(archived(put), HasSubstr(R"("payload":"{ \"b\":1.0,\n\"a\" : 2e0 }")"));
}

TEST(Wire, bytes_that_are_no_text_come_as_base64) {
  EXPECT_THAT(archived(NewTask{.queue = "q", .payload = "\xff\xfe"}),
              AllOf(HasSubstr(R"("payload_base64":"//4=")"), Not(HasSubstr(R"("payload":)"))));
}

TEST(Wire, moments_durations_and_names_are_written_as_people_read_them) {
  const std::string text = archived(full_task());
  EXPECT_THAT(text, HasSubstr(R"("started_at":"2030-01-01T00:00:00.000Z")"));
  EXPECT_THAT(text, HasSubstr(R"("timeout_ms":1)"));
  EXPECT_THAT(text, HasSubstr(R"("state":"dead")"));
  EXPECT_THAT(text, HasSubstr(R"("max_lost":"unlimited")"));
  EXPECT_THAT(text, HasSubstr(R"("progress":33.3)"));
  EXPECT_THAT(text, HasSubstr(R"("jitter_share":0.7)"));
  EXPECT_THAT(text, HasSubstr(R"("events":["completed","failed","dead","cancelled"])"));
}

// ---- Refusals ----------------------------------------------------------------------------------

Result<Task> read_task(const std::string& more) {
  const std::string text = R"({"id":"00000000-0000-7000-8000-000000000001","queue":"q",)"
                           R"("state":"queued","created_at":"2030-01-01T00:00:00Z",)"
                           R"("updated_at":"2030-01-01T00:00:00Z",)"
                           R"("start":"2030-01-01T00:00:00Z")" +
                           more + "}";
  return from_archive<Task>(text, "task");
}

TEST(WireErrors, name_the_place_the_value_and_what_is_allowed) {
  const std::pair<const char*, std::string> bad[] = {
      {R"(,"priority":"high")",
       R"(task.priority is "high"; allowed is a whole number from 0 to 255)"},
      {R"(,"priority":256)", "task.priority is 256; allowed is a whole number from 0 to 255"},
      {R"(,"priority":-1)", "task.priority is -1"},
      {R"(,"priority":1.5)", "task.priority is 1.5"},
      {R"(,"retry":{"base_ms":"5s"})", R"(task.retry.base_ms is "5s"; allowed is a whole number)"},
      {R"(,"retry":[])", "task.retry is a list; allowed is an object"},
      {R"(,"retry":{"backoff":"fixd"})",
       R"(task.retry.backoff is "fixd"; allowed is one of fixed, exp)"},
      {R"(,"log":[{"at":"2030-01-01T00:00:00Z"},{"at":5}])",
       "task.log[1].at is 5; allowed is a moment"},
      {R"(,"tags":["a",7])", "task.tags[1] is 7; allowed is a string"},
      {R"(,"tags":"a")", R"(task.tags is "a"; allowed is a list)"},
      {R"(,"started_at":"yesterday")", "task.started_at: "},
      {R"(,"parent":"12")", "task.parent: "},
      {R"(,"payload_base64":"*")", "task.payload_base64: the base64 text is wrong at position"},
      {R"(,"callback":{"url":"u","events":["done"]})",
       R"(task.callback.events[0] is "done"; allowed is one of completed)"},
      {R"(,"unique":{})", "task.unique.key is missing"},
      {R"(,"cancel_requested":1)", "task.cancel_requested is 1; allowed is true or false"},
      {R"(,"progress":"half")", R"(task.progress is "half"; allowed is a number)"},
  };
  for (const auto& [more, message] : bad) {
    EXPECT_THAT(read_task(more), FailsWith(ErrorCode::invalid, HasSubstr(message))) << more;
  }
}

TEST(WireErrors, an_unknown_key_is_refused_unless_it_may_be_newer_than_we_are) {
  EXPECT_THAT(read_task(R"(,"retry":{"bakoff":"fixed"})"),
              FailsWith(ErrorCode::invalid,
                        HasSubstr(R"(task.retry."bakoff" is not known; known here are backoff)")));
  const std::string_view text = R"({"key":"k","value":"v","colour":"red"})";
  EXPECT_THAT(from_archive<Memo>(text, "memo"), FailsWith(ErrorCode::invalid, HasSubstr("colour")));
  EXPECT_THAT(from_archive<Memo>(text, "memo", true), IsOk());
}

TEST(WireErrors, text_and_bytes_for_the_same_field_are_refused) {
  EXPECT_THAT(read_task(R"(,"payload":"a","payload_base64":"YQ==")"),
              FailsWith(ErrorCode::invalid, HasSubstr("task.payload_base64")));
  EXPECT_THAT(read_task(R"(,"priority_base64":"YQ==")"), FailsWith(ErrorCode::invalid));
}

TEST(WireErrors, what_a_value_cannot_do_without_is_asked_for) {
  EXPECT_THAT(from_archive<Task>("{}", "task"),
              FailsWith(ErrorCode::invalid, "task.id is missing"));
  EXPECT_THAT(from_archive<Task>(R"("x")", "task"),
              FailsWith(ErrorCode::invalid, R"(task is "x"; allowed is an object)"));
}

TEST(WireErrors, null_says_the_same_as_nothing) {
  EXPECT_THAT(read_task(R"(,"retry":null,"payload":null,"max_lost":null)"), IsOk());
  EXPECT_THAT(from_archive<Memo>(R"({"key":null,"value":"v"})", "memo"),
              FailsWith(ErrorCode::invalid, "memo.key is missing"));
}

// ---- Text --------------------------------------------------------------------------------------

TEST(WireText, says_where_it_stops_being_json) {
  EXPECT_THAT(parse("{\"a\":}"), FailsWith(ErrorCode::invalid, HasSubstr("position 6")));
  EXPECT_THAT(parse("{} x"), FailsWith(ErrorCode::invalid, HasSubstr("position 4")));
  EXPECT_THAT(parse("{\"a\":"), FailsWith(ErrorCode::invalid, HasSubstr("ends in the middle")));
  EXPECT_THAT(parse(""), FailsWith(ErrorCode::invalid));
  EXPECT_THAT(parse("\"\xff\""), FailsWith(ErrorCode::invalid));
  EXPECT_THAT(parse(std::string(100, '[')), FailsWith(ErrorCode::invalid));
}

TEST(WireText, numbers_are_written_as_they_were_meant) {
  for (const char* text : {"0.7", "-1", "18446744073709551615", "1e+100", "[1,2.5,null,true]",
                           R"({"a":{"b":"\u0000\n"}})"}) {
    EXPECT_EQ(to_text(*parse(text)), text);
  }
}

TEST(WireText, a_number_beyond_a_double_is_refused) {
  const auto task = from_archive<NewTask>(R"({"queue":"q","retry":{"factor":0.5e443}})", "task");
  ASSERT_FALSE(task);
  EXPECT_NE(task.error().message.find("task.retry.factor"), std::string::npos)
      << task.error().message;
}

}  // namespace
}  // namespace millrace::wire
