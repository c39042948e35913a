#include "api/server/stored_sessions.h"

#include <fmt/format.h>
#include <memory>
#include <utility>

#include "access/key_book.h"
#include "api/server/own_ask.h"
#include "core/mutex.h"

namespace millrace::api {
namespace {

constexpr std::size_t most_addresses = 10'000;

Problem ended() {
  return {.status = 401, .code = "unauthorized", .detail = "the session has ended; sign in again"};
}

}  // namespace

StoredSessions::StoredSessions(StoredKeys& keys, Clock& clock, Log log,
                               const StoredSessionsOptions& options)
    : keys_(keys), clock_(clock), log_(std::move(log)), options_(options) {}

// ---- Who asks ----------------------------------------------------------------------------------

// A key takes precedence over a session. A proxy that asks for passwords leaves `Basic …` in every
// request, which is not a key.
std::string_view StoredSessions::deciding_session(const HttpRequest& head) const {
  const bool has_key = !access::bearer_of(head.authorization).empty();
  return has_key || !keys_.book().guarded() ? "" : session_of(head);
}

Access StoredSessions::check(const HttpRequest& head, Scope scope) {
  const std::string_view text = deciding_session(head);
  if (text.empty()) return keys_.check(head, scope);
  const TimePoint now = clock_.now();
  const auto session = book_.find(text, now);
  if (!session) return std::unexpected(ended());
  return access_of(keys_.book().check_marked(session->key, session->mark, scope, now), true);
}

Access StoredSessions::check_again(const HttpRequest& head, Scope scope) const {
  const std::string_view text = deciding_session(head);
  if (text.empty()) return keys_.check_again(head, scope);
  const TimePoint now = clock_.now();
  const auto session = book_.find(text, now);
  if (!session) return std::unexpected(ended());
  return access_of(keys_.book().check_marked_again(session->key, session->mark, scope, now), true);
}

Visit StoredSessions::visit_of(const HttpRequest& head) const {
  const access::KeyBook& keys = keys_.book();
  Visit visit{.needs_key = !keys.is_open()};
  if (!visit.needs_key) return visit;
  const TimePoint now = clock_.now();
  if (const auto text = access::bearer_of(head.authorization); !text.empty()) {
    visit.key = keys.key_of(text, now);
    return visit;
  }
  const auto session = book_.find(session_of(head), now);
  if (!session) return visit;
  visit.key = keys.key_marked(session->key, session->mark, now);
  if (!visit.key) return visit;
  visit.signed_in = true;
  visit.expires = session->expires;
  return visit;
}

// ---- Wrong keys --------------------------------------------------------------------------------

std::optional<Duration> StoredSessions::too_many(const std::string& remote) {
  const Lock lock(mutex_);
  const auto found = failures_.find(remote);
  if (found == failures_.end()) return std::nullopt;
  const Duration wait = found->second.retry_after(options_.failures, clock_.now(), 1);
  return wait > Duration::zero() ? std::optional(wait) : std::nullopt;
}

void StoredSessions::failed(const std::string& remote) {
  const Lock lock(mutex_);
  const TimePoint now = clock_.now();
  if (failures_.size() >= most_addresses && !failures_.contains(remote)) {
    std::erase_if(failures_, [&](const auto& each) {
      return each.second.room(options_.failures, now) == options_.failures.max;
    });
    if (failures_.size() >= most_addresses) failures_.erase(failures_.begin());
  }
  failures_[remote].add(options_.failures, now, 1);
}

// ---- In and out --------------------------------------------------------------------------------

// Behind a proxy all clients have one address. A key that the server made cannot be guessed, so a
// client that has one does not wait because of other clients. A key that a person chose might be
// guessed, so it is refused as well while the address has to wait: otherwise a client would learn
// meanwhile that its guess was right.
void StoredSessions::sign_in(LocalBroker& broker, const SignIn& asked, SignInDone done) {
  auto key = keys_.book().key_of(asked.key, clock_.now());
  const bool guessed = !key || keys_.book().is_chosen(*key);
  if (const auto wait = guessed ? too_many(asked.remote) : std::nullopt) {
    return done(std::unexpected(Problem{.status = 429,
                                        .code = "limited",
                                        .detail = "too many wrong keys came from your address",
                                        .retry_after = wait}));
  }
  if (!key) {
    failed(asked.remote);
    log_(LogLevel::warning, "signing in failed: the key is not known", {{"remote", asked.remote}});
    return done(std::unexpected(Problem{.status = 401,
                                        .code = "unauthorized",
                                        .detail = "the API key is unknown, or was revoked",
                                        .field = "key"}));
  }
  auto made = access::make_session(*key, asked.path, options_.lasts, clock_.now());
  if (!made) return done(std::unexpected(problem_of(made.error())));
  keep(broker, std::move(*made), std::move(key), std::move(done));
}

void StoredSessions::keep(LocalBroker& broker, access::MadeSession made,
                          std::shared_ptr<const access::Key> key, SignInDone done) {
  for (const std::string& old : book_.surplus(key->id, clock_.now())) forget(broker, old);
  Remember memo = access::to_memo(made.session);
  SignedIn signed_in{.visit = {.needs_key = true,
                               .signed_in = true,
                               .key = std::move(key),
                               .expires = made.session.expires},
                     .text = std::move(made.text),
                     .lasts = made.session.expires - made.session.created_at};
  broker.remember(own_ask(broker), std::move(memo),
                  [this, session = std::move(made.session), signed_in = std::move(signed_in),
                   done = std::move(done)](Result<Memo> stored) mutable {
                    if (!stored) return done(std::unexpected(problem_of(stored.error())));
                    log_(LogLevel::info, "signed in",
                         {{"key", session.key}, {"session", session.id}});
                    book_.add(std::move(session));
                    done(std::move(signed_in));
                  });
}

void StoredSessions::forget(LocalBroker& broker, const std::string& id) {
  book_.forget(id);
  broker.remember(own_ask(broker), access::forget_session(id), [](const Result<Memo>&) {});
}

void StoredSessions::sign_out(LocalBroker& broker, const HttpRequest& head,
                              Completion<std::string> done) {
  const auto session = book_.find(session_of(head), clock_.now());
  if (!session) return done(std::string());
  book_.forget(session->id);
  broker.remember(own_ask(broker), access::forget_session(session->id),
                  [this, session, done = std::move(done)](const Result<Memo>& stored) mutable {
                    if (!stored) return done(std::unexpected(stored.error()));
                    log_(LogLevel::info, "signed out",
                         {{"key", session->key}, {"session", session->id}});
                    done(session->path);
                  });
}

// ---- What the store has ------------------------------------------------------------------------

void StoredSessions::read(const std::vector<Memo>& memos) {
  for (const Error& error : book_.replace(memos, book_.begin_reading())) {
    log_(LogLevel::error, error.message);
  }
}

void StoredSessions::reload(LocalBroker& broker) {
  const std::uint64_t reading = book_.begin_reading();
  access::all_memos(
      access::session_prefix,
      [&broker](Recall recall, auto answer) {
        broker.recall(own_ask(broker), std::move(recall), std::move(answer));
      },
      [this, reading](const Result<std::vector<Memo>>& memos) {
        if (!memos) {
          return log_(LogLevel::warning, "sessions were not read",
                      {{"error", memos.error().message}});
        }
        for (const Error& error : book_.replace(*memos, reading)) {
          log_(LogLevel::error, error.message);
        }
      });
}

}  // namespace millrace::api
