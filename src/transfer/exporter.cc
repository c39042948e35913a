#include "transfer/exporter.h"

#include <fmt/format.h>
#include <algorithm>
#include <iterator>
#include <utility>

#include "api/wire/archive.h"
#include "core/time_text.h"
#include "transfer/line_fields.h"

namespace millrace::transfer {
namespace {

// A task may have more than 2 MiB; so many are in memory at once.
constexpr std::uint32_t tasks_a_page = 64;
constexpr std::uint32_t memos_a_page = 16;
constexpr int pages_a_count = 16;

// The tasks below `before` and not below `floor`, oldest first.
Result<std::vector<Task>> page(Store& store, std::optional<TaskNumber> before, TaskNumber floor) {
  std::vector<Task> tasks;
  ListRequest request{.before = before, .limit = tasks_a_page, .full = true};
  do {
    auto found = store.list(request);
    if (!found) return std::unexpected(std::move(found.error()));
    for (Task& task : found->tasks) {
      if (task.number < floor) break;
      tasks.push_back(std::move(task));
    }
    request.before = found->next;
  } while (request.before && *request.before > floor);
  std::ranges::reverse(tasks);
  return tasks;
}

template <class T>
void write_all(std::string& out, std::string_view kind, std::vector<T>& values,
               std::uint64_t& written) {
  for (const T& value : values) wire::append_line(out, kind, value);
  written += values.size();
  values.clear();
}

}  // namespace

Result<bool> Exporter::read(Store& store, TimePoint now) {
  Result<void> done;
  switch (step_) {
    case Step::queues:
      wire::append_line(header_, header_key,
                        wire::HeaderFields{.format = format_number,
                                           .minor = minor_number,
                                           .store = store.traits().name,
                                           .exported_at = format_time(now)});
      done = read_queues(store);
      break;
    case Step::schedules:
      done = read_schedules(store);
      break;
    case Step::memos:
      done = read_memos(store, now);
      break;
    case Step::count:
      done = count(store);
      break;
    case Step::tasks:
      do {
        done = read_tasks(store);
      } while (done && step_ == Step::tasks && gathered() < piece_bytes_);
      break;
    case Step::end:
      ended_ = true;
      step_ = Step::over;
      break;
    case Step::over:
      return false;
  }
  if (!done) return std::unexpected(std::move(done.error()));
  return true;
}

void Exporter::write(std::string& out) {
  out += std::exchange(header_, {});
  Counts& written = report_.written;
  write_all(out, "queue", queues_, written.queues);
  write_all(out, "schedule", schedules_, written.schedules);
  write_all(out, "memo", memos_, written.memos);
  write_all(out, "task", tasks_, written.tasks);
  if (std::exchange(ended_, false)) wire::append_line(out, "end", written);
}

Result<void> Exporter::read_queues(Store& store) {
  auto queues = store.queues(std::nullopt);
  if (!queues) return std::unexpected(std::move(queues.error()));
  for (Queue& queue : *queues) {
    if (!queue.removing) {
      queues_.push_back(std::move(queue));
      continue;
    }
    report_.left_out.push_back(
        fmt::format("queue \"{}\" and its tasks: it is being removed", queue.settings.name));
    leaving_.insert(std::move(queue.settings.name));
  }
  step_ = Step::schedules;
  return {};
}

Result<void> Exporter::read_schedules(Store& store) {
  auto schedules = store.schedules(std::nullopt);
  if (!schedules) return std::unexpected(std::move(schedules.error()));
  for (Schedule& schedule : *schedules) {
    const auto queue = store.queues(schedule.task.queue);
    if (!queue && queue.error().code != ErrorCode::not_found) {
      return std::unexpected(queue.error());
    }
    if (!queue || queue->front().removing) {
      report_.left_out.push_back(fmt::format("schedule \"{}\": its queue is gone", schedule.name));
    } else {
      schedules_.push_back(std::move(schedule));
    }
  }
  step_ = Step::memos;
  return {};
}

Result<void> Exporter::read_memos(Store& store, TimePoint now) {
  recall_.limit = memos_a_page;
  auto memos = store.recall(recall_, now);
  if (!memos) return std::unexpected(std::move(memos.error()));
  memos_ = std::move(*memos);
  if (memos_.size() < memos_a_page) {
    step_ = Step::count;
  } else {
    recall_.after = memos_.back().key;
  }
  return {};
}

// Lists give the newest first, but a task must come before those that arrived after it, or equal
// ones change places on the way. So one walk notes where pages begin, and a second one goes through
// them backwards.
Result<void> Exporter::count(Store& store) {
  walk_.limit = tasks_a_page;
  for (int i = 0; i < pages_a_count; ++i) {
    const auto found = store.list(walk_);
    if (!found) return std::unexpected(found.error());
    total_ += found->tasks.size();
    if (!beginnings_.empty() || found->tasks.empty()) {
      beginnings_.push_back(walk_.before);
    } else {
      // What is put from now on has greater numbers and is not part of this export.
      beginnings_.emplace_back(TaskNumber{found->tasks.front().number.value + 1});
    }
    walk_.before = found->next;
    if (walk_.before) continue;
    counted_ = true;
    step_ = Step::tasks;
    break;
  }
  return {};
}

Result<void> Exporter::read_tasks(Store& store) {
  if (beginnings_.empty()) {
    step_ = Step::end;
    return {};
  }
  const auto before = beginnings_.back();
  beginnings_.pop_back();
  // The page below ends where this one begins: numbers from there on belong here.
  auto tasks = page(store, before, floor_);
  if (!tasks) return std::unexpected(std::move(tasks.error()));
  seen_ += tasks->size();
  total_ = std::max(total_, seen_);
  if (!tasks->empty()) floor_ = {tasks->back().number.value + 1};
  std::erase_if(*tasks, [this](const Task& task) { return leaving_.contains(task.queue); });
  std::ranges::move(*tasks, std::back_inserter(tasks_));
  return {};
}

std::size_t Exporter::gathered() const {
  std::size_t bytes = 0;
  for (const Task& task : tasks_) bytes += sizeof(Task) + task.payload.size() + task.result.size();
  return bytes;
}

}  // namespace millrace::transfer
