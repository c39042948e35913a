// `millrace serve`: the server.
#include "cli/commands.h"
#include "cli/handler_check.h"
#include "cli/settings_flags.h"
#include "process/supervisor.h"

namespace millrace::cli {
namespace {

// Worker processes of a server do not check again: a directory that is gone later must not stop
// the other handlers.
bool handlers_can_work(const config::Config& config, Console& console) {
  const std::string& role = config.settings.role;
  if (supervised() || (role != "all" && role != "worker")) return true;
  const auto problems = problems_at_start(config.handlers);
  for (const std::string& each : problems) console.fail({ErrorCode::invalid, each});
  return problems.empty();
}

}  // namespace

void add_serve(Command& millrace) {
  auto options = std::make_shared<ConfigOptions>();
  auto& command = millrace.add("serve", "Serve a store over HTTP");
  takes_settings(command, *options);
  command
      .explain(
          "A flag wins over its variable (MILLRACE_HTTP_MAX_BODY for --http-max-body), a variable\n"
          "over the file. `millrace config` shows what is in force and why. The setting admin_key\n"
          "has no flag: set MILLRACE_ADMIN_KEY. An address that other machines reach needs a key\n"
          "first.\n"
          "\n"
          "Signals: TERM and INT answer what is under way and stop (a second one stops at once), "
          "HUP\n"
          "reads the TLS files again.\n"
          "Exit codes: 0 stopped as asked, 1 could not start, 2 not understood, 3 stored data is\n"
          "damaged, 4 the store failed, 128 + N a second signal N.")
      .example("millrace serve", "./data on 127.0.0.1:7070")
      .example("millrace serve --store memory: --listen 127.0.0.1:0")
      .example("millrace keys create --store /var/lib/millrace --name ops --scope admin")
      .example(
          "millrace serve --store /var/lib/millrace --listen 0.0.0.0:7070 \\\n"
          "    --tls-certificate fullchain.pem --tls-key key.pem --log-format json")
      .does([options](Surroundings& with, Console& console) {
        const auto config = load_config(*options, with, console);
        if (!config || !handlers_can_work(*config, console)) return Exit::usage;
        return with.host.serve(*config);
      });
}

}  // namespace millrace::cli
