// Runs a history on a store and says what was wrong.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/random/side.h"
#include "tests/random/witness.h"
#include "tests/sim/history.h"
#include "tests/sim/watched.h"

namespace millrace::test {

struct SimFailure {
  std::size_t event = 0;    // in or after which it showed
  std::size_t reached = 0;  // the last one that was run; callers that repeat calls go back
  std::string what;
};

// What the runs met, to show that they were not idle.
struct SimTally {
  std::uint64_t events = 0;
  std::uint64_t power_cuts = 0;
  std::uint64_t kills = 0;
  std::uint64_t openings = 0;
  std::uint64_t cut_openings = 0;
  std::uint64_t lost_commits = 0;
  std::uint64_t failures = 0;       // of the store, after a disk call failed
  std::uint64_t refusals = 0;       // of puts, because the disk was full
  std::uint64_t full_openings = 0;  // on a full disk
  std::uint64_t full_refusals =
      0;  // of openings, because there was no reserve before the disk was full
  std::uint64_t flips_refused = 0;
  std::uint64_t flips_harmless = 0;
  std::uint64_t flips_cut = 0;     // the last group was taken for a torn one
  std::uint64_t ends_refused = 0;  // last segments that were cut off, blank or gone
  std::uint64_t ends_harmless = 0;
  std::uint64_t disk_calls = 0;
  std::uint64_t meanwhile = 0;  // operations made during a flush
  std::uint64_t cleaned = 0;    // histories in which the first segment became unnecessary
};

class Simulation {
 public:
  // `explains`: a failure says in words what differs, which costs more than the history itself.
  Simulation(OpenSubject open, const History& history, bool explains = true);

  // nullopt: nothing was wrong.
  std::optional<SimFailure> run();
  const SimTally& tally() const { return tally_; }
  SimDisk& machine() { return machine_; }

 private:
  void at(const Operation& operation);
  void at(const FlushEvent& event);
  void at(const EndEvent& event);
  void at(const FailEvent& event);
  void at(const FlipEvent& event);
  void at(const DamageEvent& event);
  void at(const FullEvent& event);
  void at(const RoomEvent& event);

  void run_meanwhile(std::uint32_t operations);

  // After an event: collects complaints, and reopens a store that is down or has failed.
  void settle();
  void end(const Ending& ending);
  void recover(const Ending& ending, Shadow::End how);
  // Opens until it works; the power may go meanwhile, which turns the end into a power cut.
  struct Opened {
    Subject subject;
    std::string state;
  };
  Result<Opened> open(SimDisk& machine);
  std::optional<Opened> reopen(const Ending& ending, Shadow::End& how);
  void take_over(Opened opened, const Ending& ending, Shadow::End how);
  void look();
  void probe(const FlipEvent& event);
  void probe_one(const std::string& state, bool clean, Shadow::End how, std::uint64_t seed);
  void probe_end(SimDisk& copy, const std::string& name, Shadow::End how, Dice& dice);
  void check_refusal(const Error& error, const std::string& harm);
  bool has_spare() const;
  void read_probe(Subject& probe, const std::string& where);
  void complain(std::string text);
  // For the first failure: where the state differs from the most similar one.
  std::string explain(const std::string& state);

  OpenSubject opener_;
  const History& history_;
  const bool explains_;
  SimDisk machine_;
  Watched watched_;
  Side side_;
  Witness witness_;
  SimTally tally_;
  TimePoint now_;
  std::uint64_t openings_ = 0;
  std::size_t current_ = 0;
  std::size_t next_ = 0;
  std::size_t reached_ = 0;
  bool over_ = false;
  bool full_ = false;            // the disk has a capacity
  bool reserve_ = false;         // there was a spare when the disk became full
  bool last_lags_ = false;       // the file `last` may be behind, for lack of space
  int flushes_left_ = 0;         // until puts must be taken again
  std::set<std::size_t> spent_;  // faults that have happened
  Ending coming_;                // how the process ends when the planned fault happens
  std::string complaint_;

  // What the witness knew after each event.
  struct Memory {
    std::size_t commits = 0;
    std::size_t event = 0;
    Witness witness;
  };
  std::vector<Memory> memories_;
};

// Runs and, if it fails, drops what is not needed for the failure, unless the whole is wanted.
struct SimAccount {
  std::size_t events = 0;
  std::string text;
};
std::optional<SimAccount> simulate(const OpenSubject& open, std::uint64_t seed, SimTally& tally,
                                   bool whole = false);

// The shortest history found that still fails.
History shrink(const OpenSubject& open, History history);

}  // namespace millrace::test
