#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/wire/tasks.h"
#include "api/wire/text_writer.h"
#include "api/wire/views.h"
#include "tests/support/builders.h"

namespace millrace::wire {
namespace {

using namespace std::chrono_literals;
using test::t0;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(Settings, a_queue_as_it_is_shown_can_be_sent_back) {
  QueueView view{.queue = {.settings = test::queue("emails", {.max_depth = 10}),
                           .created_at = t0,
                           .updated_at = t0}};
  view.queue.settings.retry.max_retries = unlimited;
  const auto again = read_queue(view_of(view), "emails");
  ASSERT_TRUE(again) << again.error().error.message;
  EXPECT_EQ(*again, view.queue.settings);
}

TEST(Settings, the_name_is_the_path_s) {
  EXPECT_EQ(read_queue("{}", "emails")->name, "emails");
  EXPECT_EQ(read_queue(R"({"name":"emails"})", "")->name, "emails");
  EXPECT_EQ(read_queue(R"({"name":"other"})", "emails").error().error.field, "name");
  EXPECT_EQ(read_queue("{}", "").error().error.field, "name");
}

TEST(Settings, a_patch_merges_removes_and_replaces) {
  QueueSettings settings = test::queue("emails", {.max_depth = 10, .lease = 5s});
  settings.retry.base = 1s;
  settings.retry.max_retries = 7;
  const auto patched_one =
      patched(settings, R"({"max_depth":null,"lease_ms":null,"retry":{"base_ms":2000},
                            "max_concurrent":3})");
  ASSERT_TRUE(patched_one) << patched_one.error().error.message;
  EXPECT_EQ(patched_one->max_depth, std::nullopt);
  EXPECT_EQ(patched_one->lease, 60s);
  EXPECT_EQ(patched_one->retry.base, 2s);
  EXPECT_EQ(patched_one->retry.max_retries, 7U);
  EXPECT_EQ(patched_one->max_concurrent, 3U);
  EXPECT_EQ(patched_one->id, settings.id);
  EXPECT_EQ(*patched(settings, "{}"), settings);
}

TEST(Settings, a_bad_patch_names_the_place) {
  const QueueSettings settings = test::queue("emails");
  EXPECT_TRUE(patched(settings, "{").error().malformed);
  EXPECT_TRUE(patched(settings, R"({"retry":{"base_ms":}})").error().malformed);
  EXPECT_EQ(patched(settings, "[]").error().error.message,
            "the body is a list; allowed is an object");
  EXPECT_EQ(patched(settings, R"({"retry":{"base_ms":"x"}})").error().error.field, "retry.base_ms");
  EXPECT_EQ(patched(settings, R"({"wight":1})").error().error.field, "wight");
  EXPECT_EQ(patched(settings, R"({"name":"other"})").error().error.field, "name");
  EXPECT_EQ(patched(settings, R"({"weight":1,"weight":2})").error().error.field, "weight");
}

TEST(Settings, a_patch_of_one_type_leaves_the_others_alone) {
  QueueSettings settings = test::queue("emails");
  settings.types = {{.type = "charge", .retry = {.cap_after_jitter = true, .max_retries = 7}},
                    {.type = "refund", .timeout = 5s},
                    {.type = "report.daily", .max_lost = 1}};
  const auto changed = patched(settings, R"({"weight":3,"types":{
      "charge":{"retry":{"max_retries":null,"base_ms":2000},"timeout_ms":1000},
      "refund":null,"gone":null,"new":{"type":"new","max_lost":"unlimited"}}})");
  ASSERT_TRUE(changed) << changed.error().error.message;
  const std::vector<TypePolicy> wanted = {
      {.type = "charge", .retry = {.base = 2s, .cap_after_jitter = true}, .timeout = 1s},
      {.type = "report.daily", .max_lost = 1},
      {.type = "new", .max_lost = unlimited}};
  EXPECT_EQ(changed->types, wanted);
  EXPECT_EQ(changed->weight, 3U);
  // As a list they are replaced whole, and null takes all of them.
  EXPECT_THAT(patched(settings, R"({"types":[{"type":"a"}]})")->types, SizeIs(1));
  EXPECT_THAT(patched(settings, R"({"types":null})")->types, IsEmpty());
  EXPECT_EQ(*patched(settings, R"({"types":{}})"), settings);
}

TEST(Settings, a_bad_patch_of_a_type_names_the_place) {
  QueueSettings settings = test::queue("emails");
  settings.types = {{.type = "charge", .timeout = 5s}};
  const std::vector<std::pair<const char*, const char*>> wrong = {
      {R"({"types":{"charge":{"retry":{"base_ms":"x"}}}})", "types.charge.retry.base_ms"},
      {R"({"types":{"charge":{"lease_ms":1000}}})", "types.charge.lease_ms"},
      {R"({"types":{"charge":5}})", "types.charge"},
      {R"({"types":{"charge":{"type":"other"}}})", "types.charge.type"},
      {R"({"types":{"charge":{"type":null}}})", "types.charge.type"},
      {R"({"types":{"new":{"timeout_ms":-1}}})", "types.new.timeout_ms"},
      {R"({"types":{"two words":{"timeout_ms":1}}})", "types.two words"},
      {R"({"types":{"":{"timeout_ms":1}}})", "types."},
      {R"({"types":{"a":null,"a":null}})", "types.a"}};
  for (const auto& [patch, field] : wrong) {
    const auto refused = patched(settings, patch);
    ASSERT_FALSE(refused) << patch;
    EXPECT_EQ(refused.error().error.field, field);
    EXPECT_FALSE(refused.error().error.message.empty());
  }
  EXPECT_TRUE(patched(settings, R"({"types":{"charge":})").error().malformed);
}

Schedule nightly() {
  Schedule schedule{.name = "nightly"};
  schedule.rule.cron = "0 3 * * *";
  schedule.task.queue = "reports";
  schedule.task.payload = R"({"x": 1.0})";
  schedule.task.metadata = R"({"a":1,"b":2})";
  return schedule;
}

TEST(Settings, a_schedule_as_it_is_shown_can_be_sent_back) {
  Schedule schedule = nightly();
  schedule.last = t0;
  schedule.fired = 3;
  const auto again = read_schedule(view_of(schedule), "nightly");
  ASSERT_TRUE(again) << again.error().error.message;
  EXPECT_EQ(*again, nightly());
}

TEST(Settings, a_patch_of_a_schedule) {
  const Schedule schedule = nightly();
  const auto interval = patched(schedule, R"({"rule":{"every_ms":60000},"paused":true})");
  ASSERT_TRUE(interval) << interval.error().error.message;
  EXPECT_EQ(interval->rule.cron, "");
  EXPECT_EQ(interval->rule.every, 60s);
  EXPECT_TRUE(interval->paused);
  EXPECT_EQ(interval->task, schedule.task);
  const auto zone = patched(schedule, R"({"rule":{"zone":"Europe/Berlin"}})");
  EXPECT_EQ(zone->rule.cron, "0 3 * * *");
  const auto task =
      patched(schedule, R"({"task":{"payload_text":"hi","metadata":{"c":3},"priority":"high"}})");
  ASSERT_TRUE(task) << task.error().error.message;
  EXPECT_EQ(task->task.payload, "hi");
  EXPECT_EQ(task->task.metadata, R"({"c":3})");
  EXPECT_EQ(task->task.priority, 8);
  EXPECT_EQ(patched(schedule, R"({"task":{"id":"01890a5d-ac96-774b-bcce-b302099a8057"}})")
                .error()
                .error.field,
            "task.id");
  EXPECT_EQ(read_schedule(R"({"name":"a","rule":{"cron":"* * * * *"}})", "").error().error.field,
            "task");
}

TEST(Settings, what_operators_say_of_tasks) {
  EXPECT_EQ(*read_cancel(R"({"reason":"why"})"), "why");
  EXPECT_EQ(*read_cancel("{}"), "");
  EXPECT_EQ(read_cancel(R"({"why":1})").error().error.field, "why");
  EXPECT_EQ(read_update(R"({"delay_ms":5000,"priority":"low"})", t0)->start, t0 + 5s);
  EXPECT_EQ(read_update(R"({"priority":"low"})", t0)->priority, 2);
  EXPECT_FALSE(read_update("{}", t0));
  EXPECT_EQ(read_update(R"({"delay_ms":1,"start":"2030-01-01T00:00:00Z"})", t0).error().error.field,
            "delay_ms");
  EXPECT_EQ(read_dead_letters(R"({"all":true,"queue":"a"})")->queue, QueueRef("a"));
  EXPECT_EQ(read_dead_letters(R"({"queue":"a"})").error().error.field, "all");
  EXPECT_EQ(read_dead_letters("{}").error().error.field, "all");
  EXPECT_EQ(read_dead_letters(R"({"ids":["01890a5d-ac96-774b-bcce-b302099a8057"],"all":true})")
                .error()
                .error.field,
            "ids");
  EXPECT_EQ(read_dead_letters(R"({"all":true,"queue":null})").error().error.field, "queue");
  EXPECT_EQ(read_dead_letters(R"({"all":true,"ids":[]})").error().error.field, "ids");
  EXPECT_EQ(read_dead_letters(R"({"ids":[]})").error().error.field, "all");
  EXPECT_EQ(*read_pause("", t0), never);
  EXPECT_EQ(*read_pause(R"({"for_ms":1000})", t0), t0 + 1s);
  EXPECT_EQ(read_pause(R"({"for_ms":1,"until":"never"})", t0).error().error.field, "until");
}

}  // namespace
}  // namespace millrace::wire
