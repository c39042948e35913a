#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "apps/millrace/stores.h"
#include "cli/cli.h"
#include "core/clock.h"

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  millrace::SystemClock clock;
  const char* no_colour = std::getenv("NO_COLOR");
  const bool terminal = isatty(STDERR_FILENO) != 0;
  millrace::cli::Surroundings with{.in = std::cin,
                                   .out = std::cout,
                                   .err = std::cerr,
                                   .terminal = terminal,
                                   .colours = terminal && no_colour == nullptr,
                                   .clock = clock,
                                   .version = MILLRACE_VERSION,
                                   .open_store = millrace::open_store,
                                   .verify = millrace::verify_store};
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  return static_cast<int>(millrace::cli::run(arguments, with));
}
