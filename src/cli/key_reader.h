// Turns the bytes that a terminal sends into keys.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/top_state.h"

namespace millrace::cli {

class KeyReader {
 public:
  // The keys in these bytes. Unknown sequences are skipped.
  std::vector<KeyPress> read(std::string_view bytes);

  // Whether bytes wait for more: an escape is a key of its own, but also the beginning of others.
  bool waits() const { return !pending_.empty(); }
  // No more bytes came: returns the waiting ones as keys.
  std::vector<KeyPress> give_up();

 private:
  std::string pending_;
};

}  // namespace millrace::cli
