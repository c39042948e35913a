// Keys out of the bytes that a terminal sends for them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/top_state.h"

namespace millrace::cli {

class KeyReader {
 public:
  // The keys that have come with these bytes. What is no key that is known here is passed over.
  std::vector<KeyPress> read(std::string_view bytes);

  // Bytes wait for more: an escape alone is a key, but also how others begin.
  bool waits() const { return !pending_.empty(); }
  // Nothing followed: what waits is all there is.
  std::vector<KeyPress> give_up();

 private:
  std::string pending_;
};

}  // namespace millrace::cli
