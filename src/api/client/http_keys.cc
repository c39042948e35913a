// API keys of the server.
#include <fmt/format.h>
#include <utility>

#include "api/client/http_broker.h"
#include "api/client/target.h"

namespace millrace {

void HttpBroker::keys(Ask ask, Completion<std::vector<wire::KeyInfo>> done) {
  call<std::vector<wire::KeyInfo>>(ask, {.target = "/v1/keys"}, wire::keys_from, std::move(done));
}

void HttpBroker::create_key(Ask ask, wire::KeyInfo wanted, Completion<wire::KeyInfo> done) {
  call<wire::KeyInfo>(ask, {.method = "POST", .target = "/v1/keys", .body = wire::key_text(wanted)},
                      wire::key_from, std::move(done));
}

void HttpBroker::revoke_key(Ask ask, std::string id, bool force, Completion<void> done) {
  call(ask,
       {.method = "DELETE",
        .target = "/v1/keys/" + client::percent_encoded(id) + (force ? "?force=true" : "")},
       std::move(done));
}

}  // namespace millrace
