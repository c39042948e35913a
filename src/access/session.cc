#include "access/session.h"

#include <fmt/format.h>
#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "core/mutex.h"
#include "core/quote.h"
#include "core/time_text.h"

namespace millrace::access {
namespace {

namespace json = boost::json;

constexpr std::string_view session_mark = "ms_";

std::string_view text_in(const json::object& object, std::string_view field) {
  const json::value* value = object.if_contains(field);
  return value != nullptr && value->is_string() ? std::string_view(value->get_string()) : "";
}

}  // namespace

Result<MadeSession> make_session(const Key& key, std::string path, Duration lasts, TimePoint now) {
  auto secret = make_secret(session_mark);
  if (!secret) return std::unexpected(std::move(secret.error()));
  TimePoint expires = later(now, lasts);
  if (key.about.expires) expires = std::min(expires, *key.about.expires);
  MadeSession made{.session = {.id = std::move(secret->id),
                               .key = key.id,
                               .mark = mark_of(key.hash),
                               .path = std::move(path),
                               .created_at = now,
                               .expires = expires},
                   .text = std::move(secret->text)};
  made.session.hash = hash_of(made.text);
  return made;
}

std::string_view session_id_of(std::string_view text) {
  return id_of(text, session_mark);
}

// ---- In a store --------------------------------------------------------------------------------

Remember to_memo(const Session& session) {
  json::object object;
  object["sha256"] = to_hex(session.hash);
  object["key"] = session.key;
  object["key_mark"] = to_hex(session.mark);
  object["path"] = session.path;
  object["created_at"] = format_time(session.created_at);
  object["expires"] = format_time(session.expires);
  return {.key = fmt::format("{}{}", session_prefix, session.id),
          .value = json::serialize(object),
          .expected = 0,
          .lifetime = session.expires - session.created_at};
}

Remember forget_session(std::string_view id) {
  return {.key = fmt::format("{}{}", session_prefix, id), .value = std::nullopt};
}

Result<Session> session_from_memo(const Memo& memo) {
  const auto corrupt = [&](std::string_view why) {
    return fail(ErrorCode::corrupt,
                fmt::format("the memo {} is not a session: {}", in_quotes(memo.key), why));
  };
  if (!memo.key.starts_with(session_prefix))
    return corrupt("its name does not begin with $session/");
  boost::system::error_code error;
  const json::value value = json::parse(memo.value, error);
  if (error || !value.is_object()) return corrupt("it is not a JSON object");
  const json::object& object = value.get_object();
  const auto hash = hash_from_hex(text_in(object, "sha256"));
  const auto of_key = hash_from_hex(text_in(object, "key_mark"));
  const auto created = parse_time(text_in(object, "created_at"));
  const auto expires = parse_time(text_in(object, "expires"));
  if (!hash || !of_key) return corrupt("a hash is missing");
  if (!created || !expires) return corrupt("a moment is missing");
  return Session{.id = memo.key.substr(session_prefix.size()),
                 .hash = *hash,
                 .key = std::string(text_in(object, "key")),
                 .mark = *of_key,
                 .path = std::string(text_in(object, "path")),
                 .created_at = *created,
                 .expires = *expires};
}

// ---- In memory ---------------------------------------------------------------------------------

std::shared_ptr<const Session> SessionBook::find(std::string_view text, TimePoint now) const {
  const std::string_view id = session_id_of(text);
  if (id.empty()) return nullptr;
  std::shared_ptr<const Session> session;
  {
    const SharedLock lock(mutex_);
    const auto found = sessions_.find(id);
    if (found == sessions_.end()) return nullptr;
    session = found->second;
  }
  return session->expires > now && same(session->hash, hash_of(text)) ? session : nullptr;
}

void SessionBook::add(Session session) {
  auto shared = std::make_shared<const Session>(std::move(session));
  const Lock lock(mutex_);
  replaced_ = ++begun_;
  sessions_.insert_or_assign(shared->id, shared);
}

void SessionBook::forget(std::string_view id) {
  const Lock lock(mutex_);
  replaced_ = ++begun_;
  const auto found = sessions_.find(id);
  if (found != sessions_.end()) sessions_.erase(found);
}

std::vector<std::string> SessionBook::surplus(std::string_view key, TimePoint now) const {
  std::vector<std::shared_ptr<const Session>> alive;
  std::vector<std::string> gone;
  {
    const SharedLock lock(mutex_);
    for (const auto& [id, session] : sessions_) {
      if (session->expires <= now) {
        gone.push_back(id);
      } else {
        alive.push_back(session);
      }
    }
  }
  std::ranges::stable_sort(alive, {}, [](const auto& session) { return session->created_at; });
  auto of_key = static_cast<std::size_t>(
      std::ranges::count(alive, key, [](const auto& session) { return session->key; }));
  std::size_t all = alive.size();
  for (const auto& session : alive) {
    const bool own = session->key == key;
    if (all < limits_.all && (!own || of_key < limits_.per_key)) continue;
    gone.push_back(session->id);
    --all;
    if (own) --of_key;
  }
  return gone;
}

std::uint64_t SessionBook::begin_reading() {
  const Lock lock(mutex_);
  return ++begun_;
}

std::vector<Error> SessionBook::replace(const std::vector<Memo>& memos, std::uint64_t reading) {
  std::vector<Error> errors;
  decltype(sessions_) fresh;
  for (const Memo& memo : memos) {
    auto session = session_from_memo(memo);
    if (!session) {
      errors.push_back(std::move(session.error()));
      continue;
    }
    auto shared = std::make_shared<const Session>(std::move(*session));
    fresh.emplace(shared->id, shared);
  }
  const Lock lock(mutex_);
  if (reading < replaced_) return {};
  replaced_ = reading;
  sessions_ = std::move(fresh);
  return errors;
}

}  // namespace millrace::access
