#include "broker/tick_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/quote.h"
#include "core/time_text.h"

namespace millrace {
namespace {

constexpr std::string_view opening = "{{tick";
constexpr std::string_view closing = "}}";
constexpr std::size_t longest = 64;  // of what is between the braces

// What a placeholder stands for; nullopt: it is not one of ours.
Result<std::optional<std::string>> meaning(std::string_view inside, TimePoint tick) {
  const bool as_number = inside.starts_with("_ms");
  if (as_number) inside.remove_prefix(3);
  if (!inside.empty()) {
    const char sign = inside.front();
    if (sign != '+' && sign != '-') return std::optional<std::string>();
    const auto by = parse_duration(inside.substr(1));
    if (!by) {
      return fail(ErrorCode::invalid, fmt::format("the payload has {}: {}",
                                                  in_quotes(fmt::format("{{{{tick{}}}}}", inside)),
                                                  by.error().message));
    }
    tick = later(tick, sign == '+' ? *by : -*by);
  }
  tick = std::clamp(tick, first_time, last_time);
  return as_number ? fmt::format("{}", tick.time_since_epoch().count()) : format_time(tick);
}

}  // namespace

Result<std::string> with_tick(std::string_view payload, TimePoint tick) {
  std::string text;
  text.reserve(payload.size() + 32);
  for (;;) {
    const std::size_t at = payload.find(opening);
    if (at == std::string_view::npos) break;
    const std::string_view rest = payload.substr(at + opening.size());
    const std::size_t end = rest.substr(0, longest).find(closing);
    std::optional<std::string> value;
    if (end != std::string_view::npos) {
      auto found = meaning(rest.substr(0, end), tick);
      if (!found) return std::unexpected(std::move(found.error()));
      value = std::move(*found);
    }
    text += payload.substr(0, at);
    if (value) {
      text += *value;
      payload = rest.substr(end + closing.size());
    } else {
      text += opening;
      payload = rest;
    }
  }
  text += payload;
  return text;
}

}  // namespace millrace
