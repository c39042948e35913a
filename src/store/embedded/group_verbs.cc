#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/limits.h"
#include "core/quote.h"
#include "core/validate.h"
#include "store/embedded/verbs.h"

namespace millrace::embedded {
namespace {

// How many groups one page looks at.
constexpr std::size_t most_looked_at = 10'000;

std::optional<GroupOverride> in_force(const GroupEntry& entry, TimePoint now) {
  if (!entry.override || !counts(*entry.override, now)) return std::nullopt;
  return *entry.override;
}

// Without rules nothing keeps the tasks of a group by their moments.
millrace::Group view_of(State& state, std::uint32_t handle, TimePoint now) {
  const GroupEntry& entry = state.groups.at(handle);
  const QueueEntry& queue = state.queue_at(entry.queue);
  millrace::Group group{.queue = queue.settings().name,
                        .name = entry.name,
                        .waiting = entry.waiting,
                        .ready = entry.ready,
                        .running = entry.running,
                        .override = in_force(entry, now)};
  if (!queue.line) return group;
  group.oldest = queue.line->oldest_of(handle, now);
  group.room_at = queue.line->room_at(handle, now);
  group.first = queue.line->first_of(handle, now);
  return group;
}

Result<void> check_count(const State& state, const QueueEntry& queue, TimePoint now) {
  std::size_t count = 0;
  for (const auto& [handle, same] : state.groups.of(queue.index)) {
    if (in_force(state.groups.at(handle), now)) ++count;
  }
  if (count < limits::max_group_overrides) return {};
  return fail(ErrorCode::conflict,
              fmt::format("{} groups of queue \"{}\" have settings of their own, the most that a "
                          "queue keeps; reset some first",
                          count, queue.settings().name),
              "group");
}

// The place of the group that a page goes on from.
Result<std::uint32_t> place_after(const std::string& text) {
  std::uint32_t place = 0;
  if (text.empty()) return place;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, place);
  if (rest == end && error == std::errc{}) return place;
  return fail(ErrorCode::invalid,
              fmt::format("after is {}; allowed is the `next` of the page before", in_quotes(text)),
              "after");
}

}  // namespace

Result<millrace::Group> put_group(State& state, const PutGroup& change, TimePoint now) {
  if (auto good = validate(change); !good) return std::unexpected(std::move(good.error()));
  const QueueEntry* queue = state.queue(change.queue);
  if (queue == nullptr) return unknown_queue(change.queue);
  if (!queue->line) {
    return fail(ErrorCode::conflict,
                fmt::format("queue \"{}\" has no rules for groups; set its groups first",
                            queue->settings().name),
                "groups");
  }
  const auto to = change.now && counts(*change.now, now) ? change.now : std::nullopt;
  const auto found = state.groups.find(queue->index, change.name);
  const auto stored = found == no_group ? std::nullopt : in_force(state.groups.at(found), now);
  if (stored != change.seen) {
    return fail(ErrorCode::conflict, fmt::format("group {} of queue \"{}\" has changed since",
                                                 in_quotes(change.name), queue->settings().name));
  }
  if (found == no_group && !to) {
    return millrace::Group{.queue = queue->settings().name, .name = change.name};
  }
  if (to && !stored) {
    if (auto good = check_count(state, *queue, now); !good) {
      return std::unexpected(std::move(good.error()));
    }
  }
  const auto handle = state.groups.make(queue->index, change.name);
  queue->line->set_override(handle, to);
  return view_of(state, handle, now);
}

Result<GroupPage> groups(State& state, const GroupsRequest& request, TimePoint now) {
  const QueueEntry* queue = state.queue(request.queue);
  if (queue == nullptr) return unknown_queue(request.queue);
  GroupPage page;
  if (request.name) {
    const auto handle = state.groups.find(queue->index, *request.name);
    page.groups.push_back(
        handle == no_group ? millrace::Group{.queue = queue->settings().name, .name = *request.name}
                           : view_of(state, handle, now));
    return page;
  }
  const auto from = place_after(request.after);
  if (!from) return std::unexpected(from.error());
  const auto& all = state.groups.of(queue->index);
  std::size_t looked_at = 0;
  for (auto at = all.lower_bound(*from); at != all.end(); ++at) {
    const std::uint32_t handle = (*at).first;
    if (page.groups.size() == request.limit || looked_at++ == most_looked_at) {
      page.next = std::to_string(handle);
      break;
    }
    const GroupEntry& entry = state.groups.at(handle);
    if (!entry.has_tasks() && !in_force(entry, now)) continue;
    page.groups.push_back(view_of(state, handle, now));
  }
  return page;
}

}  // namespace millrace::embedded
