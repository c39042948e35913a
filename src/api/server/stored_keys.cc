#include "api/server/stored_keys.h"

#include <fmt/format.h>
#include <algorithm>
#include <chrono>
#include <utility>

#include "api/server/own_ask.h"
#include "core/quote.h"

namespace millrace::api {
namespace {

// Who did it, for the log.
std::string by_whom(const std::string& by) {
  return by.empty() ? "anybody" : by;
}

}  // namespace

Access access_of(access::Verdict verdict, bool session) {
  if (verdict.outcome != access::Outcome::allowed) return std::unexpected(problem_of(verdict));
  return Principal{.key = std::move(verdict.key), .session = session};
}

// ---- Checking ----------------------------------------------------------------------------------

Access StoredKeys::check(const HttpRequest& head, Scope scope) {
  return access_of(book_.check(head.authorization, scope, clock_.now()));
}

Access StoredKeys::check_again(const HttpRequest& head, Scope scope) const {
  return access_of(book_.check_again(head.authorization, scope, clock_.now()));
}

// ---- Managing ----------------------------------------------------------------------------------

void StoredKeys::list(LocalBroker& broker, Completion<std::vector<access::Key>> done) {
  reload(broker, [this, done = std::move(done)](Result<void> read) mutable {
    if (!read) return done(std::unexpected(std::move(read.error())));
    done(book_.list());
  });
}

void StoredKeys::create(LocalBroker& broker, std::string by, const access::KeyRequest& request,
                        Completion<access::MadeKey> done) {
  if (!request.scopes.allow(Scope::admin) && !book_.has_admin(broker.now())) {
    return done(fail(ErrorCode::invalid,
                     "no key may manage keys yet, and with this one every caller would need a "
                     "key: make one with the scope admin first",
                     "scopes"));
  }
  auto made = access::make_key(request, broker.now());
  if (!made) return done(std::unexpected(std::move(made.error())));
  Remember memo = access::to_memo(made->key);
  broker.remember(own_ask(broker), std::move(memo),
                  [this, by = std::move(by), made = std::move(*made),
                   done = std::move(done)](Result<Memo> stored) mutable {
                    if (!stored) return done(std::unexpected(std::move(stored.error())));
                    log_(LogLevel::info, "API key made",
                         {{"key", made.key.id},
                          {"name", made.key.about.name},
                          {"scopes", access::to_text(made.key.about.scopes)},
                          {"by", by_whom(by)}});
                    book_.add(made.key);
                    done(std::move(made));
                  });
}

void StoredKeys::revoke(LocalBroker& broker, std::string by, std::string id, bool force,
                        Completion<void> done) {
  reload(broker, [this, &broker, by = std::move(by), id = std::move(id), force,
                  done = std::move(done)](Result<void> read) mutable {
    if (!read) return done(std::move(read));
    const auto keys = book_.list();
    if (std::ranges::find(keys, id, &access::Key::id) == keys.end()) {
      return done(fail(ErrorCode::not_found, fmt::format("there is no key {}", in_quotes(id))));
    }
    if (!force && book_.is_last_admin(id, broker.now())) {
      return done(
          fail(ErrorCode::conflict, fmt::format("the key {} is the last one with the scope admin; "
                                                "without it no key could manage this server: make "
                                                "another one first, or use force",
                                                in_quotes(id))));
    }
    remove(broker, std::move(by), std::move(id), std::move(done));
  });
}

void StoredKeys::remove(LocalBroker& broker, std::string by, std::string id,
                        Completion<void> done) {
  Remember memo = access::forget_memo(id);
  broker.remember(own_ask(broker), std::move(memo),
                  [this, by = std::move(by), id = std::move(id),
                   done = std::move(done)](Result<Memo> stored) mutable {
                    if (!stored) return done(std::unexpected(std::move(stored.error())));
                    log_(LogLevel::info, "API key revoked", {{"key", id}, {"by", by_whom(by)}});
                    book_.forget(id);
                    done({});
                  });
}

void StoredKeys::reload(LocalBroker& broker, Completion<void> done) {
  const std::uint64_t reading = book_.begin_reading();
  access::all_memos(
      access::memo_prefix,
      [&broker](Recall recall, auto answer) {
        broker.recall(own_ask(broker), std::move(recall), std::move(answer));
      },
      [this, reading, done = std::move(done)](Result<std::vector<Memo>> memos) mutable {
        if (!memos) {
          log_(LogLevel::warning, "API keys were not read", {{"error", memos.error().message}});
          if (done) done(std::unexpected(std::move(memos.error())));
          return;
        }
        for (const Error& error : book_.replace(*memos, reading)) {
          log_(LogLevel::error, error.message);
        }
        if (done) done({});
      });
}

}  // namespace millrace::api
