// Sessions that live in the store: what sessions.h asks for.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "access/key_book.h"
#include "access/session.h"
#include "api/server/access_check.h"
#include "api/server/sessions.h"
#include "broker/local_broker.h"
#include "core/log.h"
#include "core/mutex.h"
#include "core/rate_window.h"

namespace millrace::api {

struct StoredSessionsOptions {
  Duration lasts = std::chrono::hours(12);
  Rate failures{.max = 10, .per = std::chrono::minutes(1)};  // wrong keys from one address
};

// Everything given must outlive this, and this must outlive whoever was given its functions.
class StoredSessions {
 public:
  StoredSessions(access::KeyBook& keys, std::function<LocalBroker*()> broker,
                 std::function<TimePoint()> now, Log log,
                 const StoredSessionsOptions& options = {});

  // Who comes with a key, or with the cookie of a session, may do what the key may.
  AccessCheck check();
  AccessCheck check_again() const;
  Sessions sessions();

  // All sessions as the store had them.
  void read(const std::vector<Memo>& memos);
  // Reads them anew: other processes may have changed them.
  void reload(LocalBroker& broker);

 private:
  using Opened = Sessions::SignedInOrNot;

  Visit look(const HttpRequest& head) const;
  void sign_in(const SignIn& asked, Opened done);
  void sign_out(const HttpRequest& head, Completion<std::string> done);
  void keep(access::MadeSession made, const access::Key& key, Opened done);
  void forget(LocalBroker& broker, const std::string& id);
  std::optional<Duration> too_many(const std::string& remote);
  void failed(const std::string& remote);

  access::KeyBook& keys_;
  access::SessionBook book_;
  const std::function<LocalBroker*()> broker_;
  const std::function<TimePoint()> now_;
  const Log log_;
  const StoredSessionsOptions options_;
  Mutex mutex_;
  std::map<std::string, RateWindow> failures_ GUARDED_BY(mutex_);  // by address
};

}  // namespace millrace::api
