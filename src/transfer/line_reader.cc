#include "transfer/line_reader.h"

#include <fmt/format.h>

namespace millrace::transfer {
namespace {

constexpr std::size_t chunk = 256U << 10U;

}  // namespace

Result<bool> LineReader::fill() {
  if (ended_) return false;
  if (at_ > chunk) {
    buffer_.erase(0, at_);
    at_ = 0;
  }
  const std::size_t size = buffer_.size();
  buffer_.resize(size + chunk);
  in_.read(buffer_.data() + size, chunk);
  buffer_.resize(size + static_cast<std::size_t>(in_.gcount()));
  ended_ = !in_;
  if (in_.bad()) return fail(ErrorCode::unavailable, "the input cannot be read");
  return buffer_.size() > size;
}

Result<std::optional<std::string_view>> LineReader::next() {
  std::size_t looked = at_;
  while (true) {
    const std::size_t end = buffer_.find('\n', looked);
    const std::size_t size = (end == std::string::npos ? buffer_.size() : end) - at_;
    if (size > longest_) {
      return fail(ErrorCode::too_large,
                  fmt::format("line {} has more than {} bytes", line_ + 1, longest_));
    }
    if (end != std::string::npos) break;
    looked = buffer_.size() - at_;
    const auto more = fill();
    if (!more) return std::unexpected(more.error());
    looked += at_;
    if (!*more) {
      if (at_ == buffer_.size()) return std::nullopt;
      break;
    }
  }
  const std::size_t end = std::min(buffer_.find('\n', at_), buffer_.size());
  std::string_view line(buffer_.data() + at_, end - at_);
  at_ = std::min(end + 1, buffer_.size());
  bytes_ += line.size() + 1;
  ++line_;
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

Result<std::string_view> LineReader::peek(std::size_t bytes) {
  while (buffer_.size() - at_ < bytes) {
    const auto more = fill();
    if (!more) return std::unexpected(more.error());
    if (!*more) break;
  }
  return std::string_view(buffer_).substr(at_, bytes);
}

Result<std::string> LineReader::rest(std::size_t most) {
  while (true) {
    if (buffer_.size() - at_ > most) {
      return fail(ErrorCode::too_large, fmt::format("the input has more than {} bytes", most));
    }
    const auto more = fill();
    if (!more) return std::unexpected(more.error());
    if (!*more) break;
  }
  std::string all = buffer_.substr(at_);
  bytes_ += all.size();
  at_ = buffer_.size();
  return all;
}

}  // namespace millrace::transfer
