#include "broker/dead_walk.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <span>
#include <tuple>
#include <utility>

#include "core/clip.h"
#include "core/error_group.h"
#include "core/limits.h"
#include "store/store.h"

namespace millrace {
namespace {

// How many dead letters one step reads with their errors, which may be as many reads of a disk.
constexpr std::size_t read_per_step = 256;

constexpr Parts with_notes{.payload = false};

bool is_dead(TaskState state) {
  return state == TaskState::failed || state == TaskState::dead;
}

std::string_view message_of(const Task& task) {
  return task.error ? std::string_view(task.error->message) : std::string_view();
}

TimePoint failed_at(const Task& task) {
  if (task.error && task.error->failed_at != TimePoint{}) return task.error->failed_at;
  return task.finished_at.value_or(task.updated_at);
}

std::size_t hash_of(std::string_view type) {
  return std::hash<std::string_view>()(type);
}

}  // namespace

// ---- What is known -----------------------------------------------------------------------------

KnownDead::Entry* KnownDead::find(TaskNumber number, Version version) {
  const auto at = entries_.find(number.value);
  return at == entries_.end() || at->second.version != version ? nullptr : &at->second;
}

void KnownDead::add(const Task& task) {
  entries_[task.number.value] = {.version = task.version,
                                 .group = error_group_of(task),
                                 .type = hash_of(task.type),
                                 .failed_at = failed_at(task),
                                 .walk = walk_};
}

void KnownDead::end_walk() {
  if (entries_.size() <= most) return;
  std::erase_if(entries_, [this](const auto& entry) { return entry.second.walk != walk_; });
}

// ---- Counting ----------------------------------------------------------------------------------

DeadWalk::DeadWalk(KnownDead& known, std::optional<QueueRef> queue, std::optional<std::string> type)
    : known_(known),
      queue_(std::move(queue)),
      type_(std::move(type)),
      type_hash_(type_ ? hash_of(*type_) : 0) {
  known_.begin_walk();
}

Result<bool> DeadWalk::step(Reader& reader) {
  if (!listed_all_ || !page_.empty()) {
    if (page_.empty()) {
      if (auto good = list(reader); !good) return std::unexpected(std::move(good.error()));
    }
    if (auto good = read_unknown(reader); !good) return std::unexpected(std::move(good.error()));
    if (!unknown_.empty()) return false;
    for (const Task& task : page_) count(task);
    page_.clear();
    if (listed_all_) end_count();
    return false;
  }
  if (auto good = read_groups(reader); !good) return std::unexpected(std::move(good.error()));
  return largest_.empty();
}

Result<void> DeadWalk::list(Reader& reader) {
  auto page = reader.list({.queue = queue_,
                           .states = {TaskState::failed, TaskState::dead},
                           .before = before_,
                           .limit = limits::max_page,
                           .detail = Detail::state});
  if (!page) return std::unexpected(std::move(page.error()));
  found_.looked_at += page->looked_at;
  before_ = page->next;
  found_.complete = !page->next;
  listed_all_ = !page->next || found_.looked_at >= most_looked_at;
  page_ = std::move(page->tasks);
  if (!queue_) std::erase_if(page_, [](const Task& task) { return task.queue.starts_with('$'); });
  for (const Task& task : page_) {
    if (known_.find(task.number, task.version) == nullptr) unknown_.emplace_back(task.id);
  }
  return {};
}

Result<void> DeadWalk::read_unknown(Reader& reader) {
  const std::size_t part = std::min(unknown_.size(), read_per_step);
  if (part == 0) return {};
  const auto found = reader.find(std::span(unknown_).last(part), with_notes);
  if (!found) return std::unexpected(found.error());
  for (const Result<Task>& task : *found) {
    if (task && is_dead(task->state)) known_.add(*task);  // otherwise retried or removed meanwhile
  }
  unknown_.resize(unknown_.size() - part);
  return {};
}

void DeadWalk::count(const Task& task) {
  KnownDead::Entry* const entry = known_.find(task.number, task.version);
  if (entry == nullptr) return;
  known_.met(*entry);
  if (type_ && entry->type != type_hash_) return;
  const auto [at, is_new] = tallies_.try_emplace(entry->group);
  Tally& tally = at->second;
  if (is_new) {
    tally = {.group = entry->group, .first_at = entry->failed_at, .last_at = entry->failed_at};
  }
  ++tally.count;
  tally.first_at = std::min(tally.first_at, entry->failed_at);
  tally.last_at = std::max(tally.last_at, entry->failed_at);
  if (tally.samples.size() < most_samples) tally.samples.push_back(task.id);
}

// Larger groups first, then those that grew last.
void DeadWalk::end_count() {
  known_.end_walk();
  for (auto& [group, tally] : tallies_) largest_.push_back(std::move(tally));
  tallies_.clear();
  std::ranges::sort(largest_, [](const Tally& a, const Tally& b) {
    return std::tie(b.count, b.last_at, a.group) < std::tie(a.count, a.last_at, b.group);
  });
  if (largest_.size() > most_groups) {
    found_.more = largest_.size() - most_groups;
    largest_.resize(most_groups);
  }
  std::ranges::reverse(largest_);
}

// ---- What the groups are -----------------------------------------------------------------------

Result<void> DeadWalk::read_groups(Reader& reader) {
  for (std::size_t left = read_per_step / most_samples; left > 0 && !largest_.empty(); --left) {
    const Tally& tally = largest_.back();
    auto samples =
        reader.find(std::vector<TaskRef>(tally.samples.begin(), tally.samples.end()), with_notes);
    if (!samples) return std::unexpected(std::move(samples.error()));
    if (auto group = group_of(tally, std::move(*samples))) {
      found_.groups.push_back(std::move(*group));
    }
    largest_.pop_back();
  }
  return {};
}

// nullopt: its newest tasks are not dead any more, so the next walk will know better.
std::optional<DeadGroup> DeadWalk::group_of(const Tally& tally,
                                            std::vector<Result<Task>> samples) const {
  std::optional<DeadGroup> group;
  for (const Result<Task>& task : samples) {
    if (!task || !is_dead(task->state) || error_group_of(*task) != tally.group) continue;
    if (type_ && task->type != *type_) continue;
    if (!group) {
      group = DeadGroup{.key = error_group_name(tally.group),
                        .queue = task->queue,
                        .type = task->type,
                        .code = task->error ? task->error->code : std::string(),
                        .message = error_pattern(message_of(*task)),
                        .count = tally.count,
                        .first_at = tally.first_at,
                        .last_at = tally.last_at};
    }
    group->samples.push_back({.id = task->id,
                              .number = task->number,
                              .message = clip(std::string(message_of(*task)), most_message),
                              .failed_at = failed_at(*task)});
  }
  return group;
}

}  // namespace millrace
