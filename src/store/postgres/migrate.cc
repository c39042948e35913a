#include "store/postgres/migrate.h"

#include <fmt/format.h>

#include <charconv>

#include "store/postgres/migration_sql.h"
#include "store/postgres/sql.h"

namespace millrace::store_postgres {
namespace {

using postgres::Connection;

constexpr Duration long_enough = std::chrono::minutes(10);

Error cannot(const postgres::Failure& failure) {
  return postgres::error_of(failure, "bring the tables up to date");
}

// 0: there is nothing yet.
Result<int> version_of(Connection& connection) {
  auto there = connection.send(std::array{postgres::Statement{.sql = &sql::has_migrations}});
  if (!there) return std::unexpected(cannot(there.error()));
  if (!there->front().get<bool>(0, 0)) return 0;
  auto version = connection.send(std::array{postgres::Statement{.sql = &sql::last_migration}});
  if (!version) return std::unexpected(cannot(version.error()));
  return version->front().get<std::int32_t>(0, 0);
}

Result<std::vector<Migration>> missing_after(int version) {
  std::vector<Migration> all = migrations();
  if (version > all.back().version) {
    return fail(ErrorCode::invalid,
                fmt::format("the tables are of version {}, and this program knows {} at most; use "
                            "a newer one",
                            version, all.back().version));
  }
  all.erase(all.begin(), all.begin() + version);
  return all;
}

}  // namespace

std::vector<Migration> migrations() {
  std::vector<Migration> all;
  for (const postgres::Sql* sql : migration_sql::all) {
    Migration migration{.version = 0, .name = sql->name, .text = sql->text};
    std::from_chars(sql->name.data(), sql->name.data() + sql->name.size(), migration.version);
    all.push_back(migration);
  }
  return all;
}

Result<std::vector<Migration>> missing_migrations(Connection& connection) {
  connection.begin({.read_only = true});
  const auto version = version_of(connection);
  connection.rollback();
  if (!version) return std::unexpected(version.error());
  return missing_after(*version);
}

Result<std::size_t> migrate(Connection& connection) {
  connection.begin({.statement_timeout = long_enough});
  auto locked = connection.send(std::array{postgres::Statement{.sql = &sql::lock_migrations}});
  if (!locked) return std::unexpected(cannot(locked.error()));
  const auto version = version_of(connection);
  if (!version) return std::unexpected(version.error());
  const auto missing = missing_after(*version);
  if (!missing || missing->empty()) {
    connection.rollback();
    if (!missing) return std::unexpected(missing.error());
    return 0;
  }
  for (const Migration& migration : *missing) {
    auto done = connection.run_script(migration.text);
    if (!done) {
      auto error = cannot(done.error());
      error.message += fmt::format(" (migration {})", migration.name);
      return std::unexpected(std::move(error));
    }
    postgres::Params params;
    params.add(std::int32_t{migration.version}), params.add(migration.name);
    auto noted = connection.send(std::array{postgres::Statement{&sql::add_migration, &params}});
    if (!noted) return std::unexpected(cannot(noted.error()));
  }
  auto committed = connection.commit();
  if (!committed) return std::unexpected(cannot(committed.error()));
  return missing->size();
}

}  // namespace millrace::store_postgres
