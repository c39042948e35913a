#include "api/wire/groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/wire/put.h"
#include "api/wire/requests.h"
#include "api/wire/views.h"
#include "core/uuid.h"
#include "tests/support/builders.h"

namespace millrace::wire {
namespace {

using namespace std::chrono_literals;
using test::t0;
using ::testing::HasSubstr;
using ::testing::Not;

GroupOverride patch(const GroupOverride& override, std::string_view text) {
  auto changed = patched(override, text, t0);
  EXPECT_TRUE(changed) << changed.error().error.message;
  return changed.value_or(GroupOverride{});
}

Error refused(std::string_view text, const GroupOverride& override = {}) {
  auto changed = patched(override, text, t0);
  EXPECT_FALSE(changed) << text;
  return changed ? Error{} : changed.error().error;
}

TEST(Groups, a_patch_merges_and_null_takes_away) {
  const GroupOverride old{
      .max_concurrent = 3, .process_rate = Rate{.max = 5, .per = 1min}, .until = t0 + 1h};
  EXPECT_EQ(patch(old, "{}"), old);
  const GroupOverride changed =
      patch(old, R"({"max_concurrent":null,"process_rate":{"max":7},"max_depth":10,"weight":2})");
  const GroupOverride wanted{
      .process_rate = Rate{.max = 7, .per = 1min}, .max_depth = 10, .weight = 2, .until = t0 + 1h};
  EXPECT_EQ(changed, wanted);
  EXPECT_EQ(patch(changed, R"({"process_rate":null,"max_depth":null,"weight":null,"until":null})"),
            GroupOverride{});
}

TEST(Groups, a_pause_has_several_words_and_so_has_the_end) {
  EXPECT_EQ(patch({}, R"({"paused":true})").paused_until, never);
  EXPECT_EQ(patch({}, R"({"pause_for_ms":60000})").paused_until, t0 + 1min);
  EXPECT_EQ(patch({}, R"({"paused_until":"2030-01-01T00:00:05Z"})").paused_until, t0 + 5s);
  const GroupOverride paused{.weight = 2, .paused_until = never, .until = t0 + 1h};
  const GroupOverride resumed{.weight = 2, .until = t0 + 1h};
  EXPECT_EQ(patch(paused, R"({"paused":false})"), resumed);
  EXPECT_EQ(patch(paused, R"({"paused_until":null})"), resumed);
  EXPECT_EQ(patch(paused, R"({"paused":null})"), resumed);
  EXPECT_EQ(patch(paused, R"({"pause_for_ms":1000})").paused_until, t0 + 1s);
  EXPECT_EQ(patch(paused, R"({"for_ms":1000})").until, t0 + 1s);
  EXPECT_EQ(patch(paused, R"({"for_ms":null})").until, std::nullopt);
}

TEST(Groups, a_bad_patch_names_the_place) {
  EXPECT_EQ(refused(R"({"paused":true,"paused_until":"never"})").message,
            "both paused and paused_until are given; give one of them");
  EXPECT_EQ(refused(R"({"pause_for_ms":1,"paused":null})").field, "pause_for_ms");
  EXPECT_EQ(refused(R"({"until":"never","for_ms":1})").field, "for_ms");
  EXPECT_EQ(refused(R"({"for_ms":-1})").field, "for_ms");
  EXPECT_EQ(refused(R"({"for_ms":315619200001})").field, "for_ms");
  EXPECT_EQ(refused(R"({"pause_for_ms":315619200001})").field, "pause_for_ms");
  EXPECT_EQ(refused(R"({"process_rate":{"max":5}})").field, "process_rate.per_ms");
  EXPECT_EQ(refused(R"({"wieght":5})").field, "wieght");
  EXPECT_THAT(refused(R"({"wieght":5})").message, HasSubstr("weight"));
  EXPECT_EQ(refused(R"({"weight":1,"weight":2})").field, "weight");
  EXPECT_EQ(refused("[]").message, "the body is a list; allowed is an object");
  EXPECT_EQ(refused(R"({"paused":"yes"})").field, "paused");
}

TEST(Groups, pages_are_read_as_they_were_written) {
  const GroupPage page{
      .groups = {{.queue = "q",
                  .name = "a \"b\" / m\xc3\xbchle",
                  .waiting = 7,
                  .ready = 5,
                  .running = 2,
                  .oldest = t0,
                  .room_at = t0 + 5s,
                  .first = TaskNumber{17},
                  .override = GroupOverride{.max_concurrent = unlimited, .paused_until = never}},
                 {.queue = "q", .name = "b"}},
      .next = "b"};
  const auto again = group_page_from(page_of(page));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->groups, page.groups);
  EXPECT_EQ(again->next, "b");
  EXPECT_EQ(*group_from(view_of(page.groups[0])), page.groups[0]);
  EXPECT_EQ(view_of(page.groups[1]),
            R"({"queue":"q","group":"b","waiting":0,"ready":0,"running":0})");
}

TEST(Groups, rules_of_a_queue_are_shown_and_sent_back) {
  QueueSettings settings = test::queue("q");
  EXPECT_THAT(queue_text(settings), Not(HasSubstr("groups")));
  EXPECT_THAT(queue_text(settings), Not(HasSubstr("rate_of")));
  settings.groups.emplace();
  EXPECT_THAT(queue_text(settings), HasSubstr(R"("groups":{"order":"arrival"})"));
  EXPECT_EQ(*read_queue(queue_text(settings), "q"), settings);
  settings.rate_of = RateOf::cost;
  settings.groups = GroupRules{.order = GroupOrder::serial,
                               .process_rate = Rate{.max = 100, .per = 1s},
                               .rate_of = RateOf::cost,
                               .max_depth = 5,
                               .weight = 9,
                               .retry_holds = false};
  EXPECT_EQ(*read_queue(queue_text(settings), "q"), settings);
}

TEST(Groups, rules_of_a_queue_are_patched) {
  const QueueSettings plain = test::queue("q");
  const auto with = patched(plain, R"({"groups":{"max_concurrent":2},"rate_of":"cost"})");
  ASSERT_TRUE(with) << with.error().error.message;
  EXPECT_EQ(with->groups, GroupRules{.max_concurrent = 2});
  EXPECT_EQ(with->rate_of, RateOf::cost);
  const auto fair = patched(*with, R"({"groups":{"order":"fair"}})");
  EXPECT_EQ(fair->groups, (GroupRules{.order = GroupOrder::fair, .max_concurrent = 2}));
  EXPECT_EQ(patched(*fair, R"({"groups":{"max_concurrent":null}})")->groups,
            GroupRules{.order = GroupOrder::fair});
  EXPECT_EQ(*patched(*fair, R"({"groups":null,"rate_of":null})"), plain);
  EXPECT_EQ(patched(plain, R"({"groups":{"order":"random"}})").error().error.message,
            "groups.order is \"random\"; allowed is one of arrival, fair, serial");
  EXPECT_EQ(patched(plain, R"({"groups":{"max":1}})").error().error.field, "groups.max");
  EXPECT_EQ(patched(plain, R"({"rate_of":"money"})").error().error.field, "rate_of");
}

TEST(Groups, the_cost_of_a_task_is_put_and_shown) {
  const QueueRef queue = std::string("q");
  EXPECT_EQ(read_task("{}", &queue)->cost, 1U);
  EXPECT_EQ(read_task(R"({"cost":0})", &queue)->cost, 0U);
  EXPECT_EQ(read_task(R"({"cost":4294967295})", &queue)->cost, 4294967295U);
  EXPECT_EQ(read_task(R"({"cost":4294967296})", &queue).error().error.message,
            "cost is 4294967296; allowed is a whole number from 0 to 4294967295");
  EXPECT_EQ(read_task(R"({"cost":"unlimited"})", &queue).error().error.field, "cost");
  Task task{.id = test::fresh_id(), .queue = "q"};
  EXPECT_THAT(view_of(task), Not(HasSubstr("cost")));
  task.cost = 7;
  EXPECT_THAT(view_of(task), HasSubstr(R"("cost":7)"));
  const std::vector<NewTask> tasks = {test::task("q", {.cost = 0})};
  EXPECT_THAT(put_text(tasks), HasSubstr(R"("cost":0)"));
}

}  // namespace
}  // namespace millrace::wire
