// One function a command; cli.cc fills their options in.
#pragma once

#include <string>

#include "cli/cli.h"
#include "cli/console.h"

namespace millrace::cli {

struct ExportOptions {
  std::string source = {};
  std::string output = {};  // empty: standard output
  bool force = false;       // replace the output file
};

struct ImportOptions {
  std::string file = {};  // "-": standard input
  std::string target = {};
  std::string queue = "default";
};

Exit export_command(const ExportOptions& options, Surroundings& with, Console& console);
Exit import_command(const ImportOptions& options, Surroundings& with, Console& console);
Exit verify_command(const std::string& directory, Surroundings& with, Console& console);

}  // namespace millrace::cli
