#include "api/wire/views.h"

#include <fmt/format.h>
#include <array>
#include <utility>

#include "api/wire/text_writer.h"
#include "core/transition.h"

namespace millrace::wire {
namespace {

void append_counts(std::string& out, const QueueCounts& counts) {
  TextWriter writer(out);
  append(writer.key("total"), counts.total()), append(writer.key("ready"), counts.ready());
  append(writer.key("taken"), counts.taken());
  append(writer.key("delayed"), counts.later());
  append(writer.key("completed"), counts.of(TaskState::completed));
  append(writer.key("failed"), counts.of(TaskState::failed) + counts.of(TaskState::dead));
  writer.close();
}

void append_states(std::string& out, const QueueCounts& counts) {
  TextWriter writer(out);
  for (std::size_t state = 0; state < state_count; ++state) {
    append(writer.key(name_of(TaskState(state))), counts.of(TaskState(state)));
  }
  writer.close();
}

// The number of queued tasks by priority.
void append_priorities(std::string& out, const QueueCounts& counts) {
  TextWriter writer(out);
  const auto& queued = counts.by[static_cast<std::size_t>(TaskState::queued)];
  for (std::size_t priority = priority_count; priority-- > 0;) {
    const std::array<char, 1> name{static_cast<char>('0' + priority)};
    append(writer.key({name.data(), 1}), queued[priority]);
  }
  writer.close();
}

void append_figures(std::string& out, const QueueFigures& figures) {
  TextWriter writer(out);
  writer("since", figures.since);
  append(writer.key("put"), figures.put), append(writer.key("taken"), figures.taken);
  append(writer.key("completed"), figures.completed);
  append(writer.key("failed"), figures.failed), append(writer.key("retried"), figures.retried);
  append(writer.key("snoozed"), figures.snoozed);
  append(writer.key("given_back"), figures.given_back);
  append(writer.key("lost"), figures.lost), append(writer.key("cancelled"), figures.cancelled);
  writer.close();
}

void append_rates(std::string& out, const QueueFigures& figures) {
  TextWriter writer(out);
  append(writer.key("put"), figures.put_rate), append(writer.key("take"), figures.take_rate);
  append(writer.key("finish"), figures.finish_rate);
  append(writer.key("fail"), figures.fail_rate);
  append(writer.key("retry"), figures.retry_rate);
  writer.close();
}

void append_view(std::string& out, const QueueView& view) {
  TextWriter writer(out);
  fields(view.queue, writer);
  append_counts(writer.key("counts"), view.counts);
  writer.close();
}

void append_stats(std::string& out, const QueueView& view) {
  const QueueCounts& counts = view.counts;
  const QueueFigures& figures = view.figures;
  TextWriter writer(out);
  const QueueSettings& settings = view.queue.settings;
  writer("queue", settings.name), writer("number", settings.number);
  append(writer.key("active"), settings.active);
  writer("draining", settings.draining), writer("paused_until", settings.paused_until);
  writer("running_limit", settings.max_concurrent);
  append(writer.key("total"), counts.total()), append(writer.key("ready"), counts.ready());
  append(writer.key("taken"), counts.taken());
  append(writer.key("delayed"), counts.later());
  append(writer.key("completed"), figures.completed);
  append(writer.key("failed"), figures.failed);
  append(writer.key("mean_run_ms"), figures.mean_run_seconds * 1000);
  append(writer.key("mean_wait_ms"), figures.mean_wait_seconds * 1000);
  append_states(writer.key("states"), counts);
  append_priorities(writer.key("priorities"), counts);
  writer("oldest", counts.oldest);
  append_rates(writer.key("rates"), figures);
  append_figures(writer.key("figures"), figures);
  writer("last_asked", figures.last_asked);
  writer.close();
}

// The task of a schedule has no id; its other fields are those of a task.
void append_schedule(std::string& out, const Schedule& schedule) {
  append(out, schedule);
}

template <class T>
std::string list_of(std::string_view name, const std::vector<T>& values,
                    void (*one)(std::string&, const T&)) {
  std::string out;
  TextWriter writer(out);
  writer.key(name) += '[';
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i != 0) out += ',';
    one(out, values[i]);
  }
  out += ']';
  writer.close();
  return out;
}

}  // namespace

std::string page_of(const TaskPage& page) {
  std::string out;
  TextWriter writer(out);
  append(writer.key("tasks"), page.tasks);
  if (page.next) append(writer.key("next"), fmt::format("{}", page.next->value));
  append(writer.key("looked_at"), page.looked_at);
  writer.close();
  return out;
}

std::string view_of(const Task& task) {
  return text_of(task);
}

std::string view_of(const QueueView& view) {
  std::string out;
  append_view(out, view);
  return out;
}

std::string view_of(const Schedule& schedule) {
  return text_of(schedule);
}

std::string stats_of(const QueueView& view) {
  std::string out;
  append_stats(out, view);
  return out;
}

std::string view_of(std::string_view name, const std::vector<QueueView>& views, bool stats) {
  return list_of(name, views, stats ? append_stats : append_view);
}

std::string view_of(std::string_view name, const std::vector<Schedule>& schedules) {
  return list_of(name, schedules, append_schedule);
}

std::string page_of(const std::vector<Schedule>& schedules, bool more) {
  std::string out = view_of("schedules", schedules);
  if (!more || schedules.empty()) return out;
  out.pop_back();
  out += R"(,"next":)";
  append(out, schedules.back().name);
  out += '}';
  return out;
}

std::string state_of(TaskId id, TaskState state) {
  std::string out;
  TextWriter writer(out);
  writer("id", id), append(writer.key("state"), state);
  writer.close();
  return out;
}

}  // namespace millrace::wire
