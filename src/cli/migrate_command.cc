// `millrace migrate`: brings the tables of a database up to date.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/settings_flags.h"
#include "core/store_url.h"

namespace millrace::cli {
namespace {

struct Options {
  ConfigOptions config = {};
  bool dry_run = false;
  bool sql = false;
};

Exit migrate(const Options& options, Surroundings& with, Console& console) {
  if (options.dry_run && options.sql) {
    console.fail(
        {ErrorCode::invalid, "--dry-run lists migrations and --sql prints them; give one"});
    return Exit::usage;
  }
  const auto config = load_config(options.config, with, console);
  if (!config) return Exit::usage;
  const auto url = parse_store_url(config->settings.store);
  if (!url || url->kind != StoreKind::postgres) {  // that it can be parsed was checked
    console.fail(
        {ErrorCode::invalid, fmt::format("{} has no tables: only a store on PostgreSQL is migrated",
                                         without_password(config->settings.store))},
        "Name it: millrace migrate --store postgres://millrace@localhost/app");
    return Exit::usage;
  }
  const auto done = with.host.migrate(*url, !options.dry_run && !options.sql);
  if (!done) return console.fail(done.error());
  if (done->migrations.empty()) {
    console.say(fmt::format("the tables in schema {} are up to date", done->schema));
    return Exit::ok;
  }
  if (options.sql) {
    with.out << done->sql;
    return Exit::ok;
  }
  for (const std::string& each : done->migrations) with.out << each << '\n';
  const std::string count = counted(done->migrations.size(), "migration", "migrations");
  console.say(options.dry_run ? fmt::format("{} would be applied to schema {}", count, done->schema)
                              : fmt::format("applied {} to schema {}", count, done->schema));
  return Exit::ok;
}

}  // namespace

void add_migrate(Command& millrace) {
  auto options = std::make_shared<Options>();
  auto& command = millrace.add("migrate", "Bring the tables of a database up to date");
  takes_store(command, options->config);
  command.flag("--dry-run", options->dry_run, "Only list what would be applied")
      .flag("--sql", options->sql, "Print the SQL instead, to be applied by hand")
      .explain(
          "`millrace serve` does this by itself when it starts, unless the store's URL has\n"
          "migrate=off. All missing migrations are applied in one transaction, or none is; if\n"
          "several processes try at the same time, one applies them and the others wait. "
          "Migrations go forward only,\n"
          "and a program refuses tables that are newer than itself. The role must own the schema,\n"
          "or be allowed to create it.")
      .example("millrace migrate --store postgres://millrace@localhost/app")
      .example("millrace migrate --store postgres://millrace@localhost/app --dry-run")
      .example(
          "millrace migrate --store postgres://millrace@localhost/app --sql |\n"
          "    PGOPTIONS='-c role=millrace' psql -v ON_ERROR_STOP=1 app")
      .does([options](Surroundings& with, Console& console) {
        return migrate(*options, with, console);
      });
}

}  // namespace millrace::cli
