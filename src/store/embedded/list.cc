#include <fmt/format.h>

#include <algorithm>

#include "core/limits.h"
#include "core/uuid.h"
#include "store/embedded/verbs.h"

namespace millrace::embedded {
namespace {

// One (queue, state), walked from the newest number down.
struct Walk {
  const ByNumber* tasks;
  ByNumber::Iterator at;  // one past the next entry

  bool ended() const { return at == tasks->begin(); }
  ByNumber::Entry peek() const {
    auto before = at;
    --before;
    return *before;
  }
};

bool is_older(const Walk& a, const Walk& b) {
  return a.peek().first < b.peek().first;
}

// All that the request's queue and states name, as a heap with the newest number on top.
std::vector<Walk> walks_of(const State& state, const ListRequest& request, const QueueEntry* only) {
  std::vector<Walk> walks;
  const auto add = [&](const QueueEntry& queue, std::size_t of_state) {
    const ByNumber& tasks = queue.by_state[of_state];
    auto at = request.before ? tasks.lower_bound(request.before->value) : tasks.end();
    if (!(at == tasks.begin())) walks.push_back({&tasks, at});
  };
  const auto add_queue = [&](const QueueEntry& queue) {
    for (std::size_t of_state = 0; of_state < state_count; ++of_state) {
      const auto wanted = static_cast<TaskState>(of_state);
      const auto& states = request.states;
      if (states.empty() || std::ranges::find(states, wanted) != states.end()) {
        add(queue, of_state);
      }
    }
  };
  if (only != nullptr) {
    add_queue(*only);
  } else {
    for (const auto& [name, index] : state.queue_names()) add_queue(state.queue_at(index));
  }
  std::ranges::make_heap(walks, is_older);
  return walks;
}

bool needs_body(const ListRequest& request) {
  return request.type || request.client_id || request.group || request.tag ||
         request.created_from || request.created_until;
}

bool matches(const State& state, const Slot& slot, const ListRequest& request) {
  if (request.priority && slot.priority != *request.priority) return false;
  if (!needs_body(request)) return true;
  const Task given = state.given(slot);
  if (request.type && given.type != *request.type) return false;
  if (request.client_id && given.client_id != *request.client_id) return false;
  if (request.group && given.group != *request.group) return false;
  if (request.tag && std::ranges::find(given.tags, *request.tag) == given.tags.end()) return false;
  if (request.created_from && given.created_at < *request.created_from) return false;
  return !request.created_until || given.created_at < *request.created_until;
}

}  // namespace

Result<TaskPage> list(const State& state, const ListRequest& request) {
  if (request.limit < 1 || request.limit > limits::max_page) {
    return fail(ErrorCode::invalid,
                fmt::format("limit is {}; 1 to {} are allowed", request.limit, limits::max_page));
  }
  if (request.priority && *request.priority > limits::max_priority) {
    return fail(ErrorCode::invalid,
                fmt::format("priority is {}; 0 to 9 are allowed", *request.priority));
  }
  const QueueEntry* only = request.queue ? state.queue(*request.queue) : nullptr;
  if (request.queue && only == nullptr) return unknown_queue(*request.queue);
  std::vector<Walk> walks = walks_of(state, request, only);
  TaskPage page;
  std::size_t bytes = 0;
  while (!walks.empty()) {
    const auto [number, at] = walks.front().peek();
    if (number < request.from.value) break;  // all others are older
    if (page.tasks.size() == request.limit || page.looked_at == limits::max_walk ||
        bytes >= limits::max_taken_bytes) {
      page.next = TaskNumber{number + 1};
      break;
    }
    ++page.looked_at;
    const Slot& slot = state.slot(at);
    if (matches(state, slot, request)) {
      const Task& found = page.tasks.emplace_back(state.task(slot, request.full));
      bytes += found.payload.size() + found.result.size();
    }
    std::ranges::pop_heap(walks, is_older);
    --walks.back().at;
    if (walks.back().ended()) {
      walks.pop_back();
    } else {
      std::ranges::push_heap(walks, is_older);
    }
  }
  return page;
}

}  // namespace millrace::embedded
