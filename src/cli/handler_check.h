// What a handler of [handlers] needs beside its settings: a directory, a program, files with
// secrets.
#pragma once

#include <millrace/result.h>
#include <string>
#include <vector>

#include "config/handlers.h"
#include "outgoing/http_client.h"
#include "outgoing/signature.h"

namespace millrace::cli {

// What the files of an HTTP handler hold.
struct HandlerFiles {
  outgoing::Headers headers = {};
  std::vector<outgoing::Secret> secrets = {};  // each signs; empty: those of webhooks do
};

// Reads them anew each time, so that a restart is enough to replace a secret. No message shows one.
Result<HandlerFiles> read_files(const config::HandlerSettings& handler);

// Checks what would make every task of the queue fail.
Result<void> check_handler(const config::HandlerSettings& handler);

// One sentence per handler that cannot work, with file and line.
std::vector<std::string> problems_at_start(const std::vector<config::HandlerSettings>& handlers);

}  // namespace millrace::cli
