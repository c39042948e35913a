// A JSON value: a payload or a result that has no type yet.
#pragma once

#include <millrace/result.h>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace millrace {

struct Value;
struct Member;

using List = std::vector<Value>;
// In the order of the text; names are unique.
using Object = std::vector<Member>;

struct Value {
  // Whole numbers are std::int64_t, or std::uint64_t if only that holds them.
  using Any = std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string,
                           List, Object>;
  Any any;  // null by default

  // Null: this is not an object, or has no such member.
  const Value* find(std::string_view name) const;

  friend bool operator==(const Value&, const Value&) = default;
};

struct Member {
  std::string name;
  Value value;

  friend bool operator==(const Member&, const Member&) = default;
};

// `invalid` names the position of the error.
Result<Value> parse_json(std::string_view text);
std::string to_json(const Value& value);

}  // namespace millrace
