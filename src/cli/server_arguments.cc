#include "cli/server_arguments.h"

#include <CLI/CLI.hpp>

namespace millrace::cli {
namespace {

// What a value is called in the help.
std::string type_of(const config::Setting& setting) {
  using config::Settings;
  if (!setting.choices.empty()) {
    std::string text;
    for (const std::string_view each : setting.choices) {
      text += text.empty() ? "" : "|";
      text += each;
    }
    return text;
  }
  struct Name {
    const char* operator()(std::string Settings::*) const { return "TEXT"; }
    const char* operator()(std::uint32_t Settings::*) const { return "N"; }
    const char* operator()(config::Count Settings::*) const { return "N|unlimited"; }
    const char* operator()(double Settings::*) const { return "N"; }
    const char* operator()(config::Size Settings::*) const { return "SIZE"; }
    const char* operator()(Duration Settings::*) const { return "DURATION"; }
    const char* operator()(bool Settings::*) const { return "true|false"; }
    const char* operator()(config::Address Settings::*) const { return "ADDRESS"; }
  };
  return std::visit(Name{}, setting.field);
}

// "http" of http.max_body; settings without a table come first.
std::string group_of(const config::Setting& setting) {
  const std::size_t dot = setting.key.find('.');
  return dot == setting.key.npos ? "Settings"
                                 : "Settings: " + std::string(setting.key.substr(0, dot));
}

void add_file(CLI::App& command, ConfigOptions& options) {
  command
      .add_option("--config", options.file,
                  "The settings file (else ./millrace.toml, /etc/millrace/millrace.toml)")
      ->type_name("FILE");
}

void add_setting(CLI::App& command, ConfigOptions& options, const config::Setting& setting) {
  std::string text(setting.help);
  const std::string built_in = config::text_of({}, setting);
  if (!built_in.empty()) text += " [" + built_in + "]";
  command
      .add_option_function<std::string>(
          config::flag_name(setting),
          [&options, key = std::string(setting.key)](const std::string& value) {
            options.flags.emplace_back(key, value);
          },
          text)
      ->type_name(type_of(setting))
      ->group(group_of(setting));
}

// Every setting but the secret ones, which anybody who lists processes could read.
void add_settings(CLI::App& command, ConfigOptions& options) {
  add_file(command, options);
  for (const config::Setting& each : config::all_settings()) {
    if (!each.secret) add_setting(command, options, each);
  }
}

void add_store(CLI::App& command, KeysOptions& options) {
  add_file(command, options.config);
  add_setting(command, options.config, *config::find_setting("store"));
}

}  // namespace

CLI::App* add_serve(CLI::App& app, ConfigOptions& options) {
  auto* command = app.add_subcommand("serve", "Serve a store over HTTP");
  add_settings(*command, options);
  command->footer(
      "A flag wins over its variable (MILLRACE_HTTP_MAX_BODY for --http-max-body), a variable "
      "over\n"
      "the file. `millrace config` shows what is in force and why. The setting admin_key has no\n"
      "flag: set MILLRACE_ADMIN_KEY. An address that other machines reach needs a key first.\n"
      "\n"
      "Signals: TERM and INT answer what is under way and stop (a second one stops at once), HUP\n"
      "reads the TLS files again.\n"
      "Exit codes: 0 stopped as asked, 1 could not start, 2 not understood, 3 stored data is\n"
      "damaged, 4 the store failed, 128 + N a second signal N.\n"
      "\n"
      "Examples:\n"
      "  millrace serve                                    ./data on 127.0.0.1:7070\n"
      "  millrace serve --store memory: --listen 127.0.0.1:0\n"
      "  millrace keys create --store /var/lib/millrace --name ops --scope admin\n"
      "  millrace serve --store /var/lib/millrace --listen 0.0.0.0:7070 \\\n"
      "    --tls-certificate fullchain.pem --tls-key key.pem --log-format json\n");
  return command;
}

CLI::App* add_work(CLI::App& app, WorkOptions& options) {
  auto* command = app.add_subcommand("work", "Run a command for every task of a queue");
  command->add_option("QUEUE", options.queue, "Whose tasks to work")->type_name("")->required();
  command->add_option("COMMAND", options.command, "The command and its arguments, behind --")
      ->type_name("")
      ->required();
  command
      ->add_option("--server", options.server,
                   "The server (else MILLRACE_URL, else http://127.0.0.1:7070)")
      ->type_name("URL");
  command->add_option("--key-file", options.key_file, "A file with the API key (else MILLRACE_KEY)")
      ->type_name("FILE");
  command->add_option("-j,--concurrency", options.concurrency, "Commands at the same time [1]")
      ->type_name("N");
  command
      ->add_option("--timeout", options.timeout,
                   "How long one may take where neither task nor queue says")
      ->type_name("DURATION");
  command->add_option("--grace", options.grace, "From SIGTERM to SIGKILL [5s]")
      ->type_name("DURATION");
  command->add_option("--memory", options.memory, "How much memory one may have")
      ->type_name("SIZE");
  command->add_option("--directory", options.directory, "Where to run it")->type_name("DIR");
  command->add_option("--name", options.name, "Of this worker, for people (else host and process)")
      ->type_name("TEXT");
  command->add_flag("--until-empty", options.until_empty, "End when nothing is left to do");
  command->footer(
      "The command gets the task's payload on its standard input. What it prints is the result.\n"
      "Exit code 0 is done, 75 is \"try again\", 64, 65 and 78 are final failures, any other is a\n"
      "failure that is retried as the queue says. Lines on standard error are log lines of the "
      "task;\n"
      "`@progress 40` there sets its progress. MILLRACE_TASK_ID, MILLRACE_QUEUE, MILLRACE_TYPE "
      "and\n"
      "MILLRACE_ATTEMPT say which task it is. docs/workers.md has the rest.\n"
      "\n"
      "Signals: TERM and INT take no more tasks, wait for those that run (30 s) and give back the "
      "rest.\n"
      "\n"
      "Examples:\n"
      "  millrace work thumbnails -- python3 thumbnail.py\n"
      "  millrace work -j 4 --timeout 30s emails -- ./send-mail\n"
      "  millrace work --until-empty import -- sh -c 'jq .url | xargs curl -fsS'\n");
  return command;
}

CLI::App* add_config(CLI::App& app, ConfigOptions& options) {
  auto* command =
      app.add_subcommand("config", "Show the settings in force and where each came from");
  add_settings(*command, options);
  command->add_flag("--toml", options.toml, "As a file that may be used as it is, with comments");
  command->footer(
      "Takes the flags of `millrace serve`, so that one can see what they would do. Secrets are "
      "not\n"
      "shown.\n"
      "\n"
      "Examples:\n"
      "  millrace config\n"
      "  millrace config --toml > millrace.toml\n");
  return command;
}

KeysCommands add_keys(CLI::App& app, KeysOptions& options) {
  KeysCommands keys;
  keys.all = app.add_subcommand("keys", "Make, list and revoke API keys");
  keys.all->require_subcommand(1);
  keys.all->footer(
      "These work on a store that no server has open; of one that is served, /v1/keys takes care.\n"
      "\n"
      "Examples:\n"
      "  millrace keys create --name ops --scope admin\n"
      "  millrace keys create --name shop --scope put,read --queue 'shop.*' --expires 90d\n"
      "  millrace keys list\n"
      "  millrace keys revoke 0123456789abcdef\n");
  keys.create = keys.all->add_subcommand("create", "Make a key and print it, this once");
  add_store(*keys.create, options);
  keys.create->add_option("--name", options.name, "Whose it is, for people")
      ->type_name("TEXT")
      ->required();
  keys.create
      ->add_option("--scope", options.scopes,
                   "What it may do: put, work, read, admin (everything); several with commas")
      ->type_name("SCOPE")
      ->delimiter(',')
      ->required();
  keys.create
      ->add_option("--queue", options.queues,
                   "Only these queues; * stands for anything, as in 'shop.*'")
      ->type_name("PATTERN")
      ->delimiter(',');
  keys.create->add_option("--expires", options.expires, "How long it lasts (90d), or until when")
      ->type_name("WHEN");
  keys.create->add_option("--rate", options.rate, "How many requests in how long: 100/1s")
      ->type_name("N/DURATION");
  keys.create->footer(
      "Example:\n"
      "  KEY=$(millrace keys create --store ./data --name ci --scope put,read)\n");
  keys.list = keys.all->add_subcommand("list", "List keys: id, scopes, queues, rate, end, name");
  add_store(*keys.list, options);
  keys.list->footer("Example:\n  millrace keys list --store ./data\n");
  keys.revoke = keys.all->add_subcommand("revoke", "Make a key useless");
  keys.revoke->add_option("ID", options.id, "Its id, as `keys list` shows it")
      ->type_name("")
      ->required();
  add_store(*keys.revoke, options);
  keys.revoke->footer("Example:\n  millrace keys revoke 0123456789abcdef --store ./data\n");
  return keys;
}

}  // namespace millrace::cli
