#include "cli/work_report.h"

#include <fmt/format.h>
#include <millrace/context.h>
#include <utility>

#include "cli/display.h"
#include "core/uuid.h"

namespace millrace::cli {
namespace {

// The end of an id tells tasks apart; the beginning is the time.
constexpr std::size_t shown_of_id = 8;

}  // namespace

WorkReport::WorkReport(Clock& clock, Say say, bool several)
    : clock_(clock), say_(std::move(say)), several_(several) {}

void WorkReport::echo(const Lease& task, std::string_view line) {
  std::string text;
  if (several_) {
    const std::string id = to_text(task.id.value);
    text = id.substr(id.size() - shown_of_id) + "  ";
  }
  say_(text + printable(line) + '\n');
}

void WorkReport::watch(worker::QueueHandlers& queue) {
  const auto hook = [this](std::string_view word) {
    return [this, word](const TaskEvent& event) { ended(event, word); };
  };
  queue.on_completed = hook("done");
  queue.on_requeued = hook("retry");
  queue.on_failed = hook("failed");
  queue.on_dead = hook("dead");
  queue.on_cancelled = hook("cancelled");
  queue.any = [this, run = std::move(queue.any)](std::span<Context* const> tasks) {
    for (Context* task : tasks) began(task->id());
    run(tasks);
    for (Context* task : tasks) {
      // Its end is not stored, so no hook is called.
      if (task->stop_reason() == StopReason::lease_lost) line("lost", task->task(), {});
    }
  };
}

void WorkReport::began(const TaskId& id) {
  const auto now = clock_.steady();
  const Lock lock(mutex_);
  started_[id] = now;
}

std::string WorkReport::lasted(const TaskId& id) {
  const auto now = clock_.steady();
  const Lock lock(mutex_);
  const auto found = started_.find(id);
  if (found == started_.end()) return {};
  const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(now - found->second);
  started_.erase(found);
  return fmt::format("{} ms", time.count());
}

void WorkReport::ended(const TaskEvent& event, std::string_view word) {
  const TaskError* error = event.error();
  // The worker stops, and gives the task to others.
  if (std::holds_alternative<GiveBack>(event.outcome)) word = "stopped";
  line(word, event.task, error == nullptr ? std::string_view() : error->message);
}

void WorkReport::line(std::string_view word, const Lease& task, std::string_view error) {
  const std::string time = lasted(task.id);
  if (time.empty()) return;  // it has been reported
  say_(fmt::format("{:<9} {}  {}  {}{}\n", word, printable(task.queue), to_text(task.id.value),
                   time, error.empty() ? "" : ": " + printable(error)));
}

}  // namespace millrace::cli
