// The worker of runs in tests that have none: nothing happens, and time is what the test says.
#pragma once

#include "tests/support/driver.h"
#include "worker/run.h"

namespace millrace::test {

class QuietHost : public worker::RunHost {
 public:
  worker::Moment steady = {};

  TimePoint wall_time() override { return t0; }
  worker::Moment steady_time() override { return steady; }
  bool let_time_pass(worker::Run&, Duration) override { return false; }
  void run_ended(worker::Run&) override {}
  void run_has_signs(worker::Run&) override {}
  Result<std::vector<Parent>> parents(const TaskId&) override { return {}; }
  Result<void> send_ended() override { return {}; }
};

}  // namespace millrace::test
