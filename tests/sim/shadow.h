// What the store under test has to contain: the same calls on a state machine in memory, and the
// states that a crash may take it back to.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "store/embedded/state_machine.h"
#include "tests/sim/subject.h"

namespace millrace::test {

class Shadow {
 public:
  using Change = std::function<void(Store&)>;

  explicit Shadow(const SubjectOptions& options);

  // The state with every change applied.
  embedded::StateMachine& now() { return *now_; }

  // A change that was applied to now(). Commits are counted from 1 over all boots.
  void note(Change change);
  std::size_t commits() const { return first_ + log_.size(); }

  // The store said that a flush is done; it covers the commits there were when it began. `state` is
  // the hash of the state at that time, `moment` the store's time.
  void flushed(std::size_t covered, std::size_t state, TimePoint moment);
  std::size_t state_now() { return hash(bytes_of(*now_)); }

  enum class End : std::uint8_t { process, power };

  struct Match {
    std::optional<std::size_t> commit;  // the last commit whose state this is
    std::size_t least = 0;              // commits that had to be there
    // Commits that had to be there if the last bytes written were damaged afterwards: a journal
    // that was not closed cannot tell that from a torn write.
    std::size_t least_if_damaged = 0;
  };
  // Which state the store came back with.
  Match match(const std::string& state, const Boot& boot, End end) const;

  // Says in words where a state differs from the most similar one.
  std::string explain(const std::string& state) const;

  // The store came back with the state after that commit; the later ones never happened.
  void resume(std::size_t commit, const std::string& state, const Boot& boot, End end);

  // A hash of everything but the last numbers given.
  static std::size_t hash(const std::string& state);

 private:
  using Machine = std::unique_ptr<embedded::StateMachine>;
  // A change, or a boot: the same state under another epoch.
  using Entry = std::variant<Change, Boot>;

  static Machine copy(const std::string& state, const Boot& boot);
  static Machine copy(embedded::StateMachine& machine);
  static std::string bytes_of(embedded::StateMachine& machine);
  static void step(Machine& machine, const Entry& entry);
  std::size_t least_if_damaged() const;
  void trim();

  SubjectOptions options_;
  Machine now_;
  Machine base_;           // the state after commit first_
  std::size_t first_ = 0;  // commits that are no longer in the log
  std::deque<Entry> log_;
  std::size_t survives_power_ = 0;  // commits
  std::size_t survives_kill_ = 0;
  std::size_t before_last_flush_ = 0;  // of those that had something to write
  std::size_t opened_ = 0;             // commits there were at the last opening
  std::size_t flushed_state_ = 0;      // its hash
  struct Flush {
    TimePoint moment{};
    std::size_t commits = 0;
  };
  std::deque<Flush> flushes_;  // not yet known to survive a power cut
};

}  // namespace millrace::test
