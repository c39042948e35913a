// Typed payloads: one macro lists the fields of a struct, which can then be put and handled.
//
//   struct Email { std::string to, subject; std::optional<int> tries; };
//   MILLRACE_FIELDS(Email, to, subject, tries)
//
//   enum class Size { small, large };
//   MILLRACE_NAMES(Size, small, large)
//
// Both follow the type, in its namespace. A trailing underscore is not part of a name: `template_`
// is "template" in JSON. What a field may be, and how it is written:
//
//   bool, whole numbers, double, float       as in JSON
//   std::string                              text; what is not UTF-8 becomes U+FFFD
//   enum with MILLRACE_NAMES                 the name, as text
//   std::optional<T>                         left out where there is none; null is read, too
//   std::vector<T>                           a list
//   std::vector<std::uint8_t>                bytes, as base64 text
//   std::map, std::unordered_map             an object; keys are std::string
//   a struct with MILLRACE_FIELDS            an object
//   TimePoint                                "2026-01-02T03:04:05.678Z"; milliseconds are read, too
//   Duration                                 milliseconds; "1h30m" is read, too
//   Uuid, TaskId                             text of 36 characters
//   Value                                    whatever is there
#pragma once

#include <millrace/ids.h>
#include <millrace/result.h>
#include <millrace/time.h>
#include <millrace/value.h>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#define MILLRACE_FIELDS(Type, ...)                                               \
  [[maybe_unused]] constexpr auto millrace_fields(::std::type_identity<Type>) {  \
    return ::millrace::json::fields_of<Type>(                                    \
        __VA_OPT__(MILLRACE_EXPAND_(MILLRACE_FIELDS_LIST_(Type, __VA_ARGS__)))); \
  }

#define MILLRACE_NAMES(Enum, ...)                                               \
  [[maybe_unused]] constexpr auto millrace_names(::std::type_identity<Enum>) {  \
    return ::millrace::json::names_of<Enum>(                                    \
        __VA_OPT__(MILLRACE_EXPAND_(MILLRACE_NAMES_LIST_(Enum, __VA_ARGS__)))); \
  }

namespace millrace {

// As JSON. NaN, and enum values without a name, cannot be read back.
template <class T>
std::string encode(const T& value);

// `invalid` names the path of what is missing, unknown, duplicate or of the wrong type:
// `payload.address.lines[2] must be text, but is 7`.
template <class T>
Result<T> decode(std::string_view payload, std::string_view content_type = {});

// ---- Implementation: used by the macros and templates above only ----

namespace json {

// Reads a text into values: a cursor and the first error.
class Reader;

// The path of a value in the text; turned into words only for an error.
struct Place {
  enum class Kind : std::uint8_t { root, member, item };

  Kind kind = Kind::root;
  const Place* above = nullptr;
  std::string_view key = "payload";
  std::size_t index = 0;
};

// One member of a struct, without its types.
struct Field {
  std::string_view name;
  bool optional;
  void (*read)(Reader& in, void* object, const Place& at);
  void (*write)(std::string& out, const void* object);
  bool (*is_there)(const void* object);  // null: always
};

template <class Enum, std::size_t N>  // NOLINT(readability-identifier-naming): as std::array has it
struct Names {
  std::array<Enum, N> values;
  std::array<std::string_view, N> names;
};

void write(std::string& out, bool value);
void write(std::string& out, std::int64_t value);
void write(std::string& out, std::uint64_t value);
void write(std::string& out, double value);
void write(std::string& out, float value);
void write(std::string& out, std::string_view text);
void write(std::string& out, std::span<const std::uint8_t> bytes);
void write(std::string& out, TimePoint moment);
void write(std::string& out, const Uuid& id);
void write(std::string& out, const Value& value);
void write_fields(std::string& out, const void* object, std::span<const Field> fields);

void read(Reader& in, bool& to, const Place& at);
void read(Reader& in, double& to, const Place& at);
void read(Reader& in, float& to, const Place& at);
void read(Reader& in, std::string& to, const Place& at);
void read(Reader& in, std::vector<std::uint8_t>& to, const Place& at);
void read(Reader& in, TimePoint& to, const Place& at);
void read(Reader& in, Duration& to, const Place& at);
void read(Reader& in, Uuid& to, const Place& at);
void read(Reader& in, Value& to, const Place& at);
std::int64_t read_signed(Reader& in, std::int64_t least, std::int64_t most, const Place& at);
std::uint64_t read_unsigned(Reader& in, std::uint64_t most, const Place& at);
// The number of the name among `names`, which are not empty.
std::size_t read_name(Reader& in, std::span<const std::string_view> names, const Place& at);
void read_fields(Reader& in, void* object, std::span<const Field> fields, const Place& at);

// True: skipped a null.
bool read_null(Reader& in);
// Enters a list or an object; false: it is another kind of value, which is now the error.
bool open_list(Reader& in, const Place& at);
bool open_object(Reader& in, const Place& at);
// False, nullopt: that was the last, or there was an error. The key may be a part of `scratch`.
bool next_item(Reader& in, bool& first);
std::optional<std::string_view> next_key(Reader& in, std::string& scratch, bool& first);
void refuse_second(Reader& in, const Place& at);

Result<void> read_payload(std::string_view payload, std::string_view content_type, void* to,
                          void (*read)(Reader& in, void* to, const Place& at));

template <class T>
concept HasFields = requires { millrace_fields(std::type_identity<T>{}); };
template <class T>
concept HasNames = requires { millrace_names(std::type_identity<T>{}); };

template <class T, class... Others>
inline constexpr bool is_one_of = (std::is_same_v<T, Others> || ...);

template <class T>
concept WholeNumber =
    std::is_integral_v<T> && !is_one_of<T, bool, char, wchar_t, char8_t, char16_t, char32_t>;
// Types that have a read() above.
template <class T>
concept Plain = is_one_of<T, bool, double, float, std::string, std::vector<std::uint8_t>, TimePoint,
                          Duration, Uuid, Value>;

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_list = false;
template <class T, class A>
inline constexpr bool is_list<std::vector<T, A>> = true;
template <class T>
inline constexpr bool is_map = false;
template <class T, class C, class A>
inline constexpr bool is_map<std::map<std::string, T, C, A>> = true;
template <class T, class H, class E, class A>
inline constexpr bool is_map<std::unordered_map<std::string, T, H, E, A>> = true;

template <class T>
inline constexpr bool never_true = false;

template <class T>
constexpr void refuse_type() {
  if constexpr (std::is_enum_v<T>) {
    static_assert(never_true<T>,
                  "This enum has no names: write MILLRACE_NAMES(Enum, first, second) behind it, in "
                  "its namespace.");
  } else if constexpr (std::is_class_v<T>) {
    static_assert(never_true<T>,
                  "This type cannot be part of a payload: if it is a struct of yours, write "
                  "MILLRACE_FIELDS(Type, a, b) behind it, in its namespace; <millrace/fields.h> "
                  "lists what its fields may be.");
  } else {
    static_assert(never_true<T>,
                  "This type cannot be part of a payload; <millrace/fields.h> lists those that "
                  "can.");
  }
}

template <class T>
void write_any(std::string& out, const T& value) {
  if constexpr (HasFields<T>) {
    static constexpr auto fields = millrace_fields(std::type_identity<T>{});
    write_fields(out, &value, fields);
  } else if constexpr (HasNames<T>) {
    static constexpr auto all = millrace_names(std::type_identity<T>{});
    for (std::size_t i = 0; i < all.values.size(); ++i) {
      if (all.values[i] == value) return write(out, all.names[i]);
    }
    write_any(out, static_cast<std::underlying_type_t<T>>(value));
  } else if constexpr (WholeNumber<T> || std::is_same_v<T, Duration>) {
    if constexpr (std::is_same_v<T, Duration>) {
      write(out, static_cast<std::int64_t>(value.count()));
    } else if constexpr (std::is_signed_v<T>) {
      write(out, static_cast<std::int64_t>(value));
    } else {
      write(out, static_cast<std::uint64_t>(value));
    }
  } else if constexpr (std::is_same_v<T, std::string>) {
    write(out, std::string_view(value));
  } else if constexpr (std::is_same_v<T, std::vector<std::uint8_t>>) {
    write(out, std::span<const std::uint8_t>(value));
  } else if constexpr (std::is_same_v<T, TaskId>) {
    write(out, value.value);
  } else if constexpr (Plain<T>) {
    write(out, value);
  } else if constexpr (is_optional<T>) {
    if (!value) {
      out += "null";
    } else {
      write_any(out, *value);
    }
  } else if constexpr (is_list<T>) {
    out += '[';
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (i != 0) out += ',';
      // Not by reference: std::vector<bool> has no references to its items.
      write_any<typename T::value_type>(out, value[i]);
    }
    out += ']';
  } else if constexpr (is_map<T>) {
    out += '{';
    for (const auto& [key, item] : value) {
      if (out.back() != '{') out += ',';
      write(out, std::string_view(key));
      out += ':';
      write_any(out, item);
    }
    out += '}';
  } else {
    refuse_type<T>();
  }
}

template <class T>
void read_any(Reader& in, T& to, const Place& at);

template <class T>
void read_list(Reader& in, T& to, const Place& at) {
  to.clear();
  if (!open_list(in, at)) return;
  bool first = true;
  for (std::size_t i = 0; next_item(in, first); ++i) {
    const Place here{.kind = Place::Kind::item, .above = &at, .index = i};
    if constexpr (std::is_same_v<typename T::value_type, bool>) {
      bool item = false;
      read_any(in, item, here);
      to.push_back(item);
    } else {
      read_any(in, to.emplace_back(), here);
    }
  }
}

template <class T>
void read_map(Reader& in, T& to, const Place& at) {
  to.clear();
  if (!open_object(in, at)) return;
  std::string scratch;
  bool first = true;
  while (const auto key = next_key(in, scratch, first)) {
    const auto [item, added] = to.try_emplace(std::string(*key));
    const Place here{.kind = Place::Kind::member, .above = &at, .key = item->first};
    if (!added) return refuse_second(in, here);
    read_any(in, item->second, here);
  }
}

template <class T>
void read_any(Reader& in, T& to, const Place& at) {
  static_assert(std::is_default_constructible_v<T>,
                "What is read from a payload must have a default constructor.");
  if constexpr (HasFields<T>) {
    static constexpr auto fields = millrace_fields(std::type_identity<T>{});
    read_fields(in, &to, fields, at);
  } else if constexpr (HasNames<T>) {
    static constexpr auto all = millrace_names(std::type_identity<T>{});
    to = all.values[read_name(in, all.names, at)];
  } else if constexpr (WholeNumber<T>) {
    using Limits = std::numeric_limits<T>;
    if constexpr (std::is_signed_v<T>) {
      to = static_cast<T>(read_signed(in, Limits::min(), Limits::max(), at));
    } else {
      to = static_cast<T>(read_unsigned(in, Limits::max(), at));
    }
  } else if constexpr (std::is_same_v<T, TaskId>) {
    read(in, to.value, at);
  } else if constexpr (Plain<T>) {
    read(in, to, at);
  } else if constexpr (is_optional<T>) {
    static_assert(!is_optional<typename T::value_type>,
                  "An optional of an optional cannot be told from an optional in JSON.");
    to.reset();
    if (!read_null(in)) read_any(in, to.emplace(), at);
  } else if constexpr (is_list<T>) {
    read_list(in, to, at);
  } else if constexpr (is_map<T>) {
    read_map(in, to, at);
  } else {
    refuse_type<T>();
  }
}

constexpr std::string_view without_underscore(std::string_view name) {
  if (name.size() > 1 && name.ends_with('_')) name.remove_suffix(1);
  return name;
}

template <class Type, auto member>
constexpr Field field(std::string_view name) {
  using T = std::remove_cvref_t<decltype(std::declval<Type&>().*member)>;
  Field made{.name = without_underscore(name),
             .optional = is_optional<T>,
             .read = [](Reader& in, void* object,
                        const Place& at) { read_any(in, static_cast<Type*>(object)->*member, at); },
             .write =
                 [](std::string& out, const void* object) {
                   write_any<T>(out, static_cast<const Type*>(object)->*member);
                 },
             .is_there = nullptr};
  if constexpr (is_optional<T>) {
    made.is_there = [](const void* object) {
      return (static_cast<const Type*>(object)->*member).has_value();
    };
  }
  return made;
}

template <class Type, class... Fields>
constexpr std::array<Field, sizeof...(Fields)> fields_of(Fields... fields) {
  static_assert(sizeof...(Fields) <= 64, "MILLRACE_FIELDS takes up to 64 fields.");
  return {fields...};
}

template <class Enum>
struct Name {
  Enum value;
  std::string_view name;
};

template <class Enum, class... All>
constexpr Names<Enum, sizeof...(All)> names_of(All... all) {
  static_assert(std::is_enum_v<Enum>, "MILLRACE_NAMES is for enums; MILLRACE_FIELDS for structs.");
  static_assert(sizeof...(All) > 0, "MILLRACE_NAMES needs the names of the enum's values.");
  return {.values = {all.value...}, .names = {without_underscore(all.name)...}};
}

}  // namespace json

template <class T>
std::string encode(const T& value) {
  std::string out;
  out.reserve(120);  // most payloads are small; growing costs more than writing them
  json::write_any(out, value);
  return out;
}

template <class T>
Result<T> decode(std::string_view payload, std::string_view content_type) {
  T value{};
  auto read = json::read_payload(payload, content_type, &value,
                                 [](json::Reader& in, void* to, const json::Place& at) {
                                   json::read_any(in, *static_cast<T*>(to), at);
                                 });
  if (!read) return std::unexpected(std::move(read.error()));
  return value;
}

}  // namespace millrace

// The preprocessor does not recurse; it rescans, as often as this asks for.
#define MILLRACE_EXPAND_(...) \
  MILLRACE_EXPAND3_(MILLRACE_EXPAND3_(MILLRACE_EXPAND3_(MILLRACE_EXPAND3_(__VA_ARGS__))))
#define MILLRACE_EXPAND3_(...) \
  MILLRACE_EXPAND2_(MILLRACE_EXPAND2_(MILLRACE_EXPAND2_(MILLRACE_EXPAND2_(__VA_ARGS__))))
#define MILLRACE_EXPAND2_(...) \
  MILLRACE_EXPAND1_(MILLRACE_EXPAND1_(MILLRACE_EXPAND1_(MILLRACE_EXPAND1_(__VA_ARGS__))))
#define MILLRACE_EXPAND1_(...) __VA_ARGS__
#define MILLRACE_PARENS_ ()

#define MILLRACE_FIELDS_LIST_(Type, first, ...)       \
  ::millrace::json::field<Type, &Type::first>(#first) \
      __VA_OPT__(, MILLRACE_FIELDS_AGAIN_ MILLRACE_PARENS_(Type, __VA_ARGS__))
#define MILLRACE_FIELDS_AGAIN_() MILLRACE_FIELDS_LIST_

#define MILLRACE_NAMES_LIST_(Enum, first, ...) \
  ::millrace::json::Name<Enum>{                \
      Enum::first, #first} __VA_OPT__(, MILLRACE_NAMES_AGAIN_ MILLRACE_PARENS_(Enum, __VA_ARGS__))
#define MILLRACE_NAMES_AGAIN_() MILLRACE_NAMES_LIST_
