// JSON text to values in one pass, along the lists of fields.h.
//
// In the API, bytes that are JSON are embedded as they are (Embedded); in an archive all bytes are
// strings. Unknown keys and keys given twice are refused; null means the same as left out.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "api/wire/fields.h"
#include "api/wire/input.h"
#include "api/wire/names.h"
#include "core/limits.h"

namespace millrace::wire {

// ---- Single values ----

void read(Input& in, bool& to, const Path& at);
void read(Input& in, double& to, const Path& at);
void read(Input& in, std::string& to, const Path& at);
void read(Input& in, Duration& to, const Path& at);
void read(Input& in, TimePoint& to, const Path& at);
void read(Input& in, Uuid& to, const Path& at);
void read(Input& in, TaskId& to, const Path& at);
void read(Input& in, Token& to, const Path& at);
void read(Input& in, QueueRef& to, const Path& at);

// Whole numbers from `least` to `most`; refused, and 0, otherwise.
std::int64_t whole_number(Input& in, std::int64_t least, std::int64_t most, const Path& at);
std::uint64_t count(Input& in, std::uint64_t most, const Path& at);
std::uint32_t count_or_unlimited(Input& in, const Path& at);
// The number of the name among `all`.
std::size_t index_of(Input& in, std::span<const std::string_view> all, const Path& at);
std::uint8_t event_bits(Input& in, const Path& at);

template <std::integral T>
void read(Input& in, T& to, const Path& at) {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_signed_v<T>) {
    to = static_cast<T>(whole_number(in, Limits::min(), Limits::max(), at));
  } else {
    to = static_cast<T>(count(in, Limits::max(), at));
  }
}
template <class T>
  requires std::is_enum_v<T>
void read(Input& in, T& to, const Path& at) {
  static constexpr auto all = names(T{});
  to = static_cast<T>(index_of(in, all, at));
}
template <class Tag, class Rep>
  requires std::is_arithmetic_v<Rep>
void read(Input& in, Strong<Tag, Rep>& to, const Path& at) {
  read(in, to.value, at);
}
template <class T>
void read(Input& in, std::optional<T>& to, const Path& at) {
  if constexpr (std::is_same_v<T, std::uint32_t>) {
    to = count_or_unlimited(in, at);
  } else {
    read(in, to.emplace(), at);
  }
}

template <HasFields T>
void read(Input& in, T& to, const Path& at);

// The longest list allowed. Checked while reading, because three characters can be an item of many
// bytes.
template <class T>
inline constexpr std::size_t longest_list = limits::max_batch;
template <>
inline constexpr std::size_t longest_list<std::string> = limits::max_log_lines;
// Lists in answers may be longer: all queues, all workers.
inline constexpr std::size_t longest_answered_list = 100'000;

template <class T>
void read(Input& in, std::vector<T>& to, const Path& at) {
  to.clear();
  if (!in.open('[', at)) return;
  bool first = true;
  const std::size_t most = in.is_answer() ? longest_answered_list : longest_list<T>;
  for (std::size_t i = 0; in.item(first); ++i) {
    if (i == most) return in.too_long(at, most);
    read(in, to.emplace_back(), Path{.above = &at, .index = i});
  }
}

// ---- Fields ----

// The form of an embedded value, by the suffix of its name.
enum class Form : std::uint8_t { none, json, text, base64 };
Form form_of(std::string_view key, std::string_view name);

// Reads one of the forms; false: it was null.
bool read_embedded(Input& in, Form form, std::string& bytes, bool object, const Path& at);
// The content type of bytes that came in this form without one.
std::string_view type_of(Form form);
// Bytes of an archive that are not text.
void read_base64(Input& in, std::string& bytes, const Path& at);
inline constexpr std::string_view base64_ending = "_base64";

// The fields of an object that have come, by their place in the list.
struct Seen {
  std::uint64_t given = 0;
  std::uint64_t null = 0;
  unsigned next = 0;  // the place after the last that came; keys mostly come in order
};

// Finds the field that a key belongs to and reads it.
class KeyReader {
 public:
  // `as_bytes`: the value is base64, and only a field that holds bytes will do.
  KeyReader(Input& in, std::string_view key, const Path& at, Seen& seen, bool as_bytes = false)
      : in_(in), key_(key), at_(at), seen_(seen), from_(seen.next), as_bytes_(as_bytes) {}

  bool matched() const { return from_ == done; }
  // True: the front of the list has not been searched yet.
  bool look_again() {
    if (matched() || from_ == 0) return false;
    from_ = place_ = 0;
    return true;
  }

  // Called for every field with every key, so these contain only the comparison.
  template <class T>
  [[gnu::always_inline]] void operator()(std::string_view name, T&& field) {
    const unsigned place = place_++;
    if (place < from_ || name != key_) return;
    found(place, field);
  }
  template <class T>
  [[gnu::always_inline]] void operator()(std::string_view name, Embedded<T>&& field) {
    const unsigned place = place_++;
    if (place < from_ || !key_.starts_with(name)) return;
    found_embedded(place, name, field);
  }
  template <class T>
  [[gnu::always_inline]] void operator()(std::string_view name, EmbeddedIfGiven<T>&& field) {
    const unsigned place = place_++;
    if (place < from_ || !key_.starts_with(name)) return;
    found_if_given(place, name, field);
  }

 private:
  static constexpr unsigned done = std::numeric_limits<unsigned>::max();

  template <class T>
  void found(unsigned place, T& field) {
    if (as_bytes_) return found_bytes(place, field);
    if (begin(place)) read_field(field);
  }
  template <class T>
  void found(unsigned place, NotNull<T>& field) {
    if (in_.peek() != 'n') return found(place, field.field);
    match(place);
    in_.refuse_next(at_, std::is_same_v<T, bool> ? "true or false" : "a value, or to leave it out");
  }
  template <class T>
  void found_bytes(unsigned place, T& field) {
    if constexpr (std::is_same_v<T, std::string>) {
      if (begin(place)) read_base64(in_, field, at_);
    } else if constexpr (requires { field.field; }) {
      found_bytes(place, field.field);
    }
  }
  template <class T>
  void found_embedded(unsigned place, std::string_view name, Embedded<T>& field) {
    const Form form = form_of(key_, name);
    if (form == Form::none) return;
    match(place);
    const std::uint64_t bit = std::uint64_t{1} << place;
    if (!read_embedded(in_, form, field.bytes, field.object, at_)) return;
    if ((seen_.given & bit) != 0) return field.object ? in_.twice(at_) : again(name);
    seen_.given |= bit;
    // An answer and an archive name the type themselves, if there is one.
    if (field.type == nullptr || in_.is_answer() || in_.is_archive()) return;
    if (field.type->empty()) *field.type = type_of(form);
  }
  template <class T>
  void found_if_given(unsigned place, std::string_view name, EmbeddedIfGiven<T>& field) {
    // Who sends null means a value, and would learn late that it was taken for none.
    if (key_ == name && in_.is_request() && in_.peek() == 'n') {
      match(place);
      return in_.refuse_next(at_, "any JSON value but null");
    }
    std::string bytes;
    Embedded<std::string> as_bytes{bytes};
    const std::uint64_t given = seen_.given;
    found_embedded(place, name, as_bytes);
    if (seen_.given != given) field.bytes = std::move(bytes);
  }
  void match(unsigned place) {
    from_ = done;
    seen_.next = place + 1;
  }
  // False: it is null, or came before.
  bool begin(unsigned place) {
    match(place);
    const std::uint64_t bit = std::uint64_t{1} << place;
    if (((seen_.given | seen_.null) & bit) != 0) {
      in_.twice(at_);
      return false;
    }
    if (in_.null()) {
      seen_.null |= bit;
      return false;
    }
    seen_.given |= bit;
    return in_.good();
  }
  void again(std::string_view name);

  template <class T>
  void read_field(T& field) {
    read(in_, field, at_);
  }
  template <class T>
  void read_field(Always<T>& always) {
    read(in_, always.field, at_);
  }
  template <class T>
  void read_field(Required<T>& required) {
    read(in_, required.field, at_);
  }
  template <class T>
  void read_field(Usual<T>& usual) {
    read(in_, usual.field, at_);
  }
  template <class T>
  void read_field(EventNames<T>& events) {
    events.bits = event_bits(in_, at_);
  }

  Input& in_;
  std::string_view key_;
  const Path& at_;
  Seen& seen_;
  unsigned from_;  // places before it are skipped; `done`: the field was found
  bool as_bytes_;
  unsigned place_ = 0;
};

// Reports the first required field that is missing.
class MissingFields {
 public:
  MissingFields(Input& in, const Path& at, const Seen& seen) : in_(in), at_(at), seen_(seen) {}

  template <class T>
  void operator()(std::string_view, T&&) {
    ++place_;
  }
  template <class T>
  void operator()(std::string_view name, Required<T>&&) {
    const std::uint64_t bit = std::uint64_t{1} << place_++;
    if ((seen_.given & bit) == 0) in_.miss(Path{.above = &at_, .key = name});
  }

 private:
  Input& in_;
  const Path& at_;
  const Seen& seen_;
  unsigned place_ = 0;
};

// The names of a list, for an error.
struct FieldNames {
  std::vector<std::string> names = {};  // each once
  std::size_t count = 0;                // of fields

  void operator()(std::string_view name, auto&&) { add(std::string(name)); }
  template <class T>
  void operator()(std::string_view name, Embedded<T>&& field) {
    field.object ? add(std::string(name)) : add_forms(name);
  }
  template <class T>
  void operator()(std::string_view name, EmbeddedIfGiven<T>&&) {
    add_forms(name);
  }
  void add_forms(std::string_view name) {
    for (const char* ending : {"", "_text", "_base64"}) add(std::string(name) + ending);
  }
  void add(std::string name) {
    ++count;
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
};

// Whether every name is in the list once. If one hides another, the first must be found.
template <HasFields T>
bool names_are_unique() {
  static const bool unique = [] {
    T value{};
    FieldNames all;
    fields(value, all);
    return all.count == all.names.size();
  }();
  return unique;
}

// Reads the field that the key names; false: there is none.
template <HasFields T>
bool read_key(Input& in, T& to, std::string_view key, const Path& at, Seen& seen) {
  KeyReader reader(in, key, at, seen);
  do {
    fields(to, reader);
  } while (reader.look_again());
  if (reader.matched() || !in.is_archive() || !key.ends_with(base64_ending)) {
    return reader.matched();
  }
  KeyReader bytes(in, key.substr(0, key.size() - base64_ending.size()), at, seen, true);
  do {
    fields(to, bytes);
  } while (bytes.look_again());
  return bytes.matched();
}

template <HasFields T>
void read(Input& in, T& to, const Path& at) {
  if (!in.open('{', at)) return;
  // Keep is the only value whose default is not empty: a missing limit means no limit.
  if constexpr (std::is_same_v<T, Keep>) to = {};
  Seen seen;
  const bool in_order = names_are_unique<T>();
  std::string scratch;
  bool first = true;
  while (const auto key = in.key(scratch, first)) {
    const Path here{.above = &at, .key = *key};
    if (!in_order) seen.next = 0;
    if (read_key(in, to, *key, here, seen)) continue;
    if (in.skips_unknown()) {
      in.raw();
    } else {
      FieldNames known;
      fields(to, known);
      return in.not_known(here, known.names);
    }
  }
  if (!in.good()) return;
  MissingFields missing(in, at, seen);
  fields(to, missing);
}

// The whole text as one value. `what` names it in errors; empty: errors name fields only.
template <class T>
Read<T> read_text(std::string_view text, std::string_view what = {},
                  Source source = Source::request) {
  Input in(text, source);
  T value{};
  read(in, value, Path{.key = what});
  in.finish();
  if (!in.good()) return std::unexpected(std::move(in.refusal()));
  return value;
}

// The whole answer of a server as one value, or `unavailable` with the reason.
template <class T>
Result<T> read_answer(std::string_view text) {
  auto read = read_text<T>(text, {}, Source::answer);
  if (read) return std::move(*read);
  return fail(ErrorCode::unavailable,
              "the answer cannot be read: " + std::move(read.error().error.message));
}

}  // namespace millrace::wire
