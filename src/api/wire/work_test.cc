#include "api/wire/work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/wire/text_writer.h"
#include "api/wire/tree.h"
#include "core/uuid.h"
#include "tests/support/builders.h"

namespace millrace::wire {
namespace {

using namespace std::chrono_literals;
using test::t0;
using ::testing::HasSubstr;

constexpr std::string_view id = "01890a5d-ac96-774b-bcce-b302099a8057";

Outcome settled(std::string_view rest) {
  const std::string text = R"({"token":"00000001000000ff",)" + std::string(rest) + "}";
  auto report = read_settlement(text, *task_id_from_text(id), t0);
  EXPECT_TRUE(report) << report.error().error.message;
  return report ? report->outcome : Outcome(GiveBack{});
}

std::string wrong_field(std::string_view rest) {
  const std::string text = R"({"token":"00000001000000ff",)" + std::string(rest) + "}";
  const auto report = read_settlement(text, *task_id_from_text(id), t0);
  EXPECT_FALSE(report) << rest;
  return report ? "" : report.error().error.field;
}

TEST(Work, every_outcome) {
  EXPECT_EQ(std::get<Done>(settled(R"("outcome":"done","result":{"n":1.0})")).result,
            R"({"n":1.0})");
  EXPECT_EQ(std::get<Done>(settled(R"("outcome":"done","result_text":"ok")")).result, "ok");
  EXPECT_EQ(std::get<Done>(settled(R"("outcome":"done")")).result, "");
  const auto failed = std::get<Failed>(
      settled(R"("outcome":"failed","error":{"message":"m","details":{"a":1},"stack":"s"},)"
              R"("retryable":false)"));
  EXPECT_EQ(failed.error.code, "task_processing_error");
  EXPECT_EQ(failed.error.message, "m");
  EXPECT_EQ(failed.error.details, R"({"a":1})");
  EXPECT_EQ(failed.retryable, false);
  const auto retry = std::get<RetryAt>(
      settled(R"("outcome":"retry","delay_ms":5000,"error":{"code":"c","message":"m"})"));
  EXPECT_EQ(retry.at, t0 + 5s);
  EXPECT_EQ(retry.error.code, "c");
  EXPECT_EQ(std::get<Snooze>(settled(R"("outcome":"snooze","at":"2030-01-01T00:01:00Z")")).until,
            t0 + 1min);
  EXPECT_EQ(std::get<Cancel>(settled(R"("outcome":"cancel","reason":"r")")).reason, "r");
  EXPECT_TRUE(std::holds_alternative<GiveBack>(settled(R"("outcome":"give_back")")));
  EXPECT_EQ(std::get<Park>(settled(R"("outcome":"park")")).until, never);
  EXPECT_EQ(std::get<Park>(settled(R"("outcome":"park","delay_ms":5000)")).until, t0 + 5s);
}

TEST(Work, a_report_says_what_the_run_has_cost) {
  const auto read = [](std::string_view rest) {
    const std::string text = R"({"token":"00000001000000ff",)" + std::string(rest) + "}";
    return read_settlement(text, *task_id_from_text(id), t0);
  };
  EXPECT_EQ(read(R"("outcome":"done")")->cost, std::nullopt);
  EXPECT_EQ(read(R"("outcome":"done","cost":1200)")->cost, 1200U);
  EXPECT_EQ(read(R"("outcome":"failed","error":{"message":"m"},"cost":0)")->cost, 0U);
  EXPECT_EQ(read(R"("outcome":"done","cost":4294967295)")->cost, 4294967295U);
  EXPECT_EQ(wrong_field(R"("outcome":"done","cost":-1)"), "cost");
  EXPECT_EQ(wrong_field(R"("outcome":"done","cost":1.5)"), "cost");
  EXPECT_EQ(wrong_field(R"("outcome":"done","cost":"unlimited")"), "cost");
}

TEST(Work, fields_must_suit_the_outcome) {
  EXPECT_EQ(wrong_field(R"("outcome":"failed","error":{"message":"m"},"result":1)"), "result");
  EXPECT_EQ(wrong_field(R"("outcome":"done","error":{"message":"m"})"), "error");
  EXPECT_EQ(wrong_field(R"("outcome":"failed")"), "error");
  EXPECT_EQ(wrong_field(R"("outcome":"failed","error":{})"), "error.message");
  EXPECT_EQ(wrong_field(R"("outcome":"retry","error":{"message":"m"})"), "delay_ms");
  EXPECT_EQ(wrong_field(R"("outcome":"snooze","delay_ms":1,"at":"2030-01-01T00:00:00Z")"),
            "delay_ms");
  EXPECT_EQ(wrong_field(R"("outcome":"snooze","delay_ms":999999999999)"), "delay_ms");
  EXPECT_EQ(wrong_field(R"("outcome":"done","delay_ms":1)"), "delay_ms");
  EXPECT_EQ(wrong_field(R"("outcome":"done","retryable":true)"), "retryable");
  EXPECT_EQ(wrong_field(R"("outcome":"done","reason":"r")"), "reason");
  EXPECT_EQ(wrong_field(R"("outcome":"done","checkpoint":1)"), "checkpoint");
  EXPECT_EQ(wrong_field(R"("outcome":"cancel","checkpoint_text":"")"), "checkpoint");
  EXPECT_EQ(wrong_field(R"("outcome":"park","error":{"message":"m"})"), "error");
  EXPECT_EQ(wrong_field(R"("outcome":"finished")"), "outcome");
  EXPECT_EQ(wrong_field(R"("result":1)"), "outcome");
  EXPECT_EQ(wrong_field(R"("outcome":"done","id":"01890a5d-ac96-774b-bcce-b302099a8058")"), "id");
  EXPECT_EQ(wrong_field(R"("outcome":"done","follow_ups":[{"queue":"a"},{}])"),
            "follow_ups[1].queue");
}

TEST(Work, settles_extends_and_takes_in_one) {
  const auto order = read_work(R"({"worker":"w","settle":[
        {"id":"01890a5d-ac96-774b-bcce-b302099a8057","token":"00000001000000ff","outcome":"done",
         "follow_ups":[{"queue":"next","payload":[1]}]}],
      "extend":[{"id":"01890a5d-ac96-774b-bcce-b302099a8057","token":"00000001000000FF",
                 "lease_ms":1000,"progress":50.5,"log":["a"]}],
      "take":{"queues":[{"queue":"a","most":5},{"queue":3}],"lease_ms":5000,"wait_ms":60000}})",
                               t0);
  ASSERT_TRUE(order) << order.error().error.message;
  ASSERT_EQ(order->reports.size(), 1U);
  EXPECT_EQ(order->reports[0].token.value, 0x1000000ffU);
  EXPECT_EQ(order->reports[0].follow_ups[0].payload, "[1]");
  EXPECT_EQ(order->extensions[0].progress, 50.5);
  EXPECT_EQ(order->extensions[0].token.value, 0x1000000ffU);
  ASSERT_EQ(order->takes.size(), 1U);
  EXPECT_EQ(order->takes[0].worker, "w");
  EXPECT_EQ(order->takes[0].queues[1].queue, QueueRef(QueueNumber{3}));
  EXPECT_EQ(order->takes[0].lease, 5s);
  EXPECT_EQ(order->wait, 60s);
}

TEST(Work, a_take_has_a_short_form) {
  const auto order = read_take(R"({"worker":"w","queue":"emails","most":10})");
  ASSERT_TRUE(order);
  EXPECT_EQ(order->takes[0].queues, (std::vector<Want>{{.queue = "emails", .most = 10}}));
  EXPECT_EQ(read_take(R"({"queue":"emails"})")->takes[0].queues[0].most, 1U);
}

TEST(Work, bad_takes) {
  const auto field = [](std::string_view text) {
    const auto order = read_take(text);
    EXPECT_FALSE(order) << text;
    return order ? "" : order.error().error.field;
  };
  EXPECT_EQ(field("{}"), "queues");
  EXPECT_EQ(field(R"({"queues":[]})"), "queues");
  EXPECT_EQ(field(R"({"queues":[{"queue":"a"}],"queue":"b"})"), "queue");
  EXPECT_EQ(field(R"({"queues":[{"queue":"a"}],"most":2})"), "most");
  EXPECT_EQ(field(R"({"queue":"a","wait_ms":60001})"), "wait_ms");
  EXPECT_EQ(field(R"({"queue":"a","worker":"$local"})"), "worker");
  EXPECT_EQ(field(R"({"queues":[{"most":1}]})"), "queues[0].queue");
  EXPECT_EQ(field(R"({"queue":"a","lease":1})"), "lease");
}

TEST(Work, bad_work) {
  const auto field = [](std::string_view text) {
    const auto order = read_work(text, t0);
    EXPECT_FALSE(order) << text;
    return order ? "" : order.error().error.field;
  };
  EXPECT_EQ(field(R"({"settle":[{"token":"00000001000000ff","outcome":"done"}]})"), "settle[0].id");
  EXPECT_EQ(field(R"({"settle":[{"id":"01890a5d-ac96-774b-bcce-b302099a8057","token":"1",
                                 "outcome":"done"}]})"),
            "settle[0].token");
  EXPECT_EQ(field(R"({"extend":[{"id":"x"}]})"), "extend[0].id");
  EXPECT_EQ(field(R"({"take":{"wait_ms":99999999}})"), "take.wait_ms");
  EXPECT_TRUE(read_work("{", t0).error().malformed);
}

TEST(Work, long_lists_are_refused_while_they_are_read) {
  const auto list = [](std::string_view item, int count) {
    std::string text(item);
    for (int i = 1; i < count; ++i) text += "," + std::string(item);
    return text;
  };
  const auto settle = [](const std::string& follow_ups) {
    return read_settlement(
        R"({"token":"00000001000000ff","outcome":"done","follow_ups":[)" + follow_ups + "]}",
        *task_id_from_text(id), t0);
  };
  EXPECT_TRUE(settle(list(R"({"queue":"a"})", 32)));
  const auto too_many = settle(list("{}", 33));
  ASSERT_FALSE(too_many);
  EXPECT_EQ(too_many.error().error.code, ErrorCode::too_large);
  EXPECT_EQ(too_many.error().error.field, "follow_ups");
  EXPECT_EQ(
      read_task(R"({"queue":"a","tags":[)" + list(R"("")", 101) + "]}", nullptr).error().error.code,
      ErrorCode::too_large);
}

TEST(Work, a_lease_as_text) {
  Lease lease{.id = *task_id_from_text(id), .number = {7}, .token = {255}, .until = t0};
  lease.queue = "q";
  lease.payload = R"({ "a":1.0 })";
  lease.counters.deliveries = 1;
  lease.created_at = lease.start = lease.started_at = t0 - 1ms;
  EXPECT_EQ(text_of(lease),
            R"({"id":"01890a5d-ac96-774b-bcce-b302099a8057","number":7,)"
            R"("token":"00000000000000ff","until":"2030-01-01T00:00:00.000Z","queue":"q",)"
            R"("payload":{ "a":1.0 },"priority":5,"counters":{"deliveries":1},)"
            R"("created_at":"2029-12-31T23:59:59.999Z","start":"2029-12-31T23:59:59.999Z",)"
            R"("started_at":"2029-12-31T23:59:59.999Z"})");
}

TEST(Work, bytes_that_are_no_json_are_never_written_as_json) {
  const auto written = [](std::string payload, std::string type) {
    Lease lease;
    lease.payload = std::move(payload);
    lease.content_type = std::move(type);
    const std::string text = text_of(lease);
    EXPECT_TRUE(parse(text)) << text;
    return text;
  };
  EXPECT_THAT(written("{\"a\":", ""), HasSubstr(R"("payload_text":"{\"a\":")"));
  EXPECT_THAT(written("hi \x01", "text/plain"), HasSubstr(R"("payload_text":"hi \u0001")"));
  EXPECT_THAT(written("1", "text/plain"), HasSubstr(R"("payload_text":"1")"));
  EXPECT_THAT(written("\xff", "application/json"), HasSubstr(R"("payload_base64":"/w==")"));
  EXPECT_THAT(written("1},{\"x\":2", ""), HasSubstr("payload_text"));
}

TEST(Work, results_of_each_kind) {
  WorkResult result;
  result.settled.emplace_back(Settled{SettleStatus::already, TaskState::dead});
  result.settled.emplace_back(fail(ErrorCode::lease_lost, "gone"));
  result.extended.emplace_back(Extended{.until = t0, .cancel_requested = true});
  result.extended.emplace_back(fail(ErrorCode::invalid, "too short", "lease_ms"));
  result.taken.emplace_back(fail(ErrorCode::invalid, "what \"queue\"", "queue"));
  std::string out;
  append(out, result);
  EXPECT_EQ(out,
            R"({"settled":[{"status":"already","state":"dead"},)"
            R"({"error":{"code":"lease_lost","message":"gone"}}],)"
            R"("extended":[{"until":"2030-01-01T00:00:00.000Z","cancel_requested":true},)"
            R"({"error":{"code":"invalid","message":"too short","field":"extend[1].lease_ms"}}],)"
            R"("tasks":[],)"
            R"("take_error":{"code":"invalid","message":"what \"queue\"","field":"take.queue"}})");
}

TEST(Work, text_that_is_not_utf8_is_made_so) {
  std::string out;
  append(out, std::string_view("a\xff\xc3\xa9\xe2\x82"));
  EXPECT_EQ(out, "\"a\xEF\xBF\xBD\xc3\xa9\xEF\xBF\xBD\xEF\xBF\xBD\"");
}

}  // namespace
}  // namespace millrace::wire
