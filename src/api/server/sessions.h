// Signing in with a browser: who asks, and the cookie. stored_sessions.h keeps the sessions.
#pragma once

#include <millrace/time.h>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "access/key.h"
#include "api/server/http.h"

namespace millrace::api {

// Who asks, and whether they must say so.
struct Visit {
  bool needs_key = false;
  bool signed_in = false;                            // with a session
  std::shared_ptr<const access::Key> key = nullptr;  // of the session, or of the request itself
  std::optional<TimePoint> expires = std::nullopt;   // of the session
};

struct SignIn {
  std::string key = {};   // the text
  std::string path = {};  // of the cookie
  std::string remote = {};
};

struct SignedIn {
  Visit visit = {};
  std::string text = {};  // of the cookie
  Duration lasts{};
};

// ---- The cookie --------------------------------------------------------------------------------

// Browsers do not tell the ports of a host apart, so several servers on one machine need names of
// their own. `host` is the header.
std::string cookie_name(std::string_view host);
// The session that a request came with, as text; empty: none.
std::string_view session_of(const HttpRequest& head);
// Only over TLS, where the request came so, or to a proxy so. Empty `text`: it is to be forgotten.
std::string cookie_text(const HttpRequest& head, std::string_view text, std::string_view path,
                        Duration lasts);

}  // namespace millrace::api
