// A value as JSON knows it: what a payload or a result is before somebody gives it a type.
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
// In the order in which they stand; a name stands once.
using Object = std::vector<Member>;

struct Value {
  // Whole numbers are std::int64_t, or std::uint64_t where only that holds them.
  using Any = std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string,
                           List, Object>;
  Any any;  // null at first

  // Null: this is no object, or has no such member.
  const Value* find(std::string_view name) const;

  friend bool operator==(const Value&, const Value&) = default;
};

struct Member {
  std::string name;
  Value value;

  friend bool operator==(const Member&, const Member&) = default;
};

// `invalid` says where the text stops being JSON.
Result<Value> parse_json(std::string_view text);
std::string to_json(const Value& value);

}  // namespace millrace
