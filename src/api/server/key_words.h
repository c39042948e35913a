// API keys as JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/server/key_admin.h"
#include "api/wire/input.h"

namespace millrace::api {

// {"name":…,"scopes":["put",…],"queues":[…],"expires":…,"rate":{"max":…,"per_ms":…}}
wire::Read<NewKey> read_new_key(std::string_view text);

std::string text_of(const std::vector<KeyView>& keys);  // {"keys":[…]}
std::string text_of(const CreatedKey& created);         // the key, and its secret

}  // namespace millrace::api
