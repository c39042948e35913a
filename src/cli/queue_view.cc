#include "cli/queue_view.h"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>

#include "cli/ages.h"
#include "cli/console.h"
#include "cli/display.h"
#include "cli/group_view.h"
#include "config/size.h"
#include "core/time_text.h"
#include "core/transition.h"

namespace millrace::cli {
namespace {

std::uint64_t dead_in(const QueueCounts& counts) {
  return counts.of(TaskState::failed) + counts.of(TaskState::dead);
}

std::string seconds_text(double seconds) {
  return seconds > 0 ? brief(Duration(std::llround(seconds * 1000))) : "-";
}

std::string text_of(const Keep& keep) {
  if (!keep.for_time && !keep.last) return "forever";
  if (keep.for_time == Duration{}) return "not at all";
  std::string text = keep.for_time ? format_duration(*keep.for_time) : "";
  if (keep.last)
    text += fmt::format("{}the last {}", text.empty() ? "" : ", ", grouped(*keep.last));
  return text;
}

std::string count_text(std::uint32_t count) {
  return count == unlimited ? "unlimited" : grouped(count);
}

std::string text_of(const RetryRules& retry) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (retry.max_retries) add(count_text(*retry.max_retries));
  if (retry.backoff) add(*retry.backoff == Backoff::fixed ? "fixed" : "exponential");
  if (retry.base) add("first after " + format_duration(*retry.base));
  if (retry.factor) add(fmt::format("times {}", *retry.factor));
  if (retry.cap) add("at most " + format_duration(*retry.cap));
  return text.empty() ? "as the server says" : text;
}

void add_counts(Sheet& sheet, const QueueView& view, TimePoint now) {
  for (std::size_t i = 0; i < state_count; ++i) {
    const std::uint64_t count = view.counts.of(TaskState(i));
    const bool bad = TaskState(i) == TaskState::failed || TaskState(i) == TaskState::dead;
    if (count != 0) {
      sheet.add(std::string(name_of(TaskState(i))),
                number_cell(count, bad ? Paint::bad : Paint::none));
    }
  }
  if (view.counts.total() == 0) sheet.add("tasks", "none");
  if (view.counts.oldest) sheet.add("oldest ready", age(*view.counts.oldest, now));
}

void add_stats(Sheet& sheet, const QueueStats& stats, TimePoint now) {
  sheet.head("Since " + age(stats.since, now));
  sheet.add("put", grouped(stats.put));
  sheet.add("taken", grouped(stats.taken));
  sheet.add("completed", grouped(stats.completed));
  sheet.add("failed", Cell(grouped(stats.failed), stats.failed ? Paint::bad : Paint::none));
  sheet.add("retried, lost", fmt::format("{}, {}", grouped(stats.retried), grouped(stats.lost)));
  sheet.add("per second", fmt::format("{} put, {} taken, {} ended", rate_text(stats.put_rate),
                                      rate_text(stats.take_rate), rate_text(stats.finish_rate)));
  sheet.add("waited, ran", fmt::format("{}, {} (mean)", seconds_text(stats.mean_wait_seconds),
                                       seconds_text(stats.mean_run_seconds)));
  sheet.add("last asked for", stats.last_asked ? age(*stats.last_asked, now) : "never");
}

// One bar per minute, the newest last.
std::string hour_of(const History& history, std::uint64_t HistoryPoint::* what, TimePoint now,
                    const Look& look) {
  constexpr std::size_t minutes = 60;
  std::vector<double> bars(minutes, 0);
  std::uint64_t sum = 0;
  for (const HistoryPoint& each : history.points) {
    const auto ago = static_cast<std::size_t>(
        std::max<std::int64_t>(0, (now - each.at) / std::chrono::minutes(1)));
    if (ago >= minutes || each.at > now) continue;
    bars[minutes - 1 - ago] += static_cast<double>(each.*what);
    sum += each.*what;
  }
  return fmt::format("{} {}", sparkline(bars, look), grouped(sum));
}

void add_hour(Sheet& sheet, const History& history, TimePoint now, const Look& look) {
  if (history.points.empty()) return;
  sheet.head("The last hour, by minutes");
  sheet.add("put", hour_of(history, &HistoryPoint::put, now, look));
  sheet.add("completed", hour_of(history, &HistoryPoint::completed, now, look));
  sheet.add("failed", hour_of(history, &HistoryPoint::failed, now, look));
}

void add_settings(Sheet& sheet, const QueueSettings& settings) {
  sheet.head("Settings");
  if (settings.number) sheet.add("number", fmt::to_string(settings.number->value));
  if (settings.max_concurrent) sheet.add("max concurrent", grouped(*settings.max_concurrent));
  if (settings.max_depth) sheet.add("max depth", grouped(*settings.max_depth));
  if (settings.max_task_size)
    sheet.add("max task size", config::to_text({*settings.max_task_size}));
  if (settings.process_rate) sheet.add("rate", rate_line(*settings.process_rate, settings.rate_of));
  if (settings.put_rate) sheet.add("put rate", rate_line(*settings.put_rate));
  if (settings.groups) sheet.add("each group", rules_line(*settings.groups));
  sheet.add("priority", fmt::to_string(settings.priority));
  if (settings.weight) sheet.add("weight", fmt::to_string(*settings.weight));
  if (settings.ageing) sheet.add("ageing", format_duration(*settings.ageing));
  sheet.add("lease", format_duration(settings.lease));
  if (settings.timeout) sheet.add("timeout", format_duration(*settings.timeout));
  sheet.add("batch size", grouped(settings.batch_size));
  sheet.add("retries", text_of(settings.retry));
  if (settings.max_lost) sheet.add("max lost", count_text(*settings.max_lost));
  if (!settings.dead_letters) sheet.add("dead letters", "never");
  if (!settings.dead_letter_queue.empty()) {
    sheet.add("dead letter queue", settings.dead_letter_queue);
  }
  sheet.add("keep completed", text_of(settings.keep_completed));
  sheet.add("keep dead", text_of(settings.keep_dead));
  for (const TypePolicy& each : settings.types) {
    sheet.add(
        "type " + printable(each.type),
        fmt::format("retries {}{}{}{}", text_of(each.retry),
                    each.timeout ? ", timeout " + format_duration(*each.timeout) : "",
                    each.keep_completed ? ", keep completed " + text_of(*each.keep_completed) : "",
                    each.keep_dead ? ", keep dead " + text_of(*each.keep_dead) : ""));
  }
}

}  // namespace

Cell state_of(const Queue& queue, TimePoint now) {
  const QueueSettings& settings = queue.settings;
  if (queue.removing) return {"being removed", Paint::warning};
  if (!settings.active) return {"inactive", Paint::warning};
  if (settings.paused_until && *settings.paused_until > now) {
    return {*settings.paused_until == never
                ? "paused"
                : fmt::format("paused for {}", brief(*settings.paused_until - now)),
            Paint::warning};
  }
  if (settings.draining) return {"draining", Paint::warning};
  return {"active", Paint::good};
}

std::string rate_text(double rate) {
  if (rate <= 0) return "-";
  if (rate < 0.1) return "<0.1";
  return rate < 100 ? fmt::format("{:.1f}", rate)
                    : grouped(static_cast<std::uint64_t>(std::llround(rate)));
}

Table queues_table(const std::vector<QueueView>& queues, TimePoint now) {
  Table table({{"QUEUE", false, 10},
               {"READY", true},
               {"RUNNING", true},
               {"LATER", true},
               {"DEAD", true},
               {"PUT/S", true},
               {"DONE/S", true},
               {"OLDEST", true},
               {"STATE", false, 6}});
  for (const QueueView& each : queues) {
    table.add({each.queue.settings.name, number_cell(each.counts.ready()),
               number_cell(each.counts.taken(), Paint::busy),
               number_cell(each.counts.later() + each.counts.of(TaskState::created)),
               number_cell(dead_in(each.counts), Paint::bad), rate_text(each.stats.put_rate),
               rate_text(each.stats.finish_rate),
               each.counts.oldest ? brief(now - *each.counts.oldest) : "-",
               state_of(each.queue, now)});
  }
  return table;
}

Table stats_table(const std::vector<QueueView>& queues) {
  Table table({{"QUEUE", false, 10},
               {"PUT", true},
               {"TAKEN", true},
               {"COMPLETED", true},
               {"FAILED", true},
               {"RETRIED", true},
               {"LOST", true},
               {"WAITED", true},
               {"RAN", true}});
  const auto row = [&](const std::string& name, const QueueStats& stats, bool means) {
    table.add({name, number_cell(stats.put), number_cell(stats.taken), number_cell(stats.completed),
               number_cell(stats.failed, Paint::bad), number_cell(stats.retried, Paint::warning),
               number_cell(stats.lost, Paint::warning),
               means ? seconds_text(stats.mean_wait_seconds) : "",
               means ? seconds_text(stats.mean_run_seconds) : ""});
  };
  QueueStats all;
  for (const QueueView& each : queues) {
    const QueueStats& stats = each.stats;
    row(each.queue.settings.name, stats, true);
    all.put += stats.put, all.taken += stats.taken, all.completed += stats.completed;
    all.failed += stats.failed, all.retried += stats.retried, all.lost += stats.lost;
  }
  if (queues.size() > 1) row("(all)", all, false);
  return table;
}

std::string view_of(const QueueView& view, const History& hour, TimePoint now, const Look& look) {
  Sheet sheet;
  const QueueSettings& settings = view.queue.settings;
  sheet.add("queue", settings.name);
  sheet.add("description", settings.description);
  sheet.add("state", state_of(view.queue, now));
  sheet.add("created", moment_and_age(view.queue.created_at, now));
  if (view.queue.updated_at != view.queue.created_at) {
    sheet.add("changed", moment_and_age(view.queue.updated_at, now));
  }
  sheet.head("Tasks");
  add_counts(sheet, view, now);
  add_stats(sheet, view.stats, now);
  add_hour(sheet, hour, now, look);
  add_settings(sheet, settings);
  return sheet.text(look);
}

}  // namespace millrace::cli
