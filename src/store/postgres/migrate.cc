#include "store/postgres/migrate.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "postgres/schema.h"
#include "store/postgres/batch.h"
#include "store/postgres/migration_sql.h"
#include "store/postgres/server_check.h"
#include "store/postgres/sql.h"

namespace millrace::store_postgres {
namespace {

using postgres::Connection;
using postgres::Failure;

constexpr Duration longest_migration = std::chrono::minutes(10);
constexpr std::string_view not_allowed = "42501";

// A migration needs a role that owns the schema.
Error cannot(const Failure& failure, Connection& connection) {
  Error error = postgres::error_of(failure, "bring the tables up to date");
  if (failure.state != not_allowed) return error;
  const auto facts = server_facts(connection);
  const std::string role = facts ? facts->role : "ROLE";
  error.code = ErrorCode::invalid;
  error.message += fmt::format(
      ". The role {} must own the schema {}: let an administrator of the database {} run "
      "`create schema {} authorization {}`, and start again",
      role, connection.options().schema, facts ? facts->database : "DATABASE",
      connection.options().schema, role);
  return error;
}

// 0: there are no tables yet.
postgres::Answer<int> version_of(Connection& connection) {
  auto there = connection.send(sql::has_migrations);
  if (!there) return std::unexpected(there.error());
  if (!there->value<bool>()) return 0;
  auto version = connection.send(sql::last_migration);
  if (!version) return std::unexpected(version.error());
  return version->value<std::int32_t>();
}

Result<std::vector<Migration>> missing_after(int version, const Connection& connection) {
  std::vector<Migration> all = migrations();
  if (version > all.back().version) {
    return fail(
        ErrorCode::invalid,
        fmt::format("the tables in schema {} at {} are of version {}, and this program "
                    "knows {} at most. A newer Millrace has been here: use that one; "
                    "migrations are never undone",
                    connection.options().schema, connection.where(), version, all.back().version));
  }
  all.erase(all.begin(), all.begin() + version);
  return all;
}

postgres::Answer<void> apply(Connection& connection, const Migration& migration) {
  if (auto done = connection.run_script(migration.text, longest_migration); !done) {
    done.error().message += fmt::format(" (migration {})", migration.name);
    return done;
  }
  const Batch note = batch_of(
      sql::AddMigration{.version = std::int32_t{migration.version}, .name = migration.name});
  auto noted = connection.send(note.statements());
  if (!noted) return std::unexpected(std::move(noted.error()));
  return {};
}

postgres::Answer<void> apply_all(Connection& connection, std::span<const Migration> missing) {
  auto schema = connection.send(sql::has_schema);
  if (!schema) return std::unexpected(std::move(schema.error()));
  if (!schema->value<bool>()) {
    if (auto made = connection.send(sql::make_schema); !made) {
      return std::unexpected(std::move(made.error()));
    }
  }
  for (const Migration& migration : missing) {
    if (auto done = apply(connection, migration); !done) return done;
  }
  auto committed = connection.commit();
  if (!committed) return std::unexpected(std::move(committed.error()));
  return {};
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
  if (!version) return std::unexpected(cannot(version.error(), connection));
  return missing_after(*version, connection);
}

Result<std::vector<Migration>> migrate(Connection& connection) {
  // Most often there is nothing to do, and no other process to wait for.
  auto missing = missing_migrations(connection);
  if (!missing || missing->empty()) return missing;
  connection.begin({.statement_timeout = longest_migration});
  auto locked = connection.send(sql::lock_migrations);
  if (!locked) return std::unexpected(cannot(locked.error(), connection));
  const auto version = version_of(connection);
  if (!version) return std::unexpected(cannot(version.error(), connection));
  missing = missing_after(*version, connection);
  if (!missing || missing->empty()) {
    connection.rollback();
    return missing;
  }
  auto applied = apply_all(connection, *missing);
  if (!applied) {
    connection.rollback();
    return std::unexpected(cannot(applied.error(), connection));
  }
  return missing;
}

Result<void> check_tables(Connection& connection) {
  const auto missing = missing_migrations(connection);
  if (!missing) return std::unexpected(missing.error());
  if (missing->empty()) return {};
  if (missing->size() == migrations().size()) {
    return fail(ErrorCode::not_found,
                fmt::format("there are no tables of Millrace in schema {} at {}; `millrace migrate "
                            "--store URL` makes them",
                            connection.options().schema, connection.where()));
  }
  return fail(ErrorCode::conflict,
              fmt::format("the tables in schema {} at {} lack {} of {} migrations, from {} on; "
                          "`millrace migrate --store URL` applies them",
                          connection.options().schema, connection.where(), missing->size(),
                          migrations().size(), missing->front().name));
}

std::string script_of(std::span<const Migration> migrations, std::string_view schema) {
  if (migrations.empty()) return "";
  std::string text = fmt::format("begin;\n{};\n", sql::lock_migrations.text);
  if (migrations.front().version == 1) text += "create schema if not exists \"millrace\";\n";
  for (const Migration& each : migrations) {
    text +=
        fmt::format("\n{}\ninsert into millrace.migrations (version, name) values ({}, '{}');\n",
                    each.text, each.version, each.name);
  }
  return postgres::with_schema(text + "\ncommit;\n", schema);
}

}  // namespace millrace::store_postgres
