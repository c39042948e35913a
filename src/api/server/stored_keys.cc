#include "api/server/stored_keys.h"

#include <fmt/format.h>
#include <algorithm>
#include <utility>

#include "core/quote.h"

namespace millrace::api {
namespace {

constexpr Duration patience = std::chrono::seconds(30);

Scope from_access(access::Scope scope) {
  switch (scope) {
    case access::Scope::put:
      return Scope::put;
    case access::Scope::work:
      return Scope::work;
    case access::Scope::read:
      return Scope::read;
    case access::Scope::admin:
      break;
  }
  return Scope::admin;
}

unsigned status_of(access::Outcome outcome) {
  switch (outcome) {
    case access::Outcome::forbidden:
      return 403;
    case access::Outcome::limited:
      return 429;
    case access::Outcome::allowed:
    case access::Outcome::unauthorized:
      break;
  }
  return 401;
}

access::KeyRequest request_of(NewKey key) {
  access::KeyRequest request{.name = std::move(key.name),
                             .queues = std::move(key.queues),
                             .expires = key.expires,
                             .rate = key.rate};
  for (const Scope each : key.scopes) request.scopes.add(to_access(each));
  return request;
}

Ask ask_of(LocalBroker& broker) {
  return {
      .caller = broker.new_caller(), .deadline = later(broker.now(), patience), .internal = true};
}

// Who did it, for the log.
std::string by_whom(const std::string& by) {
  return by.empty() ? "anybody" : by;
}

// What the functions of a KeyAdmin share.
struct Manager {
  access::KeyBook& book;
  std::function<LocalBroker*()> find_broker;
  Log log;

  void list(Completion<std::vector<KeyView>> done) const {
    reload_keys(book, *find_broker(), log,
                [this, done = std::move(done)](Result<void> read) mutable {
                  if (!read) return done(std::unexpected(std::move(read.error())));
                  std::vector<KeyView> views;
                  for (const access::Key& key : book.list()) views.push_back(view_of(key));
                  done(std::move(views));
                });
  }

  void create(const std::string& by, NewKey asked, Completion<CreatedKey> done) const {
    LocalBroker& broker = *find_broker();
    access::KeyRequest request = request_of(std::move(asked));
    if (!request.scopes.allow(access::Scope::admin) && !book.has_admin(broker.now())) {
      return done(fail(ErrorCode::invalid,
                       "no key may manage keys yet, and with this one everybody would need a key: "
                       "make one with the scope admin first"));
    }
    auto made = access::make_key(request, broker.now());
    if (!made) return done(std::unexpected(std::move(made.error())));
    Remember memo = access::to_memo(made->key);
    broker.remember(
        ask_of(broker), std::move(memo),
        [this, by, made = std::move(*made), done = std::move(done)](Result<Memo> stored) mutable {
          if (!stored) return done(std::unexpected(std::move(stored.error())));
          log(LogLevel::info, "API key made",
              {{"key", made.key.id},
               {"name", made.key.about.name},
               {"scopes", access::to_text(made.key.about.scopes)},
               {"by", by_whom(by)}});
          CreatedKey created{.key = view_of(made.key), .secret = std::move(made.text)};
          book.add(std::move(made.key));
          done(std::move(created));
        });
  }

  void revoke(const std::string& by, const std::string& id, bool force,
              Completion<void> done) const {
    LocalBroker& broker = *find_broker();
    reload_keys(book, broker, log,
                [this, &broker, by, id, force, done = std::move(done)](Result<void> read) mutable {
                  if (!read) return done(std::move(read));
                  const auto keys = book.list();
                  if (std::ranges::find(keys, id, &access::Key::id) == keys.end()) {
                    return done(fail(ErrorCode::not_found,
                                     fmt::format("there is no key {}", in_quotes(id))));
                  }
                  if (!force && book.is_last_admin(id, broker.now())) {
                    return done(fail(ErrorCode::conflict,
                                     fmt::format("the key {} is the last one with the scope admin; "
                                                 "without it nobody could manage this server: make "
                                                 "another one first, or use force",
                                                 in_quotes(id))));
                  }
                  forget(broker, by, id, std::move(done));
                });
  }

  void forget(LocalBroker& broker, const std::string& by, const std::string& id,
              Completion<void> done) const {
    broker.remember(ask_of(broker), access::forget_memo(id),
                    [this, by, id, done = std::move(done)](Result<Memo> stored) mutable {
                      if (!stored) return done(std::unexpected(std::move(stored.error())));
                      log(LogLevel::info, "API key revoked", {{"key", id}, {"by", by_whom(by)}});
                      book.forget(id);
                      done({});
                    });
  }
};

}  // namespace

access::Scope to_access(Scope scope) {
  switch (scope) {
    case Scope::put:
      return access::Scope::put;
    case Scope::work:
      return access::Scope::work;
    case Scope::read:
      return access::Scope::read;
    case Scope::open:
    case Scope::anyone:
    case Scope::admin:
      break;
  }
  return access::Scope::admin;
}

Access access_of(access::Verdict verdict, bool session) {
  if (verdict.outcome != access::Outcome::allowed) {
    return std::unexpected(Denial{.status = status_of(verdict.outcome),
                                  .detail = std::move(verdict.detail),
                                  .retry_after = verdict.retry_after});
  }
  if (!verdict.key) return nullptr;
  return std::make_shared<const Principal>(Principal{.key = verdict.key->id,
                                                     .queues = verdict.key->about.queues,
                                                     .name = verdict.key->about.name,
                                                     .session = session});
}

KeyView view_of(const access::Key& key) {
  KeyView view{.id = key.id,
               .name = key.about.name,
               .queues = key.about.queues,
               .created_at = key.created_at,
               .expires = key.about.expires,
               .rate = key.about.rate};
  for (const access::Scope each : key.about.scopes.list()) view.scopes.push_back(from_access(each));
  return view;
}

AccessCheck check_keys(access::KeyBook& book, std::function<TimePoint()> now) {
  return [&book, now = std::move(now)](const HttpRequest& head, Scope scope) -> Access {
    if (scope == Scope::open) return nullptr;
    return access_of(book.check(head.authorization, to_access(scope), now()));
  };
}

AccessCheck check_keys_again(const access::KeyBook& book, std::function<TimePoint()> now) {
  return [&book, now = std::move(now)](const HttpRequest& head, Scope scope) -> Access {
    if (scope == Scope::open) return nullptr;
    return access_of(book.check_again(head.authorization, to_access(scope), now()));
  };
}

KeyAdmin manage_keys(access::KeyBook& book, std::function<LocalBroker*()> broker, Log log) {
  auto manager = std::make_shared<const Manager>(
      Manager{.book = book, .find_broker = std::move(broker), .log = std::move(log)});
  return {.list = [manager](auto done) { manager->list(std::move(done)); },
          .create = [manager](const std::string& by, NewKey key,
                              auto done) { manager->create(by, std::move(key), std::move(done)); },
          .revoke = [manager](const std::string& by, const std::string& id, bool force,
                              auto done) { manager->revoke(by, id, force, std::move(done)); }};
}

void reload_keys(access::KeyBook& book, LocalBroker& broker, const Log& log,
                 Completion<void> done) {
  const std::uint64_t reading = book.begin_reading();
  access::all_memos(
      access::memo_prefix,
      [&broker](Recall recall, auto answer) {
        broker.recall(ask_of(broker), std::move(recall), std::move(answer));
      },
      [&book, log, reading, done = std::move(done)](Result<std::vector<Memo>> memos) mutable {
        if (!memos) {
          log(LogLevel::warning, "API keys were not read", {{"error", memos.error().message}});
          if (done) done(std::unexpected(std::move(memos.error())));
          return;
        }
        for (const Error& error : book.replace(*memos, reading))
          log(LogLevel::error, error.message);
        if (done) done({});
      });
}

}  // namespace millrace::api
