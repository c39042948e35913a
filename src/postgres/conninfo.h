// What libpq gets to connect with, and what may be said about it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "postgres/connect.h"
#include "postgres/failure.h"

namespace millrace::postgres {

struct ConnectInfo {
  // For PQconnectdbParams with expand_dbname; the URL is the last, so that it has the last word.
  std::vector<std::pair<std::string, std::string>> words;
  std::string where;        // "127.0.0.1:5432/app", or "a:5432,b:5433/app"
  bool has_choice = false;  // several addresses are named
};

// A URL that cannot be read is told without what may be a password.
Answer<ConnectInfo> connect_info(const ConnectOptions& options);

// On one line, as libpq's messages are not; what was a line ends with a full stop.
std::string one_line(std::string_view message);

}  // namespace millrace::postgres
