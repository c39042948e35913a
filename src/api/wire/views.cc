#include "api/wire/views.h"

#include <fmt/format.h>
#include <array>
#include <utility>

#include "api/wire/text_writer.h"
#include "core/clip.h"
#include "core/transition.h"
#include "core/utf8.h"

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

void append_totals(std::string& out, const QueueStats& stats) {
  TextWriter writer(out);
  writer("since", stats.since);
  append(writer.key("put"), stats.put), append(writer.key("taken"), stats.taken);
  append(writer.key("completed"), stats.completed);
  append(writer.key("failed"), stats.failed), append(writer.key("retried"), stats.retried);
  append(writer.key("snoozed"), stats.snoozed);
  append(writer.key("given_back"), stats.given_back);
  append(writer.key("lost"), stats.lost), append(writer.key("cancelled"), stats.cancelled);
  writer.close();
}

void append_rates(std::string& out, const QueueStats& stats) {
  TextWriter writer(out);
  append(writer.key("put"), stats.put_rate), append(writer.key("take"), stats.take_rate);
  append(writer.key("finish"), stats.finish_rate);
  append(writer.key("fail"), stats.fail_rate);
  append(writer.key("retry"), stats.retry_rate);
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
  const QueueStats& stats = view.stats;
  TextWriter writer(out);
  const QueueSettings& settings = view.queue.settings;
  writer("queue", settings.name), writer("number", settings.number);
  append(writer.key("active"), settings.active);
  writer("draining", settings.draining), writer("paused_until", settings.paused_until);
  writer("running_limit", settings.max_concurrent);
  append(writer.key("total"), counts.total()), append(writer.key("ready"), counts.ready());
  append(writer.key("taken"), counts.taken());
  append(writer.key("delayed"), counts.later());
  append(writer.key("completed"), stats.completed);
  append(writer.key("failed"), stats.failed);
  append(writer.key("mean_run_ms"), stats.mean_run_seconds * 1000);
  append(writer.key("mean_wait_ms"), stats.mean_wait_seconds * 1000);
  append_states(writer.key("states"), counts);
  append_priorities(writer.key("priorities"), counts);
  writer("oldest", counts.oldest);
  append_rates(writer.key("rates"), stats);
  append_totals(writer.key("totals"), stats);
  writer("last_asked", stats.last_asked);
  writer.close();
}

// The task of a schedule has no id; its other fields are those of a task.
void append_schedule(std::string& out, const Schedule& schedule) {
  append(out, schedule);
}

constexpr std::size_t preview_bytes = 200;

std::string preview_of(const Task& task) {
  // One byte more than is kept, so that it shows whether the cut is between two characters.
  std::string head = clip(task.payload.substr(0, preview_bytes + 1), preview_bytes);
  return is_utf8(head) ? head : std::string();
}

void append_previewed(std::string& out, Task& task, bool full) {
  const std::string preview = preview_of(task);
  if (!full) {
    task.payload.clear(), task.result.clear();
    task.log.clear(), task.history.clear();
    task.checkpoint.clear(), task.answer.reset();
  }
  TextWriter writer(out);
  fields(std::as_const(task), writer);
  writer("preview", preview);
  writer.close();
}

void append_end(TextWriter& writer, const TaskPage& page) {
  if (page.next) append(writer.key("next"), fmt::format("{}", page.next->value));
  append(writer.key("looked_at"), page.looked_at);
  writer.close();
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
  append_end(writer, page);
  return out;
}

std::string page_with_previews(TaskPage page, bool full) {
  std::string out;
  TextWriter writer(out);
  writer.key("tasks") += '[';
  for (std::size_t i = 0; i < page.tasks.size(); ++i) {
    if (i != 0) out += ',';
    append_previewed(out, page.tasks[i], full);
  }
  out += ']';
  append_end(writer, page);
  return out;
}

std::string view_of(const Task& task) {
  return text_of(task);
}

std::string view_of(const Parents& parents) {
  return text_of(parents);
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
