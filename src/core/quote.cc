#include "core/quote.h"

#include <fmt/format.h>

namespace millrace {

std::string in_quotes(std::string_view text) {
  constexpr std::size_t shown_most = 80;
  std::string out = "\"";
  for (const char c : text.substr(0, shown_most)) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c >= ' ' && c <= '~') {
      out += c;
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  out += text.size() > shown_most ? "\"..." : "\"";
  return out;
}

}  // namespace millrace
