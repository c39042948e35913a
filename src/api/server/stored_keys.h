// API keys that live in the store: whether a request may do what it asks for, and managing them.
#pragma once

#include <expected>
#include <functional>
#include <string>
#include <vector>

#include "access/key_book.h"
#include "api/server/http.h"
#include "api/server/principal.h"
#include "api/server/problem.h"
#include "broker/local_broker.h"
#include "core/clock.h"
#include "core/log.h"

namespace millrace::api {

// On whose behalf a request may go on, or how it is refused: 401 (no key, an unknown or expired
// one), 403 (without that scope) or 429.
using Access = std::expected<Principal, Problem>;
Access access_of(access::Verdict verdict, bool session = false);

// Keeps the book up to date with the store. Safe to use from several threads. It must outlive the
// answers of every broker it is given.
class StoredKeys {
 public:
  // The book and the clock must outlive this.
  StoredKeys(access::KeyBook& book, Clock& clock, Log log)
      : book_(book), clock_(clock), log_(std::move(log)) {}
  StoredKeys(const StoredKeys&) = delete;
  StoredKeys& operator=(const StoredKeys&) = delete;

  access::KeyBook& book() const { return book_; }

  // Whether the key of a request has this scope. Uses up one request of the key's rate. Does not
  // block.
  Access check(const HttpRequest& head, Scope scope);
  // The same for a request that was let in: uses up nothing of the rate, and is never 429.
  Access check_again(const HttpRequest& head, Scope scope) const;

  // All keys as the store has them now, by creation.
  void list(LocalBroker& broker, Completion<std::vector<access::Key>> done);
  // Makes a key that is valid when `done` is called. `by` is the id of the key that asks, for the
  // log. `invalid`: the request makes no sense, or no key can manage keys yet and this one could
  // not either.
  void create(LocalBroker& broker, std::string by, const access::KeyRequest& request,
              Completion<access::MadeKey> done);
  // Revokes a key; it is no longer valid when `done` is called. `not_found`: there is no key with
  // that id. `conflict`: it is the last key that can manage keys, and `force` is not set.
  void revoke(LocalBroker& broker, std::string by, std::string id, bool force,
              Completion<void> done);
  // Reads all keys again: other processes may have changed them. `done` may be empty.
  void reload(LocalBroker& broker, Completion<void> done = nullptr);

 private:
  void remove(LocalBroker& broker, std::string by, std::string id, Completion<void> done);

  access::KeyBook& book_;
  Clock& clock_;
  const Log log_;
};

}  // namespace millrace::api
