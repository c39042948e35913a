// Many callers behind Rounds, over a journal on a careless disk: an answer counts when it is
// delivered, and everything that was answered must be true after every crash.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "broker/rounds.h"
#include "core/uuid.h"
#include "tests/crash/ledger.h"
#include "tests/random/dice.h"
#include "tests/sim/watched.h"

namespace millrace::test {

struct RoundsTally {
  std::uint64_t answers = 0;
  std::uint64_t crashes = 0;
  std::uint64_t completed = 0;
};

class RoundsSimulation {
 public:
  // `honest`: answers wait for the flush, as they should.
  RoundsSimulation(OpenSubject open, std::uint64_t seed, bool honest = true);

  // What was wrong; nullopt: nothing.
  std::optional<std::string> run();
  const RoundsTally& tally() const { return tally_; }

 private:
  void step();
  void put();
  void work();
  void settled(const std::vector<std::string>& names, const Result<WorkResult>& result);
  void flush();
  void disturb();
  void recover();
  bool reopen(Shadow::End how);
  void make_queues();
  void complain(std::string text);
  CallerId some_caller() { return {1 + dice_.below(5)}; }

  OpenSubject open_;
  SubjectOptions options_;
  bool honest_;
  Dice dice_;
  UuidSource ids_;
  UuidSource queue_ids_;
  SimDisk machine_;
  Watched watched_;
  std::unique_ptr<Rounds> rounds_;
  Ledger ledger_;
  RoundsTally tally_;
  TimePoint now_;
  std::deque<Lease> held_;
  std::string complaint_;
};

}  // namespace millrace::test
