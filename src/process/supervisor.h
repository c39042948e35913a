// Keeps a number of child processes of the same program running: starts them, replaces those that
// die, and tells them to stop.
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
  // Variables that each child gets in addition to those of this process; a value may be secret.
  std::vector<std::pair<std::string, std::string>> environment = {};
  // A child that dies is replaced at once. One that dies again before it has lasted `settled` is
  // replaced after a pause, which doubles with each such death up to `longest_pause`.
  Duration first_pause = std::chrono::seconds(1);
  Duration longest_pause = std::chrono::seconds(30);
  Duration settled = std::chrono::seconds(60);
  Log log = {};
};

// In a child: if the process that started it is gone, or exits later, this process gets SIGTERM.
// The variable below holds the process id of the supervisor.
inline constexpr const char* supervisor_variable = "MILLRACE_SUPERVISOR";
void stop_with_supervisor();
bool supervised();

// Not thread-safe. Acts only inside its calls.
class Supervisor {
 public:
  // The clock must outlive this.
  Supervisor(Clock& clock, SupervisorOptions options);
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;
  ~Supervisor();  // kills what still runs

  // Sets how many children there shall be; surplus ones are told to stop.
  void set_count(std::size_t count);
  std::size_t count() const { return count_; }

  // Looks which children have ended, logs it, and starts those that are missing. Call it when a
  // child may have ended (SIGCHLD) and after the returned time, if any.
  Duration tend();

  // Tells all children to stop (SIGTERM) and starts no more; keep calling tend().
  void stop();
  // Kills the children that still run.
  void kill_all();
  std::size_t running() const;
  // Whether a child that was told to stop ended with another code than 0.
  bool ended_badly() const { return ended_badly_; }
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
  bool ended_badly_ = false;
  std::vector<Child> children_;
};

}  // namespace millrace
