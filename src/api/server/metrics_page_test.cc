#include "api/server/metrics_page.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <sstream>

#include "tests/support/builders.h"

namespace millrace::api {
namespace {

using namespace std::chrono_literals;
using test::t0;
using ::testing::HasSubstr;
using ::testing::Not;

HistogramSnapshot observations(std::initializer_list<double> seconds) {
  Histogram histogram(task_bounds);
  for (const double each : seconds) histogram.observe(each);
  return histogram.snapshot();
}

QueueView queue(const std::string& name, std::optional<std::int64_t> number = {}) {
  QueueView view;
  view.queue.settings.name = view.counts.queue = name;
  if (number) view.counts.number = QueueNumber{*number};
  const auto set = [&](TaskState state, std::size_t priority, std::uint64_t count) {
    view.counts.by[static_cast<std::size_t>(state)][priority] = count;
  };
  set(TaskState::created, 5, 1);
  set(TaskState::queued, 9, 2), set(TaskState::queued, 5, 3), set(TaskState::queued, 0, 4);
  set(TaskState::delayed, 5, 5), set(TaskState::retrying, 5, 6), set(TaskState::processing, 5, 7);
  set(TaskState::completed, 5, 8), set(TaskState::failed, 5, 9), set(TaskState::dead, 5, 10);
  view.counts.oldest = t0 - 90s;
  view.stats.last_asked = t0 - 5s;
  return view;
}

TypeMetrics type(const std::string& queue, const std::string& type) {
  TypeMetrics of{.queue = queue, .type = type, .put = 1, .existing = 2, .taken = 3};
  of.completed = 4, of.failed = 5, of.dead = 6, of.retried = 7, of.snoozed = 8;
  of.given_back = 9, of.lost = 10, of.cancelled = 11, of.expired = 12;
  of.waiting = observations({0.2}), of.running = observations({0.05, 0.3, 20, 700});
  return of;
}

Shown shown(bool compat = false) {
  MetricsSnapshot snapshot{.at = t0, .started = t0 - 1h};
  snapshot.queues = {queue("$webhooks"), queue("emails", 3), queue("reports")};
  snapshot.types = {type("$webhooks", "deliver"), type("emails", "welcome"),
                    type("emails", "other")};
  snapshot.priorities = {{.type = "welcome",
                          .priority = PriorityClass::high,
                          .completed = 4,
                          .failed = 11,
                          .running = observations({0.5, 3, 100})}};
  snapshot.refused = {{ErrorCode::limited, 3}};
  snapshot.late_reports = 2, snapshot.leases = 7, snapshot.events = 99;
  snapshot.workers = {.seen = 3, .beating = 2, .processors = 16, .busy = 7, .holding = 7};
  snapshot.rounds.rounds.rounds = 10, snapshot.rounds.rounds.items = 100;
  snapshot.rounds.flush_seconds = observations({0.001});
  snapshot.traits.name = "journal", snapshot.traits.durability = Durability::synced;
  snapshot.desired_processors = 20;
  Shown all{.version = "1.2.3", .started_at = t0, .ready = true, .snapshot = snapshot};
  all.compat = compat;
  all.latencies = {{.operation = "putTasks", .status = "2xx", .seconds = observations({0.01})}};
  all.waits = {{.operation = "take", .count = 4}};
  all.traffic = {.open = 5, .accepted = 6, .refused = 7, .requests = 8};
  return all;
}

std::string text_of(Shown shown, std::size_t piece = 1 << 20U) {
  MetricsPage page(std::move(shown));
  std::string all;
  for (std::string next = page.next(piece); !next.empty(); next = page.next(piece)) all += next;
  return all;
}

// Those lines that begin with the name.
std::string of(const std::string& text, const std::string& name) {
  std::istringstream lines(text);
  std::string found;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(name) || line.starts_with("# TYPE " + name)) found += line + "\n";
  }
  return found;
}

TEST(MetricsPage, queues_and_tasks_are_shown_with_their_labels) {
  const std::string text = text_of(shown());
  EXPECT_EQ(of(text, "millrace_build_info"),
            "# TYPE millrace_build_info gauge\nmillrace_build_info{version=\"1.2.3\"} 1\n");
  EXPECT_THAT(text, HasSubstr("\nmillrace_queue_tasks{queue=\"emails\",state=\"queued\"} 9\n"));
  EXPECT_THAT(text, HasSubstr("\nmillrace_queue_tasks{queue=\"emails\",state=\"dead\"} 10\n"));
  EXPECT_THAT(text, HasSubstr("\nmillrace_queue_oldest_ready_seconds{queue=\"emails\"} 90\n"));
  EXPECT_THAT(text,
              HasSubstr("\nmillrace_tasks_lost_total{queue=\"emails\",type=\"welcome\"} 10\n"));
  EXPECT_THAT(text, HasSubstr("\nmillrace_task_run_duration_seconds_bucket{queue=\"emails\","
                              "type=\"welcome\",le=\"0.5\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("\nmillrace_task_run_duration_seconds_count{queue=\"emails\","
                              "type=\"welcome\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("\nmillrace_store_up 1\n"));
  EXPECT_THAT(text,
              HasSubstr("\nmillrace_store_info{store=\"journal\",durability=\"synced\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("\nmillrace_processors_desired 20\n"));
  EXPECT_THAT(text, HasSubstr("\nmillrace_puts_refused_total{code=\"limited\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("millrace_http_request_duration_seconds_count{operation=\"putTasks\","
                              "status=\"2xx\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("\nmillrace_http_long_polls_total{operation=\"take\"} 4\n"));
  EXPECT_THAT(text, Not(HasSubstr("claude_proxy")));
  EXPECT_THAT(text, Not(HasSubstr("bullmq")));
}

TEST(MetricsPage, a_failed_store_is_down) {
  Shown all = shown();
  all.snapshot->failure = Error{ErrorCode::unavailable, "the disk is gone"};
  EXPECT_THAT(text_of(std::move(all)), HasSubstr("\nmillrace_store_up 0\n"));
}

TEST(MetricsPage, without_a_broker_there_is_what_the_process_knows) {
  Shown all = shown();
  all.snapshot.reset();
  all.ready = false;
  const std::string text = text_of(std::move(all));
  EXPECT_THAT(text, HasSubstr("\nmillrace_ready 0\n"));
  EXPECT_THAT(text, HasSubstr("\nprocess_start_time_seconds "));
  EXPECT_THAT(text, Not(HasSubstr("millrace_store")));
}

TEST(MetricsPage, it_is_the_same_in_pieces_of_any_size) {
  const std::string whole = text_of(shown(true));
  for (const std::size_t size : {1U, 100U, 5000U}) EXPECT_EQ(text_of(shown(true), size), whole);
  MetricsPage page(shown(true));
  EXPECT_LT(page.next(100).size(), 2000U);
}

TEST(MetricsPage, names_follow_the_rules_of_prometheus) {
  std::istringstream lines(text_of(shown(true)));
  std::set<std::string> names;
  std::string name;
  bool help = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# HELP ")) {
      name = line.substr(7, line.find(' ', 7) - 7);
      help = line.size() > 7 + name.size() + 5;
      EXPECT_TRUE(names.insert(name).second) << name << " is there twice";
    } else if (line.starts_with("# TYPE ")) {
      EXPECT_TRUE(help) << line;
      EXPECT_EQ(name.ends_with("_total"), line.ends_with(" counter")) << line;
    } else {
      EXPECT_TRUE(line.starts_with(name)) << line;
    }
  }
  EXPECT_GT(names.size(), 50U);
}

// S0-174, S0-175, S0-176, S0-178, C-25, D-12
TEST(MetricsPage, the_family_claude_proxy_is_as_described) {
  const std::string text = text_of(shown(true));
  EXPECT_EQ(of(text, "claude_proxy_tasks_total"),
            "# TYPE claude_proxy_tasks_total counter\n"
            "claude_proxy_tasks_total{status=\"completed\",type=\"welcome\",priority=\"high\"} 4\n"
            "claude_proxy_tasks_total{status=\"failed\",type=\"welcome\",priority=\"high\"} 11\n");
  const std::string labels = "{type=\"welcome\",priority=\"high\"";
  std::string expected = "# TYPE claude_proxy_task_duration_seconds histogram\n";
  const std::vector<std::pair<std::string, int>> buckets = {{"1", 1},   {"5", 2},   {"10", 2},
                                                            {"30", 2},  {"60", 2},  {"120", 3},
                                                            {"300", 3}, {"600", 3}, {"+Inf", 3}};
  for (const auto& [le, count] : buckets) {
    expected += fmt::format("claude_proxy_task_duration_seconds_bucket{},le=\"{}\"}} {}\n", labels,
                            le, count);
  }
  expected += fmt::format("claude_proxy_task_duration_seconds_sum{}}} 103.5\n", labels);
  expected += fmt::format("claude_proxy_task_duration_seconds_count{}}} 3\n", labels);
  EXPECT_EQ(of(text, "claude_proxy_task_duration_seconds"), expected);
  // Internal queues do not count.
  EXPECT_EQ(of(text, "claude_proxy_queue_size"),
            "# TYPE claude_proxy_queue_size gauge\n"
            "claude_proxy_queue_size{priority=\"high\"} 4\n"
            "claude_proxy_queue_size{priority=\"medium\"} 6\n"
            "claude_proxy_queue_size{priority=\"low\"} 8\n");
}

// S1-077…081, C-25
TEST(MetricsPage, the_family_queue_is_as_described) {
  const std::string text = text_of(shown(true));
  EXPECT_EQ(of(text, "queue_tasks_in_progress"),
            "# TYPE queue_tasks_in_progress gauge\n"
            "queue_tasks_in_progress{queue_num=\"3\"} 7\n"
            "queue_tasks_in_progress{queue_num=\"reports\"} 7\n");
  EXPECT_EQ(of(text, "queue_running_workers"),
            "# TYPE queue_running_workers gauge\nqueue_running_workers 2\n");
  EXPECT_EQ(of(text, "queue_running_job_processors"),
            "# TYPE queue_running_job_processors gauge\nqueue_running_job_processors 16\n");
  const std::string cycles = of(text, "queue_job_processor_cycle_duration_seconds");
  EXPECT_THAT(cycles, HasSubstr("# TYPE queue_job_processor_cycle_duration_seconds histogram\n"));
  // Both types of the queue together; there is an edge at 10 s.
  EXPECT_THAT(cycles, HasSubstr("_bucket{queue_num=\"3\",le=\"10\"} 4\n"));
  EXPECT_THAT(cycles, HasSubstr("_count{queue_num=\"3\"} 8\n"));
  EXPECT_THAT(cycles, Not(HasSubstr("webhooks")));
}

// S3-067, S3-068, C-25, D-12
TEST(MetricsPage, the_family_bullmq_is_as_described) {
  const std::string text = text_of(shown(true));
  const std::string sizes = of(text, "bullmq_queue_size");
  EXPECT_TRUE(
      sizes.starts_with("# TYPE bullmq_queue_size gauge\n"
                        "bullmq_queue_size{queue=\"emails\",status=\"waiting\"} 9\n"
                        "bullmq_queue_size{queue=\"emails\",status=\"active\"} 7\n"
                        "bullmq_queue_size{queue=\"emails\",status=\"failed\"} 19\n"
                        "bullmq_queue_size{queue=\"emails\",status=\"delayed\"} 11\n"))
      << sizes;
  const std::string labels = "{queue=\"emails\",job=\"welcome\"";
  std::string expected;
  const std::vector<std::pair<std::string, int>> buckets = {
      {"0.1", 1}, {"0.5", 2}, {"1", 2}, {"5", 2}, {"10", 2}, {"30", 3}, {"60", 3}, {"+Inf", 4}};
  for (const auto& [le, count] : buckets) {
    expected +=
        fmt::format("bullmq_job_duration_seconds_bucket{},le=\"{}\"}} {}\n", labels, le, count);
  }
  expected += fmt::format("bullmq_job_duration_seconds_sum{}}} 720.35\n", labels);
  EXPECT_THAT(text, HasSubstr(expected));
  EXPECT_THAT(of(text, "bullmq_job_duration_seconds"), Not(HasSubstr("webhooks")));
}

TEST(MetricsPage, histograms_can_be_told_with_fewer_bounds) {
  const HistogramSnapshot all = observations({0.001, 0.1, 0.3, 1, 20, 4000});
  const std::array<double, 2> some = {0.5, 10};
  const HistogramSnapshot few = with_bounds(all, some);
  EXPECT_THAT(few.counts, ::testing::ElementsAre(3, 1, 2));
  EXPECT_EQ(few.count, 6U);
  EXPECT_EQ(few.sum, all.sum);
  EXPECT_THAT(with_bounds({}, some).counts, ::testing::ElementsAre(0, 0, 0));
}

TEST(ProcessMetrics, say_something_of_this_process) {
  const ProcessMetrics metrics = process_metrics();
  EXPECT_GT(metrics.resident_bytes, 1U << 20);
  EXPECT_GT(metrics.virtual_bytes, metrics.resident_bytes);
  EXPECT_GE(metrics.open_files, 3U);
  EXPECT_LT(metrics.open_files, 100'000U);
  EXPECT_GT(metrics.most_open_files, metrics.open_files);
  EXPECT_GE(metrics.threads, 1U);
  EXPECT_GE(metrics.cpu_seconds, 0.0);
}

}  // namespace
}  // namespace millrace::api
