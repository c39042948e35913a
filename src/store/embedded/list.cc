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
constexpr std::size_t copied_per_turn = 256;
constexpr ReadCost read_per_turn{.bytes = 1U << 20U, .reads = 256};

// An edge has room for no greater number.
constexpr TaskNumber greatest_child{std::uint64_t{1} << (63U - Edge::place_bits)};

std::uint16_t short_hash(const std::optional<std::string>& name) {
  return name ? static_cast<std::uint16_t>(name_hash(*name)) : std::uint16_t{0};
}

}  // namespace

Result<void> check_list(const ListRequest& request) {
  if (request.limit < 1 || request.limit > limits::max_page) {
    return fail(ErrorCode::invalid,
                fmt::format("limit is {}; 1 to {} are allowed", request.limit, limits::max_page),
                "limit");
  }
  if (request.priority && *request.priority > limits::max_priority) {
    return fail(ErrorCode::invalid,
                fmt::format("priority is {}; 0 to 9 are allowed", *request.priority), "priority");
  }
  return {};
}

ListWalk::ListWalk(const ListRequest& request)
    : request_(request),
      type_(request.type ? name_hash(*request.type) : 0),
      client_(short_hash(request.client_id)),
      group_(short_hash(request.group)),
      tasks_(request.states, request.before, request.from),
      below_(std::min(request.before.value_or(greatest_child), greatest_child).value) {}

NewestFirst::Next ListWalk::peek(const State& state) {
  return request_.waits_for ? peek_waiting(state) : tasks_.peek(state);
}

// The edges of a task are in the order of those that wait, so any turn finds where to go on.
NewestFirst::Next ListWalk::peek_waiting(const State& state) {
  if (state.edges.empty()) return {};
  auto edge = state.edges.lower_bound(Edge(*request_.waits_for, below_, 0));
  if (edge == state.edges.begin()) return {};
  const auto [key, slot] = *--edge;
  if (key.parent != *request_.waits_for || key.number() < request_.from.value) return {};
  return {.kind = NewestFirst::Next::Kind::task, .number = key.number(), .slot = slot};
}

void ListWalk::pop() {
  if (!request_.waits_for) return tasks_.pop();
  below_ = newest_;
}

bool ListWalk::may_match(const Slot& slot) const {
  // A walk by queue and state has only such tasks.
  if (request_.waits_for) {
    if (queue_ && slot.queue != *queue_) return false;
    const auto& states = request_.states;
    if (!states.empty() && std::ranges::find(states, slot.state) == states.end()) return false;
  }
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

// Whether may_match() is all there is to say.
bool ListWalk::matches_for_sure() const {
  return !request_.tag && !request_.type && !request_.client_id && !request_.group;
}

// A search that few tasks match loads many at once, but not at first: it may be lucky.
std::size_t ListWalk::most_copies() {
  std::size_t most = request_.limit - page_.tasks.size();
  if (request_.tag) {
    most = std::max(most, eager_);
    eager_ = std::min(4 * eager_, copied_per_turn);
  }
  return std::min(most, copied_per_turn);
}

Result<std::vector<TaskCopy>> ListWalk::step(const State& state) {
  if (!std::exchange(begun_, true) && request_.queue) {
    const QueueEntry* only = state.queue(*request_.queue);
    if (only == nullptr) return unknown_queue(*request_.queue);
    tasks_.only(only->index);
    queue_ = only->index;
  }
  std::vector<TaskCopy> copies;
  page_.next.reset();
  if (!request_.waits_for && !tasks_.begin_turn(state)) return copies;
  const Wanted wanted = Wanted::of_list(request_.detail, !matches_for_sure());
  const std::size_t most = most_copies();
  const ReadCost left{.bytes = std::min(read_per_turn.bytes, most_read.bytes - read_.bytes),
                      .reads = std::min(read_per_turn.reads, most_read.reads - read_.reads)};
  ReadCost cost;
  std::uint32_t walked = std::min(walked_per_turn, limits::max_walk - page_.looked_at);
  for (;; pop()) {
    const NewestFirst::Next next = peek(state);
    newest_ = next.number;
    if (next.kind == NewestFirst::Next::Kind::none) {
      ended_ = true;
      return copies;
    }
    const bool enough = next.kind == NewestFirst::Next::Kind::later || walked == 0 ||
                        copies.size() == most || cost.bytes >= left.bytes ||
                        cost.reads >= left.reads;
    if (enough) {
      end_step(next.number, copies.size());
      return copies;
    }
    --walked;
    ++page_.looked_at;
    const Slot& slot = state.slot(next.slot);
    if (!may_match(slot)) continue;
    const TaskCopy& copy = copies.emplace_back(copy_task(state, slot, wanted));
    cost += cost_of(copy);
    read_.bytes += copy.body.size() + copy.notes.size();
  }
}

void ListWalk::end_step(std::uint64_t next, std::size_t copies) {
  page_.next = TaskNumber{next + 1};
  const bool will_be_full = matches_for_sure() && page_.tasks.size() + copies == request_.limit;
  ended_ = page_.looked_at == limits::max_walk || will_be_full;
}

void ListWalk::loaded(const ReadCost& cost) {
  read_ += cost;
  const bool enough = read_.bytes >= most_read.bytes || read_.reads >= most_read.reads;
  if (enough && page_.next) ended_ = true;
}

bool ListWalk::add(Task task) {
  if (is_full()) {
    page_.next = last_;
    ended_ = true;
    return false;
  }
  last_ = task.number;
  if (matches(task)) page_.tasks.push_back(std::move(task));
  if (is_full() && page_.next) ended_ = true;
  return true;
}

}  // namespace millrace::embedded
