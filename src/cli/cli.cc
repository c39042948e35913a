#include "cli/cli.h"

#include "cli/commands.h"

namespace millrace::cli {

Exit run(std::span<const std::string> arguments, Surroundings& with) {
  if (!arguments.empty() && arguments.front() == "help") {  // as many tools spell it
    std::vector<std::string> asked(arguments.begin() + 1, arguments.end());
    asked.emplace_back("--help");
    return run(asked, with);
  }
  return run_command(*all_commands(), arguments, with);
}

}  // namespace millrace::cli
