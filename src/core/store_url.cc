#include "core/store_url.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <charconv>

#include "core/ascii.h"
#include "core/quote.h"
#include "core/time_text.h"

namespace millrace {
namespace {

constexpr auto npos = std::string_view::npos;

std::unexpected<Error> bad(std::string message) {
  return fail(ErrorCode::invalid, std::move(message));
}

Result<std::string> decoded(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      out += text[at];
      continue;
    }
    if (at + 2 >= text.size() || ascii::hex_digit(text[at + 1]) < 0 ||
        ascii::hex_digit(text[at + 2]) < 0) {
      return bad(
          fmt::format("{} has a % that two hexadecimal digits do not follow; write %25 for "
                      "the sign itself",
                      in_quotes(text)));
    }
    out += static_cast<char>(ascii::hex_digit(text[at + 1]) * 16 + ascii::hex_digit(text[at + 2]));
    at += 2;
  }
  return out;
}

// "journal" of "journal:./data"; empty if there is none. One letter is not a scheme.
std::string_view scheme_of(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == npos || colon < 2) return {};
  const std::string_view scheme = text.substr(0, colon);
  return std::ranges::all_of(scheme, ascii::is_letter) ? scheme : std::string_view();
}

Result<void> set_journal_option(StoreUrl& url, std::string_view key, const std::string& value) {
  if (key == "sync") {
    if (value != "always" && value != "interval" && value != "never") {
      return bad(
          fmt::format("sync is {}; allowed are always, interval and never", in_quotes(value)));
    }
    url.sync = value == "always"     ? UrlSync::always
               : value == "interval" ? UrlSync::interval
                                     : UrlSync::none;
    return {};
  }
  if (key == "interval") {
    const auto interval = parse_duration(value);
    if (!interval) return bad(fmt::format("interval: {}", interval.error().message));
    url.interval = *interval;
    return {};
  }
  return bad(
      fmt::format("journal: has no option {}; it has sync and interval, as in "
                  "journal:./data?sync=interval&interval=250ms",
                  in_quotes(key)));
}

Result<void> set_memory_option(StoreUrl& url, std::string_view key, const std::string& value) {
  if (key != "snapshot") {
    return bad(
        fmt::format("memory: has no option {}; it has snapshot, as in "
                    "memory:?snapshot=./tasks.snapshot",
                    in_quotes(key)));
  }
  if (value.empty())
    return bad("snapshot is empty; name a file: memory:?snapshot=./tasks.snapshot");
  url.path = value;
  return {};
}

Result<void> read_options(StoreUrl& url, std::string_view options) {
  while (!options.empty()) {
    const std::string_view option = options.substr(0, options.find('&'));
    options.remove_prefix(std::min(option.size() + 1, options.size()));
    const std::size_t equals = option.find('=');
    if (equals == npos) {
      return bad(fmt::format("the option {} has no value; write NAME=VALUE", in_quotes(option)));
    }
    const auto value = decoded(option.substr(equals + 1));
    if (!value) return std::unexpected(value.error());
    const std::string_view key = option.substr(0, equals);
    auto set = url.kind == StoreKind::journal ? set_journal_option(url, key, *value)
                                              : set_memory_option(url, key, *value);
    if (!set) return set;
  }
  if (url.interval && url.sync != UrlSync::interval) {
    return bad("interval goes with sync=interval: journal:./data?sync=interval&interval=250ms");
  }
  return {};
}

constexpr std::string_view kinds_of_stores =
    "journal:DIR, memory:?snapshot=FILE and postgres://USER@HOST/DATABASE";

std::unexpected<Error> no_such_scheme(std::string_view scheme, std::string_view text) {
  constexpr auto planned =
      std::to_array<std::string_view>({"redis", "tarantool", "sqs", "http", "https"});
  if (std::ranges::find(planned, scheme) != planned.end()) {
    return bad(fmt::format("{}: stores are not part of this Millrace yet; there are {}", scheme,
                           kinds_of_stores));
  }
  return bad(fmt::format(
      "{}: is not a kind of store; there are {}. A directory of that name is written ./{}", scheme,
      kinds_of_stores, without_password(text)));
}

// ---- PostgreSQL --------------------------------------------------------------------------------

constexpr std::string_view postgres_example = "postgres://millrace@localhost/app";
constexpr Duration longest_wait = std::chrono::hours(1);
constexpr std::uint32_t most_readers = 32;

bool is_postgres(std::string_view scheme) {
  return scheme == "postgres" || scheme == "postgresql";
}

// Where libpq sees the query begin: a ? in a name or password before the @ does not begin it.
std::size_t query_of(std::string_view url) {
  const std::size_t authority = std::min(url.find("://"), url.size() - 3) + 3;
  const std::size_t stop = url.find_first_of("@/", authority);
  const std::size_t from = stop != npos && url[stop] == '@' ? stop : authority;
  return std::min(url.find('?', from), url.size());
}

Result<bool> on_or_off(std::string_view key, std::string_view value) {
  if (value == "on") return true;
  if (value == "off") return false;
  return bad(fmt::format("{} is {}; allowed are on and off, as in {}?{}=off", key, in_quotes(value),
                         postgres_example, key));
}

Result<void> set_postgres_option(StoreUrl& url, std::string_view key, const std::string& value) {
  if (key == "schema") {
    if (value.empty()) {
      return bad(fmt::format("schema is empty; name one: {}?schema=jobs", postgres_example));
    }
    url.schema = value;
    return {};
  }
  if (key == "listen_url") {
    if (!is_postgres(scheme_of(value)) || !value.contains("://")) {
      return bad(
          "listen_url is not the URL of a PostgreSQL server; write it with %XX for its : / ? & and "
          "@, "
          "as in listen_url=postgres%3A%2F%2Fmillrace%40db.example.org%2Fapp");
    }
    url.listen_url = value;
    return {};
  }
  if (key == "wait") {
    const auto wait = parse_duration(value);
    if (!wait) return bad(fmt::format("wait: {}", wait.error().message));
    if (*wait > longest_wait) {
      return bad(fmt::format("wait is {}; it is at most {}", in_quotes(value),
                             format_duration(longest_wait)));
    }
    url.wait = *wait;
    return {};
  }
  if (key == "readers") {
    const auto [end, error] =
        std::from_chars(value.data(), value.data() + value.size(), url.readers);
    if (error == std::errc() && end == value.data() + value.size() && url.readers >= 1 &&
        url.readers <= most_readers) {
      return {};
    }
    return bad(fmt::format("readers is {}; allowed are 1 to {}, as in {}?readers=4",
                           in_quotes(value), most_readers, postgres_example));
  }
  const auto on = on_or_off(key, value);
  if (!on) return std::unexpected(on.error());
  (key == "prepare" ? url.prepare : key == "migrate" ? url.migrate : url.vacuum) = *on;
  return {};
}

bool is_own_option(std::string_view key) {
  return key == "schema" || key == "listen_url" || key == "prepare" || key == "migrate" ||
         key == "vacuum" || key == "wait" || key == "readers";
}

Result<StoreUrl> parse_postgres(std::string_view text) {
  if (!text.contains("://")) {
    return bad(
        fmt::format("a store on PostgreSQL is written with two slashes: {}", postgres_example));
  }
  const std::size_t question = query_of(text);
  StoreUrl url{.kind = StoreKind::postgres, .server = std::string(text.substr(0, question))};
  std::string_view options = text.substr(std::min(question + 1, text.size()));
  char before = '?';
  while (!options.empty()) {
    const std::string_view option = options.substr(0, options.find('&'));
    options.remove_prefix(std::min(option.size() + 1, options.size()));
    const std::size_t equals = std::min(option.find('='), option.size());
    const std::string_view key = option.substr(0, equals);
    if (!is_own_option(key)) {
      url.server += before, url.server += option;
      before = '&';
      continue;
    }
    const auto value = decoded(option.substr(std::min(equals + 1, option.size())));
    if (!value) {
      return bad(
          fmt::format("{} has a % that two hexadecimal digits do not follow; write %25 for "
                      "the sign itself",
                      key));
    }
    if (auto set = set_postgres_option(url, key, *value); !set) {
      return std::unexpected(std::move(set.error()));
    }
  }
  return url;
}

}  // namespace

Result<StoreUrl> parse_store_url(std::string_view text) {
  if (text.empty())
    return bad("no store is named; write journal:DIR, a directory, memory:, or postgres://...");
  StoreUrl url;
  const std::string_view scheme = scheme_of(text);
  if (scheme.empty()) {
    // host:7070 is what people write for a server; a directory of that name would surprise them.
    if (const std::size_t end = text.find("://"); end != npos && !text.starts_with('.')) {
      return bad(fmt::format("{}:// is not a kind of store; there are {}", text.substr(0, end),
                             kinds_of_stores));
    }
    if (text.contains(':') && !text.starts_with('.') && !text.starts_with('/')) {
      const std::string shown = without_password(text);
      return bad(
          fmt::format("{} is neither a store nor a server; write http://{} for a server, or "
                      "./{} for a directory",
                      in_quotes(shown), shown, shown));
    }
    // A plain path has no options and no encoding.
    return StoreUrl{.kind = StoreKind::journal, .path = std::string(text)};
  }
  if (is_postgres(scheme)) return parse_postgres(text);
  if (scheme != "memory" && scheme != "journal") return no_such_scheme(scheme, text);
  url.kind = scheme == "journal" ? StoreKind::journal : StoreKind::memory;
  const std::string_view rest = text.substr(scheme.size() + 1);
  const std::size_t question = std::min(rest.find('?'), rest.size());
  const auto path = decoded(rest.substr(0, question));
  if (!path) return std::unexpected(path.error());
  if (url.kind == StoreKind::journal && path->empty()) {
    return bad("journal: has no directory; write journal:./data");
  }
  if (url.kind == StoreKind::memory && !path->empty()) {
    return bad(fmt::format("memory: has no path; write memory:?snapshot={} to keep it in that file",
                           *path));
  }
  url.path = *path;
  if (question == rest.size()) return url;
  if (auto read = read_options(url, rest.substr(question + 1)); !read) {
    return std::unexpected(std::move(read.error()));
  }
  return url;
}

namespace {

// The value of an option, wherever in the text it is.
void hide_option(std::string& text, std::string_view option) {
  std::size_t from = text.find(option);
  for (; from != npos; from = text.find(option, from + option.size())) {
    if (from == 0 || (text[from - 1] != '?' && text[from - 1] != '&')) continue;
    const std::size_t value = from + option.size();
    text.replace(value, std::min(text.find('&', value), text.size()) - value, "***");
  }
}

}  // namespace

std::string without_password(std::string_view url) {
  const std::size_t slashes = url.find("://");
  if (slashes == npos) return std::string(url);
  std::string shown(url);
  for (const auto* option : {"password=", "sslpassword=", "listen_url="}) {
    hide_option(shown, option);
  }
  // Up to the last @: a password that should have been written with %XX may contain any character.
  // It is better to hide too much than too little.
  const std::size_t at = shown.rfind('@');
  const std::size_t colon = shown.find(':', slashes + 3);
  if (at != npos && colon < at) shown.replace(colon + 1, at - colon - 1, "***");
  return shown;
}

}  // namespace millrace
