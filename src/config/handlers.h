// Queues whose tasks the server itself works: [handlers.NAME] of the settings file.
//
//   [handlers.thumbnails]
//   exec = ["python3", "thumbnail.py"]
//   concurrency = 4
//   timeout = "30s"
#pragma once

#include <millrace/result.h>
#include <millrace/time.h>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/size.h"
#include "config/toml_file.h"

namespace millrace::config {

struct HandlerSettings {
  std::string queue = {};
  std::vector<std::string> exec = {};  // a command and its arguments; or
  std::string http = {};               // where to POST tasks to
  std::uint32_t concurrency = 1;       // in each worker process
  std::optional<Duration> timeout = std::nullopt;
  Duration grace = std::chrono::seconds(5);
  std::optional<Size> memory = std::nullopt;  // of a command
  std::string directory = {};                 // to run a command in
  // Private addresses that an endpoint may have: "false", "true", or ranges separated by commas.
  std::string allow_private = "false";
  // A file with secrets that sign the requests to an endpoint, one per line; empty: those of
  // webhooks do.
  std::string secret_file = {};
  // Headers of these requests; a value @FILE is the first line of that file.
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string where = {};  // millrace.toml:3

  friend bool operator==(const HandlerSettings&, const HandlerSettings&) = default;
};

// Whether a value of the file belongs to a handler.
bool is_about_handlers(const TomlValue& value);

// Takes one such value in; `where` is its file and line. An error says what is allowed.
Result<void> read_handler(std::vector<HandlerSettings>& handlers, const TomlValue& value,
                          const std::string& where);

// Checks across values: one sentence per handler that cannot work.
std::vector<std::string> problems_of(const std::vector<HandlerSettings>& handlers);

// As it stands in a file.
std::string as_toml(const HandlerSettings& handler);

}  // namespace millrace::config
