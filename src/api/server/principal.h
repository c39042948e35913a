// On whose behalf a request comes.
#pragma once

#include <memory>
#include <string_view>

#include "access/key.h"

namespace millrace::api {

using access::Scope;

struct Principal {
  std::shared_ptr<const access::Key> key = nullptr;  // nullptr: the server needs none
  bool session = false;  // came with the cookie of a browser, not with the key

  // For logs and idempotency; empty without a key.
  std::string_view id() const { return key ? std::string_view(key->id) : ""; }
  // For people; empty without a key.
  std::string_view name() const { return key ? std::string_view(key->about.name) : ""; }
  // The key is for some queues only.
  bool restricted() const { return key && key->restricted(); }
  bool may_touch(std::string_view queue) const { return !key || key->may_touch(queue); }
};

}  // namespace millrace::api
