#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/stores.h"
#include "apps/millrace/serve.h"
#include "apps/millrace/verify.h"
#include "apps/millrace/work.h"
#include "cli/cli.h"
#include "config/find_file.h"
#include "core/clock.h"

namespace {

std::vector<std::pair<std::string, std::string>> environment() {
  std::vector<std::pair<std::string, std::string>> variables;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view text = *each;
    const std::size_t equals = text.find('=');
    if (equals != text.npos)
      variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

}  // namespace

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  millrace::SystemClock clock;
  const char* no_colour = std::getenv("NO_COLOR");
  const bool terminal = isatty(STDERR_FILENO) != 0;
  const auto places = millrace::config::usual_places();
  millrace::cli::Surroundings with{.in = std::cin,
                                   .out = std::cout,
                                   .err = std::cerr,
                                   .terminal = terminal,
                                   .colours = terminal && no_colour == nullptr,
                                   .clock = clock,
                                   .version = MILLRACE_VERSION,
                                   .open_store = millrace::open_store,
                                   .verify = millrace::verify_store,
                                   .environment = environment(),
                                   .config_places = {places.begin(), places.end()}};
  with.serve = [&](const millrace::config::Config& config) {
    return millrace::serve(config,
                           {.clock = clock, .version = with.version, .colours = with.colours});
  };
  with.work = [&](const millrace::cli::WorkerProgram& program) {
    return millrace::work(program,
                          {.clock = clock, .version = with.version, .colours = with.colours});
  };
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  return static_cast<int>(millrace::cli::run(arguments, with));
}
