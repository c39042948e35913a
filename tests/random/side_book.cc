// What a side knows about its own store: tokens, numbers, versions.
#include <algorithm>

#include "core/decide.h"
#include "core/transition.h"
#include "store/store.h"
#include "tests/random/side.h"
#include "tests/support/print.h"

namespace millrace::test {

namespace {

constexpr Token never_given{0xDEADBEEFCAFE};

std::string name_of(const TaskId& id) {
  return ::testing::PrintToString(id);
}

}  // namespace

// ---- Filling in -------------------------------------------------------------------------------

Token Side::token(const TaskId& id, TokenPick pick) const {
  if (pick == TokenPick::nil) return {};
  auto found = leases_.find(id);
  const std::size_t back = pick == TokenPick::earlier ? 2 : 1;
  if (pick == TokenPick::garbage || found == leases_.end() || found->second.size() < back) {
    return never_given;
  }
  return found->second[found->second.size() - back].lease.token;
}

Settlement Side::filled(const SettlePart& part) {
  auto settlement = part.settlement;
  const auto right = token(settlement.id, part.token);
  if (part.kind == ExpectKind::held) {
    settlement.expect = Held{right};
  } else if (part.kind == ExpectKind::lost) {
    auto found = leases_.find(settlement.id);
    const auto until = found == leases_.end() ? TimePoint{} : found->second.back().until;
    settlement.expect = Lost{right, until + part.until_skew};
  } else {
    const auto task = find_task(*store_, settlement.id);
    const auto version = task ? task->version.value : 1;
    settlement.expect = Unchanged{Version{version + static_cast<std::uint32_t>(part.version_skew)}};
  }
  return settlement;
}

// Settles as the broker settles what is overdue.
Settlement Side::decided(const Overdue& overdue, bool exhaust, TimePoint now) {
  if (const auto* unchanged = std::get_if<Unchanged>(&overdue.expect)) {
    if (overdue.parent) {
      return decide_orphaned(overdue.lease.id, unchanged->version, *overdue.parent, now,
                             overdue.lease.counters);
    }
    return decide_expired(overdue.lease.id, unchanged->version, now, overdue.lease.counters);
  }
  QueueSettings settings;
  if (const auto queues = store_->queues(QueueRef(overdue.lease.queue))) {
    settings = queues->front().settings;
  }
  const auto until = std::get<Lost>(overdue.expect).until;
  auto settlement =
      decide_lost(overdue.lease, until, overdue.cancel_requested, settings, RetryPolicy{}, now);
  if (exhaust && settlement.event == Event::lose) settlement.event = Event::exhaust;
  return settlement;
}

void Side::rewind(TaskNumber last_number, std::uint64_t last_version,
                  const std::set<Token>& unflushed) {
  std::erase_if(numbers_, [&](const auto& entry) { return entry.second > last_number; });
  greatest_ = std::min(greatest_, last_number);
  for (auto& [key, versions] : memo_versions_) {
    std::erase_if(versions, [&](std::uint64_t version) { return version > last_version; });
  }
  for (const auto& token : unflushed) tokens_.erase(token);
  last_due_.clear();
}

// ---- Making comparable ------------------------------------------------------------------------

// A task keeps its number; new tasks get greater ones.
void Side::heard(const TaskId& id, TaskNumber& number, bool fresh) {
  auto& known = numbers_[id];
  const bool again = number == known;
  if (number == TaskNumber{} || (fresh && number <= greatest_) || (!again && number < known)) {
    complain("number " + std::to_string(number.value) + " of " + name_of(id) + " is not the next");
  }
  known = number;
  greatest_ = std::max(greatest_, number);
  number = {};
}

void Side::given(const Lease& lease) {
  if (lease.token == Token{}) complain("a lease of " + name_of(lease.id) + " has no token");
  if (!tokens_.insert(lease.token).second) {
    complain("a token of " + name_of(lease.id) + " was given out before");
  }
  leases_[lease.id].push_back({.lease = lease, .until = lease.until});
}

Token Side::rank(const TaskId& id, Token token) const {
  if (token == Token{}) return {};
  auto found = leases_.find(id);
  if (found == leases_.end()) return never_given;
  for (std::size_t i = 0; i < found->second.size(); ++i) {
    if (found->second[i].lease.token == token) return Token{i + 1};
  }
  return never_given;
}

Put Side::comparable(Put put) {
  if (put.state) {
    heard(put.id, put.number, !put.existing);
  } else {
    put.number = {};  // the number of a task that is gone; its id may have been used again since
  }
  return put;
}

Lease Side::comparable(Lease lease) {
  heard(lease.id, lease.number, false);
  lease.token = rank(lease.id, lease.token);
  return lease;
}

Overdue Side::comparable(Overdue overdue) {
  if (auto* lost = std::get_if<Lost>(&overdue.expect)) {
    lost->token = rank(overdue.lease.id, lost->token);
  }
  overdue.lease = comparable(overdue.lease);
  return overdue;
}

Task Side::comparable(Task task) {
  heard(task.id, task.number, false);
  return task;
}

Memo Side::comparable(Memo memo) {
  const auto& versions = memo_versions_[memo.key];
  const auto found = std::ranges::find(versions, memo.version);
  if (memo.version != 0) {
    memo.version = static_cast<std::uint64_t>(found - versions.begin()) + 1;
  }
  return memo;
}

// ---- Looking at everything --------------------------------------------------------------------

Result<std::vector<Task>> Side::walk(ListRequest request) {
  std::vector<Task> tasks;
  while (true) {
    const auto page = store_->list(request);
    if (!page) return std::unexpected(page.error());
    if (page->tasks.size() > request.limit) complain("a page is longer than its limit");
    for (const auto& task : page->tasks) {
      if (request.before && task.number >= *request.before) complain("a list goes back");
      request.before = task.number;
      tasks.push_back(comparable(task));
    }
    if (!page->next) return tasks;
    if (request.before && *page->next > TaskNumber{request.before->value + 1}) {
      complain("a list's next goes back");
    }
    request.before = page->next;
  }
}

void Side::note_ids(const Operation& operation) {
  const auto note = [this](const std::vector<NewTask>& tasks) {
    for (const auto& task : tasks) ids_.insert(task.id);
  };
  if (const auto* put = std::get_if<PutStep>(&operation.call)) note(put->tasks);
  if (const auto* all = std::get_if<PutAllStep>(&operation.call)) note(all->tasks);
  if (const auto* restore = std::get_if<RestoreStep>(&operation.call)) {
    for (const auto& task : restore->tasks) ids_.insert(task.id);
  }
  if (const auto* work = std::get_if<WorkStep>(&operation.call)) {
    for (const auto& part : work->settlements) note(part.settlement.follow_ups);
  }
  if (const auto* cancel = std::get_if<CancelStep>(&operation.call)) {
    for (const auto& request : cancel->requests) note(request.follow_ups);
  }
  if (const auto* fire = std::get_if<FireStep>(&operation.call)) ids_.insert(fire->tick.task.id);
}

Answer Side::call(const LookStep& step, TimePoint now) {
  Answer answer;
  auto add = [&answer](const Answer& more) {
    answer.insert(answer.end(), more.begin(), more.end());
  };
  add(call(QueuesStep{}, now));
  add(call(CountsStep{}, now));
  add(call(ListStep{.request = {.limit = 1000, .detail = Detail::full}}, now));
  add(call(SchedulesStep{}, now));
  add(call(RecallStep{.request = {.limit = 1000}}, now));
  const auto queues = store_->queues(std::nullopt).value_or(std::vector<Queue>{});
  for (const auto& queue : queues) {
    if (step.groups) {
      add(call(GroupsStep{{.queue = queue.settings.name, .limit = 1000}}, now));
    }
    for (std::size_t i = 0; i < state_count; ++i) {
      const auto state = static_cast<TaskState>(i);
      std::string line = queue.settings.name + " " + std::string(millrace::name_of(state)) + ":";
      const auto tasks = walk({.queue = queue.settings.name, .states = {state}, .limit = 1000});
      for (const auto& task : tasks.value_or(std::vector<Task>{})) line += " " + name_of(task.id);
      answer.emplace_back(Note{std::move(line)});
    }
  }
  for (const auto& id : ids_) {
    answer.emplace_back(Note{"find " + name_of(id)});
    add(call(FindStep{.id = id}, now));
  }
  return answer;
}

}  // namespace millrace::test
