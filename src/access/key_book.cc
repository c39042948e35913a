#include "access/key_book.h"

#include <fmt/format.h>
#include <algorithm>

#include "core/ascii.h"
#include "core/limits.h"
#include "core/mutex.h"
#include "core/quote.h"
#include "core/time_text.h"

namespace millrace::access {
namespace {

constexpr std::string_view how_to =
    "send a key in the header `Authorization: Bearer mr_...`; `millrace keys create --help` shows "
    "how to make one";

constexpr std::string_view ended =
    "the session has ended, or its API key was revoked; sign in again";

Verdict refuse(Outcome outcome, std::string detail) {
  return {.outcome = outcome, .detail = std::move(detail)};
}

Verdict allowed(const std::shared_ptr<const Key>& key, Scope scope) {
  if (key->about.scopes.allow(scope)) return {.key = key};
  return refuse(Outcome::forbidden,
                fmt::format("this needs the scope {}; the API key {} has {}", name_of(scope),
                            in_quotes(key->about.name), to_text(key->about.scopes)));
}

Recall page_after(std::string prefix, std::string after) {
  return {.prefix = std::move(prefix), .after = std::move(after), .limit = limits::max_page};
}

// A walk over the pages that keeps itself alive through its next request.
struct Walk : std::enable_shared_from_this<Walk> {
  std::string prefix;
  RecallLater recall;
  std::move_only_function<void(Result<std::vector<Memo>>)> done;
  std::vector<Memo> found;

  void ask() {
    recall(page_after(prefix, found.empty() ? "" : found.back().key),
           [self = shared_from_this()](Result<std::vector<Memo>> page) {
             self->got(std::move(page));
           });
  }

  void got(Result<std::vector<Memo>> page) {
    if (!page) return done(std::move(page));
    const bool last = page->size() < limits::max_page;
    std::ranges::move(*page, std::back_inserter(found));
    if (last) return done(std::move(found));
    ask();
  }
};

}  // namespace

std::string_view bearer_of(std::string_view authorization) {
  constexpr std::string_view scheme = "Bearer";
  if (authorization.size() <= scheme.size() || authorization[scheme.size()] != ' ' ||
      !ascii::equal_ignoring_case(authorization.substr(0, scheme.size()), scheme)) {
    return {};
  }
  authorization.remove_prefix(scheme.size());
  while (authorization.starts_with(' ')) authorization.remove_prefix(1);
  while (authorization.ends_with(' ')) authorization.remove_suffix(1);
  return authorization;
}

KeyBook::KeyBook(const KeyBookOptions& options)
    : open_without_keys_(options.open_without_keys),
      admin_(options.admin_key.empty() ? nullptr : std::make_shared<Entry>()),
      own_(options.own ? std::make_shared<Entry>() : nullptr) {
  if (own_) own_->key = std::make_shared<const Key>(*options.own);
  if (!admin_) return;
  Key key{.id = "admin_key", .hash = hash_of(options.admin_key)};
  key.about.name = "the setting admin_key";
  key.about.scopes.add(Scope::admin);
  admin_->key = std::make_shared<const Key>(std::move(key));
}

std::shared_ptr<KeyBook::Entry> KeyBook::find(std::string_view text) const {
  const std::string_view id = id_of(text);
  std::shared_ptr<Entry> entry = admin_;
  if (own_ && id == own_->key->id) {
    entry = own_;
  } else if (!id.empty()) {
    const SharedLock lock(mutex_);
    const auto found = entries_.find(id);
    if (found != entries_.end()) entry = found->second;
  }
  if (!entry || !same(entry->key->hash, hash_of(text))) return nullptr;
  return entry;
}

std::shared_ptr<KeyBook::Entry> KeyBook::known(std::string_view authorization, TimePoint now,
                                               Verdict& verdict) const {
  if (!guarded() && open_without_keys_) return nullptr;
  std::string_view text = {};
  std::shared_ptr<Entry> entry;
  if (authorization.empty()) {
    verdict = refuse(Outcome::unauthorized, fmt::format("this needs an API key: {}", how_to));
  } else if (text = bearer_of(authorization); text.empty()) {
    verdict = refuse(Outcome::unauthorized,
                     fmt::format("the header Authorization is not understood: {}", how_to));
  } else if (entry = find(text); !entry) {
    // The caller does not learn whether the id or the secret was wrong.
    verdict = refuse(Outcome::unauthorized, "the API key is unknown, or was revoked");
  } else if (const Key& key = *entry->key; key.expired(now)) {
    verdict = refuse(Outcome::unauthorized,
                     fmt::format("the API key expired at {}", format_time(*key.about.expires)));
    entry = nullptr;
  }
  return entry;
}

Verdict KeyBook::check_again(std::string_view authorization, Scope scope, TimePoint now) const {
  Verdict verdict;
  const auto entry = known(authorization, now, verdict);
  return entry ? allowed(entry->key, scope) : verdict;
}

Verdict KeyBook::check(std::string_view authorization, Scope scope, TimePoint now) {
  Verdict known_as;
  const auto entry = known(authorization, now, known_as);
  return entry ? spend(*entry, scope, now) : known_as;
}

Verdict KeyBook::spend(Entry& entry, Scope scope, TimePoint now) {
  const Key& key = *entry.key;
  if (key.about.rate) {
    const Lock lock(entry.mutex);
    if (entry.window.room(*key.about.rate, now) == 0) {
      Verdict verdict = refuse(
          Outcome::limited, fmt::format("the API key may make {} requests in {}",
                                        key.about.rate->max, format_duration(key.about.rate->per)));
      verdict.retry_after = entry.window.retry_after(*key.about.rate, now, 1);
      return verdict;
    }
    entry.window.add(*key.about.rate, now, 1);
  }
  return allowed(entry.key, scope);
}

// ---- Keys that were shown before ---------------------------------------------------------------

std::shared_ptr<const Key> KeyBook::key_of(std::string_view text, TimePoint now) const {
  const auto entry = find(text);
  return entry && !entry->key->expired(now) ? entry->key : nullptr;
}

std::shared_ptr<KeyBook::Entry> KeyBook::marked(std::string_view id, const Hash& mark,
                                                TimePoint now) const {
  std::shared_ptr<Entry> entry;
  if (admin_ && id == admin_->key->id) {
    entry = admin_;
  } else {
    const SharedLock lock(mutex_);
    const auto found = entries_.find(id);
    if (found != entries_.end()) entry = found->second;
  }
  const bool good = entry && same(mark_of(entry->key->hash), mark) && !entry->key->expired(now);
  return good ? entry : nullptr;
}

std::shared_ptr<const Key> KeyBook::key_marked(std::string_view id, const Hash& mark,
                                               TimePoint now) const {
  const auto entry = marked(id, mark, now);
  return entry ? entry->key : nullptr;
}

Verdict KeyBook::check_marked(std::string_view id, const Hash& mark, Scope scope, TimePoint now) {
  const auto entry = marked(id, mark, now);
  return entry ? spend(*entry, scope, now) : refuse(Outcome::unauthorized, std::string(ended));
}

Verdict KeyBook::check_marked_again(std::string_view id, const Hash& mark, Scope scope,
                                    TimePoint now) const {
  const auto entry = marked(id, mark, now);
  return entry ? allowed(entry->key, scope) : refuse(Outcome::unauthorized, std::string(ended));
}

std::uint64_t KeyBook::begin_reading() {
  const Lock lock(mutex_);
  return ++begun_;
}

void KeyBook::add(Key key) {
  auto entry = std::make_shared<Entry>();
  entry->key = std::make_shared<const Key>(std::move(key));
  const Lock lock(mutex_);
  replaced_ = ++begun_;
  entries_.insert_or_assign(entry->key->id, std::move(entry));
}

void KeyBook::forget(std::string_view id) {
  const Lock lock(mutex_);
  replaced_ = ++begun_;
  const auto found = entries_.find(id);
  if (found != entries_.end()) entries_.erase(found);
}

std::vector<Error> KeyBook::replace(const std::vector<Memo>& memos, std::uint64_t reading) {
  std::vector<Error> errors;
  decltype(entries_) fresh;
  for (const Memo& memo : memos) {
    auto key = from_memo(memo);
    if (!key) {
      errors.push_back(std::move(key.error()));
      continue;
    }
    auto entry = std::make_shared<Entry>();
    entry->key = std::make_shared<const Key>(std::move(*key));
    fresh.emplace(entry->key->id, std::move(entry));
  }
  const Lock lock(mutex_);
  if (reading < replaced_) return {};
  replaced_ = reading;
  for (auto& [id, entry] : fresh) {
    const auto old = entries_.find(id);
    if (old == entries_.end()) continue;
    RateWindow window;
    {
      const Lock old_lock(old->second->mutex);
      window = old->second->window;
    }
    const Lock new_lock(entry->mutex);
    entry->window = window;
  }
  entries_ = std::move(fresh);
  unreadable_ = !errors.empty();
  return errors;
}

bool KeyBook::guarded() const {
  if (admin_) return true;
  const SharedLock lock(mutex_);
  return unreadable_ || !entries_.empty();
}

bool KeyBook::has_admin(TimePoint now) const {
  if (admin_) return true;
  const SharedLock lock(mutex_);
  return std::ranges::any_of(entries_, [&](const auto& each) {
    const Key& key = *each.second->key;
    return key.about.scopes.allow(Scope::admin) && !key.expired(now);
  });
}

bool KeyBook::is_last_admin(std::string_view id, TimePoint now) const {
  if (admin_) return false;
  const SharedLock lock(mutex_);
  const auto is_admin = [&](const Key& key) {
    return key.about.scopes.allow(Scope::admin) && !key.expired(now);
  };
  const auto found = entries_.find(id);
  if (found == entries_.end() || !is_admin(*found->second->key)) return false;
  if (entries_.size() == 1 && open_without_keys_ && !unreadable_) return false;
  return std::ranges::none_of(
      entries_, [&](const auto& each) { return each.first != id && is_admin(*each.second->key); });
}

std::vector<Key> KeyBook::list() const {
  std::vector<Key> keys;
  {
    const SharedLock lock(mutex_);
    for (const auto& [id, entry] : entries_) keys.push_back(*entry->key);
  }
  std::ranges::stable_sort(keys, {}, &Key::created_at);
  return keys;
}

Result<std::vector<Memo>> all_memos(
    std::string_view prefix,
    const std::function<Result<std::vector<Memo>>(const Recall&)>& recall) {
  std::vector<Memo> found;
  while (true) {
    auto page = recall(page_after(std::string(prefix), found.empty() ? "" : found.back().key));
    if (!page) return page;
    const bool last = page->size() < limits::max_page;
    std::ranges::move(*page, std::back_inserter(found));
    if (last) return found;
  }
}

void all_memos(std::string_view prefix, const RecallLater& recall,
               std::move_only_function<void(Result<std::vector<Memo>>)> done) {
  auto walk = std::make_shared<Walk>();
  walk->prefix = prefix;
  walk->recall = recall;
  walk->done = std::move(done);
  walk->ask();
}

}  // namespace millrace::access
