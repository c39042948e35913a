// The `millrace` program without its process: arguments and surroundings in, exit code out.
#pragma once

#include <millrace/result.h>
#include <cstdint>
#include <functional>
#include <istream>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.h"
#include "core/clock.h"
#include "core/store_url.h"
#include "store/opening.h"
#include "store/store.h"

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

using millrace::Access;
using millrace::Progress;

// The result of checking a store.
struct Verified {
  std::vector<std::pair<std::string, std::uint64_t>> counts = {};  // what, and how many
  std::vector<std::string> remarks = {};                           // worth knowing, not wrong
  std::vector<std::string> damage = {};
};

// The migrations that the tables of a database lack, or lacked.
struct Migrated {
  std::vector<std::string> migrations = {};
  std::string sql = {};  // what applies them
  std::string schema = {};
};

struct WorkerProgram;  // worker_program.h

// Everything that commands get from outside.
struct Surroundings {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  bool terminal = false;  // a person watches `err`: moving progress may be shown
  bool colours = false;   // on `err`
  Clock& clock;
  std::string version = {};
  std::function<Result<std::unique_ptr<Store>>(
      const StoreUrl& url, Access access, const Progress& progress, const OpeningWarning& warn)>
      open_store = nullptr;
  std::function<Result<Verified>(const StoreUrl& url, const Progress& progress)> verify = nullptr;
  // For a database: what is missing; `apply`: it is applied.
  std::function<Result<Migrated>(const StoreUrl& url, bool apply)> migrate = nullptr;
  std::vector<std::pair<std::string, std::string>> environment = {};
  std::vector<std::string> config_places = {};  // where a settings file may be
  // Standard output: whether it is a terminal, how it may look, how wide it is (0: not known).
  bool out_terminal = false;
  bool out_colours = false;
  std::function<std::size_t()> columns = nullptr;
  bool in_terminal = false;  // a person can be asked
  // Whether the reader of standard output is gone; whether standard input, a pipe or a file, has
  // data now.
  std::function<bool()> out_gone = nullptr;
  std::function<bool()> in_waits = nullptr;
  // Serves until it is stopped.
  std::function<Exit(const config::Config& config)> serve = nullptr;
  // Works until it is stopped.
  std::function<Exit(const WorkerProgram& program)> work = nullptr;
};

// The arguments without the program's name.
Exit run(std::span<const std::string> arguments, Surroundings& with);

}  // namespace millrace::cli
