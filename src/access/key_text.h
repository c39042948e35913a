// API keys as JSON: the requests for them, and what a server shows of them. Client and server use
// the same list of fields.
#pragma once

#include <millrace/result.h>
#include <string>
#include <string_view>
#include <vector>

#include "access/key.h"
#include "api/wire/input.h"
#include "api/wire/text_writer.h"

namespace millrace::access {

// {"name":…,"scopes":["put",…],"queues":[…],"expires":…,"rate":{"max":…,"per_ms":…}}
std::string text_of(const KeyRequest& request);
wire::Read<KeyRequest> read_key_request(std::string_view text);

// The same and {"id":…,"created_at":…}; a key that was just made also with its "secret".
std::string text_of(const MadeKey& made);
std::string text_of(const std::vector<Key>& keys);  // {"keys":[…]}

// What a server answered; no hash is among it. `unavailable`: the answer cannot be read.
Result<MadeKey> key_from(std::string_view text);
Result<std::vector<Key>> keys_from(std::string_view text);

// Writes `scopes` and, if there are any, `queues` into an object.
void append_rights(wire::TextWriter& writer, const Scopes& scopes,
                   const std::vector<std::string>& queues);

}  // namespace millrace::access
