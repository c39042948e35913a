#include "tests/sim/shadow.h"

#include <algorithm>
#include <utility>

#include "store/embedded/records.h"
#include "store/embedded/replay.h"

namespace millrace::test {

namespace {

// Commits that stay in the log although they are durable, to know the states shortly before.
constexpr std::size_t keep = 12;

}  // namespace

Shadow::Shadow(const SubjectOptions& options)
    : options_(options), now_(copy({}, {})), base_(copy({}, {})) {}

Shadow::Machine Shadow::copy(const std::string& state, const Boot& boot) {
  auto machine =
      std::make_unique<embedded::StateMachine>(embedded::State::Options{.epoch = boot.epoch});
  embedded::Replay replay(machine->state());
  // These bytes are our own.
  replay.apply(state).value();
  replay.finish().value();
  machine->state().set_next_queue(boot.next_queue);
  return machine;
}

Shadow::Machine Shadow::copy(embedded::StateMachine& machine) {
  const auto& state = machine.state();
  return copy(bytes_of(machine),
              {.epoch = state.options().epoch, .next_queue = state.next_queue()});
}

std::string Shadow::bytes_of(embedded::StateMachine& machine) {
  std::string bytes;
  embedded::write_state(machine.state(), bytes);
  return bytes;
}

std::size_t Shadow::hash(const std::string& state) {
  return std::hash<std::string>()(state);
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

void Shadow::flushed(TimePoint moment) {
  survives_kill_ = commits();
  if (options_.sync == SyncRule::always) survives_power_ = commits();
  if (options_.sync == SyncRule::interval) {
    while (!flushes_.empty() && flushes_.front().moment + options_.interval <= moment) {
      survives_power_ = std::max(survives_power_, flushes_.front().commits);
      flushes_.pop_front();
    }
    flushes_.push_back({moment, commits()});
  }
  trim();
}

void Shadow::trim() {
  while (first_ + keep < survives_power_) {
    step(base_, log_.front());
    log_.pop_front();
    ++first_;
  }
}

Shadow::Match Shadow::match(const std::string& state, End end) const {
  Match match{.commit = std::nullopt,
              .least = end == End::power ? survives_power_ : survives_kill_,
              .before = std::nullopt};
  const auto wanted = hash(state);
  auto machine = copy(*base_);
  std::optional<std::size_t> last;
  for (std::size_t commit = first_;; ++commit) {
    const auto here = hash(bytes_of(*machine));
    if (here == wanted) {
      if (last && *last != here) match.before = last;
      match.commit = commit;
    }
    last = here;
    if (commit == commits()) return match;
    step(machine, log_[commit - first_]);
  }
}

void Shadow::resume(std::size_t commit, const std::string& state, const Boot& boot, End end) {
  log_.resize(commit - first_);
  std::erase_if(flushes_, [&](const Flush& flush) { return flush.commits > commit; });
  survives_kill_ = commit;
  // What a process finds after another one died may still be nowhere but in the system's memory.
  if (end == End::power) survives_power_ = commit;
  survives_power_ = std::min(survives_power_, commit);
  if (end == End::power) flushes_.clear();
  log_.emplace_back(boot);
  now_ = copy(state, boot);
}

}  // namespace millrace::test
