// `millrace work QUEUE -- command`: a command for every task of a queue.
#include <fmt/format.h>
#include <algorithm>
#include <fstream>

#include "cli/commands.h"
#include "cli/worker_program.h"
#include "config/handlers.h"

namespace millrace::cli {
namespace {

std::string variable(const Surroundings& with, std::string_view name) {
  for (const auto& [each, value] : with.environment) {
    if (each == name) return value;
  }
  return {};
}

// The first line of a file; a key is never an argument, which everybody on the machine could read.
Result<std::string> key_in(const std::string& file) {
  std::ifstream stream(file);
  std::string key;
  if (!std::getline(stream, key) || key.empty()) {
    return fail(ErrorCode::invalid, fmt::format("{} holds no key, or cannot be read", file));
  }
  return key;
}

// The same words, and the same checks, as in a settings file.
Result<void> set(std::vector<config::HandlerSettings>& handlers, const std::string& queue,
                 std::string name, config::TomlValue value) {
  value.key = "--" + name;
  value.path = {"handlers", queue, std::move(name)};
  return config::read_handler(handlers, value, "the command line");
}

Result<config::HandlerSettings> handler_of(const WorkOptions& options) {
  using config::TomlKind;
  std::vector<config::HandlerSettings> handlers;
  Result<void> good = set(handlers, options.queue, "exec",
                          {.kind = TomlKind::list, .text = "a list", .list = options.command});
  const auto text = [&](const char* name, const std::string& value) {
    if (good && !value.empty()) {
      good = set(handlers, options.queue, name, {.kind = TomlKind::text, .text = value});
    }
  };
  text("timeout", options.timeout);
  text("grace", options.grace);
  text("memory", options.memory);
  text("directory", options.directory);
  if (good) {
    good = set(handlers, options.queue, "concurrency",
               {.kind = TomlKind::integer, .text = options.concurrency});
  }
  if (!good) return std::unexpected(std::move(good.error()));
  return std::move(handlers.front());
}

}  // namespace

Exit work_command(const WorkOptions& options, Surroundings& with, Console& console) {
  WorkerProgram program{.server = options.server,
                        .key = variable(with, "MILLRACE_KEY"),
                        .name = options.name,
                        .version = with.version,
                        .until_empty = options.until_empty};
  if (program.server.empty()) program.server = variable(with, "MILLRACE_URL");
  if (program.server.empty()) program.server = "http://127.0.0.1:7070";
  if (!options.key_file.empty()) {
    auto key = key_in(options.key_file);
    if (!key) return console.fail(key.error(), "");
    program.key = std::move(*key);
  }
  auto handler = handler_of(options);
  if (!handler) {
    console.fail(handler.error(), "Try: millrace work --help");
    return Exit::usage;
  }
  program.handlers.push_back(std::move(*handler));
  return with.work(program);
}

}  // namespace millrace::cli
