// The `millrace` program without its process: arguments and surroundings in, exit code out.
#pragma once

#include <istream>
#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/exit.h"
#include "cli/host.h"
#include "core/clock.h"

namespace millrace::cli {

// Everything that commands get from outside.
struct Surroundings {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  bool terminal = false;  // a person watches `err`: moving progress may be shown
  bool colours = false;   // on `err`
  bool out_terminal = false;
  bool out_colours = false;
  bool in_terminal = false;  // a person can be asked
  Clock& clock;
  Host& host;
  std::string version = {};
  std::vector<std::pair<std::string, std::string>> environment = {};
  std::vector<std::string> config_places = {};  // where a settings file may be
};

// The arguments without the program's name.
Exit run(std::span<const std::string> arguments, Surroundings& with);

}  // namespace millrace::cli
