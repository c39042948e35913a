// Keeps a number of child processes running, all of the same program: starts them, replaces those
// that die, and tells them to stop.
#pragma once

#include <millrace/time.h>
#include <sys/types.h>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/log.h"

namespace millrace {

struct SupervisorOptions {
  // The program and its arguments.
  std::vector<std::string> command = {};
  // Variables that each child gets beside those of this process; a value may be secret.
  std::vector<std::pair<std::string, std::string>> environment = {};
  // A child that dies is replaced at once. One that dies again before it has lasted `settled` is
  // replaced after a pause, which doubles with each such death up to `longest_pause`.
  Duration first_pause = std::chrono::seconds(1);
  Duration longest_pause = std::chrono::seconds(30);
  Duration settled = std::chrono::seconds(60);
  Log log = {};
};

// In a child: if whoever started it is gone, or goes, this process is told to stop (SIGTERM).
// Children have the number of their supervisor in this variable.
inline constexpr const char* supervisor_variable = "MILLRACE_SUPERVISOR";
void stop_with_supervisor();

// Not safe to use from several threads. Nothing happens but in its calls.
class Supervisor {
 public:
  // The clock must outlive this.
  Supervisor(Clock& clock, SupervisorOptions options);
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;
  ~Supervisor();  // kills what still runs

  // How many there shall be; those too many are told to stop.
  void set_count(std::size_t count);
  std::size_t count() const { return count_; }

  // Looks who has ended, says so, and starts who is missing. Call it when a child may have ended
  // (SIGCHLD) and after the time it returns, if any.
  Duration tend();

  // Tells all to stop (SIGTERM) and starts no more; tend() goes on.
  void stop();
  // Those that are still there get no more time.
  void kill_all();
  std::size_t running() const;
  // Process numbers, for people and tests.
  std::vector<pid_t> pids() const;

 private:
  struct Child {
    pid_t pid = 0;  // 0: it does not run
    std::chrono::nanoseconds started{};
    std::chrono::nanoseconds due{};  // when to start it
    unsigned young_deaths = 0;       // in a row
    bool leaving = false;            // was told to stop
  };

  void start(Child& child);
  void ended(Child& child, int status);
  Duration pause_of(const Child& child) const;

  Clock& clock_;
  SupervisorOptions options_;
  std::size_t count_ = 0;
  bool stopping_ = false;
  std::vector<Child> children_;
};

}  // namespace millrace
