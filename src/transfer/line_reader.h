// Lines of a stream, with bounded memory.
#pragma once

#include <millrace/result.h>
#include <cstddef>
#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <string_view>

namespace millrace::transfer {

class LineReader {
 public:
  // The largest task allowed, with every byte written as \u0000, is about 15 MiB.
  // A task with a payload and a result of 16 MiB, of bytes that JSON writes as six.
  static constexpr std::size_t longest_line = 200U << 20U;

  explicit LineReader(std::istream& in, std::size_t longest = longest_line)
      : in_(in), longest_(longest) {}

  // The next line without its end; nullopt after the last. `too_large` for a longer line than
  // allowed, `unavailable` where the stream cannot be read. Valid until the next call.
  Result<std::optional<std::string_view>> next();

  // The first bytes that next() and rest() will return, as far as `bytes`.
  Result<std::string_view> peek(std::size_t bytes);

  // Everything from here on; `too_large` if that is more than `most` bytes.
  Result<std::string> rest(std::size_t most);

  std::uint64_t line() const { return line_; }    // of the last next(), from 1
  std::uint64_t bytes() const { return bytes_; }  // given out so far

 private:
  // False: nothing more will come.
  Result<bool> fill();

  std::istream& in_;
  const std::size_t longest_;
  std::string buffer_;
  std::size_t at_ = 0;  // what is before was returned
  bool ended_ = false;
  std::uint64_t line_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace millrace::transfer
