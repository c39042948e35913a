#include "store/postgres/tables.h"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <tuple>

#include "core/transition.h"
#include "postgres/connection.h"
#include "store/postgres/migrate.h"
#include "store/postgres/open.h"
#include "store/postgres/server_check.h"
#include "store/postgres/sql.h"

namespace millrace {
namespace {

using postgres::Connection;
using namespace store_postgres;

constexpr Duration longest_count = std::chrono::hours(1);

Result<std::unique_ptr<Connection>> connect(const PostgresOptions& options) {
  if (auto good = check_options(options); !good) return std::unexpected(good.error());
  auto opened = Connection::open(connect_options(options, "admin"));
  if (!opened) {
    return std::unexpected(postgres::error_of(opened.error(), "connect to PostgreSQL"));
  }
  return std::move(*opened);
}

TablesUpdate update_of(const std::vector<Migration>& migrations, const PostgresOptions& options) {
  TablesUpdate update{.sql = script_of(migrations, options.schema)};
  for (const Migration& each : migrations) update.migrations.emplace_back(each.name);
  return update;
}

Result<TablesUpdate> update(const PostgresOptions& options, bool apply) {
  auto connection = connect(options);
  if (!connection) return std::unexpected(std::move(connection.error()));
  const auto facts = server_facts(**connection);
  if (!facts) return std::unexpected(facts.error());
  if (auto good = check_server(*facts, apply); !good) return std::unexpected(good.error());
  const auto done = apply ? migrate(**connection) : missing_migrations(**connection);
  if (!done) return std::unexpected(done.error());
  return update_of(*done, options);
}

}  // namespace

Result<TablesUpdate> plan_postgres(const PostgresOptions& options) {
  return update(options, false);
}

Result<TablesUpdate> migrate_postgres(const PostgresOptions& options) {
  return update(options, true);
}

Result<TablesReport> verify_postgres(const PostgresOptions& options) {
  auto connection = connect(options);
  if (!connection) return std::unexpected(std::move(connection.error()));
  const auto facts = server_facts(**connection);
  if (!facts) return std::unexpected(facts.error());
  if (auto good = check_server(*facts, false); !good) return std::unexpected(good.error());
  if (auto good = check_tables(**connection); !good) return std::unexpected(good.error());
  const std::array statements = {postgres::Statement{.sql = &sql::recount_all},
                                 postgres::Statement{.sql = &sql::recount_tasks},
                                 postgres::Statement{.sql = &sql::recount_orphans},
                                 postgres::Statement{.sql = &sql::recount_graphs}};
  const auto rows =
      (*connection)
          ->transact(statements,
                     {.statement_timeout = longest_count, .snapshot = true, .read_only = true});
  if (!rows) return std::unexpected(postgres::error_of(rows.error(), "count what is there"));
  const auto number = [](const postgres::Rows& of, std::size_t row, std::size_t column) {
    return static_cast<std::uint64_t>(of.get<std::int64_t>(row, column));
  };
  const auto& [totals, wrong, strays] = std::tie((*rows)[0], (*rows)[1], (*rows)[2]);
  const postgres::Rows& graphs = (*rows)[3];
  using Total = sql::TotalsColumns;
  using Graph = sql::GraphColumns;
  TablesReport report{.counts = {{"migrations", migrations().size()},
                                 {"queues", number(totals, 0, Total::queues)},
                                 {"unfinished", number(totals, 0, Total::unfinished)},
                                 {"finished", number(totals, 0, Total::finished)},
                                 {"schedules", number(totals, 0, Total::schedules)},
                                 {"memos", number(totals, 0, Total::memos)},
                                 {"edges", number(graphs, 0, Graph::edges)},
                                 {"untold", number(graphs, 0, Graph::untold)}},
                      .remarks = promise_of(*facts).warnings};
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    using At = sql::MiscountColumns;
    report.damage.push_back(fmt::format(
        "queue {} has {} tasks that are {} with priority {}, and {} are counted",
        wrong.get<std::int32_t>(i, At::queue), number(wrong, i, At::there),
        name_of(static_cast<TaskState>(wrong.get<std::int16_t>(i, At::state))),
        wrong.get<std::int16_t>(i, At::priority), wrong.get<std::int64_t>(i, At::counted)));
  }
  using Stray = sql::StraysColumns;
  if (const auto lost = number(strays, 0, Stray::orphans); lost != 0) {
    report.damage.push_back(fmt::format("{} tasks are of a queue that is not there", lost));
  }
  if (const auto twice = number(strays, 0, Stray::twins); twice != 0) {
    report.damage.push_back(fmt::format("{} ids are of two tasks each", twice));
  }
  if (const auto loose = number(graphs, 0, Graph::loose); loose != 0) {
    report.damage.push_back(
        fmt::format("{} edges lead to tasks that do not wait for others", loose));
  }
  if (const auto unknown = number(graphs, 0, Graph::unflagged); unknown != 0) {
    report.damage.push_back(fmt::format(
        "{} tasks are not marked as tasks that others wait for; these would not be told", unknown));
  }
  if (const auto newer = number(strays, 0, Stray::unreadable); newer != 0) {
    report.remarks.push_back(fmt::format(
        "{} tasks are in a format that this program cannot read: a newer version of Millrace has "
        "written them, and servers of this version leave them to it",
        newer));
  }
  return report;
}

}  // namespace millrace
