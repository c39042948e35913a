#include "core/clip.h"

namespace millrace {

std::string clip(std::string text, std::size_t most) {
  if (text.size() <= most) return text;
  // A UTF-8 character has at most three bytes of the form 10xxxxxx after its first one. More of
  // them in a row are not UTF-8, and are cut where they stand.
  constexpr std::size_t trailing_most = 3;
  const auto is_trailing = [&text](std::size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
  };
  std::size_t end = most;
  while (end > 0 && most - end < trailing_most && is_trailing(end)) --end;
  text.resize(is_trailing(end) ? most : end);
  return text;
}

}  // namespace millrace
