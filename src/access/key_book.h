// The keys of a server, in memory: what each request may do. Asked once per request.
#pragma once

#include <millrace/time.h>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "access/key.h"
#include "core/mutex.h"
#include "core/rate_window.h"

namespace millrace::access {

enum class Outcome : std::uint8_t {
  allowed,
  unauthorized,  // no key, or an unknown one
  forbidden,     // a known key that does not allow this
  limited,       // the key was used more often than it may be
};

struct Verdict {
  Outcome outcome = Outcome::allowed;
  std::shared_ptr<const Key> key = nullptr;            // of `allowed`; null: the server is open
  std::string detail = {};                             // of the others; holds no secret
  std::optional<Duration> retry_after = std::nullopt;  // of `limited`
};

struct KeyBookOptions {
  // With no keys at all, any caller may do everything: only where no other machine can connect.
  bool open_without_keys = false;
  std::string admin_key = {};  // may do everything and is in no store; empty: none
  // For the server's own worker processes, in no store either. A server that has no other key stays
  // open.
  std::optional<Key> own = std::nullopt;
};

// Safe to use from several threads.
class KeyBook {
 public:
  explicit KeyBook(const KeyBookOptions& options);

  // Takes the value of a header Authorization.
  Verdict check(std::string_view authorization, Scope scope, TimePoint now);
  // The same for a request that has been checked: it uses up nothing of the key's rate, and is
  // never `limited`.
  Verdict check_again(std::string_view authorization, Scope scope, TimePoint now) const;

  // The key of this text, as long as it is valid; null otherwise.
  std::shared_ptr<const Key> key_of(std::string_view text, TimePoint now) const;
  // The key of this id, as long as it is valid and its hash still has this mark; null otherwise. A
  // session knows the key that it was begun with by this.
  std::shared_ptr<const Key> key_marked(std::string_view id, const Hash& mark, TimePoint now) const;
  // As check() and check_again(), for a key that key_marked() has found.
  Verdict check_marked(std::string_view id, const Hash& mark, Scope scope, TimePoint now);
  Verdict check_marked_again(std::string_view id, const Hash& mark, Scope scope,
                             TimePoint now) const;

  // Takes a number before the keys are read, for replace().
  std::uint64_t begin_reading();
  // All keys as a store had them; nothing happens if the result of a later reading is already here.
  // Keys that stay keep what they have used of their rate. Memos that are not keys are returned as
  // errors; as long as there are some, the server is not open.
  std::vector<Error> replace(const std::vector<Memo>& memos, std::uint64_t reading);
  std::vector<Error> replace(const std::vector<Memo>& memos) {
    return replace(memos, begin_reading());
  }

  // Adds or removes one key as soon as the store has the change; a reading that began before is
  // void. So a change holds even if the keys cannot be read now.
  void add(Key key);
  void forget(std::string_view id);

  // Whether a person chose its text: the key of the options. The others are random.
  bool is_chosen(const Key& key) const { return admin_ && admin_->key->id == key.id; }
  // There are keys, or there may be.
  bool guarded() const;
  // Any caller may do everything.
  bool is_open() const { return open_without_keys_ && !guarded(); }
  // A caller could make keys: there is a key with the scope admin that has not expired.
  bool has_admin(TimePoint now) const;
  // Without this key no caller could make keys, though every caller would still need one.
  bool is_last_admin(std::string_view id, TimePoint now) const;
  std::vector<Key> list() const;  // by creation

 private:
  struct Entry {
    std::shared_ptr<const Key> key;
    Mutex mutex{LockRank::key};
    RateWindow window GUARDED_BY(mutex);
  };

  std::shared_ptr<Entry> find(std::string_view text) const;
  std::shared_ptr<Entry> marked(std::string_view id, const Hash& mark, TimePoint now) const;
  // The verdict on a request with this key.
  static Verdict spend(Entry& entry, Scope scope, TimePoint now);
  // The key that was shown. Null: the key is unknown or none is needed, and `verdict` says which.
  std::shared_ptr<Entry> known(std::string_view authorization, TimePoint now,
                               Verdict& verdict) const;

  const bool open_without_keys_;
  const std::shared_ptr<Entry> admin_;  // null: none
  const std::shared_ptr<Entry> own_;    // null: none
  mutable SharedMutex mutex_{LockRank::keys};
  std::map<std::string, std::shared_ptr<Entry>, std::less<>> entries_ GUARDED_BY(mutex_);
  std::uint64_t begun_ GUARDED_BY(mutex_) = 0;     // readings
  std::uint64_t replaced_ GUARDED_BY(mutex_) = 0;  // the latest of them that has arrived
  bool unreadable_ GUARDED_BY(mutex_) = false;
};

// The text after "Bearer" in a header Authorization; empty: it is another kind of header.
std::string_view bearer_of(std::string_view authorization);

// Every memo whose key begins with `prefix`, asked for in pages by `recall`.
Result<std::vector<Memo>> all_memos(
    std::string_view prefix, const std::function<Result<std::vector<Memo>>(const Recall&)>& recall);

// The same where answers come later. `done` is called once.
using RecallLater =
    std::function<void(Recall, std::move_only_function<void(Result<std::vector<Memo>>)>)>;
void all_memos(std::string_view prefix, const RecallLater& recall,
               std::move_only_function<void(Result<std::vector<Memo>>)> done);

}  // namespace millrace::access
