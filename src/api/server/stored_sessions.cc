#include "api/server/stored_sessions.h"

#include <fmt/format.h>
#include <memory>
#include <utility>

#include "api/server/stored_keys.h"
#include "core/mutex.h"

namespace millrace::api {
namespace {

constexpr Duration patience = std::chrono::seconds(30);
constexpr std::size_t most_addresses = 10'000;

Ask ask_of(LocalBroker& broker) {
  return {
      .caller = broker.new_caller(), .deadline = later(broker.now(), patience), .internal = true};
}

// The session that counts: a key goes first. A proxy that asks for passwords leaves `Basic …` in
// every request, which is none.
std::string_view session_without_key(const HttpRequest& head) {
  return access::bearer_of(head.authorization).empty() ? session_of(head) : "";
}

Denial ended() {
  return {.status = 401, .detail = "the session has ended; sign in again"};
}

}  // namespace

StoredSessions::StoredSessions(access::KeyBook& keys, std::function<LocalBroker*()> broker,
                               std::function<TimePoint()> now, Log log,
                               const StoredSessionsOptions& options)
    : keys_(keys),
      broker_(std::move(broker)),
      now_(std::move(now)),
      log_(std::move(log)),
      options_(options) {}

// ---- Who asks ----------------------------------------------------------------------------------

AccessCheck StoredSessions::check() {
  return [this, by_key = check_keys(keys_, now_)](const HttpRequest& head, Scope scope) -> Access {
    const std::string_view text = session_without_key(head);
    if (scope == Scope::open || text.empty() || !keys_.guarded()) return by_key(head, scope);
    const TimePoint now = now_();
    const auto session = book_.find(text, now);
    if (!session) return std::unexpected(ended());
    return access_of(keys_.check_marked(session->key, session->mark, to_access(scope), now), true);
  };
}

AccessCheck StoredSessions::check_again() const {
  return [this, by_key = check_keys_again(keys_, now_)](const HttpRequest& head,
                                                        Scope scope) -> Access {
    const std::string_view text = session_without_key(head);
    if (scope == Scope::open || text.empty() || !keys_.guarded()) return by_key(head, scope);
    const TimePoint now = now_();
    const auto session = book_.find(text, now);
    if (!session) return std::unexpected(ended());
    return access_of(keys_.check_marked_again(session->key, session->mark, to_access(scope), now),
                     true);
  };
}

Visit StoredSessions::look(const HttpRequest& head) const {
  Visit visit{.needs_key = !keys_.is_open()};
  if (!visit.needs_key) return visit;
  const TimePoint now = now_();
  if (const auto text = access::bearer_of(head.authorization); !text.empty()) {
    const auto key = keys_.key_of(text, now);
    if (key) visit.key = view_of(*key);
    return visit;
  }
  const auto session = book_.find(session_of(head), now);
  const auto key = session ? keys_.key_marked(session->key, session->mark, now) : nullptr;
  if (!key) return visit;
  visit.signed_in = true;
  visit.key = view_of(*key);
  visit.expires = session->expires;
  return visit;
}

Sessions StoredSessions::sessions() {
  return {.look = [this](const HttpRequest& head) { return look(head); },
          .sign_in = [this](const SignIn& asked, Opened done) { sign_in(asked, std::move(done)); },
          .sign_out = [this](const HttpRequest& head,
                             Completion<std::string> done) { sign_out(head, std::move(done)); }};
}

// ---- Wrong keys --------------------------------------------------------------------------------

std::optional<Duration> StoredSessions::too_many(const std::string& remote) {
  const Lock lock(mutex_);
  const auto found = failures_.find(remote);
  if (found == failures_.end()) return std::nullopt;
  const Duration wait = found->second.retry_after(options_.failures, now_(), 1);
  return wait > Duration::zero() ? std::optional(wait) : std::nullopt;
}

void StoredSessions::failed(const std::string& remote) {
  const Lock lock(mutex_);
  const TimePoint now = now_();
  if (failures_.size() >= most_addresses && !failures_.contains(remote)) {
    std::erase_if(failures_, [&](const auto& each) {
      return each.second.room(options_.failures, now) == options_.failures.max;
    });
    if (failures_.size() >= most_addresses) failures_.erase(failures_.begin());
  }
  failures_[remote].add(options_.failures, now, 1);
}

// ---- In and out --------------------------------------------------------------------------------

// Behind a proxy all have one address, so whoever has a key that the server made, which nobody
// guesses, does not wait for others. What a person chose might be guessed: nobody learns in the
// meantime whether a guess was right.
void StoredSessions::sign_in(const SignIn& asked, Opened done) {
  const auto key = keys_.key_of(asked.key, now_());
  const bool guessed = !key || keys_.is_chosen(*key);
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
  auto made = access::make_session(*key, asked.path, options_.lasts, now_());
  if (!made) return done(std::unexpected(problem_of(made.error())));
  keep(std::move(*made), *key, std::move(done));
}

void StoredSessions::keep(access::MadeSession made, const access::Key& key, Opened done) {
  LocalBroker& broker = *broker_();
  for (const std::string& old : book_.surplus(key.id, now_())) forget(broker, old);
  Remember memo = access::to_memo(made.session);
  SignedIn signed_in{.visit = {.needs_key = true,
                               .signed_in = true,
                               .key = view_of(key),
                               .expires = made.session.expires},
                     .text = std::move(made.text),
                     .lasts = made.session.expires - made.session.created_at};
  broker.remember(ask_of(broker), std::move(memo),
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
  broker.remember(ask_of(broker), access::forget_session(id), [](const Result<Memo>&) {});
}

void StoredSessions::sign_out(const HttpRequest& head, Completion<std::string> done) {
  const auto session = book_.find(session_of(head), now_());
  if (!session) return done(std::string());
  LocalBroker& broker = *broker_();
  book_.forget(session->id);
  broker.remember(ask_of(broker), access::forget_session(session->id),
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
        broker.recall(ask_of(broker), std::move(recall), std::move(answer));
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
