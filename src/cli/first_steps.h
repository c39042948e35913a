// Commands to paste after the first start of a server.
#pragma once

#include <string>

#include "config/address.h"

namespace millrace::cli {

struct Place {
  config::Address address = {};  // the one the server listens on
  bool tls = false;
  bool needs_key = false;  // there are API keys
  bool dashboard = false;  // the dashboard is served at this address
};

// A URL under which this machine reaches the server: 0.0.0.0 cannot be connected to.
std::string url_of(const Place& place);

// A few lines with curl: put a task, take it, settle it, look at its queue; and where else to look.
std::string first_steps(const Place& place);

}  // namespace millrace::cli
