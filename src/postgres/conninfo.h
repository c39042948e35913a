// The settings that libpq connects with, and how messages may show them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "postgres/connect.h"
#include "postgres/failure.h"

namespace millrace::postgres {

struct ConnectInfo {
  // For PQconnectdbParams with expand_dbname; the URL comes last, so that it overrides the others.
  std::vector<std::pair<std::string, std::string>> words;
  std::string where;        // "127.0.0.1:5432/app", or "a:5432,b:5433/app"
  bool has_choice = false;  // several addresses are named
};

// A message about an unreadable URL leaves out what may be a password.
Answer<ConnectInfo> connect_info(const ConnectOptions& options);

// The text on one line, which libpq's messages are not; each former line ends with a full stop.
std::string one_line(std::string_view message);

}  // namespace millrace::postgres
