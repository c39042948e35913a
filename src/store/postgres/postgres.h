// The store on PostgreSQL, shared by any number of processes.
#pragma once

#include <millrace/result.h>
#include <millrace/time.h>
#include <memory>
#include <string>

#include "core/clock.h"
#include "core/values.h"
#include "store/fwd.h"
#include "store/opening.h"

namespace millrace {

struct PostgresOptions {
  std::string url = {};                       // as libpq reads it
  std::string schema = "millrace";            // where the tables are
  std::string listen_url = {};                // for LISTEN, where `url` leads through a pooler
  std::string application_name = "millrace";  // shown in the server's list of sessions
  bool prepare = true;                        // see postgres/connect.h
  bool migrate = true;                        // bring the tables up to date when opening
  bool vacuum = true;                         // remove dead rows when there are many
  bool read_only = false;
  std::size_t readers = 2;  // sessions beside the one that writes, which only read; at least one
  Duration wait = Duration::zero();  // for a server that does not answer yet
  OpeningWarning warn = {};          // also about settings of the server that break the promise
};

// `invalid` for options that make no sense, a server that is too old, or tables of a newer program;
// `unavailable` for a server that cannot be reached. The clock measures how long ago something was,
// never the time of day.
Result<std::unique_ptr<Store>> open_postgres(PostgresOptions options, Clock& clock);

}  // namespace millrace
