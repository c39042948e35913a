// Keys in a store that no server has open.
#pragma once

#include <string>
#include <vector>

#include "access/key.h"
#include "cli/settings_flags.h"

namespace millrace::cli {

struct StoredKeys {
  ConfigOptions config = {};
  std::string instead = {};  // the same command for a server
};

Exit create_stored_key(const StoredKeys& where, const access::KeyRequest& request,
                       Surroundings& with, Console& console);
Exit list_stored_keys(const StoredKeys& where, Surroundings& with, Console& console);
Exit revoke_stored_key(const StoredKeys& where, const std::string& id, Surroundings& with,
                       Console& console);

}  // namespace millrace::cli
