// Values to JSON text, along the lists of fields.h. Everything is appended to one string; no tree
// is made. The API writes JSON payloads as they are; in an archive all bytes are strings.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "api/wire/fields.h"
#include "api/wire/names.h"

namespace millrace::wire {

// ---- Single values ----

// In quotes. JSON holds text only: what is not UTF-8 becomes U+FFFD.
void append(std::string& out, std::string_view text);
void append(std::string& out, std::uint64_t number);
void append(std::string& out, std::int64_t number);
void append(std::string& out, double number);
void append(std::string& out, TimePoint moment);
void append(std::string& out, const Uuid& id);
void append(std::string& out, Token token);
void append(std::string& out, const QueueRef& queue);
void append_events(std::string& out, unsigned bits);

inline void append(std::string& out, const std::string& text) {
  append(out, std::string_view(text));
}
inline void append(std::string& out, const char* text) {
  append(out, std::string_view(text));
}
inline void append(std::string& out, bool value) {
  out += value ? "true" : "false";
}
template <std::integral T>
void append(std::string& out, T number) {
  if constexpr (std::is_signed_v<T>) {
    append(out, static_cast<std::int64_t>(number));
  } else {
    append(out, static_cast<std::uint64_t>(number));
  }
}
template <class T>
  requires std::is_enum_v<T>
void append(std::string& out, T value) {
  static constexpr auto all = names(T{});
  const auto number = static_cast<std::size_t>(value);
  out += '"';
  out += number < all.size() ? all[number] : "unknown";
  out += '"';
}
inline void append(std::string& out, Duration value) {
  append(out, static_cast<std::int64_t>(value.count()));
}
inline void append(std::string& out, const TaskId& id) {
  append(out, id.value);
}
template <class Tag, class Rep>
  requires std::is_arithmetic_v<Rep>
void append(std::string& out, const Strong<Tag, Rep>& value) {
  append(out, value.value);
}
template <HasFields T>
void append(std::string& out, const T& value);
template <class T>
void append(std::string& out, const std::vector<T>& values) {
  out += '[';
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i != 0) out += ',';
    append(out, values[i]);
  }
  out += ']';
}

// ---- Fields ----

// Bytes that are not UTF-8: in the API U+FFFD, in an archive base64 under <name>_base64.
enum class Style : bool { api, archive };

// One object: opened by the constructor, closed by close().
class TextWriter {
 public:
  explicit TextWriter(std::string& out, Style style = Style::api) : out_(out), style_(style) {
    out_ += '{';
  }

  void close() { out_ += '}'; }

  // Writes the key and its colon; the caller appends the value.
  std::string& key(std::string_view key) {
    out_ += first_ ? "\"" : ",\"";
    first_ = false;
    out_ += key;
    out_ += "\":";
    return out_;
  }
  // A value that is JSON already.
  void raw(std::string_view name, std::string_view json) { key(name) += json; }

  template <class T>
  void operator()(std::string_view name, const T& field) {
    if constexpr (requires { is_empty(field); }) {
      if (is_empty(field)) return;
    }
    write(name, field);
  }
  template <class T>
  void operator()(std::string_view name, const std::optional<T>& field) {
    if (field) write(name, *field);
  }
  // No limit is written as "unlimited" instead of its number.
  void operator()(std::string_view name, const std::optional<std::uint32_t>& field) {
    if (!field) return;
    if (*field == unlimited) return append(key(name), "unlimited");
    append(key(name), *field);
  }
  template <class T>
  void operator()(std::string_view name, const Always<T>& always) {
    write(name, always.field);
  }
  template <class T>
  void operator()(std::string_view name, const Required<T>& required) {
    write(name, required.field);
  }
  template <class T>
  void operator()(std::string_view name, const Usual<T>& usual) {
    if (usual.field != usual.value) write(name, usual.field);
  }
  template <class T>
  void operator()(std::string_view name, const EventNames<T>& events) {
    append_events(key(name), events.bits);
  }
  template <class T>
  void operator()(std::string_view name, const Embedded<T>& field) {
    embed(name, field.bytes, field.type == nullptr ? std::string_view() : *field.type,
          field.object);
  }
  template <class T>
  void operator()(std::string_view name, const EmbeddedIfGiven<T>& field) {
    if (!field.bytes) return;
    if (field.bytes->empty()) return empty(name);
    (*this)(name, Embedded<const std::string>{*field.bytes});
  }
  // JSON as it is, text under <name>_text, other bytes under <name>_base64.
  void embed(std::string_view name, std::string_view bytes, std::string_view type, bool object);

 protected:
  void empty(std::string_view name);

 private:
  template <class T>
  void write(std::string_view name, const T& field) {
    value(key(name), field);
  }
  void write(std::string_view name, const std::string& text) {
    if (style_ == Style::archive) return bytes(name, text);
    append(key(name), text);
  }
  template <class T>
  void value(std::string& out, const T& field) {
    append(out, field);
  }
  template <HasFields T>
  void value(std::string& out, const T& field) {
    TextWriter writer(out, style_);
    fields(field, writer);
    writer.close();
  }
  template <HasFields T>
  void value(std::string& out, const std::vector<T>& all) {
    out += '[';
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i != 0) out += ',';
      value(out, all[i]);
    }
    out += ']';
  }
  // Text, or base64 under another name.
  void bytes(std::string_view name, std::string_view bytes);
  void base64(std::string_view name, std::string_view bytes);

  std::string& out_;
  Style style_;
  bool first_ = true;
};

template <HasFields T>
void append(std::string& out, const T& value) {
  TextWriter writer(out);
  fields(value, writer);
  writer.close();
}

template <class T>
std::string text_of(const T& value) {
  std::string out;
  append(out, value);
  return out;
}

}  // namespace millrace::wire
