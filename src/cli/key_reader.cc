#include "cli/key_reader.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "core/utf8.h"

namespace millrace::cli {
namespace {

constexpr char escape = '\x1b';
// No key sequence is longer; more bytes are not a key.
constexpr std::size_t longest = 32;

// What follows ESC [ or ESC O in xterm, the Linux console and tmux.
constexpr auto sequences =
    std::to_array<std::pair<std::string_view, Key>>({{"A", Key::up},
                                                     {"B", Key::down},
                                                     {"H", Key::home},
                                                     {"F", Key::end},
                                                     {"Z", Key::back_tab},
                                                     {"1~", Key::home},
                                                     {"4~", Key::end},
                                                     {"7~", Key::home},
                                                     {"8~", Key::end},
                                                     {"5~", Key::page_up},
                                                     {"6~", Key::page_down}});

struct Found {
  std::size_t length = 0;  // 0: more bytes are needed
  std::optional<KeyPress> key = std::nullopt;
};

Found escaped(std::string_view bytes) {
  if (bytes.size() == 1) return {};
  // Escape, then another key; Alt with a key looks the same and has no meaning here.
  if (bytes[1] != '[' && bytes[1] != 'O') return {1, KeyPress{.key = Key::escape}};
  const std::string_view rest = bytes.substr(2);
  const auto end = std::ranges::find_if(rest, [](char byte) { return byte >= '@' && byte <= '~'; });
  if (end == rest.end()) return bytes.size() > longest ? Found{bytes.size()} : Found{};
  const std::string_view body(rest.begin(), end + 1);
  const auto known = std::ranges::find(sequences, body, &std::pair<std::string_view, Key>::first);
  const std::size_t length = 2 + body.size();
  if (known == sequences.end()) return {length};
  return {length, KeyPress{.key = known->second}};
}

std::optional<KeyPress> control(char byte) {
  switch (byte) {
    case '\t':
      return KeyPress{.key = Key::tab};
    case '\r':
    case '\n':
      return KeyPress{.key = Key::enter};
    case '\b':
    case '\x7f':
      return KeyPress{.key = Key::backspace};
    case '\x03':
      return KeyPress{.key = Key::interrupt};
    case '\x1a':
      return KeyPress{.key = Key::suspend};
    case '\x0c':
      return KeyPress{.key = Key::redraw};
    default:
      return std::nullopt;
  }
}

// The rest of a character may come with the next bytes.
bool is_begun(std::string_view bytes) {
  const auto first = static_cast<unsigned char>(bytes[0]);
  if (first < 0xc2 || first > 0xf4) return false;
  const std::size_t length = first < 0xe0 ? 2 : (first < 0xf0 ? 3 : 4);
  return bytes.size() < length &&
         std::ranges::all_of(
             bytes.substr(1),
             [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80U; });
}

Found first_key(std::string_view bytes) {
  if (bytes[0] == escape) return escaped(bytes);
  const auto byte = static_cast<unsigned char>(bytes[0]);
  if (byte < 0x20 || byte == 0x7f) return {1, control(bytes[0])};
  const std::size_t length = utf8_character(bytes);
  if (length != 0) return {length, KeyPress{.text = std::string(bytes.substr(0, length))}};
  return is_begun(bytes) ? Found{} : Found{1};
}

}  // namespace

std::vector<KeyPress> KeyReader::read(std::string_view bytes) {
  pending_ += bytes;
  std::vector<KeyPress> keys;
  std::string_view left = pending_;
  while (!left.empty()) {
    Found found = first_key(left);
    if (found.length == 0) break;
    if (found.key) keys.push_back(std::move(*found.key));
    left.remove_prefix(found.length);
  }
  pending_ = std::string(left);
  return keys;
}

std::vector<KeyPress> KeyReader::give_up() {
  const bool alone = std::exchange(pending_, {}) == std::string_view(&escape, 1);
  return alone ? std::vector{KeyPress{.key = Key::escape}} : std::vector<KeyPress>{};
}

}  // namespace millrace::cli
