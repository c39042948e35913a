// API keys as JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/server/key_admin.h"
#include "api/wire/input.h"
#include "api/wire/text_writer.h"

namespace millrace::api {

// `scopes` and, where there are some, `queues` of an object.
void append_rights(wire::TextWriter& writer, const std::vector<Scope>& scopes,
                   const std::vector<std::string>& queues);

// {"name":…,"scopes":["put",…],"queues":[…],"expires":…,"rate":{"max":…,"per_ms":…}}
wire::Read<NewKey> read_new_key(std::string_view text);

std::string text_of(const std::vector<KeyView>& keys);  // {"keys":[…]}
std::string text_of(const CreatedKey& created);         // the key, and its secret

}  // namespace millrace::api
