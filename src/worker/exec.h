// Runs a command for a task: the payload on its standard input, the result from its standard
// output, the error from its exit code and standard error. docs/workers.md, "Commands".
#pragma once

#include <millrace/time.h>
#include <millrace/work.h>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/limits.h"

namespace millrace::worker {

using Variables = std::vector<std::pair<std::string, std::string>>;

struct ExecOptions {
  std::vector<std::string> argv = {};  // a program on the PATH or a path, then its arguments
  Variables environment = {};  // in addition to what is inherited; MILLRACE_* is not inherited
  std::string directory = {};  // empty: that of this process
  std::uint64_t memory = 0;    // most bytes of data per process; 0: no limit
  // From SIGTERM to SIGKILL. Shorter than the grace of the worker, which gives a handler up.
  Duration grace = std::chrono::seconds(3);
  std::size_t most_output = limits::max_result;
  // Gets every line of standard error as well, on the thread of run_command(); may be empty.
  std::function<void(const Lease& task, std::string_view line)> echo = {};
};

struct ExecInput {
  std::string_view payload = {};
  Variables environment = {};  // of the task
};

// Called while the command runs, on the thread of run_command().
struct ExecEvents {
  std::function<void(std::string)> log = {};  // a line of standard error
  std::function<void(double)> progress = {};  // "@progress 42" in one
};

struct ExecEnd {
  enum class Kind : std::uint8_t {
    exited,     // with `number` as its code
    signalled,  // by `number`, and not by us
    stopped,    // by us, because `stop` was requested
    flooded,    // it wrote more than it may, and was killed
    missing,    // there is no such command, or it cannot be run
    unstarted,  // the system could not start it now
  };
  Kind kind = Kind::exited;
  int number = 0;
  std::string output = {};
  std::string errors = {};   // the last 8 KiB of standard error
  std::string message = {};  // missing, unstarted: why
};

// Blocks until the command has ended. A command that is asked to stop gets SIGTERM and, after the
// grace, SIGKILL, as does every process of its group. What the command leaves behind is killed.
ExecEnd run_command(Clock& clock, const ExecOptions& options, const ExecInput& input,
                    const std::stop_token& stop, const ExecEvents& events);

// Finds a program as execvp() would, by the PATH of this environment; a name with a slash is a
// path. Empty: not found.
std::string find_program(const std::string& name, const std::vector<std::string>& environment);

// 0 is done; 75 is retried; 64, 65, 78 and a missing command are final; every other code follows
// the retry policy. Not for `stopped`.
Outcome outcome_of(ExecEnd end, const ExecOptions& options);

// MILLRACE_TASK_ID, …_QUEUE, …_TYPE, …_ATTEMPT, …_DEADLINE, … Each of them has at most 88 KiB;
// Linux allows 128.
Variables variables_of(const Lease& task, std::uint32_t attempt, std::optional<TimePoint> deadline);

// The part of this process's environment that a command inherits, plus its own variables.
std::vector<std::string> environment_of(char* const* inherited, const Variables& own,
                                        const Variables& task);

}  // namespace millrace::worker
