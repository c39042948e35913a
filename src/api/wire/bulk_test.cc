#include "api/wire/bulk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/builders.h"
#include "tests/support/matchers.h"

namespace millrace::wire {
namespace {

using namespace millrace::test;
using ::testing::HasSubstr;

TEST(WireBulk, a_request_says_everything_and_comes_back_as_it_was) {
  const auto read = read_bulk(R"({"id":"01890a5d-ac96-774b-bcce-b302099a8057","action":"move",
      "filter":{"queue":"q","state":["queued","dead"],"type":"t","client_id":"c","group":"g",
      "tag":"x","priority":"high","created_from":"2030-01-01T00:00:00Z",
      "created_until":"2030-01-02T00:00:00Z","text":"ann","error_code":"e",
      "error_group":"00c0ffee00c0ffee"},"to":"r",
      "dry_run":true})");
  ASSERT_TRUE(read) << read.error().error.message;
  EXPECT_EQ(read->action, BulkAction::move);
  EXPECT_EQ(read->filter, (BulkFilter{.queue = "q",
                                      .states = {TaskState::queued, TaskState::dead},
                                      .type = "t",
                                      .client_id = "c",
                                      .group = "g",
                                      .tag = "x",
                                      .priority = 8,
                                      .created_from = t0,
                                      .created_until = t0 + 24h,
                                      .error_code = "e",
                                      .text = "ann",
                                      .error_group = "00c0ffee00c0ffee"}));
  EXPECT_EQ(read->to, QueueRef("r"));
  EXPECT_TRUE(read->dry_run);
  const std::string text = bulk_text(*read);
  EXPECT_EQ(bulk_from(text).value(), *read);
  EXPECT_EQ(read_bulk(text).value(), *read);
}

TEST(WireBulk, a_bad_request_is_refused_by_its_field) {
  const auto field_of = [](std::string_view text) {
    const auto read = read_bulk(text);
    return read ? "good" : read.error().error.field;
  };
  EXPECT_EQ(field_of(R"({"filter":{"queue":"q"}})"), "action");
  EXPECT_EQ(field_of(R"({"action":"remove","filter":{"queue":"q"},"dry_run":null})"), "dry_run");
  EXPECT_EQ(field_of(R"({"action":"remove","filter":{"queue":null,"tag":"t"}})"), "filter.queue");
  EXPECT_EQ(field_of(R"({"action":"burn","filter":{"queue":"q"}})"), "action");
  EXPECT_EQ(field_of(R"({"action":"cancel"})"), "filter");
  EXPECT_EQ(field_of(R"({"action":"cancel","filter":[]})"), "filter");
  EXPECT_EQ(field_of(R"({"action":"cancel","filter":{}})"), "filter");
  EXPECT_EQ(field_of(R"({"action":"cancel","filter":{"state":[]}})"), "filter");
  EXPECT_EQ(field_of(R"({"action":"cancel","filter":{"colour":"red"}})"), "filter.colour");
  EXPECT_EQ(field_of(R"({"action":"cancel","filter":{"state":["queued","dead"]}})"),
            "filter.state[1]");
  EXPECT_EQ(field_of(R"({"action":"cancel","filter":{"state":["asleep"]}})"), "filter.state[0]");
  EXPECT_EQ(field_of(R"({"action":"cancel","filter":{"priority":10}})"), "filter.priority");
  EXPECT_EQ(field_of(R"({"action":"cancel","filter":{"queue":"$webhooks"}})"), "filter.queue");
  EXPECT_EQ(field_of(R"({"action":"retry","filter":{"queue":"$bulk"}})"), "filter.queue");
  EXPECT_EQ(field_of(R"({"action":"retry","filter":{"queue":"$webhooks"}})"), "good");
  EXPECT_EQ(field_of(R"({"action":"cancel","filter":{"created_from":"2030-01-02T00:00:00Z",
      "created_until":"2030-01-01T00:00:00Z"}})"),
            "filter.created_until");
  EXPECT_EQ(field_of(R"({"action":"retry","filter":{"text":""}})"), "filter.text");
  EXPECT_EQ(field_of(R"({"action":"retry","filter":{"text":")" + std::string(201, 'x') + "\"}}"),
            "filter.text");
  EXPECT_EQ(field_of(R"({"action":"retry","filter":{"error_group":"exit_1"}})"),
            "filter.error_group");
  EXPECT_EQ(field_of(R"({"action":"priority","filter":{"queue":"q"}})"), "priority");
  EXPECT_EQ(field_of(R"({"action":"priority","filter":{"queue":"q"},"priority":11})"), "priority");
  EXPECT_EQ(field_of(R"({"action":"cancel","filter":{"queue":"q"},"priority":1})"), "priority");
  EXPECT_EQ(field_of(R"({"action":"move","filter":{"queue":"q"}})"), "to");
  EXPECT_EQ(field_of(R"({"action":"move","filter":{"queue":"q"},"to":"q"})"), "to");
  EXPECT_EQ(field_of(R"({"action":"move","filter":{"queue":"q"},"to":"$alerts"})"), "to");
  EXPECT_EQ(field_of(R"({"action":"remove","filter":{"queue":"q"},"to":"r"})"), "to");
  EXPECT_EQ(field_of(R"({"action":"remove","filter":{"queue":"q"},"reason":"r"})"), "reason");
  EXPECT_EQ(field_of(R"({"action":"cancel","filter":{"queue":"q"},"reason":")" +
                     std::string(8193, 'r') + "\"}"),
            "reason");
  EXPECT_EQ(field_of(R"({"action":"cancel","filter":{"queue":"q"},"dry_run":"yes"})"), "dry_run");
}

BulkProgress half_way() {
  BulkProgress progress{.about = 10,
                        .looked_at = 7,
                        .matched = 5,
                        .done = 2,
                        .refused = 1,
                        .refusal = "it is processing",
                        .before = TaskNumber{77}};
  progress.pending = {{fresh_id(), Version{1}}, {fresh_id(), Version{0xFEDCBA98}, t0}};
  return progress;
}

TEST(WireBulk, progress_comes_back_as_it_was) {
  EXPECT_EQ(progress_from(progress_text(half_way())).value().pending.size(), 2U);
  const BulkProgress progress = half_way();
  EXPECT_EQ(progress_from(progress_text(progress)).value(), progress);
  EXPECT_EQ(progress_from(progress_text({})).value(), BulkProgress{});
}

TEST(WireBulk, what_is_remembered_and_cannot_be_read_is_corrupt) {
  for (const auto* text : {"", "nonsense", "[]", R"({"before":"x"})", R"({"pending":"AAAA"})",
                           R"({"pending":"no base64"})", R"({"looked_at":-1})"}) {
    EXPECT_THAT(progress_from(text), FailsWith(ErrorCode::corrupt)) << text;
  }
  EXPECT_THAT(bulk_from(R"({"action":)"), FailsWith(ErrorCode::corrupt));
}

TEST(WireBulk, an_operation_is_shown_with_what_is_remembered_of_it) {
  Task task;
  task.id = fresh_id();
  task.queue = bulk_queue;
  task.state = TaskState::processing;
  task.cancel_requested = true;
  task.created_at = t0;
  task.started_at = t0 + 1s;
  task.payload = bulk_text({.action = BulkAction::move, .filter = {.queue = "q"}, .to = "r"});
  const BulkProgress progress = half_way();
  const auto shown = operation_of(task, progress_text(progress)).value();
  EXPECT_EQ(shown.progress, progress);
  const std::string view = view_of(shown);
  EXPECT_THAT(view, HasSubstr(R"("action":"move","filter":{"queue":"q"},"to":"r")"));
  EXPECT_THAT(view, HasSubstr(R"("about":10,"looked_at":7,"matched":5,"done":2,"refused":1)"));
  EXPECT_THAT(view, Not(HasSubstr("pending")));
  const auto read = operation_from(view).value();
  EXPECT_EQ(read.id, task.id);
  EXPECT_EQ(read.request, shown.request);
  EXPECT_EQ(read.state, TaskState::processing);
  EXPECT_TRUE(read.cancel_requested);
  EXPECT_EQ(read.progress.refusal, "it is processing");
  EXPECT_EQ(view_of(read), view);
}

TEST(WireBulk, a_finished_operation_of_which_nothing_is_remembered_has_its_result) {
  Task task;
  task.state = TaskState::completed;
  task.payload = bulk_text({.action = BulkAction::retry, .filter = {.type = "t"}});
  task.result = result_text(half_way());
  const auto shown = operation_of(task, {}).value();
  EXPECT_EQ(shown.progress.done, 2U);
  EXPECT_EQ(shown.progress.looked_at, 7U);
  EXPECT_EQ(operation_of(task, "no longer looked at").value().progress.done, 2U);
  task.result = "nonsense";
  EXPECT_THAT(operation_of(task, {}), FailsWith(ErrorCode::corrupt));
}

TEST(WireBulk, a_page_comes_back_as_it_was) {
  BulkPage page{.next = TaskNumber{17}};
  page.operations.push_back({.id = fresh_id(), .created_at = t0});
  page.operations.front().request.filter.queue = "q";
  const auto read = bulk_page_from(page_of(page)).value();
  EXPECT_EQ(read.next, page.next);
  EXPECT_EQ(page_of(read), page_of(page));
  EXPECT_THAT(bulk_page_from(R"({"operations":[],"next":"x"})"), FailsWith(ErrorCode::unavailable));
  EXPECT_THAT(bulk_page_from("{}"), FailsWith(ErrorCode::unavailable));
}

}  // namespace
}  // namespace millrace::wire
