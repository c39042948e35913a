// Whether Millrace can work on a server, and how durable its commits are.
#pragma once

#include <millrace/result.h>
#include <string>
#include <vector>

#include "core/values.h"
#include "postgres/connection.h"

namespace millrace::store_postgres {

inline constexpr int oldest_server = 14;

struct ServerFacts {
  int version = 0;           // 150018: 15.18
  std::string version_text;  // "15.18 (Debian 15.18-1)"
  bool standby = false;
  std::string encoding;
  bool fsync = true;
  bool full_page_writes = true;
  std::string synchronous_commit;  // the setting of a session of this role and database
  bool has_standbys = false;       // standbys that commits are to wait for
  Duration wal_writer_delay{};
  std::string role;
  std::string database;
  bool pooled = false;  // a pooler is in between: sessions change
};

Result<ServerFacts> server_facts(postgres::Connection& connection);

// `invalid` if it is too old, or uses another encoding; `unavailable` if it takes no writes and
// `writes` are wanted.
Result<void> check_server(const ServerFacts& facts, bool writes);

// How durable a flush() is there.
struct Promise {
  Durability durability = Durability::synced;
  Duration loss_window{};
  std::vector<std::string> warnings = {};  // each names a setting, and what it costs
};
Promise promise_of(const ServerFacts& facts);

}  // namespace millrace::store_postgres
