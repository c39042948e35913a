// The exit codes of the program.
#pragma once

#include <cstdint>

namespace millrace::cli {

// Scripts rely on these.
enum class Exit : std::uint8_t {
  ok = 0,
  failed = 1,       // the command was understood, but failed
  usage = 2,        // the command was not understood
  corrupt = 3,      // stored data failed a check
  store = 4,        // the store failed while it was served; what is on disk is what was promised
  missing = 5,      // there is no such task, queue, schedule, worker or key
  unreachable = 6,  // no server answered
  denied = 7,       // the server refused: no key, or one without the scope
  // `serve` also returns shutdown.timeout_exit_code, and 128 + the number of a second signal.
};

}  // namespace millrace::cli
