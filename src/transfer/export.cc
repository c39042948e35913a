#include "transfer/export.h"

#include <fmt/format.h>
#include <algorithm>
#include <set>

#include "api/wire/wire.h"
#include "core/time_text.h"

namespace millrace::transfer {
namespace {

// A task may have more than 2 MiB; so many are in memory at once.
constexpr std::uint32_t tasks_a_page = 64;
constexpr std::uint32_t memos_a_page = 16;

class Export {
 public:
  Export(Store& store, std::ostream& out, TimePoint now, const ExportProgress& progress)
      : store_(store), out_(out), now_(now), progress_(progress) {}

  Result<ExportReport> run() {
    write(header_key, {{"format", format_number},
                       {"minor", minor_number},
                       {"store", store_.traits().name},
                       {"exported_at", format_time(now_)}});
    for (const auto step : {&Export::write_queues, &Export::write_schedules, &Export::write_memos,
                            &Export::write_tasks}) {
      if (auto done = (this->*step)(); !done) return std::unexpected(std::move(done.error()));
    }
    const Counts& written = report_.written;
    write("end", {{"queues", written.queues},
                  {"schedules", written.schedules},
                  {"memos", written.memos},
                  {"tasks", written.tasks}});
    out_.flush();
    if (auto good = check_output(); !good) return std::unexpected(std::move(good.error()));
    return std::move(report_);
  }

 private:
  void write(std::string_view kind, boost::json::object value) {
    boost::json::object line;
    line.emplace(kind, std::move(value));
    out_ << wire::to_text(line) << '\n';
  }

  Result<void> check_output() {
    if (out_) return {};
    return fail(ErrorCode::unavailable,
                "the output cannot be written; is the disk full, or was the reader closed?");
  }

  Result<void> write_queues() {
    auto queues = store_.queues(std::nullopt);
    if (!queues) return std::unexpected(std::move(queues.error()));
    for (const Queue& queue : *queues) {
      if (queue.removing) {
        leaving_.insert(queue.settings.name);
        report_.left_out.push_back(
            fmt::format("queue \"{}\" and its tasks: it is being removed", queue.settings.name));
        continue;
      }
      write("queue", wire::to_json(queue));
      ++report_.written.queues;
    }
    return check_output();
  }

  Result<void> write_schedules() {
    auto schedules = store_.schedules(std::nullopt);
    if (!schedules) return std::unexpected(std::move(schedules.error()));
    for (const Schedule& schedule : *schedules) {
      const auto queue = store_.queues(schedule.task.queue);
      if (!queue && queue.error().code != ErrorCode::not_found) {
        return std::unexpected(queue.error());
      }
      if (!queue || queue->front().removing) {
        report_.left_out.push_back(
            fmt::format("schedule \"{}\": its queue is gone", schedule.name));
        continue;
      }
      write("schedule", wire::to_json(schedule));
      ++report_.written.schedules;
    }
    return check_output();
  }

  Result<void> write_memos() {
    Recall request{.limit = memos_a_page};
    while (true) {
      auto memos = store_.recall(request, now_);
      if (!memos) return std::unexpected(std::move(memos.error()));
      for (const Memo& memo : *memos) {
        write("memo", wire::to_json(memo));
        ++report_.written.memos;
      }
      if (auto good = check_output(); !good) return good;
      if (memos->size() < memos_a_page) return {};
      request.after = memos->back().key;
    }
  }

  // Lists give the newest first, but a task must come before those that arrived after it, or equal
  // ones change places on the way. So one walk notes where pages begin, and a second one goes
  // through them backwards.
  Result<void> write_tasks() {
    auto pages = page_beginnings();
    if (!pages) return std::unexpected(std::move(pages.error()));
    std::uint64_t seen = 0;
    while (!pages->empty()) {
      const auto before = pages->back();
      pages->pop_back();
      // The page below ends where this one begins: numbers from there on belong here.
      auto tasks = page(before, floor_);
      if (!tasks) return std::unexpected(std::move(tasks.error()));
      for (const Task& task : *tasks) write_task(task);
      seen += tasks->size();
      if (!tasks->empty()) floor_ = {tasks->back().number.value + 1};
      if (auto good = check_output(); !good) return good;
      if (progress_) progress_(seen, std::max(seen, total_));
    }
    return {};
  }

  void write_task(const Task& task) {
    if (leaving_.contains(task.queue)) return;
    write("task", wire::to_json(task));
    ++report_.written.tasks;
  }

  // The `before` of each page, newest first. nullopt: from the newest task on.
  Result<std::vector<std::optional<TaskNumber>>> page_beginnings() {
    std::vector<std::optional<TaskNumber>> beginnings;
    ListRequest request{.limit = tasks_a_page};
    do {
      const auto found = store_.list(request);
      if (!found) return std::unexpected(found.error());
      total_ += found->tasks.size();
      if (!beginnings.empty() || found->tasks.empty()) {
        beginnings.push_back(request.before);
      } else {
        // What is put from now on has greater numbers and is not part of this export.
        beginnings.emplace_back(TaskNumber{found->tasks.front().number.value + 1});
      }
      request.before = found->next;
    } while (request.before);
    return beginnings;
  }

  // The tasks below `before` and not below `floor`, oldest first.
  Result<std::vector<Task>> page(std::optional<TaskNumber> before, TaskNumber floor) {
    std::vector<Task> tasks;
    ListRequest request{.before = before, .limit = tasks_a_page, .full = true};
    do {
      auto found = store_.list(request);
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

  Store& store_;
  std::ostream& out_;
  const TimePoint now_;
  const ExportProgress& progress_;
  ExportReport report_;
  std::set<std::string> leaving_;  // queues that are being removed
  TaskNumber floor_ = {};          // what is below has been written
  std::uint64_t total_ = 0;
};

}  // namespace

Result<ExportReport> export_store(Store& store, std::ostream& out, TimePoint now,
                                  const ExportProgress& progress) {
  return Export(store, out, now, progress).run();
}

}  // namespace millrace::transfer
