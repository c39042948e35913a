#include "broker/family.h"

#include <algorithm>
#include <utility>

#include "broker/seen.h"
#include "core/limits.h"
#include "store/store.h"

namespace millrace {
namespace {

constexpr std::string_view webhooks = "$webhooks";
constexpr std::size_t most_children = 100;
constexpr std::size_t most_deliveries = 10;
constexpr unsigned newest_pages = 2;
constexpr std::size_t most_moments = 3;
constexpr Parts without_payload{.payload = false};

// When follow-ups and webhooks are put: the last moments, in order.
std::vector<TimePoint> moments_of(const Task& task) {
  std::vector<TimePoint> moments;
  for (const Attempt& attempt : task.history) moments.push_back(attempt.ended_at);
  if (task.started_at) moments.push_back(*task.started_at);
  if (task.finished_at) moments.push_back(*task.finished_at);
  std::ranges::sort(moments);
  const auto same = std::ranges::unique(moments);
  moments.erase(same.begin(), same.end());
  if (moments.size() > most_moments) {
    moments.erase(moments.begin(), moments.end() - most_moments);
  }
  return moments;
}

class FamilySearch {
 public:
  FamilySearch(Reader& reader, const Ask& ask) : reader_(reader), ask_(ask) {}

  Result<Family> run(const TaskRef& ref) {
    auto task = seen_by(ask_, ref, find_task(reader_, ref, without_payload));
    if (!task) return std::unexpected(std::move(task.error()));
    family_.task = std::move(*task);
    auto done = find_parent();
    if (done) done = look_at_newest();
    for (const TimePoint moment : moments_of(family_.task)) {
      if (done && !family_.complete) done = look_at(moment);
    }
    if (done) done = read_deliveries();
    if (!done) return std::unexpected(std::move(done.error()));
    std::ranges::sort(family_.children, {}, &Task::number);
    return std::move(family_);
  }

 private:
  Result<void> find_parent() {
    if (family_.task.parent == TaskId{}) return {};
    auto parent = find_task(reader_, family_.task.parent, head_only);
    if (!parent && parent.error().code != ErrorCode::not_found) {
      return std::unexpected(std::move(parent.error()));
    }
    if (parent && ask_.sees(parent->queue)) family_.parent = std::move(*parent);
    return {};
  }

  Result<void> look_at_newest() {
    ListRequest request{.from = first(), .limit = limits::max_page};
    for (unsigned pages = 0; pages < newest_pages; ++pages) {
      auto page = reader_.list(request);
      if (!page) return std::unexpected(std::move(page.error()));
      if (!page->tasks.empty()) newest_ = std::max(newest_, page->tasks.front().number);
      note(*page);
      family_.complete = !page->next;
      if (family_.complete) return {};
      request.before = page->next;
    }
    return {};
  }

  // Looks at the tasks that were put at and after a moment, as far as one page goes.
  Result<void> look_at(TimePoint moment) {
    const auto place = place_of(moment);
    if (!place) return std::unexpected(place.error());
    auto page = reader_.list({.before = TaskNumber{place->value + limits::max_page},
                              .from = *place,
                              .limit = limits::max_page});
    if (!page) return std::unexpected(std::move(page.error()));
    note(*page);
    return {};
  }

  // The first task that was put at a moment or after it, by bisection. Tasks before `low` are
  // older; `high` is not, or is beyond the newest.
  Result<TaskNumber> place_of(TimePoint moment) {
    std::uint64_t low = first().value;
    std::uint64_t high = newest_.value + 1;
    while (low < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      const auto page =
          reader_.list({.before = TaskNumber{middle + 1}, .from = TaskNumber{low}, .limit = 1});
      if (!page) return std::unexpected(page.error());
      // A number that is gone is neither before nor after: the next task that exists decides.
      const bool after = !page->tasks.empty() && page->tasks.front().created_at >= moment;
      if (after) high = page->tasks.front().number.value;
      if (!after) low = middle + 1;
    }
    return TaskNumber{low};
  }

  // Keeps children and deliveries. Tasks of other internal queues are not shown, and neither are
  // those of queues that the caller may not see.
  void note(TaskPage& page) {
    family_.looked_at += page.looked_at;
    for (Task& task : page.tasks) {
      if (task.parent != family_.task.id) continue;
      const bool is_delivery = task.queue == webhooks;
      if (!is_delivery && (task.queue.starts_with('$') || !ask_.sees(task.queue))) continue;
      auto& kept = is_delivery ? family_.deliveries : family_.children;
      const std::size_t most = is_delivery ? most_deliveries : most_children;
      const bool is_known = std::ranges::find(kept, task.id, &Task::id) != kept.end();
      if (kept.size() < most && !is_known) kept.push_back(std::move(task));
    }
  }

  Result<void> read_deliveries() {
    if (family_.deliveries.empty()) return {};
    std::vector<TaskRef> refs;
    for (const Task& each : family_.deliveries) refs.emplace_back(each.id);
    auto found = reader_.find(refs, without_payload);
    if (!found) return std::unexpected(std::move(found.error()));
    for (std::size_t i = 0; i < refs.size(); ++i) {
      auto& task = (*found)[i];
      if (task) family_.deliveries[i] = std::move(*task);  // else it has just been removed
    }
    // The response is noted before a delivery ends: read after the deliveries, it is never older.
    auto again = find_task(reader_, family_.task.id, without_payload);
    if (again) family_.task.delivery = std::move(again->delivery);
    return {};
  }

  TaskNumber first() const { return {family_.task.number.value + 1}; }

  Reader& reader_;
  const Ask& ask_;
  Family family_;
  TaskNumber newest_ = {};
};

}  // namespace

Result<Family> find_family(Reader& reader, const TaskRef& task, const Ask& ask) {
  return FamilySearch(reader, ask).run(task);
}

}  // namespace millrace
