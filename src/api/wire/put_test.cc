#include "api/wire/put.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/wire/text_writer.h"
#include "core/uuid.h"
#include "tests/support/builders.h"

namespace millrace::wire {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

const QueueRef emails = std::string("emails");

NewTask task_of(std::string_view text) {
  auto task = read_task(text, &emails);
  EXPECT_TRUE(task) << task.error().error.message;
  return task ? *task : NewTask{};
}

Refusal refusal_of(std::string_view text) {
  const auto body = read_put(text, &emails);
  if (!body) return body.error();
  EXPECT_FALSE(body->refused.empty()) << text;
  return body->refused.empty() ? Refusal{} : body->refused.front().second;
}

TEST(Put, payload_is_kept_byte_for_byte) {
  const NewTask task = task_of(R"({"payload" :  { "b":1.0, "a" :[ 1e2,"\u00e9"] } , "type":"x"})");
  EXPECT_EQ(task.payload, R"({ "b":1.0, "a" :[ 1e2,"\u00e9"] })");
  EXPECT_EQ(task.content_type, "");
  EXPECT_EQ(task.queue, emails);
  EXPECT_EQ(task.type, "x");
  EXPECT_EQ(task_of(R"({"payload":7})").payload, "7");
}

TEST(Put, payload_as_text_or_bytes) {
  const NewTask text = task_of(R"({"payload_text":"a\n\ud83d\ude00"})");
  EXPECT_EQ(text.payload, "a\n\xF0\x9F\x98\x80");
  EXPECT_EQ(text.content_type, "text/plain; charset=utf-8");
  const NewTask bytes = task_of(R"({"content_type":"image/png","payload_base64":"/wA="})");
  EXPECT_EQ(bytes.payload, std::string("\xff\0", 2));
  EXPECT_EQ(bytes.content_type, "image/png");
  EXPECT_EQ(task_of(R"({"payload_base64":"/wA="})").content_type, "application/octet-stream");
  EXPECT_EQ(task_of(R"({"payload_text":"a","content_type":"text/html"})").content_type,
            "text/html");
  EXPECT_EQ(task_of(R"({"payload":null,"payload_text":"a"})").payload, "a");
  EXPECT_THAT(refusal_of(R"({"payload":1,"payload_text":"a"})").error.message,
              HasSubstr("one of payload, payload_text and payload_base64"));
  EXPECT_THAT(refusal_of(R"({"payload_base64":"?"})").error.field, "payload_base64");
}

TEST(Put, every_field) {
  const NewTask task = task_of(R"({"id":"task-01890a5d-ac96-774b-bcce-b302099a8057","queue":7,
      "type":"send","held":true,"start":"2030-01-01T00:00:00Z","start_by":"2030-01-02T00:00:00Z",
      "timeout_ms":1000,"max_lost":"unlimited","retry":{"backoff":"fixed","base_ms":5},
      "unique":{"key":"k","scope":"window","window_ms":9},
      "callback":{"url":"https://example.org","events":["dead"],"max_attempts":2},
      "keep_for_ms":0,"client_id":"c","request_id":"r","group":"g","metadata":{"a":[1]},
      "tags":["x","y"],"parent":"01890a5d-ac96-774b-bcce-b302099a8058"})");
  EXPECT_EQ(to_text(task.id.value), "01890a5d-ac96-774b-bcce-b302099a8057");
  EXPECT_EQ(task.queue, QueueRef(QueueNumber{7}));
  EXPECT_TRUE(task.held);
  EXPECT_EQ(task.start, test::t0);
  EXPECT_EQ(task.start_by, test::t0 + 24h);
  EXPECT_EQ(task.timeout, 1s);
  EXPECT_EQ(task.max_lost, unlimited);
  EXPECT_EQ(task.retry->base, 5ms);
  EXPECT_EQ(task.unique->window, 9ms);
  EXPECT_EQ(task.callback->events, 8);
  EXPECT_EQ(task.keep_for, 0ms);
  EXPECT_EQ(task.metadata, R"({"a":[1]})");
  EXPECT_EQ(task.tags.size(), 2U);
  // Written and read again, it is the same task.
  EXPECT_EQ(task_of(text_of(task)), task);
}

TEST(Put, priorities_in_every_scale) {
  EXPECT_EQ(task_of(R"({})").priority, 5);
  EXPECT_EQ(task_of(R"({"priority":9})").priority, 9);
  EXPECT_EQ(task_of(R"({"priority":"high"})").priority, 8);
  EXPECT_EQ(task_of(R"({"priority":1,"priority_scale":"bullmq"})").priority, 9);
  EXPECT_EQ(task_of(R"({"priority_scale":"mtask","priority":0})").priority, 5);
  EXPECT_EQ(task_of(R"({"priority_scale":"none","priority":3})").priority, 5);
  EXPECT_EQ(refusal_of(R"({"priority":10})").error.field, "priority");
  EXPECT_EQ(refusal_of(R"({"priority":"urgent"})").error.field, "priority");
  EXPECT_EQ(refusal_of(R"({"priority":1.5})").error.field, "priority");
  EXPECT_EQ(refusal_of(R"({"priority":[1]})").error.field, "priority");
}

TEST(Put, one_word_for_the_number_of_retries) {
  EXPECT_EQ(task_of(R"({"max_retries":4})").retry->max_retries, 4U);
  EXPECT_EQ(task_of(R"({"attempts":4})").retry->max_retries, 3U);
  EXPECT_EQ(task_of(R"({"attempts":"unlimited"})").retry->max_retries, unlimited);
  EXPECT_EQ(task_of(R"({"max_retries":0,"retry":{"base_ms":1}})").retry->base, 1ms);
  for (const auto* text :
       {R"({"max_retries":1,"attempts":2})", R"({"attempts":2,"retry":{"max_retries":1}})",
        R"({"max_retries":1,"retry":{"max_retries":1}})"}) {
    EXPECT_THAT(refusal_of(text).error.message, HasSubstr("more than once")) << text;
  }
  EXPECT_EQ(refusal_of(R"({"attempts":0})").error.field, "attempts");
}

TEST(Put, a_unique_key_says_what_a_conflict_does) {
  const NewTask task = task_of(R"({"delay_ms":5,
      "unique":{"key":"k","on_conflict":"postpone","max_delay_ms":60000}})");
  EXPECT_EQ(task.unique,
            (UniqueKey{.key = "k", .on_conflict = OnConflict::postpone, .max_delay = 60s}));
  EXPECT_EQ(task_of(text_of(task)), task);
  EXPECT_EQ(task_of(R"({"unique":{"key":"k"}})").unique->on_conflict, OnConflict::keep);
  EXPECT_THAT(text_of(task_of(R"({"unique":{"key":"k"}})")),
              ::testing::Not(HasSubstr("on_conflict")));
  const auto refusal = refusal_of(R"({"unique":{"key":"k","on_conflict":"merge"}})");
  EXPECT_EQ(refusal.error.field, "unique.on_conflict");
  EXPECT_THAT(refusal.error.message, HasSubstr("keep, replace"));
}

TEST(Put, retention_by_the_end) {
  const NewTask task = task_of(R"({"keep_completed":{"for_ms":0},"keep_dead":{"for_ms":5}})");
  EXPECT_EQ(task.keep_completed, Keep{.for_time = 0ms});
  EXPECT_EQ(task.keep_dead, Keep{.for_time = 5ms});
  EXPECT_EQ(task_of(text_of(task)), task);
}

TEST(Put, only_an_answer_to_a_replacing_put_says_so) {
  std::string text;
  append(text, Put{.id = test::fresh_id(), .existing = true, .replaced = true});
  EXPECT_THAT(text, HasSubstr(R"("existing":true,"replaced":true})"));
  text.clear();
  append(text, Put{.id = test::fresh_id(), .existing = true});
  EXPECT_THAT(text, HasSubstr(R"("existing":true})"));
}

// S1-024
TEST(Put, start_and_delay_exclude_each_other) {
  EXPECT_EQ(task_of(R"({"delay_ms":5})").delay, 5ms);
  EXPECT_EQ(refusal_of(R"({"delay_ms":5,"start":"2030-01-01T00:00:00Z"})").error.field, "delay_ms");
  EXPECT_EQ(refusal_of(R"({"delay_ms":-1})").error.field, "delay_ms");
}

TEST(Put, errors_name_the_place) {
  EXPECT_EQ(refusal_of(R"([{},{"retry":{"base_ms":"x"}}])").error.field, "tasks[1].retry.base_ms");
  EXPECT_EQ(refusal_of(R"({"retry":{"bose_ms":1}})").error.field, "retry.bose_ms");
  EXPECT_EQ(refusal_of(R"({"tags":["a",1]})").error.field, "tags[1]");
  EXPECT_EQ(refusal_of(R"({"queue":{"id":"x"}})").error.field, "queue.id");
  EXPECT_EQ(refusal_of(R"({"unique":{}})").error.field, "unique.key");
  EXPECT_EQ(refusal_of(R"({"unique":{"key":"$mine"}})").error.field, "unique.key");
  EXPECT_EQ(refusal_of(R"({"callback":{"url":"x","events":["ended"]}})").error.field,
            "callback.events[0]");
  EXPECT_EQ(refusal_of(R"({"metadata":"x"})").error.field, "metadata");
  EXPECT_EQ(refusal_of(R"({"metadata_text":"x"})").error.field, "metadata_text");
  EXPECT_EQ(refusal_of(R"({"held":1})").error.field, "held");
  EXPECT_EQ(refusal_of(R"({"type":"a","type":"b"})").error.field, "type");
  EXPECT_EQ(refusal_of(R"({"type":null,"type":"b"})").error.field, "type");
  EXPECT_EQ(refusal_of("5").error.message, "the body is 5; allowed is an object");
  const auto without_queue = read_task("{}", nullptr);
  ASSERT_FALSE(without_queue);
  EXPECT_EQ(without_queue.error().error.field, "queue");
}

TEST(Put, what_is_not_json_is_malformed) {
  for (const auto* text :
       {"", " ", "{", "{\"type\":}", "{\"type\":\"a\"", "[{},]", "[{}", "{} {}", "{\"type\" \"a\"}",
        "{\"payload\":{1}}", "{\"payload\":[1,}", "[{}{}]", "{\"a\\\":1}", "{\"type\":\"\xff\"}"}) {
    const auto body = read_put(text, &emails);
    ASSERT_FALSE(body) << text;
    EXPECT_TRUE(body.error().malformed) << text << ": " << body.error().error.message;
  }
}

TEST(Put, a_bad_item_of_a_list_is_refused_alone) {
  const auto body = read_put(R"([{"type":"a"},5,{"x":{"y":[1,"]"]}},{"type":"d"}])", &emails);
  ASSERT_TRUE(body);
  ASSERT_EQ(body->tasks.size(), 2U);
  EXPECT_EQ(body->tasks[1].type, "d");
  ASSERT_EQ(body->refused.size(), 2U);
  EXPECT_EQ(body->refused[0].first, 1U);
  EXPECT_EQ(body->refused[1].first, 2U);
  EXPECT_EQ(body->refused[1].second.error.field, "tasks[2].x");
  EXPECT_TRUE(read_put("[]", &emails)->tasks.empty());
}

TEST(Put, a_list_has_its_limit) {
  std::string text = "[{}";
  for (int i = 1; i < 1000; ++i) text += ",{}";
  EXPECT_EQ(read_put(text + "]", &emails)->tasks.size(), 1000U);
  const auto too_many = read_put(text + ",{}]", &emails);
  ASSERT_FALSE(too_many);
  EXPECT_EQ(too_many.error().error.code, ErrorCode::too_large);
}

TEST(Put, keys_may_be_escaped) {
  EXPECT_EQ(task_of(R"({"t\u0079pe":"a"})").type, "a");
  EXPECT_EQ(refusal_of(R"({"type":"a","t\u0079pe":"b"})").error.field, "type");
}

// ---- Tasks that wait for others ----------------------------------------------------------------

constexpr std::string_view some = "01890a5d-ac96-774b-bcce-b302099a8057";

TEST(PutAfter, ids_in_a_list_or_in_an_object) {
  const TaskId id = *task_id_from_text(some);
  const std::string list = fmt::format(R"(["{}"])", some);
  EXPECT_EQ(task_of(R"({"after":)" + list + "}").after, After{.tasks = {id}});
  EXPECT_EQ(
      task_of(R"({"after":{"tasks":)" + list + R"(,"when":"ended","otherwise":"run"}})").after,
      (After{.tasks = {id}, .when = AfterWhen::ended, .otherwise = Otherwise::run}));
  EXPECT_EQ(task_of(R"({"after":null})").after, std::nullopt);
}

TEST(PutAfter, what_is_no_id_is_refused_with_its_place) {
  const auto refusal = refusal_of(fmt::format(R"({{"after":["{}","load"]}})", some));
  EXPECT_EQ(refusal.error.field, "after.tasks[1]");
  EXPECT_THAT(refusal.error.message, HasSubstr("in an atomic put the refs of its tasks"));
  EXPECT_EQ(refusal_of(R"({"after":7})").error.field, "after");
  EXPECT_THAT(refusal_of(R"({"after":"some"})").error.message,
              HasSubstr("allowed is a list of tasks, or an object"));
  EXPECT_EQ(refusal_of(R"({"after":{"when":"ended"}})").error.field, "after.tasks");
  EXPECT_THAT(refusal_of(R"({"after":{"tasks":[],"when":"started"}})").error.message,
              HasSubstr("completed"));
  EXPECT_EQ(refusal_of(R"({"ref":"a"})").error.field, "ref");
  EXPECT_EQ(refusal_of(R"([{"ref":"a"}])").error.field, "tasks[0].ref");
}

TaskId numbered_id() {
  static std::uint8_t last = 0;
  TaskId id;
  id.value.bytes.back() = ++last;
  return id;
}

Read<PutBody> all_of(const std::string& tasks) {
  return read_put(R"({"atomic":true,"tasks":)" + tasks + "}", &emails, numbered_id);
}

void expect_refused(const std::string& tasks, const std::string& field, const std::string& says) {
  const auto body = all_of(tasks);
  ASSERT_FALSE(body) << tasks;
  EXPECT_EQ(body.error().error.field, field);
  EXPECT_THAT(body.error().error.message, HasSubstr(says));
}

TEST(PutAll, refs_become_ids_in_any_order) {
  const auto body = all_of(fmt::format(
      R"([{{"ref":"b","after":["a","{}"]}},{{"ref":"a","queue":"etl"}},{{"after":["b"]}}])", some));
  ASSERT_TRUE(body) << body.error().error.message;
  EXPECT_TRUE(body->atomic);
  EXPECT_EQ(body->refs, (std::vector<std::string>{"b", "a", ""}));
  const auto& tasks = body->tasks;
  EXPECT_EQ(tasks[0].after->tasks, (std::vector{tasks[1].id, *task_id_from_text(some)}));
  EXPECT_EQ(tasks[2].after->tasks, std::vector{tasks[0].id});
  EXPECT_EQ(tasks[0].queue, emails);
  EXPECT_EQ(tasks[1].queue, QueueRef("etl"));
}

TEST(PutAll, bad_names_are_refused_with_their_place) {
  expect_refused(R"([{"ref":"a"},{"ref":"a"}])", "tasks[1].ref", "that of tasks[0]");
  expect_refused(R"([{"ref":""}])", "tasks[0].ref", "empty");
  expect_refused(fmt::format(R"([{{"ref":"{}"}}])", some), "tasks[0].ref", "taken for an id");
  expect_refused(R"([{"ref":")" + std::string(101, 'x') + R"("}])", "tasks[0].ref", "too long");
  expect_refused(R"([{"ref":"a"},{"after":["a","b"]}])", "tasks[1].after.tasks[1]",
                 "\"b\" is neither a ref of this put nor an id");
  expect_refused(R"([{"priority":99}])", "tasks[0].priority", "0 to 9");
}

TEST(PutAll, a_cycle_is_named) {
  expect_refused(R"([{"ref":"x"},{"ref":"a","after":["b"]},{"ref":"b","after":["c","x"]},
                    {"ref":"c","after":["a"]}])",
                 "tasks[1].after", "a → b → c → a");
  expect_refused(R"([{"ref":"a","after":["a"]}])", "tasks[0].after", "a → a");
}

TEST(PutAll, the_object_is_complete) {
  const auto refusal = [](std::string_view text) {
    const auto body = read_put(text, &emails, numbered_id);
    EXPECT_FALSE(body) << text;
    return body ? Error{} : body.error().error;
  };
  EXPECT_EQ(refusal(R"({"atomic":true})").field, "tasks");
  EXPECT_EQ(refusal(R"({"tasks":[]})").field, "atomic");
  EXPECT_EQ(refusal(R"({"atomic":false,"tasks":[]})").field, "atomic");
  EXPECT_EQ(refusal(R"({"atomic":true,"tasks":[],"queue":"q"})").field, "queue");
  EXPECT_EQ(refusal(R"({"atomic":true,"tasks":[],"tasks":[]})").field, "tasks");
  EXPECT_EQ(refusal(R"({"atomic":true,"tasks":{}})").field, "tasks");
  // A payload may have such keys.
  EXPECT_FALSE(read_put(R"({"payload":{"tasks":[],"atomic":true}})", &emails)->atomic);
}

TEST(PutAll, at_most_ten_thousand) {
  std::string tasks = "[{}";
  for (int i = 0; i < 10'000; ++i) tasks += ",{}";
  expect_refused(tasks + "]", "tasks", "10000");
}

TEST(PutAll, the_answer_has_the_refs) {
  const std::vector<Put> puts = {{.id = *task_id_from_text(some), .number = {1}},
                                 {.id = *task_id_from_text(some), .number = {2}, .existing = true}};
  EXPECT_EQ(
      put_all_answer(puts, {"a\"", ""}),
      fmt::format(R"({{"tasks":[{{"id":"{0}","number":1,"state":"queued","existing":false,)"
                  R"("ref":"a\""}},{{"id":"{0}","number":2,"state":"queued","existing":true}}]}})",
                  some));
}

}  // namespace
}  // namespace millrace::wire
