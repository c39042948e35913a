// How each kind of value is read and written.
#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <type_traits>

#include "config/settings.h"
#include "core/quote.h"
#include "core/time_text.h"
#include "core/utf8.h"

namespace millrace::config {
namespace {

constexpr std::size_t most_text = 4096;

std::unexpected<Error> bad(std::string message) {
  return fail(ErrorCode::invalid, std::move(message));
}

std::string shown(const Setting& setting, std::string_view text) {
  return setting.secret ? "a secret" : in_quotes(text);
}

std::unexpected<Error> refused(const Setting& setting, std::string_view text) {
  return bad(
      fmt::format("{} is {}; allowed is {}", setting.key, shown(setting, text), allowed(setting)));
}

bool in_range(const Setting& setting, double value) {
  return value >= setting.least && value <= setting.most;
}

template <class Number>
bool read_number(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

std::string joined(const std::vector<std::string_view>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

// One reader per kind; false: refused.
bool read(const Setting& setting, std::string_view text, std::string& value) {
  const bool control =
      std::ranges::any_of(text, [](char c) { return (c >= 0 && c < ' ') || c == 0x7F; });
  if (text.size() > most_text || control || !is_utf8(text)) return false;
  if (!setting.choices.empty() && std::ranges::find(setting.choices, text) == setting.choices.end())
    return false;
  value = text;
  return true;
}

bool read(const Setting& setting, std::string_view text, std::uint32_t& value) {
  return read_number(text, value) && in_range(setting, value);
}

bool read(const Setting& setting, std::string_view text, Count& value) {
  if (text == "unlimited") {
    value.value = unlimited;
    return true;
  }
  return read(setting, text, value.value);
}

bool read(const Setting& setting, std::string_view text, double& value) {
  return read_number(text, value) && std::isfinite(value) && in_range(setting, value);
}

bool read(const Setting&, std::string_view text, bool& value) {
  value = text == "true";
  return text == "true" || text == "false";
}

// Kinds whose parser says itself what is wrong with a text.
template <class Value, class Parse>
Result<void> parsed(const Setting& setting, std::string_view text, Value& value, Parse parse) {
  auto got = parse(text);
  if (!got) return bad(fmt::format("{}: {}", setting.key, got.error().message));
  value = std::move(*got);
  return {};
}

Result<void> set(const Setting& setting, std::string_view text, Address& value) {
  return parsed(setting, text, value, parse_address);
}

Result<void> set(const Setting& setting, std::string_view text, Size& value) {
  if (auto ok = parsed(setting, text, value, parse_size); !ok) return ok;
  if (!in_range(setting, static_cast<double>(value.bytes))) return refused(setting, text);
  return {};
}

Result<void> set(const Setting& setting, std::string_view text, Duration& value) {
  if (auto ok = parsed(setting, text, value, parse_duration); !ok) return ok;
  if (!in_range(setting, static_cast<double>(value.count()))) return refused(setting, text);
  return {};
}

template <class Value>
Result<void> set(const Setting& setting, std::string_view text, Value& value) {
  if (!read(setting, text, value)) return refused(setting, text);
  return {};
}

std::string text_from(const std::string& value) {
  return value;
}
std::string text_from(std::uint32_t value) {
  return fmt::format("{}", value);
}
std::string text_from(Count value) {
  return value.value == unlimited ? "unlimited" : fmt::format("{}", value.value);
}
std::string text_from(double value) {
  return fmt::format("{}", value);
}
std::string text_from(Size value) {
  return to_text(value);
}
std::string text_from(Duration value) {
  return format_duration(value);
}
std::string text_from(bool value) {
  return value ? "true" : "false";
}
std::string text_from(const Address& value) {
  return to_text(value);
}

// The name of a kind, and its range.
std::string kind_of(const Setting& setting, std::string Settings::*) {
  return setting.choices.empty() ? "text" : joined(setting.choices);
}
std::string kind_of(const Setting& setting, std::uint32_t Settings::*) {
  return fmt::format("a whole number from {} to {}", setting.least, setting.most);
}
std::string kind_of(const Setting& setting, Count Settings::*) {
  return fmt::format("a whole number from {} to {}, or unlimited", setting.least,
                     static_cast<std::uint64_t>(setting.most));
}
std::string kind_of(const Setting& setting, double Settings::*) {
  return fmt::format("a number from {} to {}", setting.least, setting.most);
}
std::string kind_of(const Setting& setting, Size Settings::*) {
  return fmt::format("a size from {} to {}", to_text({static_cast<std::uint64_t>(setting.least)}),
                     to_text({static_cast<std::uint64_t>(setting.most)}));
}
std::string kind_of(const Setting& setting, Duration Settings::*) {
  const auto duration = [](double ms) {
    return format_duration(Duration(static_cast<Duration::rep>(ms)));
  };
  return fmt::format("a duration from {} to {}", duration(setting.least), duration(setting.most));
}
std::string kind_of(const Setting&, bool Settings::*) {
  return "true or false";
}
std::string kind_of(const Setting&, Address Settings::*) {
  return "an IP address and a port";
}

}  // namespace

std::string allowed(const Setting& setting) {
  const std::string kind =
      std::visit([&](auto field) { return kind_of(setting, field); }, setting.field);
  const bool listed = !setting.choices.empty() || kind == "true or false";
  return listed ? kind : fmt::format("{}, such as {}", kind, setting.example);
}

Result<void> assign(Settings& settings, const Setting& setting, std::string_view text) {
  return std::visit([&](auto field) { return set(setting, text, settings.*field); }, setting.field);
}

std::string text_of(const Settings& settings, const Setting& setting) {
  return std::visit([&](auto field) { return text_from(settings.*field); }, setting.field);
}

}  // namespace millrace::config
