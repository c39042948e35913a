#include "core/metrics_text.h"

#include <gtest/gtest.h>
#include <array>
#include <limits>

namespace millrace {
namespace {

TEST(MetricsText, writes_families_with_labels_as_prometheus_reads_them) {
  MetricsText text;
  text.family("queue_tasks_in_progress", MetricKind::gauge, "Tasks being \\ processed\nnow");
  text.sample({{"queue_num", "7"}, {"queue", "a\"b\\c\nd"}}, std::uint64_t{3});
  text.sample({}, 0.25);
  EXPECT_EQ(text.text(),
            "# HELP queue_tasks_in_progress Tasks being \\\\ processed\\nnow\n"
            "# TYPE queue_tasks_in_progress gauge\n"
            "queue_tasks_in_progress{queue_num=\"7\",queue=\"a\\\"b\\\\c\\nd\"} 3\n"
            "queue_tasks_in_progress 0.25\n");
}

TEST(MetricsText, a_histogram_counts_from_below_and_ends_with_all) {
  const std::array<double, 2> bounds = {0.5, 10};
  Histogram histogram(bounds);
  for (const double value : {0.1, 0.5, 3.0, 11.0}) histogram.observe(value);
  MetricsText text;
  text.family("cycle_seconds", MetricKind::histogram, "How long");
  text.sample({{"queue", "q"}}, histogram.snapshot());
  EXPECT_EQ(text.text(),
            "# HELP cycle_seconds How long\n"
            "# TYPE cycle_seconds histogram\n"
            "cycle_seconds_bucket{queue=\"q\",le=\"0.5\"} 2\n"
            "cycle_seconds_bucket{queue=\"q\",le=\"10\"} 3\n"
            "cycle_seconds_bucket{queue=\"q\",le=\"+Inf\"} 4\n"
            "cycle_seconds_sum{queue=\"q\"} 14.6\n"
            "cycle_seconds_count{queue=\"q\"} 4\n");
}

TEST(MetricsText, numbers_that_are_none_have_names) {
  MetricsText text;
  text.family("x", MetricKind::counter, "");
  text.sample({}, std::numeric_limits<double>::infinity());
  text.sample({}, -std::numeric_limits<double>::infinity());
  text.sample({}, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(text.text(), "# HELP x \n# TYPE x counter\nx +Inf\nx -Inf\nx NaN\n");
}

}  // namespace
}  // namespace millrace
