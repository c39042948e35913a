// The families whose names begin with millrace_, and those about the process.
#include <algorithm>
#include <array>
#include <utility>

#include "api/server/metrics_page.h"
#include "core/transition.h"

namespace millrace::api {
namespace {

using enum MetricKind;

double seconds_of(TimePoint moment) {
  return std::chrono::duration<double>(moment.time_since_epoch()).count();
}
double seconds_of(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}
std::uint64_t one_if(bool condition) {
  return condition ? 1 : 0;
}

// A family with one sample and no labels.
template <class Value>
void add(Families& to, std::string_view name, MetricKind kind, std::string_view help, Value value) {
  to.push_back({name, kind, help, 1, [value](MetricsText& text, std::size_t) {
                  if constexpr (requires { text.sample({}, value()); }) {
                    text.sample({}, value());
                  } else {
                    text.sample({}, value);
                  }
                }});
}

std::string_view text_of(Durability durability) {
  constexpr std::array<std::string_view, 3> texts = {"none", "interval", "synced"};
  return texts[static_cast<std::size_t>(durability)];
}

void add_process(Families& to, const Shown& shown) {
  const ProcessMetrics& process = shown.process;
  add(to, "process_cpu_seconds_total", counter, "Processor time, of the user and of the system.",
      process.cpu_seconds);
  add(to, "process_resident_memory_bytes", gauge, "Memory that is really in use.",
      process.resident_bytes);
  add(to, "process_virtual_memory_bytes", gauge, "Addresses in use.", process.virtual_bytes);
  add(to, "process_open_fds", gauge, "Open files and connections.", process.open_files);
  add(to, "process_max_fds", gauge, "How many files and connections may be open.",
      process.most_open_files);
  add(to, "process_threads", gauge, "Threads.", process.threads);
  add(to, "process_start_time_seconds", gauge, "When the process started, since 1970.",
      seconds_of(shown.started_at));
}

void add_http(Families& to, const Shown& shown) {
  add(to, "millrace_http_connections", gauge, "Connections that are open.", shown.traffic.open);
  add(to, "millrace_http_connections_total", counter, "Connections that were accepted.",
      shown.traffic.accepted);
  add(to, "millrace_http_connections_refused_total", counter,
      "Connections over http.max_connections, answered 503.", shown.traffic.refused);
  add(to, "millrace_http_requests_total", counter, "Requests whose head has come.",
      shown.traffic.requests);
  to.push_back({"millrace_http_request_duration_seconds", histogram,
                "From a request to its answer, by operation and status; without long polls.",
                shown.latencies.size(), [&shown](MetricsText& text, std::size_t row) {
                  const HttpMetrics::Latency& of = shown.latencies[row];
                  text.sample({{"operation", of.operation}, {"status", of.status}}, of.seconds);
                }});
  to.push_back({"millrace_http_long_polls_total", counter,
                "Requests that were willing to wait for work or for an end, and streams of lines.",
                shown.waits.size(), [&shown](MetricsText& text, std::size_t row) {
                  const HttpMetrics::Waits& of = shown.waits[row];
                  text.sample({{"operation", of.operation}}, of.count);
                }});
  add(to, "millrace_event_streams", gauge, "Streams of events that are open.", shown.event_streams);
  add(to, "millrace_event_stream_events_sent_total", counter, "Events sent over streams.",
      shown.events_sent);
  add(to, "millrace_event_stream_events_skipped_total", counter,
      "Events that streams passed over, since there were too many at once.", shown.events_skipped);
}

void add_workers(Families& to, const MetricsSnapshot& snapshot) {
  add(to, "millrace_workers", gauge, "Workers that have asked for tasks and are remembered.",
      snapshot.workers.seen);
  add(to, "millrace_workers_reporting", gauge, "Workers that reported in the last half minute.",
      snapshot.workers.beating);
  add(to, "millrace_processors", gauge, "Processors of workers that report.",
      snapshot.workers.processors);
  add(to, "millrace_processors_busy", gauge, "Processors that run a handler.",
      snapshot.workers.busy);
  add(to, "millrace_processors_desired", gauge,
      "Processors that would keep waiting short, in all workers; for autoscalers.",
      snapshot.desired_processors);
  add(to, "millrace_leases", gauge, "Leases that are held by workers.", snapshot.leases);
}

}  // namespace

void add_server_families(Families& to, const Shown& shown) {
  to.push_back({"millrace_build_info", gauge, "Always 1; the labels show the version.", 1,
                [&shown](MetricsText& text, std::size_t) {
                  text.sample({{"version", shown.version}}, std::uint64_t{1});
                }});
  add(to, "millrace_ready", gauge, "1 if the server serves, 0 while it starts, stops or fails.",
      one_if(shown.ready));
  add_process(to, shown);
  add_http(to, shown);
}

void add_broker_families(Families& to, const Shown& shown) {
  const MetricsSnapshot& snapshot = *shown.snapshot;
  to.push_back({"millrace_store_info", gauge, "Always 1; the labels show what the store promises.",
                1, [&snapshot](MetricsText& text, std::size_t) {
                  text.sample({{"store", snapshot.traits.name},
                               {"durability", text_of(snapshot.traits.durability)}},
                              std::uint64_t{1});
                }});
  add(to, "millrace_store_up", gauge,
      "1 while the store works, 0 while it is away or once it has failed.",
      one_if(!snapshot.failure));
  add(to, "millrace_store_flush_duration_seconds", histogram, "Time of one flush of the store.",
      [&snapshot]() -> const HistogramSnapshot& { return snapshot.rounds.flush_seconds; });
  const RoundsStats& rounds = snapshot.rounds.rounds;
  add(to, "millrace_rounds_total", counter, "Rounds: calls of many callers, stored together.",
      rounds.rounds);
  add(to, "millrace_round_requests_total", counter, "Requests that rounds were made of.",
      rounds.requests);
  add(to, "millrace_round_items_total", counter,
      "Tasks put, taken, extended and settled in rounds.", rounds.items);
  add(to, "millrace_requests_refused_total", counter, "Requests refused because too many waited.",
      rounds.refused);
  add(to, "millrace_requests_expired_total", counter,
      "Requests whose deadline passed before their round.", rounds.expired);
  add(to, "millrace_requests_waiting", gauge, "Requests that wait for a round.",
      std::uint64_t{rounds.waiting});
  add(to, "millrace_requests_waiting_bytes", gauge, "Bytes of requests that wait for a round.",
      std::uint64_t{rounds.waiting_bytes});
  add(to, "millrace_takes_parked", gauge, "Takes that wait for tasks.",
      std::uint64_t{rounds.parked});
  add(to, "millrace_leases_given_back_total", counter,
      "Leases given back because the caller that asked for them had left.", rounds.given_back);
  add(to, "millrace_late_reports_total", counter,
      "Reports that came when their lease was over, and changed nothing.", snapshot.late_reports);
  to.push_back({"millrace_puts_refused_total", counter, "Tasks that were not put, by error code.",
                snapshot.refused.size(), [&snapshot](MetricsText& text, std::size_t row) {
                  const auto& [code, count] = snapshot.refused[row];
                  text.sample({{"code", name_of(code)}}, count);
                }});
  add(to, "millrace_events_total", counter, "Events of tasks.", snapshot.events);
  add_workers(to, snapshot);
}

void add_queue_families(Families& to, const Shown& shown) {
  const MetricsSnapshot& snapshot = *shown.snapshot;
  const auto family = [&](std::string_view name, MetricKind kind, std::string_view help,
                          auto figure) {
    to.push_back({name, kind, help, snapshot.queues.size(),
                  [&snapshot, figure](MetricsText& text, std::size_t row) {
                    const QueueView& view = snapshot.queues[row];
                    text.sample({{"queue", view.counts.queue}}, figure(view));
                  }});
  };
  to.push_back({"millrace_queue_tasks", gauge, "Tasks in the queue, by state.",
                snapshot.queues.size(), [&snapshot](MetricsText& text, std::size_t row) {
                  const QueueCounts& counts = snapshot.queues[row].counts;
                  for (std::size_t i = 0; i < state_count; ++i) {
                    const auto state = static_cast<TaskState>(i);
                    text.sample({{"queue", counts.queue}, {"state", name_of(state)}},
                                counts.of(state));
                  }
                }});
  family("millrace_queue_oldest_ready_seconds", gauge,
         "How long the oldest ready task has been ready; 0 if there is none.",
         [at = snapshot.at](const QueueView& view) {
           return view.counts.oldest ? std::max(0.0, seconds_of(at - *view.counts.oldest)) : 0.0;
         });
  family("millrace_queue_last_asked_timestamp_seconds", gauge,
         "When a worker last asked for tasks, since 1970; 0 if none has since the start.",
         [](const QueueView& view) {
           return view.stats.last_asked ? seconds_of(*view.stats.last_asked) : 0.0;
         });
  family(
      "millrace_queue_paused", gauge, "1 if no tasks are handed out.",
      [at = snapshot.at](const QueueView& view) {
        const QueueSettings& settings = view.queue.settings;
        return one_if(!settings.active || (settings.paused_until && *settings.paused_until > at));
      });
}

void add_group_families(Families& to, const Shown& shown) {
  const std::vector<GroupMetrics>& groups = shown.snapshot->groups;
  const auto family = [&](std::string_view name, std::string_view help,
                          std::uint64_t GroupMetrics::* figure) {
    to.push_back(
        {name, gauge, help, groups.size(), [&groups, figure](MetricsText& text, std::size_t row) {
           text.sample({{"queue", groups[row].queue}}, groups[row].*figure);
         }});
  };
  family("millrace_queue_groups", "Groups of the queue with tasks that wait or run.",
         &GroupMetrics::groups);
  family("millrace_queue_groups_full",
         "Groups whose tasks wait because the group runs as many as it may, or has used its rate.",
         &GroupMetrics::full);
  family("millrace_queue_groups_paused", "Groups that are paused.", &GroupMetrics::paused);
}

void add_task_families(Families& to, const Shown& shown) {
  const std::vector<TypeMetrics>& types = shown.snapshot->types;
  const auto count = [&](std::string_view name, std::string_view help,
                         std::uint64_t TypeMetrics::* figure) {
    to.push_back(
        {name, counter, help, types.size(), [&types, figure](MetricsText& text, std::size_t row) {
           const TypeMetrics& of = types[row];
           text.sample({{"queue", of.queue}, {"type", of.type}}, of.*figure);
         }});
  };
  count("millrace_tasks_put_total", "Tasks put.", &TypeMetrics::put);
  count("millrace_tasks_existing_total", "Puts that found their task there already.",
        &TypeMetrics::existing);
  count("millrace_tasks_taken_total", "Leases given.", &TypeMetrics::taken);
  count("millrace_tasks_completed_total", "Tasks completed.", &TypeMetrics::completed);
  count("millrace_tasks_failed_total", "Tasks failed for good.", &TypeMetrics::failed);
  count("millrace_tasks_dead_total", "Tasks dead: every retry used up.", &TypeMetrics::dead);
  count("millrace_tasks_retried_total", "Failures that are tried again.", &TypeMetrics::retried);
  count("millrace_tasks_snoozed_total", "Tasks snoozed or parked by their handler.",
        &TypeMetrics::snoozed);
  count("millrace_tasks_given_back_total", "Tasks given back unfinished.",
        &TypeMetrics::given_back);
  count("millrace_tasks_lost_total", "Leases lost: their worker was not heard of in time.",
        &TypeMetrics::lost);
  count("millrace_tasks_cancelled_total", "Tasks cancelled.", &TypeMetrics::cancelled);
  count("millrace_tasks_expired_total", "Tasks that were not started in time.",
        &TypeMetrics::expired);
  const auto durations = [&](std::string_view name, std::string_view help,
                             HistogramSnapshot TypeMetrics::* figure) {
    to.push_back(
        {name, histogram, help, types.size(), [&types, figure](MetricsText& text, std::size_t row) {
           const TypeMetrics& of = types[row];
           if ((of.*figure).count == 0) return;
           text.sample({{"queue", of.queue}, {"type", of.type}}, of.*figure);
         }});
  };
  durations("millrace_task_wait_duration_seconds", "From ready to taken.", &TypeMetrics::waiting);
  durations("millrace_task_run_duration_seconds", "From taken to the end of the run, good or bad.",
            &TypeMetrics::running);
}

}  // namespace millrace::api
