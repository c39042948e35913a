#include <millrace/value.h>

#include <millrace/fields.h>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <unordered_set>

#include "payload/reader.h"
#include "payload/text.h"

namespace millrace {
namespace json {
namespace {

void append(std::string& out, const Value& value);

struct Append {
  std::string& out;

  void operator()(std::nullptr_t) const { out += "null"; }
  void operator()(bool value) const { out += value ? "true" : "false"; }
  void operator()(std::int64_t value) const { append_number(out, value); }
  void operator()(std::uint64_t value) const { append_number(out, value); }
  void operator()(double value) const {
    const std::size_t from = out.size();
    append_number(out, value);
    // So that it is read back as a floating-point number.
    if (std::isfinite(value) && out.find_first_of(".e", from) == std::string::npos) out += ".0";
  }
  void operator()(const std::string& text) const { append_text(out, text); }
  void operator()(const List& list) const {
    char before = '[';
    for (const Value& item : list) {
      out += before;
      append(out, item);
      before = ',';
    }
    if (list.empty()) out += '[';
    out += ']';
  }
  void operator()(const Object& object) const {
    char before = '{';
    for (const auto& [name, item] : object) {
      out += before;
      append_text(out, name);
      out += ':';
      append(out, item);
      before = ',';
    }
    if (object.empty()) out += '{';
    out += '}';
  }
};

void append(std::string& out, const Value& value) {
  std::visit(Append{out}, value.any);
}

template <class T>
bool read_number(std::string_view digits, Value& to) {
  T number{};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc{} || end != digits.data() + digits.size()) return false;
  to.any = number;
  return true;
}

void read_list(Reader& in, List& to, const Place& at) {
  if (!in.open('[', at)) return;
  bool first = true;
  for (std::size_t i = 0; in.item(first); ++i) {
    const Place here{.kind = Place::Kind::item, .above = &at, .index = i};
    read(in, to.emplace_back(), here);
  }
}

// Finds duplicate names, by comparing with all of them while they are few.
class Known {
 public:
  bool add(const Object& object, std::string_view name) {
    constexpr std::size_t few = 16;
    if (object.size() < few) {
      return std::ranges::none_of(object, [&](const auto& item) { return item.name == name; });
    }
    if (all_.empty()) {
      for (const auto& item : object) all_.insert(item.name);
    }
    return all_.emplace(name).second;
  }

 private:
  std::unordered_set<std::string> all_;
};

void read_object(Reader& in, Object& to, const Place& at) {
  if (!in.open('{', at)) return;
  std::string scratch;
  Known known;
  bool first = true;
  while (const auto key = in.key(scratch, first)) {
    const Place here{.kind = Place::Kind::member, .above = &at, .key = *key};
    if (!known.add(to, *key)) return refuse_second(in, here);
    read(in, to.emplace_back(std::string(*key)).value, here);
  }
}

}  // namespace

void write(std::string& out, const Value& value) {
  append(out, value);
}

void read(Reader& in, Value& to, const Place& at) {
  switch (in.peek()) {
    case '{':
      return read_object(in, to.any.emplace<Object>(), at);
    case '[':
      return read_list(in, to.any.emplace<List>(), at);
    case '"':
      return read(in, to.any.emplace<std::string>(), at);
    case 't':
    case 'f':
      return read(in, to.any.emplace<bool>(), at);
    default:
      break;
  }
  to.any = nullptr;
  if (in.null()) return;
  const auto digits = in.number();
  if (!digits) return in.refuse_next(at, "JSON");
  if (read_number<std::int64_t>(*digits, to) || read_number<std::uint64_t>(*digits, to) ||
      read_number<double>(*digits, to)) {
    return;
  }
  in.refuse_value(at, "a number that a double can hold", *digits);
}

}  // namespace json

const Value* Value::find(std::string_view name) const {
  const auto* object = std::get_if<Object>(&any);
  if (object == nullptr) return nullptr;
  for (const auto& [key, value] : *object) {
    if (key == name) return &value;
  }
  return nullptr;
}

Result<Value> parse_json(std::string_view text) {
  constexpr std::string_view what = "the text";
  json::Reader in(text);
  Value value;
  json::read(in, value, {.key = "value"});
  if (auto error = in.finish(what)) return std::unexpected(std::move(*error));
  return value;
}

std::string to_json(const Value& value) {
  std::string out;
  json::write(out, value);
  return out;
}

}  // namespace millrace
