// Two brokers' Rounds over one server that crashes, goes away and loses answers. An answer counts
// when it is delivered; everything that was answered must be true afterwards; and a caller that
// repeats a report, because it never learned the outcome, is not refused.
#pragma once

#include <array>
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
#include "tests/support/shared_server.h"

namespace millrace::test {

struct SharedTally {
  std::uint64_t answers = 0;
  std::uint64_t unknown = 0;
  std::uint64_t outages = 0;
  std::uint64_t completed = 0;
  std::uint64_t sent_again = 0;
};

class SharedSimulation {
 public:
  // `honest`: answers wait for the flush, as they should.
  explicit SharedSimulation(std::uint64_t seed, bool honest = true);

  // What was wrong; nullopt: nothing.
  std::optional<std::string> run();
  const SharedTally& tally() const { return tally_; }

 private:
  struct Broker {
    std::unique_ptr<Store> store;
    std::unique_ptr<Rounds> rounds;
    std::optional<Round> running;  // gathered and applied, not kept
  };
  // A report on its way, or to be sent again.
  struct Report {
    Settlement settlement;
    std::string name;
    bool again = false;
  };

  void step();
  void put();
  void work();
  void settled(const std::vector<Report>& reports, const Result<WorkResult>& result);
  void begin(Broker& broker);
  void keep(Broker& broker);
  void flush(Broker& broker);
  void disturb();
  void come_back();
  void complain(std::string text);
  Broker& some() { return brokers_.at(dice_.below(2)); }
  CallerId some_caller() { return {1 + dice_.below(5)}; }

  bool honest_;
  Dice dice_;
  UuidSource ids_;
  SharedServer server_;
  std::array<Broker, 2> brokers_;
  Ledger ledger_;
  SharedTally tally_;
  TimePoint now_;
  bool away_ = false;
  std::deque<Lease> held_;
  std::deque<Report> again_;
  std::string complaint_;
};

}  // namespace millrace::test
