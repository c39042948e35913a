#include "cli/console.h"

#include <fmt/format.h>
#include <chrono>

#include "cli/display.h"

namespace millrace::cli {
namespace {

constexpr std::string_view red = "\x1b[1;31m";
constexpr std::string_view yellow = "\x1b[33m";
constexpr std::string_view plain = "\x1b[0m";
constexpr std::string_view to_line_start = "\r\x1b[K";
constexpr std::int64_t refresh_ms = 100;
constexpr std::uint64_t bar_width = 30;

}  // namespace

std::string Console::painted(std::string_view text, std::string_view colour) const {
  if (!colours_) return std::string(text);
  return fmt::format("{}{}{}", colour, text, plain);
}

std::string Console::shown(std::string_view text) const {
  return terminal_ ? harmless(text) : std::string(text);
}

void Console::clear_progress() {
  if (std::exchange(shown_, false)) err_ << to_line_start;
}

void Console::say(std::string_view text) {
  clear_progress();
  err_ << shown(text) << '\n';
}

void Console::warn(std::string_view text) {
  clear_progress();
  err_ << painted("warning:", yellow) << ' ' << shown(text) << '\n';
}

Exit Console::fail(const Error& error) {
  clear_progress();
  err_ << painted("error:", red) << ' ' << shown(error.message) << '\n';
  return error.code == ErrorCode::corrupt ? Exit::corrupt : Exit::failed;
}

Exit Console::fail(const Error& error, std::string_view what_to_do) {
  const Exit exit = fail(error);
  say(what_to_do);
  return exit;
}

void Console::progress(std::string_view what, std::uint64_t done, std::uint64_t total) {
  if (!terminal_) return;
  using std::chrono::duration_cast;
  const std::int64_t now = duration_cast<std::chrono::milliseconds>(clock_.steady()).count();
  if (shown_at_ >= 0 && now - shown_at_ < refresh_ms) return;
  shown_at_ = now;
  shown_ = true;
  if (total == 0) {
    err_ << to_line_start << what << ' ' << grouped(done) << std::flush;
    return;
  }
  const std::uint64_t part = std::min(done, total);
  const auto filled = static_cast<std::size_t>(part * bar_width / total);
  err_ << to_line_start
       << fmt::format("{} [{}{}] {} %", what, std::string(filled, '#'),
                      std::string(bar_width - filled, '-'), part * 100 / total)
       << std::flush;
}

bool Console::asks(std::string_view question, std::istream& in) {
  clear_progress();
  std::string line;
  while (true) {
    err_ << shown(question) << " [y/N] " << std::flush;
    if (!std::getline(in, line)) {
      err_ << '\n';
      return false;
    }
    if (line == "y" || line == "Y" || line == "yes") return true;
    if (line.empty() || line == "n" || line == "N" || line == "no") return false;
  }
}

bool wants_colours(const std::vector<std::pair<std::string, std::string>>& environment,
                   bool terminal) {
  const auto value = [&](std::string_view name) -> std::string_view {
    for (const auto& [each, text] : environment) {
      if (each == name) return text;
    }
    return {};
  };
  if (!value("NO_COLOR").empty()) return false;
  const std::string_view force = value("CLICOLOR_FORCE");
  if (!force.empty() && force != "0") return true;
  return terminal && value("TERM") != "dumb";
}

std::string grouped(std::uint64_t number) {
  std::string digits = fmt::format("{}", number);
  for (auto at = std::ssize(digits) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return digits;
}

std::string counted(std::uint64_t number, std::string_view one, std::string_view many) {
  if (number == 0) return fmt::format("no {}", many);
  return fmt::format("{} {}", grouped(number), number == 1 ? one : many);
}

}  // namespace millrace::cli
