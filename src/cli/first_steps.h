// What somebody who has just started a server can paste.
#pragma once

#include <string>

#include "config/address.h"

namespace millrace::cli {

struct Place {
  config::Address address = {};  // the one really listened on
  bool tls = false;
  bool needs_key = false;  // there are API keys
  bool dashboard = false;  // it is shown at this address
};

// An address under which this machine reaches it: "every address" is none to connect to.
std::string url_of(const Place& place);

// A few lines with curl: put a task, take it, settle it, look at its queue; and where else to look.
std::string first_steps(const Place& place);

}  // namespace millrace::cli
