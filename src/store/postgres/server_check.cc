#include "store/postgres/server_check.h"

#include <fmt/format.h>

#include <array>

#include "store/postgres/sql.h"

namespace millrace::store_postgres {

Result<ServerFacts> server_facts(postgres::Connection& connection) {
  auto rows = connection.transact(sql::server_settings, {}, {.read_only = true});
  if (!rows) return std::unexpected(postgres::error_of(rows.error(), "ask for server settings"));
  using At = sql::ServerColumns;
  return ServerFacts{.version = rows->get<std::int32_t>(0, At::version),
                     .version_text = rows->get<std::string>(0, At::version_text),
                     .standby = rows->get<bool>(0, At::standby),
                     .encoding = rows->get<std::string>(0, At::encoding),
                     .fsync = rows->get<bool>(0, At::fsync),
                     .full_page_writes = rows->get<bool>(0, At::full_page_writes),
                     .synchronous_commit = rows->get<std::string>(0, At::synchronous_commit),
                     .has_standbys = rows->get<bool>(0, At::has_standbys),
                     .wal_writer_delay = Duration(rows->get<std::int64_t>(0, At::wal_writer_delay)),
                     .role = rows->get<std::string>(0, At::role),
                     .database = rows->get<std::string>(0, At::database),
                     .pooled = rows->get<std::int32_t>(0, At::pid) != connection.backend_pid()};
}

Result<void> check_server(const ServerFacts& facts, bool writes) {
  if (facts.version < oldest_server * 10'000) {
    return fail(ErrorCode::invalid,
                fmt::format("the server is PostgreSQL {}; Millrace needs {} or newer",
                            facts.version_text, oldest_server));
  }
  if (facts.encoding != "UTF8") {
    return fail(ErrorCode::invalid,
                fmt::format("the database {} has the encoding {}, and tasks may have any text: use "
                            "one that was made with ENCODING 'UTF8' TEMPLATE template0",
                            facts.database, facts.encoding));
  }
  if (facts.standby && writes) {
    return fail(ErrorCode::unavailable,
                "the server is a standby, which takes no writes; name the primary, or all of them: "
                "postgres://millrace@a,b/app?target_session_attrs=read-write");
  }
  return {};
}

Promise promise_of(const ServerFacts& facts) {
  Promise promise;
  if (facts.synchronous_commit == "off") {
    // As the documentation of PostgreSQL says of asynchronous commits.
    promise = {.durability = Durability::interval,
               .loss_window = std::max(3 * facts.wal_writer_delay, Duration(1))};
    promise.warnings.push_back(fmt::format(
        "synchronous_commit is off for role {} in database {}: a crash of the server loses what "
        "was "
        "answered in the last {} ms. Set it to on: alter role {} set synchronous_commit = on",
        facts.role, facts.database, promise.loss_window.count(), facts.role));
  }
  if (facts.synchronous_commit == "local" && facts.has_standbys) {
    promise.warnings.push_back(
        fmt::format("synchronous_commit is local for role {} in database {}: commits do not wait "
                    "for the standbys that synchronous_standby_names asks for, so a failover may "
                    "lose what was answered. Set it to on",
                    facts.role, facts.database));
  }
  if (!facts.full_page_writes) {
    promise.warnings.push_back(
        "full_page_writes is off: a crash of the server's machine may damage tables, unless its "
        "disk writes pages of 8 KiB as a whole. Set it to on");
  }
  if (!facts.fsync) {
    promise.durability = Durability::none;
    promise.loss_window = Duration::max();
    promise.warnings.push_back(
        "fsync is off: a crash of the server's machine may lose or damage everything. Set it to "
        "on");
  }
  return promise;
}

}  // namespace millrace::store_postgres
