#include "postgres/conninfo.h"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <algorithm>
#include <memory>

namespace millrace::postgres {
namespace {

// Where a name and a password stand: between :// and the last @.
std::string_view credentials_of(std::string_view url) {
  const std::size_t from = url.find("://");
  const std::size_t to = url.rfind('@');
  if (from == url.npos || to == url.npos || to < from) return url;
  return url.substr(from, to - from);
}

// libpq quotes the piece of the URL that it does not understand, which may be the password. Only
// words are shown that can be names of settings and are not in the credentials.
std::string without_secrets(std::string_view message, std::string_view url) {
  const auto shown = [&](std::string_view piece) {
    return std::ranges::all_of(piece, [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; }) &&
           (url.find("://") == url.npos ? false : credentials_of(url).find(piece) == piece.npos);
  };
  std::string text;
  std::size_t at = 0;
  while (at < message.size()) {
    const std::size_t open = message.find('"', at);
    const std::size_t first = open == message.npos ? message.npos : open + 1;
    const std::size_t close = first == message.npos ? message.npos : message.find('"', first);
    text.append(message.substr(at, open - at));
    if (close == message.npos) return open == message.npos ? text : text + "...";
    const std::string_view piece = message.substr(first, close - first);
    text.append(shown(piece) ? fmt::format("\"{}\"", piece) : "\"...\"");
    at = close + 1;
  }
  return text;
}

// Cuts the next item off a list with commas.
std::string_view take_next(std::string_view& list) {
  const std::string_view next = list.substr(0, list.find(','));
  list.remove_prefix(std::min(next.size() + 1, list.size()));
  return next;
}

// Host and port of each address. A single port holds for all addresses.
std::string addresses_of(std::string_view hosts, std::string_view ports) {
  const bool one_for_all = !ports.contains(',');
  std::string addresses;
  do {
    const std::string_view host = take_next(hosts);
    const std::string_view port = one_for_all ? ports : take_next(ports);
    addresses += fmt::format("{}{}:{}", addresses.empty() ? "" : ",",
                             host.empty() ? "localhost" : host, port.empty() ? "5432" : port);
  } while (!hosts.empty());
  return addresses;
}

void describe(const PQconninfoOption* option, ConnectInfo& info) {
  std::string_view host;
  std::string_view port;
  std::string_view database;
  std::string_view user;
  for (; option->keyword != nullptr; ++option) {
    if (option->val == nullptr) continue;
    const std::string_view keyword = option->keyword;
    if (keyword == "host") host = option->val;
    if (keyword == "hostaddr" && host.empty()) host = option->val;
    if (keyword == "port") port = option->val;
    if (keyword == "dbname") database = option->val;
    if (keyword == "user") user = option->val;
  }
  info.where = fmt::format("{}/{}", addresses_of(host, port), database.empty() ? user : database);
  info.has_choice = host.contains(',');
}

}  // namespace

std::string one_line(std::string_view message) {
  std::string line;
  bool space = false;
  bool ended = false;  // a line
  for (const char c : message) {
    if (c == '\n' || c == '\t' || c == '\r' || c == ' ') {
      space = true;
      ended = ended || c == '\n';
      continue;
    }
    if (space && !line.empty()) {
      if (ended && !std::string_view(".:;,?!").contains(line.back())) line.push_back('.');
      line.push_back(' ');
    }
    space = ended = false;
    line.push_back(c);
  }
  return line;
}

Answer<ConnectInfo> connect_info(const ConnectOptions& options) {
  char* message = nullptr;
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> parsed(
      PQconninfoParse(options.url.c_str(), &message), &PQconninfoFree);
  const std::unique_ptr<char, decltype(&PQfreemem)> freed(message, &PQfreemem);
  if (!parsed) {
    return std::unexpected(Failure{
        .message = fmt::format(
            "the address of the PostgreSQL server cannot be read: {}. It is written "
            "postgres://USER:PASSWORD@HOST:PORT/DATABASE",
            without_secrets(one_line(message != nullptr ? message : "no memory"), options.url))});
  }
  const auto seconds =
      std::chrono::ceil<std::chrono::seconds>(std::max(options.connect_timeout, Duration(1)));
  ConnectInfo info;
  describe(parsed.get(), info);
  info.words = {{"fallback_application_name", options.application_name},
                {"connect_timeout", fmt::format("{}", seconds.count())},
                {"keepalives", "1"},
                {"keepalives_idle", "30"},
                {"keepalives_interval", "10"},
                {"keepalives_count", "3"},
                {"tcp_user_timeout", fmt::format("{}", options.answer_timeout.count())},
                {"client_encoding", "UTF8"}};
  // Otherwise libpq would take the first that answers, which after a failover may be a standby.
  if (info.has_choice && options.writes) {
    info.words.emplace_back("target_session_attrs", "read-write");
  }
  info.words.emplace_back("dbname", options.url);
  return info;
}

}  // namespace millrace::postgres
