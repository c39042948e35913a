// What to do when a server cannot start, or should not.
#pragma once

#include <millrace/result.h>
#include <string>

#include "config/settings.h"

namespace millrace::cli {

// Another program listens there, or this one has no permission; empty: the error is enough.
std::string listen_advice(const Error& error, const config::Settings& settings);

// Another process has the store; empty: the error is enough.
std::string store_advice(const Error& error, const config::Settings& settings);

// The role scheduler makes no sense for a store that belongs to one process.
Error alone_error(const config::Settings& settings);
std::string alone_advice();

// Other machines can reach this address without a key.
bool too_open(const config::Settings& settings, bool guarded);
Error too_open_error(const config::Settings& settings);
std::string too_open_advice(const config::Settings& settings);

}  // namespace millrace::cli
