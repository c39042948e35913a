// Lines of a body that comes in pieces, with bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace::api {

class LineSplitter {
 public:
  explicit LineSplitter(std::size_t longest) : longest_(longest) {}

  struct Line {
    std::string_view text = {};  // without its end; good until the next next() or feed()
    bool too_long = false;       // and left out
  };

  // `last`: nothing follows this piece.
  void feed(std::string piece, bool last);
  // The next line, if all of it has come.
  std::optional<Line> next();

  std::uint64_t number() const { return number_; }  // of the last next(), from 1
  std::size_t longest() const { return longest_; }

 private:
  const std::size_t longest_;
  std::string begun_;     // a line whose end has not come
  std::string piece_;     // most lines are read where they came
  std::size_t read_ = 0;  // of the piece
  bool last_ = false;
  bool given_ = false;     // the line in begun_ was given out
  bool skipping_ = false;  // the rest of a line that was too long
  std::uint64_t number_ = 0;
};

}  // namespace millrace::api
