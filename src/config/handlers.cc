#include "config/handlers.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "core/ascii.h"
#include "core/limits.h"
#include "core/nearest.h"
#include "core/quote.h"
#include "core/time_text.h"
#include "core/validate.h"

namespace millrace::config {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t most_concurrency = 10'000;
constexpr Duration longest = 24h;
constexpr std::uint64_t least_memory = 1U << 20U;

std::unexpected<Error> bad(const TomlValue& value, std::string_view allowed) {
  const std::string given =
      value.kind == TomlKind::text ? in_quotes(value.text) : std::string(value.text);
  return fail(ErrorCode::invalid,
              fmt::format("{} is {}; it must be {}", value.key, given, allowed));
}

Result<void> read_exec(HandlerSettings& to, const TomlValue& value) {
  constexpr std::string_view allowed =
      R"(a list of texts, the command first: exec = ["python3", "work.py"])";
  if (value.kind != TomlKind::list || value.list.empty()) return bad(value, allowed);
  const auto wrong = [](const std::string& text) { return text.find('\0') != text.npos; };
  if (value.list.front().empty() || std::ranges::any_of(value.list, wrong)) {
    return bad(value, allowed);
  }
  to.exec = value.list;
  return {};
}

Result<void> read_http(HandlerSettings& to, const TomlValue& value) {
  const bool url = value.kind == TomlKind::text &&
                   (value.text.starts_with("http://") || value.text.starts_with("https://"));
  if (!url) return bad(value, R"(a URL: http = "https://example.com/work")");
  to.http = value.text;
  return {};
}

Result<void> read_concurrency(HandlerSettings& to, const TomlValue& value) {
  std::uint32_t number = 0;
  const char* end = value.text.data() + value.text.size();
  const auto [stop, error] = std::from_chars(value.text.data(), end, number);
  const bool good = value.kind == TomlKind::integer && error == std::errc() && stop == end &&
                    number >= 1 && number <= most_concurrency;
  if (!good) return bad(value, fmt::format("a whole number from 1 to {}", most_concurrency));
  to.concurrency = number;
  return {};
}

Result<Duration> duration_in(const TomlValue& value, Duration least) {
  const auto parsed =
      value.kind == TomlKind::text ? parse_duration(value.text) : fail(ErrorCode::invalid, "");
  if (!parsed || *parsed < least || *parsed > longest) {
    return bad(value,
               fmt::format("a duration from {} to 24h, such as \"30s\"", format_duration(least)));
  }
  return *parsed;
}

Result<void> read_timeout(HandlerSettings& to, const TomlValue& value) {
  const auto time = duration_in(value, 1ms);
  if (!time) return std::unexpected(time.error());
  to.timeout = *time;
  return {};
}

Result<void> read_grace(HandlerSettings& to, const TomlValue& value) {
  const auto time = duration_in(value, 0ms);
  if (!time) return std::unexpected(time.error());
  to.grace = *time;
  return {};
}

Result<void> read_memory(HandlerSettings& to, const TomlValue& value) {
  const bool kind = value.kind == TomlKind::text || value.kind == TomlKind::integer;
  const auto size = kind ? parse_size(value.text) : fail(ErrorCode::invalid, "");
  if (!size || size->bytes < least_memory) {
    return bad(value, "a size of at least 1MiB, such as \"512MiB\"");
  }
  to.memory = *size;
  return {};
}

Result<void> read_directory(HandlerSettings& to, const TomlValue& value) {
  if (value.kind != TomlKind::text || value.text.empty()) {
    return bad(value, R"(a directory: directory = "/srv/work")");
  }
  to.directory = value.text;
  return {};
}

Result<void> read_allow_private(HandlerSettings& to, const TomlValue& value) {
  if (value.kind != TomlKind::text && value.kind != TomlKind::boolean) {
    return bad(value, R"(true, false, or ranges: allow_private = "10.1.0.0/16,fd00:1::/32")");
  }
  to.allow_private = value.text;
  return {};
}

Result<void> read_secret_file(HandlerSettings& to, const TomlValue& value) {
  if (value.kind != TomlKind::text || value.text.empty()) {
    return bad(value, R"(a file: secret_file = "/etc/millrace/emails.secret")");
  }
  to.secret_file = value.text;
  return {};
}

// Without the value, which may be a secret.
Result<void> read_headers(HandlerSettings&, const TomlValue& value) {
  return fail(ErrorCode::invalid, fmt::format(R"({} must be a table: headers = {{ Authorization = )"
                                              R"("@/etc/millrace/emails.token" }})",
                                              value.key));
}

// Headers that Millrace sets itself.
bool is_own(std::string_view given) {
  const std::string name = ascii::lower(given);
  constexpr auto own = std::to_array<std::string_view>({"content-type", "content-length",
                                                        "transfer-encoding", "host", "connection",
                                                        "expect", "x-client-id", "x-request-id"});
  return std::ranges::find(own, name) != own.end() || name.starts_with("x-task-") ||
         name.starts_with("webhook-") || name.starts_with("millrace-");
}

// One of [handlers.QUEUE.headers]. The message does not show its value, which may be a secret.
Result<void> read_header(HandlerSettings& to, const std::string& name, const TomlValue& value) {
  if (!ascii::is_http_token(name) || is_own(name)) {
    return fail(ErrorCode::invalid,
                fmt::format("{} is not a header that may be set here; Millrace sets Content-Type, "
                            "X-Task-…, webhook-… and the like itself",
                            in_quotes(name)));
  }
  const bool good_value =
      value.kind == TomlKind::text && !value.text.empty() && value.text != "@" &&
      std::ranges::all_of(value.text, [](char c) { return c >= ' ' && c < 0x7F; });
  if (!good_value) {
    return fail(ErrorCode::invalid,
                fmt::format("{} must be a text of printable ASCII, or \"@FILE\" for the first line "
                            "of a file",
                            value.key));
  }
  to.headers.emplace_back(name, value.text);
  return {};
}

struct Key {
  std::string_view name;
  Result<void> (*read)(HandlerSettings&, const TomlValue&);
};
constexpr std::array<Key, 10> keys = {{{"exec", read_exec},
                                       {"http", read_http},
                                       {"concurrency", read_concurrency},
                                       {"timeout", read_timeout},
                                       {"grace", read_grace},
                                       {"memory", read_memory},
                                       {"directory", read_directory},
                                       {"allow_private", read_allow_private},
                                       {"secret_file", read_secret_file},
                                       {"headers", read_headers}}};

HandlerSettings& handler_of(std::vector<HandlerSettings>& handlers, const std::string& queue,
                            const std::string& where) {
  const auto found = std::ranges::find(handlers, queue, &HandlerSettings::queue);
  if (found != handlers.end()) return *found;
  handlers.push_back({.queue = queue, .where = where});
  return handlers.back();
}

std::string toml_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

}  // namespace

bool is_about_handlers(const TomlValue& value) {
  return !value.path.empty() && value.path.front() == "handlers";
}

Result<void> read_handler(std::vector<HandlerSettings>& handlers, const TomlValue& value,
                          const std::string& where) {
  const bool header = value.path.size() == 4 && value.path[2] == "headers";
  if (value.path.size() != 3 && !header) {
    return fail(ErrorCode::invalid,
                fmt::format("{} is not a handler; write [handlers.QUEUE] and below it exec or http",
                            in_quotes(value.key)));
  }
  const std::string& queue = value.path[1];
  if (auto good = validate_name("queue", queue, false); !good) return good;
  if (header) return read_header(handler_of(handlers, queue, where), value.path[3], value);
  const auto key = std::ranges::find(keys, value.path[2], &Key::name);
  if (key == keys.end()) {
    std::vector<std::string_view> names;
    for (const Key& each : keys) names.push_back(each.name);
    const std::string_view meant = near_enough(value.path[2], names);
    return fail(
        ErrorCode::invalid,
        fmt::format("a handler has no {}{}{}. There are {}", in_quotes(value.path[2]),
                    meant.empty() ? "" : "; the nearest is ", meant, fmt::join(names, ", ")));
  }
  return key->read(handler_of(handlers, queue, where), value);
}

std::vector<std::string> problems_of(const std::vector<HandlerSettings>& handlers) {
  std::vector<std::string> problems;
  for (const HandlerSettings& each : handlers) {
    if (each.exec.empty() == each.http.empty()) {
      problems.push_back(
          fmt::format("{}: handlers.{} must have either exec or http", each.where, each.queue));
    } else if (each.exec.empty() && (each.memory || !each.directory.empty())) {
      problems.push_back(fmt::format("{}: handlers.{}: memory and directory are for exec only",
                                     each.where, each.queue));
    } else if (each.http.empty() && (!each.secret_file.empty() || !each.headers.empty())) {
      problems.push_back(fmt::format("{}: handlers.{}: secret_file and headers are for http only",
                                     each.where, each.queue));
    }
  }
  return problems;
}

std::string as_toml(const HandlerSettings& handler) {
  std::string text = fmt::format("[handlers.{}]\n", toml_string(handler.queue));
  if (!handler.exec.empty()) {
    std::vector<std::string> words;
    for (const std::string& word : handler.exec) words.push_back(toml_string(word));
    text += fmt::format("exec = [{}]\n", fmt::join(words, ", "));
  }
  if (!handler.http.empty()) {
    text += fmt::format("http = {}\nallow_private = {}\n", toml_string(handler.http),
                        toml_string(handler.allow_private));
  }
  text += fmt::format("concurrency = {}\n", handler.concurrency);
  if (handler.timeout) text += fmt::format("timeout = \"{}\"\n", format_duration(*handler.timeout));
  text += fmt::format("grace = \"{}\"\n", format_duration(handler.grace));
  if (handler.memory) text += fmt::format("memory = \"{}\"\n", to_text(*handler.memory));
  if (!handler.directory.empty()) {
    text += fmt::format("directory = {}\n", toml_string(handler.directory));
  }
  if (!handler.secret_file.empty()) {
    text += fmt::format("secret_file = {}\n", toml_string(handler.secret_file));
  }
  if (handler.headers.empty()) return text;
  text += fmt::format("[handlers.{}.headers]\n", toml_string(handler.queue));
  for (const auto& [name, value] : handler.headers) {
    // A value that is not in a file may be a secret.
    text += value.starts_with('@') ? fmt::format("{} = {}\n", toml_string(name), toml_string(value))
                                   : fmt::format("# {} = ...\n", toml_string(name));
  }
  return text;
}

}  // namespace millrace::config
