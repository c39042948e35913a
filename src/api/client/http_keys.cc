// API keys of the server.
#include <fmt/format.h>
#include <utility>

#include "access/key_text.h"
#include "api/client/http_broker.h"
#include "api/client/target.h"

namespace millrace {

void HttpBroker::keys(Ask ask, Completion<std::vector<access::Key>> done) {
  call<std::vector<access::Key>>(ask, {.target = "/v1/keys"}, access::keys_from, std::move(done));
}

void HttpBroker::create_key(Ask ask, access::KeyRequest wanted, Completion<access::MadeKey> done) {
  call<access::MadeKey>(ask,
                        {.method = "POST", .target = "/v1/keys", .body = access::text_of(wanted)},
                        access::key_from, std::move(done));
}

void HttpBroker::revoke_key(Ask ask, std::string id, bool force, Completion<void> done) {
  call(ask,
       {.method = "DELETE",
        .target = "/v1/keys/" + client::percent_encoded(id) + (force ? "?force=true" : "")},
       std::move(done));
}

}  // namespace millrace
