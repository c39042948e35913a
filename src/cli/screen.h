// A screen of text as data: where the text is and how it looks. The terminal sends only what
// changed; tests read it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cli/table.h"

namespace millrace::cli {

struct ScreenSize {
  std::size_t columns = 80;
  std::size_t rows = 24;

  friend bool operator==(const ScreenSize&, const ScreenSize&) = default;
};

// A part of a line with one look.
struct Span {
  std::string text = {};  // printable
  Paint paint = Paint::none;
  bool inverse = false;

  friend bool operator==(const Span&, const Span&) = default;
};

class Line {
 public:
  Line() = default;
  explicit Line(std::string_view text, Paint paint = Paint::none) { add(text, paint); }

  // Text from any source: what a terminal would act on is made harmless.
  void add(std::string_view text, Paint paint = Paint::none);
  void pad_to(std::size_t column);
  // Cuts the line to this many columns.
  void cut(std::size_t columns, bool unicode = true);
  // All of it, filled up to the width.
  void invert(std::size_t columns);
  // All of it in that colour.
  void repaint(Paint paint);

  std::size_t width() const { return width_; }
  const std::vector<Span>& spans() const { return spans_; }
  std::string text() const;

  friend bool operator==(const Line&, const Line&) = default;

 private:
  std::vector<Span> spans_;
  std::size_t width_ = 0;
};

using Screen = std::vector<Line>;

// What turns a terminal that shows `before` into one that shows `now`: nothing for equal lines. An
// empty `before` may show anything.
std::string redraw(const Screen& before, const Screen& now, const Look& look);

}  // namespace millrace::cli
