// What to do when a server cannot start, or should not.
#pragma once

#include <millrace/result.h>
#include <string>

#include "config/settings.h"

namespace millrace::cli {

// Another program listens there, or this one may not; empty: the error says it all.
std::string listen_advice(const Error& error, const config::Settings& settings);

// Another process has the store; empty: the error says it all.
std::string store_advice(const Error& error, const config::Settings& settings);

// Other machines reach this address, and nobody would need a key there.
// The role scheduler, where there can be no other process to do the rest.
Error alone_error(const config::Settings& settings);
std::string alone_advice();

bool too_open(const config::Settings& settings, bool guarded);
Error too_open_error(const config::Settings& settings);
std::string too_open_advice(const config::Settings& settings);

}  // namespace millrace::cli
