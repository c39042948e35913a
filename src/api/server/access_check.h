// Who may do what. The routes ask; whoever knows the keys answers.
#pragma once

#include <millrace/time.h>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/server/http.h"

namespace millrace::api {

// What a route lets one do.
enum class Scope : std::uint8_t {
  open = 0,  // no key needed
  put = 1,
  work = 2,
  read = 3,
  admin = 4,
  anyone = 5,  // no key needed, but a server that is ready
};
std::string_view name_of(Scope scope);

// On whose behalf a request comes.
struct Principal {
  std::string key = {};                  // its public id, for logs and idempotency
  std::vector<std::string> queues = {};  // patterns (`emails`, `shop.*`); empty: every queue
  std::string name = {};                 // of the key, for people
  bool session = false;                  // came with the cookie of a browser, not with the key

  bool restricted() const { return !queues.empty(); }
  bool may_touch(std::string_view queue) const;
};

struct Denial {
  unsigned status = 401;  // 401 (no key, unknown, expired), 403 (without that scope) or 429
  std::string detail = {};
  std::optional<Duration> retry_after = std::nullopt;  // with 429
};

// nullptr inside: everything is allowed. Asked once a request, when its head is there; must not
// block.
using Access = std::expected<std::shared_ptr<const Principal>, Denial>;
using AccessCheck = std::function<Access(const HttpRequest& head, Scope scope)>;

// `*` stands for any characters, also none.
bool matches(std::string_view pattern, std::string_view name);

}  // namespace millrace::api
