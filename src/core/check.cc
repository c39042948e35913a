#include "core/check.h"

#include "core/ascii.h"
#include "core/quote.h"
#include "core/time_text.h"
#include "core/utf8.h"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace millrace {

Error inside(std::string_view place, Error error) {
  error.field = fmt::format("{}{}{}", place, error.field.empty() ? "" : ".", error.field);
  return error;
}

Result<void> inside(std::string_view place, Result<void> checked) {
  if (checked) return checked;
  return std::unexpected(inside(place, std::move(checked.error())));
}

}  // namespace millrace

namespace millrace::check {
namespace {

std::string shown(Duration duration) {
  return duration == limits::max_delay ? "10 years" : format_duration(duration);
}

bool is_control(char c) {
  return (c >= 0 && c < ' ') || c == 0x7F;
}

// Digits that make 1 to 65535.
bool is_port(std::string_view text) {
  unsigned port = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, port);
  return error == std::errc() && at == end && port >= 1 && port <= 65'535;
}

// http:// or https:// in any letters, a host, and a port or none.
bool is_web_address(std::string_view url) {
  const std::string scheme = ascii::lower(url.substr(0, std::min<std::size_t>(url.find("://"), 6)));
  if ((scheme != "http" && scheme != "https") || url.contains(' ')) return false;
  url.remove_prefix(scheme.size() + 3);
  url = url.substr(0, url.find_first_of("/?#"));
  url.remove_prefix(url.rfind('@') + 1);  // npos + 1 is 0
  if (url.starts_with('[')) {
    const std::size_t end = url.find(']');
    if (end == url.npos || end == 1) return false;
    url.remove_prefix(end + 1);
    return url.empty() || (url.starts_with(':') && is_port(url.substr(1)));
  }
  const std::size_t colon = url.find(':');
  if (colon == 0 || url.empty()) return false;
  return colon == url.npos || is_port(url.substr(colon + 1));
}

Result<void> real(const What& what, double value, double least, double most,
                  std::string_view allowed) {
  if (std::isfinite(value) && value >= least && value <= most) return {};
  return fail(ErrorCode::invalid,
              fmt::format("{} is {}; allowed are {}", what.words, value, allowed),
              std::string(what.field));
}

}  // namespace

namespace refuse {

std::unexpected<Error> size(const What& what, std::size_t bytes, std::size_t most) {
  return fail(ErrorCode::too_large,
              fmt::format("{} has {} bytes; at most {} are allowed", what.words, bytes, most),
              std::string(what.field));
}

std::unexpected<Error> count(const What& what, std::size_t given, std::size_t most) {
  return fail(ErrorCode::too_large,
              fmt::format("{} {} are too many; at most {} are allowed", given, what.words, most),
              std::string(what.field));
}

std::unexpected<Error> number(const What& what, std::uint64_t value, std::uint64_t least,
                              std::uint64_t most) {
  return fail(ErrorCode::invalid,
              fmt::format("{} is {}; allowed are {} to {}", what.words, value, least, most),
              std::string(what.field));
}

std::unexpected<Error> duration(const What& what, Duration value, Duration least, Duration most) {
  return fail(ErrorCode::invalid,
              fmt::format("{} is {}; allowed are {} to {}", what.words, format_duration(value),
                          shown(least), shown(most)),
              std::string(what.field));
}

}  // namespace refuse

Result<void> some_text(const What& what, std::string_view value, std::size_t most) {
  if (auto ok = size(what, value.size(), most); !ok) return ok;
  for (std::size_t at = 0; at < value.size();) {
    const std::size_t length = utf8_character(value.substr(at));
    if (length == 0 || is_control(value[at])) {
      return fail(ErrorCode::invalid,
                  fmt::format("{} {} has {} at position {}; allowed is UTF-8 without control "
                              "characters",
                              what.words, in_quotes(value), in_quotes(value.substr(at, 1)), at + 1),
                  std::string(what.field));
    }
    at += length;
  }
  return {};
}

Result<void> queue_number(const What& what, QueueNumber number) {
  if (number.value >= 0) return {};
  return fail(ErrorCode::invalid,
              fmt::format("{} is {}; allowed are 0 and up", what.words, number.value),
              std::string(what.field));
}

Result<void> rules(const RetryRules& rules) {
  Result<void> ok;
  if (rules.backoff)
    ok = enumerator({"retry backoff", "retry.backoff"}, *rules.backoff, Backoff::exponential);
  if (ok && rules.base)
    ok = duration({"retry base", "retry.base_ms"}, *rules.base, {}, limits::max_delay);
  if (ok && rules.factor) {
    ok = real({"retry factor", "retry.factor"}, *rules.factor, 1,
              std::numeric_limits<double>::max(), "finite numbers from 1");
  }
  if (ok && rules.cap)
    ok = duration({"retry cap", "retry.cap_ms"}, *rules.cap, {}, limits::max_delay);
  if (ok && rules.jitter)
    ok = enumerator({"retry jitter", "retry.jitter"}, *rules.jitter, Jitter::additive);
  if (ok && rules.jitter_share) {
    ok = real({"retry jitter_share", "retry.jitter_share"}, *rules.jitter_share, 0, 1, "0 to 1");
  }
  if (ok && rules.retryable)
    ok = enumerator({"retryable", "retry.retryable"}, *rules.retryable, Retryable::listed);
  return ok;
}

namespace {

Result<void> on_conflict(const UniqueKey& unique) {
  if (auto ok = enumerator({"unique on_conflict", "unique.on_conflict"}, unique.on_conflict,
                           OnConflict::postpone);
      !ok)
    return ok;
  const bool postpones = unique.on_conflict == OnConflict::postpone;
  if (unique.on_conflict != OnConflict::keep && unique.scope == UniqueScope::window) {
    return fail(ErrorCode::invalid,
                fmt::format("unique on_conflict is {} with the scope `window`, in which the first "
                            "put counts; allowed are the scopes `until_started` and "
                            "`until_finished`",
                            postpones ? "postpone" : "replace"),
                "unique.on_conflict");
  }
  if (!unique.max_delay) return {};
  if (!postpones) {
    return fail(ErrorCode::invalid,
                fmt::format("unique max_delay is {} without the on_conflict `postpone`; leave it "
                            "out, or choose that",
                            format_duration(*unique.max_delay)),
                "unique.max_delay_ms");
  }
  return duration({"unique max_delay", "unique.max_delay_ms"}, *unique.max_delay, Duration(1),
                  limits::max_delay);
}

}  // namespace

Result<void> unique(const UniqueKey& unique) {
  if (unique.key.empty()) {
    return fail(ErrorCode::invalid, "unique key is empty; allowed are 1 to 255 bytes",
                "unique.key");
  }
  if (auto ok = text({"unique key", "unique.key"}, unique.key, limits::max_unique_key); !ok)
    return ok;
  if (auto ok = enumerator({"unique scope", "unique.scope"}, unique.scope, UniqueScope::window);
      !ok)
    return ok;
  if (auto ok = on_conflict(unique); !ok) return ok;
  if (unique.scope == UniqueScope::window) {
    return duration({"unique window", "unique.window_ms"}, unique.window, Duration(1),
                    limits::max_delay);
  }
  if (unique.window == Duration::zero()) return {};
  return fail(ErrorCode::invalid,
              fmt::format("unique window is {} without the scope `window`; "
                          "leave it out, or choose that scope",
                          format_duration(unique.window)),
              "unique.window_ms");
}

Result<void> callback(const Callback& callback) {
  if (auto ok = text({"callback url", "callback.url"}, callback.url, limits::max_url); !ok)
    return ok;
  if (!is_web_address(callback.url)) {
    return fail(ErrorCode::invalid,
                fmt::format("callback url {} is not usable; allowed are http:// and https:// "
                            "addresses without spaces, with a port from 1 to 65535 if any",
                            in_quotes(callback.url)),
                "callback.url");
  }
  constexpr unsigned all_events =
      std::to_underlying(CallbackOn::final_states) | std::to_underlying(CallbackOn::retrying);
  if (auto ok = number({"callback events", "callback.events"}, callback.events, 1, all_events); !ok)
    return ok;
  return number({"callback max_attempts", "callback.max_attempts"}, callback.max_attempts, 1,
                limits::max_callback_attempts);
}

Result<void> own_keep(std::string_view what, const std::optional<Keep>& keep) {
  if (!keep) return {};
  if (keep->last) {
    return fail(ErrorCode::invalid,
                fmt::format("{} has a `last` here; only the rule of a queue counts how many are "
                            "kept, and allowed here is for_ms",
                            what),
                fmt::format("{}.last", what));
  }
  if (!keep->for_time) {
    return fail(ErrorCode::invalid,
                fmt::format("{} has no for_ms; give one, or leave {} out for the rule of the queue",
                            what, what),
                fmt::format("{}.for_ms", what));
  }
  return inside(what, duration({what, "for_ms"}, *keep->for_time, {}, limits::max_delay));
}

Result<void> error(const TaskError& error) {
  if (auto ok = size({"error code", "error.code"}, error.code.size(), limits::max_error_code); !ok)
    return ok;
  for (const auto& [what, text] :
       {std::pair<What, const std::string&>{{"error message", "error.message"}, error.message},
        {{"error details", "error.details"}, error.details},
        {{"error stack", "error.stack"}, error.stack}}) {
    if (auto ok = size(what, text.size(), limits::max_error_text); !ok) return ok;
  }
  return {};
}

}  // namespace millrace::check
