#include "api/wire/text_writer.h"

#include <array>

#include "api/wire/raw.h"
#include "core/base64.h"
#include "core/utf8.h"
#include "payload/text.h"

namespace millrace::wire {
namespace {

constexpr std::string_view hex = "0123456789abcdef";

}  // namespace

void append(std::string& out, std::string_view text) {
  json::append_text(out, text);
}

void append(std::string& out, std::uint64_t number) {
  json::append_number(out, number);
}

void append(std::string& out, std::int64_t number) {
  json::append_number(out, number);
}

void append(std::string& out, double number) {
  json::append_number(out, number);
}

void append(std::string& out, TimePoint moment) {
  json::append_time(out, moment);
}

void append(std::string& out, const Uuid& id) {
  std::array<char, 38> text{};
  text.fill('-');
  text.front() = text.back() = '"';
  std::size_t at = 1;
  for (std::size_t i = 0; i < id.bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) ++at;
    text[at++] = hex[id.bytes[i] >> 4U];
    text[at++] = hex[id.bytes[i] & 15U];
  }
  out.append(text.data(), text.size());
}

void append(std::string& out, Token token) {
  std::array<char, 18> text{};
  text.front() = text.back() = '"';
  for (std::size_t i = 0; i < 16; ++i) text[16 - i] = hex[token.value >> (4 * i) & 15U];
  out.append(text.data(), text.size());
}

// A name is a string, a number a number; a UUID is an object, because it could be a name.
void append(std::string& out, const QueueRef& queue) {
  if (const auto* name = std::get_if<std::string>(&queue)) return append(out, *name);
  if (const auto* number = std::get_if<QueueNumber>(&queue)) return append(out, number->value);
  out += "{\"id\":";
  append(out, std::get<Uuid>(queue));
  out += '}';
}

void append_events(std::string& out, unsigned bits) {
  out += '[';
  bool first = true;
  for (const auto& [name, bit] : callback_events) {
    if ((bits & static_cast<unsigned>(bit)) == 0) continue;
    if (!first) out += ',';
    first = false;
    append(out, name);
  }
  out += ']';
}

void TextWriter::embed(std::string_view name, std::string_view bytes, std::string_view type,
                       bool object) {
  if (bytes.empty()) return;
  if (style_ == Style::archive) return this->bytes(name, bytes);
  if (object ? is_json_object(bytes) : is_json_type(type) && is_json(bytes)) {
    return raw(name, bytes);
  }
  if (!is_utf8(bytes)) return base64(name, bytes);
  key(name);
  out_.resize(out_.size() - 2);
  out_ += "_text\":";
  append(out_, bytes);
}

void TextWriter::empty(std::string_view name) {
  append(key(style_ == Style::archive ? std::string(name) : fmt::format("{}_text", name)), "");
}

void TextWriter::bytes(std::string_view name, std::string_view bytes) {
  if (!is_utf8(bytes)) return base64(name, bytes);
  append(key(name), bytes);
}

void TextWriter::base64(std::string_view name, std::string_view bytes) {
  key(name);
  out_.resize(out_.size() - 2);
  out_ += "_base64\":\"";
  out_ += base64_encode(bytes);
  out_ += '"';
}

}  // namespace millrace::wire
