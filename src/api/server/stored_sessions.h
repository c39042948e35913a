// Sessions that live in the store: signing in and out, and access by the cookie of a browser.
#pragma once

#include <chrono>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "access/session.h"
#include "api/server/http.h"
#include "api/server/problem.h"
#include "api/server/sessions.h"
#include "api/server/stored_keys.h"
#include "broker/local_broker.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/mutex.h"
#include "core/rate_window.h"

namespace millrace::api {

struct StoredSessionsOptions {
  Duration lasts = std::chrono::hours(12);
  Rate failures{.max = 10, .per = std::chrono::minutes(1)};  // wrong keys from one address
};

// Safe to use from several threads. It must outlive the answers of every broker it is given.
class StoredSessions {
 public:
  // The keys and the clock must outlive this.
  StoredSessions(StoredKeys& keys, Clock& clock, Log log,
                 const StoredSessionsOptions& options = {});
  StoredSessions(const StoredSessions&) = delete;
  StoredSessions& operator=(const StoredSessions&) = delete;

  // As StoredKeys::check(); a request without a key may do what the key of its session may.
  Access check(const HttpRequest& head, Scope scope);
  // As StoredKeys::check_again().
  Access check_again(const HttpRequest& head, Scope scope) const;

  // Whose request it is, and whether the server needs a key.
  Visit visit_of(const HttpRequest& head) const;
  // Begins a session. 401: the key is not known; 429: too many wrong keys came from the address.
  using SignInDone = std::move_only_function<void(std::expected<SignedIn, Problem>)>;
  void sign_in(LocalBroker& broker, const SignIn& asked, SignInDone done);
  // Ends the session of a request, and gives the path of its cookie; empty: there was no session.
  void sign_out(LocalBroker& broker, const HttpRequest& head, Completion<std::string> done);

  // All sessions as the store had them.
  void read(const std::vector<Memo>& memos);
  // Reads all sessions again: other processes may have changed them.
  void reload(LocalBroker& broker);

 private:
  // The text of the session that decides about a request; empty: its key does.
  std::string_view deciding_session(const HttpRequest& head) const;
  void keep(LocalBroker& broker, access::MadeSession made, std::shared_ptr<const access::Key> key,
            SignInDone done);
  void forget(LocalBroker& broker, const std::string& id);
  std::optional<Duration> too_many(const std::string& remote);
  void failed(const std::string& remote);

  StoredKeys& keys_;
  access::SessionBook book_;
  Clock& clock_;
  const Log log_;
  const StoredSessionsOptions options_;
  Mutex mutex_;
  std::map<std::string, RateWindow> failures_ GUARDED_BY(mutex_);  // by address
};

}  // namespace millrace::api
