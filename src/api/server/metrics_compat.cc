// The families of other systems (docs/coming-from-another-system.md), with exactly their names,
// labels and buckets.
#include <array>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "api/server/metrics_page.h"

namespace millrace::api {
namespace {

using enum MetricKind;

constexpr std::array<double, 8> claude_bounds = {1, 5, 10, 30, 60, 120, 300, 600};
constexpr std::array<double, 7> bullmq_bounds = {0.1, 0.5, 1, 5, 10, 30, 60};

bool is_internal(std::string_view queue) {
  return queue.starts_with('$');
}

// By the number that a contract gave the queue, or by its name.
std::string number_of(const QueueView& view) {
  return view.counts.number ? std::to_string(view.counts.number->value) : view.counts.queue;
}

// Ready tasks of all queues, by class of priority.
std::array<std::uint64_t, priority_class_count> sizes_of(const MetricsSnapshot& snapshot) {
  std::array<std::uint64_t, priority_class_count> sizes{};
  for (const QueueView& view : snapshot.queues) {
    if (is_internal(view.counts.queue)) continue;
    const auto& ready = view.counts.by[static_cast<std::size_t>(TaskState::queued)];
    for (std::size_t priority = 0; priority < ready.size(); ++priority) {
      const auto of = class_of(static_cast<std::uint8_t>(priority));
      sizes[static_cast<std::size_t>(of)] += ready[priority];
    }
  }
  return sizes;
}

void add_claude(Families& to, const MetricsSnapshot& snapshot) {
  const auto& all = snapshot.priorities;
  to.push_back({"claude_proxy_tasks_total", counter, "Total number of tasks processed", all.size(),
                [&all](MetricsText& text, std::size_t row) {
                  const PriorityMetrics& of = all[row];
                  const std::string_view priority = name_of(of.priority);
                  text.sample({{"status", "completed"}, {"type", of.type}, {"priority", priority}},
                              of.completed);
                  text.sample({{"status", "failed"}, {"type", of.type}, {"priority", priority}},
                              of.failed);
                }});
  to.push_back({"claude_proxy_task_duration_seconds", histogram,
                "Task processing duration in seconds", all.size(),
                [&all](MetricsText& text, std::size_t row) {
                  const PriorityMetrics& of = all[row];
                  text.sample({{"type", of.type}, {"priority", name_of(of.priority)}},
                              with_bounds(of.running, claude_bounds));
                }});
  to.push_back({"claude_proxy_queue_size", gauge, "Current size of the queue", priority_class_count,
                [sizes = sizes_of(snapshot)](MetricsText& text, std::size_t row) {
                  const auto priority = static_cast<PriorityClass>(priority_class_count - 1 - row);
                  text.sample({{"priority", name_of(priority)}},
                              sizes[static_cast<std::size_t>(priority)]);
                }});
}

// All types of a queue together.
using ByQueue = std::map<std::string, HistogramSnapshot, std::less<>>;
ByQueue runs_by_queue(const MetricsSnapshot& snapshot) {
  ByQueue runs;
  for (const TypeMetrics& of : snapshot.types) {
    HistogramSnapshot& sum = runs[of.queue];
    if (sum.counts.empty()) {
      sum = of.running;
      continue;
    }
    for (std::size_t i = 0; i < sum.counts.size() && i < of.running.counts.size(); ++i) {
      sum.counts[i] += of.running.counts[i];
    }
    sum.sum += of.running.sum;
    sum.count += of.running.count;
  }
  return runs;
}

void add_queue(Families& to, const MetricsSnapshot& snapshot) {
  const auto& queues = snapshot.queues;
  to.push_back({"queue_job_processor_cycle_duration_seconds", histogram,
                "Time of one cycle of a job processor: from take to settlement, as the server sees "
                "it.",
                queues.size(),
                [&queues, runs = std::make_shared<ByQueue>(runs_by_queue(snapshot))](
                    MetricsText& text, std::size_t row) {
                  const QueueView& view = queues[row];
                  const auto found = runs->find(view.counts.queue);
                  if (is_internal(view.counts.queue) || found == runs->end()) return;
                  text.sample({{"queue_num", number_of(view)}}, found->second);
                }});
  to.push_back({"queue_tasks_in_progress", gauge, "Tasks being processed.", queues.size(),
                [&queues](MetricsText& text, std::size_t row) {
                  const QueueView& view = queues[row];
                  if (is_internal(view.counts.queue)) return;
                  text.sample({{"queue_num", number_of(view)}}, view.counts.taken());
                }});
  to.push_back(
      {"queue_running_workers", gauge, "Running workers.", 1,
       [&snapshot](MetricsText& text, std::size_t) { text.sample({}, snapshot.workers.beating); }});
  to.push_back({"queue_running_job_processors", gauge, "Running job processors.", 1,
                [&snapshot](MetricsText& text, std::size_t) {
                  text.sample({}, snapshot.workers.processors);
                }});
}

void add_bullmq(Families& to, const MetricsSnapshot& snapshot) {
  to.push_back({"bullmq_queue_size", gauge, "Number of jobs in queue", snapshot.queues.size(),
                [&queues = snapshot.queues](MetricsText& text, std::size_t row) {
                  const QueueCounts& of = queues[row].counts;
                  if (is_internal(of.queue)) return;
                  const auto size = [&](std::string_view status, std::uint64_t count) {
                    text.sample({{"queue", of.queue}, {"status", status}}, count);
                  };
                  size("waiting", of.ready());
                  size("active", of.taken());
                  size("failed", of.of(TaskState::failed) + of.of(TaskState::dead));
                  size("delayed", of.later());
                }});
  to.push_back({"bullmq_job_duration_seconds", histogram, "Job processing duration",
                snapshot.types.size(),
                [&types = snapshot.types](MetricsText& text, std::size_t row) {
                  const TypeMetrics& of = types[row];
                  if (is_internal(of.queue) || of.running.count == 0) return;
                  text.sample({{"queue", of.queue}, {"job", of.type}},
                              with_bounds(of.running, bullmq_bounds));
                }});
}

}  // namespace

void add_compat_families(Families& to, const Shown& shown) {
  add_claude(to, *shown.snapshot);
  add_queue(to, *shown.snapshot);
  add_bullmq(to, *shown.snapshot);
}

}  // namespace millrace::api
