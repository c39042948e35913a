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

// Who makes a request, and whether the server needs a key.
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

// Browsers do not tell the ports of a host apart, so the cookies of several servers on one machine
// need different names. `host` is the header.
std::string cookie_name(std::string_view host);
// The session that a request came with, as text; empty: none.
std::string_view session_of(const HttpRequest& head);
// If the request came over TLS, to this server or to a proxy, the browser is to send the cookie
// over TLS only. Empty `text`: the browser is to forget the cookie.
std::string cookie_text(const HttpRequest& head, std::string_view text, std::string_view path,
                        Duration lasts);

}  // namespace millrace::api
