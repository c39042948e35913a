#include "api/server/line_splitter.h"

#include <algorithm>
#include <utility>

namespace millrace::api {

void LineSplitter::feed(std::string_view piece, bool last) {
  rest_.erase(0, read_);
  searched_ -= std::min(searched_, read_);
  read_ = 0;
  rest_ += piece;
  last_ = last;
}

std::optional<LineSplitter::Line> LineSplitter::next() {
  for (;;) {
    const std::size_t end = rest_.find('\n', std::max(read_, searched_));
    const bool whole = end != std::string::npos;
    searched_ = whole ? end : rest_.size();
    const std::size_t size = (whole ? end : rest_.size()) - read_;
    const std::string_view text = std::string_view(rest_).substr(read_, size);
    const bool over = size > longest_;
    if (!whole && !over && !skipping_ && !(last_ && size > 0)) return std::nullopt;
    read_ += whole ? size + 1 : size;
    const bool rest_of_long = std::exchange(skipping_, !whole && (over || skipping_));
    if (!rest_of_long) {
      ++number_;
      if (!over) return Line{.text = text};
      return Line{.too_long = true};
    }
    if (!whole) return std::nullopt;
  }
}

}  // namespace millrace::api
