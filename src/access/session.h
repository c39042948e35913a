// Sessions: a user has shown an API key in a browser, and has a cookie for some hours.
//
// The store keeps the hash of a session's secret and a mark of its key. So a reader of the store
// cannot use any session, and a key that is revoked or replaced ends its sessions.
#pragma once

#include <millrace/result.h>
#include <millrace/time.h>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "access/key.h"
#include "access/secret.h"
#include "core/mutex.h"
#include "core/values.h"

namespace millrace::access {

struct Session {
  std::string id = {};
  Hash hash = {};
  std::string key = {};    // id of the key it was begun with
  Hash mark = {};          // mark_of() that key's hash
  std::string path = "/";  // of the cookie
  TimePoint created_at{};
  TimePoint expires{};
};

struct MadeSession {
  Session session = {};
  std::string text = {};  // for the cookie
};
// A session ends with its key at the latest.
Result<MadeSession> make_session(const Key& key, std::string path, Duration lasts, TimePoint now);

// The id of a text that looks like a session's; empty if it does not.
std::string_view session_id_of(std::string_view text);

// ---- In a store: memos `$session/<id>` that end with it ----------------------------------------

inline constexpr std::string_view session_prefix = "$session/";

Remember to_memo(const Session& session);
Remember forget_session(std::string_view id);
// `corrupt` names the memo.
Result<Session> session_from_memo(const Memo& memo);

// ---- In memory ---------------------------------------------------------------------------------

struct SessionLimits {
  std::size_t all = 1000;
  std::size_t per_key = 100;
};

// Safe to use from several threads.
class SessionBook {
 public:
  explicit SessionBook(const SessionLimits& limits = {}) : limits_(limits) {}

  // The session of this cookie; null: it is unknown, or it has ended.
  std::shared_ptr<const Session> find(std::string_view text, TimePoint now) const;

  void add(Session session);
  void forget(std::string_view id);
  // Sessions that have ended, and as many of the oldest as must go before one more of this key
  // fits.
  std::vector<std::string> surplus(std::string_view key, TimePoint now) const;

  // The same as in KeyBook: all sessions as a store had them.
  std::uint64_t begin_reading();
  std::vector<Error> replace(const std::vector<Memo>& memos, std::uint64_t reading);

 private:
  const SessionLimits limits_;
  mutable SharedMutex mutex_{LockRank::leaf};
  std::map<std::string, std::shared_ptr<const Session>, std::less<>> sessions_ GUARDED_BY(mutex_);
  std::uint64_t begun_ GUARDED_BY(mutex_) = 0;
  std::uint64_t replaced_ GUARDED_BY(mutex_) = 0;
};

}  // namespace millrace::access
