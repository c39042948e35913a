#include "access/key.h"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>

#include "access/secret.h"
#include "core/ascii.h"
#include "core/check.h"
#include "core/limits.h"
#include "core/quote.h"
#include "core/time_text.h"

namespace millrace::access {
namespace {

constexpr std::array<std::string_view, scope_count> scope_names = names(Scope{});
constexpr std::string_view key_mark = "mr_";
constexpr std::size_t most_patterns = 32;

bool is_name_character(char c) {
  return ascii::is_letter_or_digit(c) || c == '.' || c == '_' || c == ':' || c == '-';
}

bool is_pattern(std::string_view text) {
  return !text.empty() && text.size() <= limits::max_name &&
         std::ranges::all_of(text, [](char c) { return c == '*' || is_name_character(c); });
}

}  // namespace

std::string_view name_of(Scope scope) {
  return scope_names.at(static_cast<std::size_t>(scope));
}

Result<Scope> scope_from_name(std::string_view name) {
  const auto* found = std::ranges::find(scope_names, name);
  if (found != scope_names.end()) return static_cast<Scope>(found - scope_names.begin());
  return fail(
      ErrorCode::invalid,
      fmt::format("{} is not a scope; there are put, work, read and admin", in_quotes(name)));
}

std::vector<Scope> Scopes::list() const {
  std::vector<Scope> scopes;
  for (std::size_t i = 0; i < scope_count; ++i) {
    if ((bits_ & bit(static_cast<Scope>(i))) != 0) scopes.push_back(static_cast<Scope>(i));
  }
  return scopes;
}

std::string to_text(const Scopes& scopes) {
  std::string text;
  for (const Scope each : scopes.list()) {
    if (!text.empty()) text += ", ";
    text += name_of(each);
  }
  return text;
}

bool Key::may_touch(std::string_view queue) const {
  if (!restricted()) return true;
  // A pattern with a star is meant for the queues of users: *s must not show $webhooks.
  if (queue.starts_with('$')) return false;
  return std::ranges::any_of(about.queues,
                             [&](const auto& pattern) { return matches(pattern, queue); });
}

// Goes back to the last star only, which is enough: an earlier one could not do better.
bool matches(std::string_view pattern, std::string_view name) {
  std::size_t at = 0;
  std::size_t in = 0;
  std::size_t star = std::string_view::npos;
  std::size_t after = 0;
  while (in < name.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      after = in;
    } else if (at < pattern.size() && pattern[at] == name[in]) {
      ++at, ++in;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      in = ++after;
    } else {
      return false;
    }
  }
  while (at < pattern.size() && pattern[at] == '*') ++at;
  return at == pattern.size();
}

Result<void> validate(const KeyRequest& request, TimePoint now) {
  if (request.name.empty()) {
    return fail(ErrorCode::invalid,
                "the key has no name; give one that says whose it is, such as \"mail service\"",
                "name");
  }
  if (auto ok = check::text("name", request.name, limits::max_name); !ok) return ok;
  if (request.scopes.empty()) {
    return fail(ErrorCode::invalid, "the key has no scopes; there are put, work, read and admin",
                "scopes");
  }
  if (auto ok = check::count({"queue patterns", "queues"}, request.queues.size(), most_patterns);
      !ok) {
    return ok;
  }
  for (std::size_t i = 0; i < request.queues.size(); ++i) {
    const std::string& each = request.queues[i];
    if (is_pattern(each)) continue;
    return fail(
        ErrorCode::invalid,
        fmt::format("{} is not a pattern of queue names; allowed are 1 to {} of A-Z a-z 0-9 . "
                    "_ : - and *, as in emails or shop.*",
                    in_quotes(each), limits::max_name),
        fmt::format("queues[{}]", i));
  }
  if (request.scopes.allow(Scope::admin) && !request.queues.empty()) {
    return fail(ErrorCode::invalid,
                "a key with the scope admin may do everything, so it cannot be confined to queues; "
                "leave out admin or the queues",
                "queues");
  }
  if (request.expires && *request.expires <= now) {
    return fail(ErrorCode::invalid,
                fmt::format("the key would have expired at {}; it is {} now",
                            format_time(*request.expires), format_time(now)),
                "expires");
  }
  if (!request.rate) return {};
  if (auto ok = check::number({"rate max", "rate.max"}, request.rate->max, 1, 1'000'000'000); !ok)
    return ok;
  return check::duration({"rate per", "rate.per_ms"}, request.rate->per, limits::min_rate_per,
                         limits::max_rate_per);
}

Result<MadeKey> make_key(const KeyRequest& request, TimePoint now) {
  if (auto ok = validate(request, now); !ok) return std::unexpected(std::move(ok.error()));
  auto secret = make_secret(key_mark);
  if (!secret) return std::unexpected(std::move(secret.error()));
  MadeKey made{.key = {.id = std::move(secret->id), .about = request, .created_at = now},
               .text = std::move(secret->text)};
  made.key.hash = hash_of(made.text);
  return made;
}

std::string_view id_of(std::string_view text) {
  return id_of(text, key_mark);
}

Remember forget_memo(std::string_view id) {
  return {.key = fmt::format("{}{}", memo_prefix, id), .value = std::nullopt};
}

Result<Rate> parse_rate(std::string_view text) {
  const auto bad = [&](std::string_view why) {
    return fail(ErrorCode::invalid,
                fmt::format("{} is not a rate: {}; write how many per how long, as in 100/1s",
                            in_quotes(text), why));
  };
  const std::size_t slash = text.find('/');
  if (slash == text.npos) return bad("there is no /");
  Rate rate;
  const char* end = text.data() + slash;
  const auto [stop, error] = std::from_chars(text.data(), end, rate.max);
  if (error != std::errc() || stop != end) return bad("what comes before the / is not a number");
  const auto per = parse_duration(text.substr(slash + 1));
  if (!per) return bad(per.error().message);
  rate.per = *per;
  return rate;
}

std::string to_text(const Rate& rate) {
  return fmt::format("{}/{}", rate.max, format_duration(rate.per));
}

}  // namespace millrace::access
