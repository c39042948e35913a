// Tables for people: aligned columns that fit the terminal, plain if the output is not a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace::cli {

// How text may look on its output.
struct Look {
  bool colours = false;
  bool unicode = true;
  std::size_t width = 0;  // of the terminal; 0: there is none, nothing is shortened
};

enum class Paint : std::uint8_t { none, good, busy, warning, bad, faint, title };

// In that colour, if colours are wanted.
std::string painted(std::string_view text, Paint paint, const Look& look);

struct Cell {
  std::string text = {};
  Paint paint = Paint::none;

  // From text that is printed as it is; a row is a list of texts.
  // NOLINTBEGIN(google-explicit-constructor)
  Cell(std::string_view from, Paint with = Paint::none) : text(from), paint(with) {}
  Cell(const char* from, Paint with = Paint::none) : text(from), paint(with) {}
  Cell(std::string from, Paint with = Paint::none) : text(std::move(from)), paint(with) {}
  // NOLINTEND(google-explicit-constructor)
};
// 1,234; a zero is faint, so that other numbers stand out.
Cell number_cell(std::uint64_t number, Paint paint = Paint::none);

struct Column {
  std::string title = {};
  bool right = false;     // numbers
  std::size_t least = 0;  // columns it keeps on a narrow terminal; 0: it is never shortened
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void add(std::vector<Cell> row);
  std::size_t rows() const { return rows_.size(); }

  // One line per row, with a headline. Uses only what `look` allows.
  std::string text(const Look& look) const;

 private:
  std::vector<std::size_t> widths(const Look& look) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// Names and values in two columns. Empty values are left out.
class Sheet {
 public:
  void add(std::string name, Cell value);
  void head(std::string title);  // begins a part
  std::string text(const Look& look) const;

 private:
  struct Line {
    std::string name;
    Cell value;
    bool head = false;
  };
  std::vector<Line> lines_;
};

// ▁▂▅█ of the values, the newest last; digits 0 to 9 in ASCII.
std::string sparkline(const std::vector<double>& values, const Look& look);

}  // namespace millrace::cli
