#include "cli/handler_check.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <utility>

#include "core/quote.h"
#include "worker/deliverer.h"
#include "worker/exec.h"
#include "worker/reply.h"

namespace millrace::cli {
namespace {

constexpr std::size_t most_lines = 16;

// The lines of a small file, without empty ones.
Result<std::vector<std::string>> lines_of(const std::string& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; lines.size() < most_lines && std::getline(in, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty()) lines.push_back(std::move(line));
  }
  if (lines.empty()) {
    return fail(ErrorCode::invalid, fmt::format("{} is empty or cannot be read", in_quotes(file)));
  }
  return lines;
}

// @FILE stands for the first line of the file.
Result<std::string> value_of(const std::string& text) {
  if (!text.starts_with('@')) return text;
  auto lines = lines_of(text.substr(1));
  if (!lines) return std::unexpected(std::move(lines.error()));
  if (!worker::fits_header(lines->front())) {
    return fail(ErrorCode::invalid,
                fmt::format("the first line of {} has characters that no header may have",
                            in_quotes(text.substr(1))));
  }
  return std::move(lines->front());
}

Result<void> check_command(const config::HandlerSettings& handler) {
  std::error_code error;
  const bool there =
      handler.directory.empty() || std::filesystem::is_directory(handler.directory, error);
  if (!there) {
    return fail(ErrorCode::invalid, fmt::format("there is no directory {} to run commands in",
                                                in_quotes(handler.directory)));
  }
  const std::string& name = handler.exec.front();
  std::string program = worker::find_program(name, worker::environment_of(environ, {}, {}));
  const bool relative = program.contains('/') && !program.starts_with('/');
  if (relative && !handler.directory.empty()) program = handler.directory + "/" + program;
  if (std::filesystem::is_regular_file(program, error) && access(program.c_str(), X_OK) == 0) {
    return {};
  }
  return fail(ErrorCode::invalid,
              fmt::format("there is no program {} that can be run; give its path, or a program of "
                          "the PATH",
                          in_quotes(name)));
}

}  // namespace

Result<HandlerFiles> read_files(const config::HandlerSettings& handler) {
  HandlerFiles files;
  for (const auto& [name, text] : handler.headers) {
    auto value = value_of(text);
    if (!value) {
      return fail(ErrorCode::invalid, fmt::format("headers.{}: {}", name, value.error().message));
    }
    files.headers.emplace_back(name, std::move(*value));
  }
  if (handler.secret_file.empty()) return files;
  const auto lines = lines_of(handler.secret_file);
  if (!lines) {
    return fail(ErrorCode::invalid, fmt::format("secret_file: {}", lines.error().message));
  }
  for (const std::string& line : *lines) {
    auto secret = outgoing::parse_secret(line);
    if (!secret) {
      return fail(ErrorCode::invalid, fmt::format("secret_file: {}", secret.error().message));
    }
    files.secrets.push_back(std::move(*secret));
  }
  return files;
}

Result<void> check_handler(const config::HandlerSettings& handler) {
  if (!handler.exec.empty()) return check_command(handler);
  if (auto files = read_files(handler); !files) return std::unexpected(std::move(files.error()));
  if (auto guard = worker::parse_guard(handler.allow_private); !guard) {
    return fail(ErrorCode::invalid, fmt::format("allow_private: {}", guard.error().message));
  }
  return {};
}

std::vector<std::string> problems_at_start(const std::vector<config::HandlerSettings>& handlers) {
  std::vector<std::string> problems;
  for (const config::HandlerSettings& each : handlers) {
    if (const auto good = check_handler(each); !good) {
      problems.push_back(
          fmt::format("{}: handlers.{}: {}", each.where, each.queue, good.error().message));
    }
  }
  return problems;
}

}  // namespace millrace::cli
