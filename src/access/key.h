// API keys: what a key allows, and what a store keeps of it. secret.h says how it is written.
#pragma once

#include <millrace/queue.h>
#include <millrace/result.h>
#include <millrace/time.h>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "access/secret.h"
#include "core/values.h"

namespace millrace::access {

enum class Scope : std::uint8_t { put = 0, work = 1, read = 2, admin = 3 };
inline constexpr std::size_t scope_count = 4;
// All of them, in the order of their values.
constexpr auto names(Scope) {
  return std::to_array<std::string_view>({"put", "work", "read", "admin"});
}
std::string_view name_of(Scope scope);
Result<Scope> scope_from_name(std::string_view name);

// A set of scopes; admin includes all.
class Scopes {
 public:
  Scopes() = default;
  explicit Scopes(std::span<const Scope> scopes) {
    for (const Scope each : scopes) add(each);
  }

  void add(Scope scope) { bits_ |= bit(scope); }
  bool empty() const { return bits_ == 0; }
  bool allow(Scope scope) const { return (bits_ & (bit(scope) | bit(Scope::admin))) != 0; }
  std::vector<Scope> list() const;  // as they were given

  friend bool operator==(const Scopes&, const Scopes&) = default;

 private:
  static std::uint8_t bit(Scope scope) {
    return static_cast<std::uint8_t>(1U << static_cast<unsigned>(scope));
  }
  std::uint8_t bits_ = 0;
};
std::string to_text(const Scopes& scopes);  // put, read

// A key as it is asked for.
struct KeyRequest {
  std::string name = {};  // for people: "ci", "mail service"
  Scopes scopes = {};
  std::vector<std::string> queues = {};  // patterns (`emails`, `emails.*`); empty: every queue
  std::optional<TimePoint> expires = std::nullopt;
  std::optional<Rate> rate = std::nullopt;  // requests
};
// A name of 1 to 100 bytes, at least one scope, patterns of names and `*`, an end in the future.
Result<void> validate(const KeyRequest& request, TimePoint now);

// A key as it is kept.
struct Key {
  std::string id = {};
  KeyRequest about = {};
  TimePoint created_at{};
  Hash hash = {};

  bool expired(TimePoint now) const { return about.expires && *about.expires <= now; }
  // It is for some queues only.
  bool restricted() const { return !about.queues.empty(); }
  bool may_touch(std::string_view queue) const;
};
// Whether a pattern of queues covers a name: `*` stands for any characters, also none.
bool matches(std::string_view pattern, std::string_view name);

struct MadeKey {
  Key key = {};
  std::string text = {};  // for its owner, shown once
};
// `unavailable` if the system has no random numbers.
Result<MadeKey> make_key(const KeyRequest& request, TimePoint now);

// The id of a text that looks like a key; empty if it does not.
std::string_view id_of(std::string_view text);

// ---- In a store: memos `key/<id>` --------------------------------------------------------------

inline constexpr std::string_view memo_prefix = "key/";

Remember to_memo(const Key& key);  // only if there is none of that id
Remember forget_memo(std::string_view id);
// `corrupt` names the memo.
Result<Key> from_memo(const Memo& memo);

// "100/1s": how many requests, and the time in which so many are allowed.
Result<Rate> parse_rate(std::string_view text);
std::string to_text(const Rate& rate);

}  // namespace millrace::access
