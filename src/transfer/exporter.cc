#include "transfer/exporter.h"

#include <fmt/format.h>
#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "api/wire/archive.h"
#include "api/wire/groups.h"
#include "core/group_rules.h"
#include "core/limits.h"
#include "core/time_text.h"
#include "store/store.h"
#include "transfer/line_fields.h"

namespace millrace::transfer {
namespace {

constexpr std::uint32_t tasks_per_page = 256;
constexpr std::uint32_t memos_per_page = 64;
constexpr std::uint64_t widest_window = std::uint64_t{1} << 40U;
// Operations on many tasks refer to task numbers of this store, so they are not exported.
constexpr std::string_view operations = "$bulk";
constexpr std::string_view operation_memos = "$bulk/";

template <class T>
void write_all(std::string& out, std::string_view kind, std::vector<T>& values,
               std::uint64_t& written) {
  for (const T& value : values) wire::append_line(out, kind, value);
  written += values.size();
  values.clear();
}

// A queue can only be created when the one that its dead letters go to is there.
void put_targets_first(std::vector<Queue>& queues) {
  std::map<std::string, std::string> targets;
  for (const Queue& queue : queues) {
    targets.emplace(queue.settings.name, queue.settings.dead_letter_queue);
  }
  const auto depth = [&](const Queue& queue) {
    std::size_t steps = 0;
    auto at = targets.find(queue.settings.dead_letter_queue);
    for (; at != targets.end() && steps < queues.size(); at = targets.find(at->second)) ++steps;
    return steps;
  };
  std::ranges::stable_sort(queues, {}, depth);
}

}  // namespace

Result<bool> Exporter::read(Reader& reader, TimePoint now) {
  Result<void> done;
  switch (step_) {
    case Step::begin:
      done = begin(reader, now);
      break;
    case Step::groups:
      done = read_groups(reader, now);
      break;
    case Step::schedules:
      done = read_schedules(reader);
      break;
    case Step::memos:
      done = read_memos(reader, now);
      break;
    case Step::tasks:
      done = read_tasks(reader);
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
  write_all(out, "group", groups_, written.groups);
  write_all(out, "schedule", schedules_, written.schedules);
  write_all(out, "memo", memos_, written.memos);
  write_all(out, "task", tasks_, written.tasks);
  if (!std::exchange(ended_, false)) return;
  wire::append_line(out, "end", wire::EndFields{.counts = written, .left_out = report_.left_out});
}

void Exporter::leave_out(std::string what) {
  constexpr std::size_t most = 100;  // the list of what is left out is bounded
  if (report_.left_out.size() < most) report_.left_out.push_back(std::move(what));
}

Result<void> Exporter::begin(Reader& reader, TimePoint now) {
  // Tasks put from now on have greater numbers and are not part of this export.
  const auto newest = reader.list({.limit = 1});
  if (!newest) return std::unexpected(newest.error());
  if (!newest->tasks.empty()) last_ = newest->tasks.front().number;
  const auto counts = reader.counts(std::nullopt, now);
  if (!counts) return std::unexpected(counts.error());
  for (const QueueCounts& each : *counts) total_ += each.total();
  auto queues = reader.queues(std::nullopt);
  if (!queues) return std::unexpected(std::move(queues.error()));
  put_targets_first(*queues);
  for (Queue& queue : *queues) {
    if (queue.settings.name == operations) {
      note_names(leaving_, queue);
    } else {
      const std::string name = queue.settings.name;
      const bool has_rules = queue.settings.groups.has_value();
      if (note_queue(std::move(queue)) && has_rules) grouped_.push_back(name);
    }
  }
  wire::append_line(header_, header_key,
                    wire::HeaderFields{.format = format_number,
                                       .minor = minor_number,
                                       .store = reader.traits().name,
                                       .exported_at = format_time(now)});
  step_ = Step::groups;
  return {};
}

// One page of the groups of one queue. Those that follow its rules have no line.
Result<void> Exporter::read_groups(Reader& reader, TimePoint now) {
  if (grouped_.empty()) {
    step_ = Step::schedules;
    return {};
  }
  group_page_.queue = grouped_.back();
  group_page_.limit = limits::max_page;
  auto page = reader.groups(group_page_, now);
  if (!page && page.error().code != ErrorCode::not_found) {
    return std::unexpected(std::move(page.error()));
  }
  group_page_.after.clear();
  if (page) {
    for (Group& group : page->groups) {
      if (!group.override || !counts(*group.override, now)) continue;
      groups_.push_back({.queue = grouped_.back(),
                         .name = std::move(group.name),
                         .now = std::move(group.override)});
    }
    group_page_.after = std::move(page->next);
  }
  if (group_page_.after.empty()) grouped_.pop_back();  // its last page, or it was removed
  return {};
}

Result<void> Exporter::read_schedules(Reader& reader) {
  auto schedules = reader.schedules(std::nullopt);
  if (!schedules) return std::unexpected(std::move(schedules.error()));
  for (Schedule& schedule : *schedules) {
    const auto known = need_queue(reader, schedule.task.queue);
    if (!known) return std::unexpected(known.error());
    if (!*known) {
      leave_out(fmt::format("schedule \"{}\": its queue is gone", schedule.name));
      continue;
    }
    schedules_.push_back(std::move(schedule));
  }
  step_ = Step::memos;
  return {};
}

Result<void> Exporter::read_memos(Reader& reader, TimePoint now) {
  recall_.limit = memos_per_page;
  auto memos = reader.recall(recall_, now);
  if (!memos) return std::unexpected(std::move(memos.error()));
  memos_ = std::move(*memos);
  if (memos_.size() < memos_per_page) {
    step_ = Step::tasks;
  } else {
    recall_.after = memos_.back().key;
  }
  std::erase_if(memos_, [](const Memo& memo) { return memo.key.starts_with(operation_memos); });
  return {};
}

void Exporter::note_names(Names& names, const Queue& queue) {
  names.insert(queue.settings.name);
  names.insert(queue.settings.id);
  if (queue.settings.number) names.insert(*queue.settings.number);
}

bool Exporter::note_queue(Queue queue) {
  if (queue.removing) {
    leave_out(fmt::format("queue \"{}\" and its tasks: it is being removed", queue.settings.name));
    note_names(leaving_, queue);
    return false;
  }
  note_names(known_, queue);
  queues_.push_back(std::move(queue));
  return true;
}

// Reads only a queue that was not there when the export began, and each of those once.
Result<bool> Exporter::need_queue(Reader& reader, const QueueRef& queue) {
  if (known_.contains(queue)) return true;
  if (leaving_.contains(queue)) return false;
  auto found = reader.queues(queue);
  if (found) {
    const std::string to = found->front().settings.dead_letter_queue;
    if (!to.empty()) {
      if (const auto known = need_queue(reader, to); !known) return known;
    }
    return note_queue(std::move(found->front()));
  }
  if (found.error().code != ErrorCode::not_found) return std::unexpected(found.error());
  leaving_.insert(queue);
  if (const auto* name = std::get_if<std::string>(&queue)) {
    leave_out(fmt::format("queue \"{}\" and its tasks: it was removed", *name));
  }
  return false;
}

// Lists give the newest first, but tasks must be exported in the order of their arrival, or equal
// ones would change places. So a window of numbers moves upwards, as wide as fits into one page.
Result<void> Exporter::read_tasks(Reader& reader) {
  if (next_ > last_) {
    step_ = Step::end;
    return {};
  }
  const TaskNumber end{std::min(next_.value + window_, last_.value + 1)};
  auto page =
      reader.list({.before = end, .from = next_, .limit = tasks_per_page, .detail = Detail::full});
  if (!page) return std::unexpected(std::move(page.error()));
  if (page->next) {
    window_ = std::max<std::uint64_t>(window_ / 4, 1);
    return {};
  }
  next_ = end;
  if (page->tasks.size() < tasks_per_page / 2) window_ = std::min(window_ * 2, widest_window);
  seen_ += page->tasks.size();
  for (Task& task : page->tasks) {
    const auto known = need_queue(reader, task.queue);
    if (!known) return std::unexpected(known.error());
    if (*known) tasks_.push_back(std::move(task));
  }
  std::ranges::reverse(tasks_);
  return {};
}

}  // namespace millrace::transfer
