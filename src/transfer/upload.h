// The body of an import request: an export is sent byte for byte and parsed by the server only; a
// queue-state.json is sent as the lines of an export.
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

  // Recognizes the format.
  Result<void> begin();
  // Fills the room with the next bytes and returns how many; 0: nothing follows.
  Result<std::size_t> fill(std::span<char> room);

  std::uint64_t bytes() const { return lines_.bytes(); }  // of the file
  std::uint64_t keys() const { return keys_; }            // API keys among what was sent

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
