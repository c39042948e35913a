#include "core/error_group.h"

#include <fmt/format.h>
#include <algorithm>

#include "core/ascii.h"
#include "core/clip.h"

namespace millrace {
namespace {

constexpr std::size_t most_read = 1024;  // bytes of a message; what comes later adds nothing
constexpr std::size_t most_shown = 200;  // bytes of a pattern
constexpr std::size_t longest_quote =
    200;  // bytes between quotes; a longer text is not a quotation
constexpr std::size_t uuid_size = 36;

using ascii::is_digit;
using ascii::is_letter;

constexpr bool is_word(char c) {
  return ascii::is_letter_or_digit(c);
}
constexpr bool is_hex(char c) {
  return ascii::hex_digit(c) >= 0;
}
constexpr bool is_space(char c) {
  return static_cast<unsigned char>(c) <= ' ' || c == '\x7f';
}

bool is_uuid(std::string_view word) {
  if (word.size() != uuid_size) return false;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? word[i] != '-' : !is_hex(word[i])) return false;
  }
  return true;
}

// Whether the word is machine-made: a hash, an address in memory, a token.
bool is_opaque(std::string_view word) {
  if (is_uuid(word)) return true;
  const auto digits = std::ranges::count_if(word, is_digit);
  if (digits == 0) return false;
  if (word.size() > 2 && word[0] == '0' && (word[1] == 'x' || word[1] == 'X')) return true;
  if (word.size() >= 8 && std::ranges::all_of(word, is_hex)) return true;
  return word.size() >= 12 && digits >= 2 && std::ranges::all_of(word, is_word);
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text.substr(0, most_read)) {}

  std::string pattern() {
    while (at_ < text_.size()) step();
    while (out_.ends_with(' ')) out_.pop_back();
    return clip(std::move(out_), most_shown);
  }

 private:
  char look(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void step() {
    const char c = look();
    if (is_space(c)) {
      if (!out_.empty() && out_.back() != ' ') out_ += ' ';
      ++at_;
    } else if (is_word(c)) {
      word();
    } else if (!quoted(c)) {
      out_ += c;
      ++at_;
    }
  }

  // In "can't" the mark is part of the word, and words are read whole.
  bool quoted(char mark) {
    if (mark != '"' && mark != '\'' && mark != '`') return false;
    const std::string_view rest = text_.substr(at_ + 1, longest_quote + 1);
    const std::size_t end = rest.find(mark);
    if (end == rest.npos || rest.substr(0, end).find('\n') != rest.npos) return false;
    at_ += end + 2;
    unknown();
    return true;
  }

  void word() {
    if (const std::size_t mail = mail_size(); mail != 0) {
      at_ += mail;
      return unknown();
    }
    if (is_uuid(text_.substr(at_, uuid_size)) && !is_word(look(uuid_size))) {
      at_ += uuid_size;
      return unknown();
    }
    std::size_t size = 0;
    while (is_word(look(size)) || in_contraction(size)) ++size;
    const std::string_view found = text_.substr(at_, size);
    if (is_opaque(found)) {
      at_ += size;
      return unknown();
    }
    const std::size_t end = at_ + size;
    while (at_ < end) {
      if (is_digit(look())) {
        unknown();
      } else {
        out_ += text_[at_++];
      }
    }
  }

  bool in_contraction(std::size_t ahead) const {
    return look(ahead) == '\'' && ahead > 0 && is_letter(look(ahead - 1)) &&
           is_letter(look(ahead + 1));
  }

  // The length of an address such as ann@example.org; 0: there is none.
  std::size_t mail_size() const {
    const auto inside = [](char c) {
      return is_word(c) || c == '.' || c == '_' || c == '-' || c == '+';
    };
    std::size_t size = 0;
    while (inside(look(size))) ++size;
    if (look(size) != '@' || !is_word(look(size + 1))) return 0;
    ++size;
    while (inside(look(size))) ++size;
    while (!is_word(look(size - 1))) --size;  // the full stop of a sentence is not part of it
    return size;
  }

  // A part that differs from task to task, with the numbers that follow it: 10.0.0.7:5432,
  // 2026-01-02T03:04:05Z, 1,234.
  void unknown() {
    if (!out_.ends_with('#')) out_ += '#';
    while (true) {
      const char c = look();
      const bool joins = c == '.' || c == ',' || c == ':' || c == '-' || c == '+' || c == 'T';
      if (!is_digit(c) && !(joins && is_digit(look(1)))) break;
      ++at_;
    }
    if (look() == 'Z' && !is_word(look(1))) ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string out_;
};

// FNV-1a. The hashed text ends with a byte that no name contains.
std::uint64_t mixed(std::uint64_t hash, std::string_view text) {
  const auto add = [&](unsigned char byte) { hash = (hash ^ byte) * 0x100000001b3U; };
  for (const char c : text) add(static_cast<unsigned char>(c));
  add(0xff);
  return hash;
}

}  // namespace

std::string error_pattern(std::string_view message) {
  return Reader(message).pattern();
}

std::uint64_t error_group_of(std::string_view queue, std::string_view type, std::string_view code,
                             std::string_view pattern) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const std::string_view text : {queue, type, code, pattern}) hash = mixed(hash, text);
  return hash;
}

std::uint64_t error_group_of(const Task& task) {
  if (!task.error) return error_group_of(task.queue, task.type, "", "");
  return error_group_of(task.queue, task.type, task.error->code,
                        error_pattern(task.error->message));
}

std::string error_group_name(std::uint64_t group) {
  return fmt::format("{:016x}", group);
}

bool is_error_group_name(std::string_view text) {
  return text.size() == 16 &&
         std::ranges::all_of(text, [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
}

}  // namespace millrace
