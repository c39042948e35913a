#include "api/server/line_splitter.h"

#include <utility>

namespace millrace::api {

void LineSplitter::feed(std::string piece, bool last) {
  piece_ = std::move(piece);
  read_ = 0;
  last_ = last;
}

std::optional<LineSplitter::Line> LineSplitter::next() {
  if (std::exchange(given_, false)) begun_.clear();
  for (;;) {
    const std::size_t end = piece_.find('\n', read_);
    const bool whole = end != std::string::npos;
    const std::string_view part =
        std::string_view(piece_).substr(read_, whole ? end - read_ : std::string::npos);
    read_ = whole ? end + 1 : piece_.size();
    if (skipping_) {
      if (!whole) return std::nullopt;
      skipping_ = false;
      continue;
    }
    if (begun_.size() + part.size() > longest_) {
      begun_.clear();
      skipping_ = !whole;
      ++number_;
      return Line{.too_long = true};
    }
    if (whole && begun_.empty()) {
      ++number_;
      return Line{.text = part};
    }
    begun_ += part;
    if (!whole && !(last_ && !begun_.empty())) return std::nullopt;
    given_ = true;
    ++number_;
    return Line{.text = begun_};
  }
}

}  // namespace millrace::api
