// What the commands need of the process they run in: stores, the programs that run until they are
// stopped, and what only the system knows of standard input and output.
#pragma once

#include <millrace/result.h>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/exit.h"
#include "config/config.h"
#include "core/store_url.h"
#include "core/values.h"
#include "store/fwd.h"
#include "store/opening.h"

namespace millrace::cli {

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

class Host {
 public:
  virtual ~Host() = default;

  virtual Result<std::unique_ptr<Store>> open_store(const StoreUrl& url, Access access,
                                                    const Progress& progress,
                                                    const OpeningWarning& warn) = 0;
  virtual Result<Verified> verify(const StoreUrl& url, const Progress& progress) = 0;
  // For a database: what is missing; `apply`: it is applied.
  virtual Result<Migrated> migrate(const StoreUrl& url, bool apply) = 0;

  // Both run until they are stopped.
  virtual Exit serve(const config::Config& config) = 0;
  virtual Exit work(const WorkerProgram& program) = 0;

  // The width of standard output; 0: not known.
  virtual std::size_t columns() = 0;
  // Whether the reader of standard output is gone.
  virtual bool out_gone() = 0;
  // Whether standard input, a pipe or a file, has data now. Does not wait.
  virtual bool in_waits() = 0;
};

}  // namespace millrace::cli
