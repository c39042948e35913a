#include "cli/queue_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/time_text.h"

namespace millrace::cli {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const TimePoint now = parse_time("2026-01-02T03:04:05Z").value();

QueueView a_queue() {
  QueueView view;
  view.queue.settings.name = "emails";
  view.queue.created_at = view.queue.updated_at = now - 2h;
  view.counts.by[static_cast<std::size_t>(TaskState::queued)][5] = 1200;
  view.counts.by[static_cast<std::size_t>(TaskState::dead)][5] = 3;
  view.counts.oldest = now - 90s;
  view.stats.put_rate = 12.34;
  view.stats.finish_rate = 1234.5;
  return view;
}

TEST(QueueViewTest, a_line_tells_what_waits_runs_and_failed) {
  EXPECT_EQ(queues_table({a_queue()}, now).text({}),
            "QUEUE   READY  RUNNING  LATER  DEAD  PUT/S  DONE/S  OLDEST  STATE\n"
            "emails  1,200        0      0     3   12.3   1,235   1m30s  active\n");
}

TEST(QueueViewTest, states_of_a_queue) {
  Queue queue;
  EXPECT_EQ(state_of(queue, now).text, "active");
  queue.settings.draining = true;
  EXPECT_EQ(state_of(queue, now).text, "draining");
  queue.settings.paused_until = now + 5min;
  EXPECT_EQ(state_of(queue, now).text, "paused for 5m");
  queue.settings.paused_until = never;
  EXPECT_EQ(state_of(queue, now).text, "paused");
  queue.settings.paused_until = now;
  EXPECT_EQ(state_of(queue, now).text, "draining") << "the pause is over";
  queue.settings.active = false;
  EXPECT_EQ(state_of(queue, now).text, "inactive");
  queue.removing = true;
  EXPECT_EQ(state_of(queue, now).text, "being removed");
}

TEST(QueueViewTest, the_last_hour_is_drawn_where_it_is_known) {
  History hour;
  EXPECT_THAT(view_of(a_queue(), hour, now, {}), Not(HasSubstr("last hour")));
  hour.points = {{.at = now - 59min, .put = 8, .failed = 1},
                 {.at = now - 30s, .put = 4},
                 {.at = now - 2h, .put = 1000}};
  std::string bars;
  for (int i = 0; i < 58; ++i) bars += "▁";
  EXPECT_THAT(view_of(a_queue(), hour, now, {}),
              AllOf(HasSubstr("█" + bars + "▅ 12\n"), HasSubstr("█" + bars + "▁ 1\n")));
  EXPECT_THAT(view_of(a_queue(), hour, now, {.unicode = false}),
              HasSubstr("9" + std::string(58, '0') + "5 12\n"));
}

TEST(QueueViewTest, stats_are_added_up) {
  QueueView other = a_queue();
  other.queue.settings.name = "b";
  other.stats.put = 5;
  other.stats.mean_run_seconds = 0.25;
  const std::string text = stats_table({a_queue(), other}).text({});
  EXPECT_THAT(text,
              HasSubstr("b         5      0          0       0        0     0       -  250ms\n"));
  EXPECT_THAT(text, HasSubstr("(all)     5 "));
}

}  // namespace
}  // namespace millrace::cli
