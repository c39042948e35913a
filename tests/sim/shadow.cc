#include "tests/sim/shadow.h"

#include <algorithm>
#include <map>
#include <utility>

#include "store/embedded/records.h"
#include "store/embedded/replay.h"
#include "store/store.h"
#include "tests/support/print.h"

namespace millrace::test {

namespace {

// Commits that stay in the log although they are durable, so that errors can say what became of
// them.
constexpr std::size_t keep = 4;

}  // namespace

Boot boot_of(const embedded::State& state) {
  return {.epoch = state.options().epoch,
          .hash_seed = state.options().hash_seed,
          .next_queue = state.next_queue(),
          .number = state.numbers_given(),
          .token = state.tokens_given(),
          .memo_version = state.memos.versions_given()};
}

Shadow::Shadow(const SubjectOptions& options)
    : options_(options), now_(copy({}, {})), base_(copy({}, {})) {}

Shadow::Machine Shadow::copy(const std::string& state, const Boot& boot) {
  auto machine = std::make_unique<embedded::StateMachine>(
      embedded::State::Options{.epoch = boot.epoch, .hash_seed = boot.hash_seed});
  embedded::Replay replay(machine->state());
  // These bytes were written by this program.
  replay.apply(state).value();
  replay.finish().value();
  machine->state().set_next_queue(boot.next_queue);
  machine->state().resume(boot.number, boot.token, boot.memo_version);
  return machine;
}

Shadow::Machine Shadow::copy(embedded::StateMachine& machine) {
  return copy(bytes_of(machine), boot_of(machine.state()));
}

std::string Shadow::bytes_of(embedded::StateMachine& machine) {
  std::string bytes;
  embedded::write_state(machine.state(), bytes);
  return bytes;
}

std::size_t Shadow::hash(const std::string& state) {
  std::string_view rest = state;
  const auto numbers = embedded::next_record(rest);
  return std::hash<std::string_view>()(numbers ? rest : state);
}

void Shadow::step(Machine& machine, const Entry& entry) {
  if (const auto* change = std::get_if<Change>(&entry)) {
    (*change)(*machine);
  } else {
    machine = copy(bytes_of(*machine), std::get<Boot>(entry));
  }
}

void Shadow::note(Change change) {
  log_.emplace_back(std::move(change));
}

void Shadow::flushed(std::size_t covered, std::size_t state, TimePoint moment) {
  // A flush of calls that changed nothing writes nothing.
  if (state != flushed_state_) before_last_flush_ = survives_kill_;
  flushed_state_ = state;
  survives_kill_ = covered;
  if (options_.sync == SyncRule::always) survives_power_ = covered;
  if (options_.sync == SyncRule::interval) {
    while (!flushes_.empty() && flushes_.front().moment + options_.interval <= moment) {
      survives_power_ = std::max(survives_power_, flushes_.front().commits);
      flushes_.pop_front();
    }
    flushes_.push_back({moment, covered});
  }
  trim();
}

// In other modes one sync may cover many flushes, and the store decides when it happens.
std::size_t Shadow::least_if_damaged() const {
  return options_.sync == SyncRule::always ? std::min(survives_power_, before_last_flush_)
                                           : std::min(survives_power_, opened_);
}

void Shadow::trim() {
  while (first_ + keep < least_if_damaged()) {
    step(base_, log_.front());
    log_.pop_front();
    ++first_;
  }
}

Shadow::Match Shadow::match(const std::string& state, const Boot& boot, End end) const {
  Match match{.commit = std::nullopt,
              .least = end == End::power ? survives_power_ : survives_kill_,
              .least_if_damaged = least_if_damaged()};
  const auto wanted = hash(state);
  auto machine = copy(*base_);
  for (std::size_t commit = first_;; ++commit) {
    const auto here = hash(bytes_of(*machine));
    const auto given = boot_of(machine->state());
    const bool reused = boot.number < given.number || boot.token < given.token ||
                        boot.memo_version < given.memo_version;
    if (here == wanted && !reused) {
      match.commit = commit;
    }
    if (commit == commits()) return match;
    step(machine, log_[commit - first_]);
  }
}

namespace {

// Everything that can be seen, in lines.
std::map<std::string, std::string> lines_of(Store& store, std::uint64_t numbers) {
  std::map<std::string, std::string> lines;
  ListRequest request{.limit = 1000, .detail = Detail::full};
  while (true) {
    const auto page = store.list(request).value_or(TaskPage{});
    for (const auto& task : page.tasks) {
      lines["task " + ::testing::PrintToString(task.id)] = ::testing::PrintToString(task);
    }
    if (!page.next) break;
    request.before = page.next;
  }
  for (const auto& queue : store.queues(std::nullopt).value_or(std::vector<Queue>{})) {
    lines["queue " + queue.settings.name] = ::testing::PrintToString(queue);
    const auto page = store.groups({.queue = queue.settings.name, .limit = 1000}, TimePoint{});
    for (const auto& group : page.value_or(GroupPage{}).groups) {
      lines["group " + group.name + " of " + group.queue] = ::testing::PrintToString(group);
    }
  }
  for (const auto& schedule : store.schedules(std::nullopt).value_or(std::vector<Schedule>{})) {
    lines["schedule " + schedule.name] = ::testing::PrintToString(schedule);
  }
  Recall everything{.prefix = {}, .after = {}, .limit = 1000};
  for (const auto& memo : store.recall(everything, TimePoint{}).value_or(std::vector<Memo>{})) {
    lines["memo " + memo.key] = ::testing::PrintToString(memo);
  }
  lines["numbers"] = std::to_string(numbers);
  return lines;
}

std::vector<std::string> differences(const std::map<std::string, std::string>& expected,
                                     const std::map<std::string, std::string>& got) {
  std::vector<std::string> found;
  for (const auto& [name, line] : expected) {
    const auto other = got.find(name);
    if (other == got.end()) {
      found.push_back(name + " is missing: " + line);
    } else if (other->second != line) {
      found.push_back(name + " differs:\n      expected " + line + "\n      got      " +
                      other->second);
    }
  }
  for (const auto& [name, line] : got) {
    if (!expected.contains(name)) found.push_back(name + " should not be there: " + line);
  }
  return found;
}

}  // namespace

std::string Shadow::explain(const std::string& state) const {
  const auto theirs = copy(state, {});
  const auto got = lines_of(*theirs, theirs->state().numbers_given());
  auto machine = copy(*base_);
  std::vector<std::string> least;
  std::size_t nearest = first_;
  for (std::size_t commit = first_;; ++commit) {
    auto found = differences(lines_of(*machine, machine->state().numbers_given()), got);
    if (commit == first_ || found.size() <= least.size()) {
      least = std::move(found);
      nearest = commit;
    }
    if (commit == commits()) break;
    step(machine, log_[commit - first_]);
  }
  auto text = "most like the state after commit " + std::to_string(nearest) + ", but";
  constexpr std::size_t most = 4;
  for (std::size_t i = 0; i < std::min(most, least.size()); ++i) text += "\n    " + least[i];
  return least.empty() ? text + " nothing that can be seen differs" : text;
}

void Shadow::resume(std::size_t commit, const std::string& state, const Boot& boot, End end) {
  log_.resize(commit - first_);
  std::erase_if(flushes_, [&](const Flush& flush) { return flush.commits > commit; });
  survives_kill_ = commit;
  before_last_flush_ = commit;
  opened_ = commit;
  // What a process finds after another one died may still be in the system's memory only.
  if (end == End::power) survives_power_ = commit;
  survives_power_ = std::min(survives_power_, commit);
  if (end == End::power) flushes_.clear();
  log_.emplace_back(boot);
  now_ = copy(state, boot);
  flushed_state_ = hash(state);
}

}  // namespace millrace::test
