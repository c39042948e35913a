#include "store/embedded/list.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/limits.h"
#include "core/uuid.h"
#include "store/embedded/verbs.h"

namespace millrace::embedded {
namespace {

// What one turn may cost, so that a change waits for well under a millisecond.
constexpr std::uint32_t walked_per_turn = 1000;
constexpr std::size_t copied_per_turn = 1U << 20U;  // bytes

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
std::vector<Walk> walks_of(const State& state, const ListRequest& request,
                           std::optional<TaskNumber> before, const QueueEntry* only) {
  std::vector<Walk> walks;
  const auto add = [&](const QueueEntry& queue, std::size_t of_state) {
    const ByNumber& tasks = queue.by_state[of_state];
    if (tasks.begin() == tasks.end()) return;
    auto at = before ? tasks.lower_bound(before->value) : tasks.end();
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

void pop(std::vector<Walk>& walks) {
  std::ranges::pop_heap(walks, is_older);
  --walks.back().at;
  if (walks.back().ended()) {
    walks.pop_back();
  } else {
    std::ranges::push_heap(walks, is_older);
  }
}

std::uint16_t short_hash(const std::optional<std::string>& name) {
  return name ? static_cast<std::uint16_t>(name_hash(*name)) : std::uint16_t{0};
}

}  // namespace

Result<void> check_list(const ListRequest& request) {
  if (request.limit < 1 || request.limit > limits::max_page) {
    return fail(ErrorCode::invalid,
                fmt::format("limit is {}; 1 to {} are allowed", request.limit, limits::max_page));
  }
  if (request.priority && *request.priority > limits::max_priority) {
    return fail(ErrorCode::invalid,
                fmt::format("priority is {}; 0 to 9 are allowed", *request.priority));
  }
  return {};
}

ListWalk::ListWalk(const ListRequest& request)
    : request_(request),
      type_(request.type ? name_hash(*request.type) : 0),
      client_(short_hash(request.client_id)),
      group_(short_hash(request.group)),
      before_(request.before) {}

bool ListWalk::may_match(const Slot& slot) const {
  if (request_.priority && slot.priority != *request_.priority) return false;
  if (request_.type && slot.type != type_) return false;
  if (request_.client_id && slot.client != client_) return false;
  if (request_.group && slot.group != group_) return false;
  if (request_.created_from && slot.created_at() < *request_.created_from) return false;
  return !request_.created_until || slot.created_at() < *request_.created_until;
}

// What may_match() could only guess.
bool ListWalk::matches(const Task& task) const {
  const auto& tag = request_.tag;
  if (tag && std::ranges::find(task.tags, *tag) == task.tags.end()) return false;
  if (request_.type && task.type != *request_.type) return false;
  if (request_.client_id && task.client_id != *request_.client_id) return false;
  return !request_.group || task.group == *request_.group;
}

bool ListWalk::is_full() const {
  return page_.tasks.size() == request_.limit || bytes_ >= limits::max_taken_bytes;
}

Result<std::vector<TaskCopy>> ListWalk::step(const State& state) {
  const QueueEntry* only = request_.queue ? state.queue(*request_.queue) : nullptr;
  if (request_.queue && only == nullptr) return unknown_queue(*request_.queue);
  const Wanted wanted = Wanted::of_list(request_.full);
  std::vector<TaskCopy> copies;
  std::size_t copied = 0;
  std::uint32_t left = std::min(walked_per_turn, limits::max_walk - page_.looked_at);
  page_.next.reset();
  for (auto walks = walks_of(state, request_, before_, only); !walks.empty(); pop(walks)) {
    const auto [number, at] = walks.front().peek();
    if (number < request_.from.value) break;  // all others are older
    const bool enough = page_.tasks.size() + copies.size() == request_.limit;
    if (left == 0 || enough || copied >= copied_per_turn) {
      page_.next = before_ = TaskNumber{number + 1};
      ended_ = page_.looked_at == limits::max_walk;
      return copies;
    }
    --left;
    ++page_.looked_at;
    const Slot& slot = state.slot(at);
    if (!may_match(slot)) continue;
    copies.push_back(copy_task(state, slot, wanted));
    copied += sizeof(TaskCopy) + bytes_of(copies.back());
  }
  ended_ = true;
  return copies;
}

bool ListWalk::add(Task task, std::size_t read) {
  if (is_full()) {
    page_.next = last_;
    ended_ = true;
    return false;
  }
  last_ = task.number;
  bytes_ += read;
  if (matches(task)) page_.tasks.push_back(std::move(task));
  if (is_full() && page_.next) ended_ = true;
  return true;
}

}  // namespace millrace::embedded
