// Signing in with a browser, as the routes see it: shapes, functions that somebody else provides,
// and the cookie.
#pragma once

#include <millrace/result.h>
#include <millrace/time.h>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "api/server/http.h"
#include "api/server/key_admin.h"
#include "api/server/problem.h"
#include "broker/caller.h"

namespace millrace::api {

// Who asks, and whether they must say so.
struct Visit {
  bool needs_key = false;
  bool signed_in = false;                           // with a session
  std::optional<KeyView> key = std::nullopt;        // of the session, or of the request itself
  std::optional<TimePoint> expires = std::nullopt;  // of the session
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

struct Sessions {
  std::function<Visit(const HttpRequest& head)> look = {};
  // 401: the key is not known; 429: that was tried too often. Called once, from any thread.
  using SignedInOrNot = std::move_only_function<void(std::expected<SignedIn, Problem>)>;
  std::function<void(SignIn asked, SignedInOrNot done)> sign_in = {};
  // The path of the cookie; empty: there was no session.
  std::function<void(const HttpRequest& head, Completion<std::string> done)> sign_out = {};
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
