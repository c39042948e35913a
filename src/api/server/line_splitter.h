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
    std::string_view text = {};  // without its end; good until the next feed()
    bool too_long = false;       // and left out
  };

  // `last`: nothing follows this piece.
  void feed(std::string_view piece, bool last);
  // The next line, if all of it has come.
  std::optional<Line> next();

  std::uint64_t number() const { return number_; }  // of the last next(), from 1
  std::size_t longest() const { return longest_; }

 private:
  const std::size_t longest_;
  std::string rest_;          // what has come and was not given out
  std::size_t read_ = 0;      // of it
  std::size_t searched_ = 0;  // of it, for the end of the line that begins at read_
  bool last_ = false;
  bool skipping_ = false;  // the rest of a line that was too long
  std::uint64_t number_ = 0;
};

}  // namespace millrace::api
