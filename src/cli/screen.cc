#include "cli/screen.h"

#include <fmt/format.h>
#include <algorithm>

#include "cli/display.h"

namespace millrace::cli {
namespace {

constexpr std::string_view inverse_code = "\x1b[7m";
constexpr std::string_view plain = "\x1b[0m";
constexpr std::string_view clear_screen = "\x1b[2J";
constexpr std::string_view clear_rest_of_line = "\x1b[K";
// Terminals that know this sequence show a change at once; others ignore it.
constexpr std::string_view hold = "\x1b[?2026h";
constexpr std::string_view show = "\x1b[?2026l";

std::string bytes_of(const Line& line, const Look& look) {
  std::string out;
  for (const Span& each : line.spans()) {
    // A selection must be visible without colours, too.
    if (each.inverse) out += inverse_code;
    out += painted(each.text, each.paint, look);
    if (each.inverse) out += plain;
  }
  return out;
}

}  // namespace

void Line::add(std::string_view text, Paint paint) {
  if (text.empty()) return;
  std::string shown = printable(text);
  width_ += columns_of(shown);
  if (!spans_.empty() && spans_.back().paint == paint && !spans_.back().inverse) {
    spans_.back().text += shown;
  } else {
    spans_.push_back({.text = std::move(shown), .paint = paint});
  }
}

void Line::pad_to(std::size_t column) {
  if (width_ < column) add(std::string(column - width_, ' '));
}

void Line::cut(std::size_t columns, bool unicode) {
  if (width_ <= columns) return;
  std::size_t left = columns;
  std::size_t kept = 0;
  width_ = 0;
  for (Span& each : spans_) {
    const std::size_t wide = columns_of(each.text);
    const bool last = wide > left || (wide == left && &each != &spans_.back());
    // The mark of a cut goes into the last visible span.
    if (last) each.text = shortened(each.text + " ", left, unicode);
    const std::size_t now = columns_of(each.text);
    width_ += now;
    left -= now;
    ++kept;
    if (last) break;
  }
  spans_.resize(kept);
}

void Line::invert(std::size_t columns) {
  pad_to(columns);
  for (Span& each : spans_) each.inverse = true;
}

void Line::repaint(Paint paint) {
  for (Span& each : spans_) each.paint = paint;
}

std::string Line::text() const {
  std::string text;
  for (const Span& each : spans_) text += each.text;
  return text;
}

std::string redraw(const Screen& before, const Screen& now, const Look& look) {
  std::string out;
  if (before.empty()) out += clear_screen;
  for (std::size_t row = 0; row < std::max(before.size(), now.size()); ++row) {
    const Line line = row < now.size() ? now[row] : Line();
    if (row < before.size() ? before[row] == line : line == Line()) continue;
    out += fmt::format("\x1b[{};1H{}", row + 1, bytes_of(line, look));
    // After a full line the cursor is on its last character, which would be erased.
    if (line.width() < look.width) out += clear_rest_of_line;
  }
  return out.empty() ? out : fmt::format("{}{}{}", hold, out, show);
}

}  // namespace millrace::cli
