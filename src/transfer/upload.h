// What is imported into a server, as it is sent to it: an export byte for byte, which only the
// server takes apart; a queue-state.json as the lines of an export.
#pragma once

#include <millrace/result.h>
#include <millrace/time.h>
#include <cstddef>
#include <cstdint>
#include <istream>
#include <span>
#include <string>
#include <string_view>

#include "transfer/line_reader.h"

namespace millrace::transfer {

class Upload {
 public:
  // Tasks of a queue-state.json go to `queue`.
  Upload(std::istream& in, std::string queue, TimePoint now)
      : lines_(in), queue_(std::move(queue)), now_(now) {}

  // Looks at what it is.
  Result<void> begin();
  // Fills the room with the next bytes and says how many; 0: nothing follows.
  Result<std::size_t> fill(std::span<char> room);

  std::uint64_t bytes() const { return lines_.bytes(); }  // of the file
  std::uint64_t keys() const { return keys_; }            // API keys that were given out

 private:
  Result<void> read_document();
  Result<bool> next();

  LineReader lines_;
  const std::string queue_;
  const TimePoint now_;
  std::string document_;   // as lines
  std::string_view left_;  // of a line or of the document: not given out yet
  bool document_kind_ = false;
  bool line_end_ = false;  // is still to be given out
  bool over_ = false;
  std::uint64_t keys_ = 0;
};

}  // namespace millrace::transfer
