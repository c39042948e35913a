#include "cli/cli.h"

#include <signal.h>

#include "cli/commands.h"
#include "cli/console.h"

namespace millrace::cli {

namespace {

constexpr Exit reader_gone =
    static_cast<Exit>(128 + SIGPIPE);  // the code with which the system would end the process

// A command has succeeded only if its output was written.
Exit checked(Exit exit, Surroundings& with) {
  if (with.out.flush()) return exit;
  if (with.host.out_gone()) return reader_gone;
  Console(with).fail({ErrorCode::unavailable,
                      "cannot write to standard output; is the disk full, or is it closed?"});
  return exit == Exit::ok ? Exit::failed : exit;
}

}  // namespace

Exit run(std::span<const std::string> arguments, Surroundings& with) {
  if (!arguments.empty() && arguments.front() == "help") {  // as many tools accept it
    std::vector<std::string> asked(arguments.begin() + 1, arguments.end());
    asked.emplace_back("--help");
    return run(asked, with);
  }
  return checked(run_command(*all_commands(), arguments, with), with);
}

}  // namespace millrace::cli
