// API keys as JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "access/key.h"
#include "api/wire/input.h"
#include "api/wire/text_writer.h"

namespace millrace::api {

// Writes `scopes` and, if there are any, `queues` into an object.
void append_rights(wire::TextWriter& writer, const access::Scopes& scopes,
                   const std::vector<std::string>& queues);

// {"name":…,"scopes":["put",…],"queues":[…],"expires":…,"rate":{"max":…,"per_ms":…}}
wire::Read<access::KeyRequest> read_key_request(std::string_view text);

std::string text_of(const std::vector<access::Key>& keys);  // {"keys":[…]}
std::string text_of(const access::MadeKey& made);           // the key, and its secret

}  // namespace millrace::api
