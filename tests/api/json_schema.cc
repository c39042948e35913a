#include "tests/api/json_schema.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <optional>
#include <regex>

namespace millrace::test {
namespace {

namespace json = boost::json;

bool is_type(const json::value& value, std::string_view type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_bool();
  if (type == "null") return value.is_null();
  if (type == "number") return value.is_number();
  if (type != "integer" || !value.is_number()) return false;
  return !value.is_double() || std::trunc(value.get_double()) == value.get_double();
}

std::string shown(const json::value& value) {
  const std::string text = json::serialize(value);
  return text.size() > 60 ? text.substr(0, 60) + "..." : text;
}

// The size of what a limit of sizes speaks about; nullopt: it is of another type.
std::optional<double> measured(std::string_view word, const json::value& value) {
  if (word.ends_with("imum") && value.is_number()) return value.to_number<double>();
  if ((word.ends_with("Length") || word == "x-max-bytes") && value.is_string()) {
    return static_cast<double>(value.get_string().size());
  }
  if (word.ends_with("Items") && value.is_array()) {
    return static_cast<double>(value.get_array().size());
  }
  return std::nullopt;
}

constexpr auto limits_of_size = std::to_array<std::string_view>(
    {"minimum", "maximum", "minLength", "maxLength", "x-max-bytes", "minItems", "maxItems"});
// Words for people, and those that other words look at.
constexpr auto without_meaning =
    std::to_array<std::string_view>({"description", "default", "examples", "example", "properties",
                                     "required", "additionalProperties", "format"});

// Whether the value has all members that `schema` requires.
bool has_required(const json::value& schema, const json::object& value) {
  return std::ranges::all_of(schema.at("required").as_array(), [&](const json::value& name) {
    return value.contains(name.as_string());
  });
}

// The same for members that exclude each other; those that `schema` describes must not be null.
bool has_together(const json::value& schema, const json::object& value) {
  const auto* not_null = schema.as_object().if_contains("properties");
  return has_required(schema, value) &&
         (not_null == nullptr || std::ranges::none_of(not_null->as_object(), [&](const auto& each) {
            return value.at(each.key()).is_null();
          }));
}

}  // namespace

const json::value& JsonSchemas::resolved(const json::value& node) const {
  const auto* object = node.if_object();
  if (object == nullptr || !object->contains("$ref")) return node;
  const json::value* at = &document_;
  std::string_view path = object->at("$ref").as_string();
  path.remove_prefix(std::min<std::size_t>(2, path.size()));  // "#/"
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    at = &at->as_object().at(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return resolved(*at);
}

std::vector<std::string> JsonSchemas::check(const json::value& schema,
                                            const json::value& value) const {
  Complaints wrong;
  check(schema, value, "$", wrong);
  return wrong;
}

void JsonSchemas::check(const json::value& given, const json::value& value, const std::string& at,
                        Complaints& wrong) const {
  const json::object& schema = resolved(given).as_object();
  for (const auto& [word, meaning] : schema) {
    check_word(schema, word, meaning, value, at, wrong);
  }
  if (value.is_object() && schema.contains("type")) {
    check_object(schema, value.get_object(), at, wrong);
  }
}

void JsonSchemas::check_word(const json::object&, std::string_view word, const json::value& meaning,
                             const json::value& value, const std::string& at,
                             Complaints& wrong) const {
  const auto complain = [&](std::string_view what) {
    wrong.push_back(fmt::format("{} is {}; {}", at, shown(value), what));
  };
  if (std::ranges::count(without_meaning, word) != 0) return;
  if (word == "type") {
    if (!is_type(value, meaning.as_string())) complain(fmt::format("not {}", shown(meaning)));
  } else if (word == "enum") {
    if (std::ranges::count(meaning.as_array(), value) == 0) {
      complain(fmt::format("not one of {}", shown(meaning)));
    }
  } else if (word == "const") {
    if (meaning != value) complain(fmt::format("not {}", shown(meaning)));
  } else if (word == "pattern") {
    const std::string pattern(meaning.as_string());
    if (value.is_string() &&
        !std::regex_search(std::string(value.get_string()), std::regex(pattern))) {
      complain(fmt::format("does not match {}", pattern));
    }
  } else if (std::ranges::count(limits_of_size, word) != 0) {
    const auto size = measured(word, value);
    const double limit = meaning.to_number<double>();
    if (size && (word.starts_with("min") ? *size < limit : *size > limit)) {
      complain(fmt::format("beyond {} {}", word, limit));
    }
  } else if (word == "items") {
    if (const auto* array = value.if_array()) {
      for (std::size_t i = 0; i < array->size(); ++i) {
        check(meaning, (*array)[i], fmt::format("{}[{}]", at, i), wrong);
      }
    }
  } else if (word == "not") {
    // The only use of it: members that exclude each other.
    for (const json::value& together : meaning.at("anyOf").as_array()) {
      if (value.is_object() && has_together(together, value.get_object())) {
        complain(fmt::format("has {} together", shown(together.at("required"))));
      }
    }
  } else if (word == "oneOf" || word == "anyOf") {
    check_choice(word, meaning.as_array(), value, at, wrong);
  } else {
    wrong.push_back(fmt::format("{}: the schema says {}, which is not known here", at, word));
  }
}

void JsonSchemas::check_choice(std::string_view word, const json::array& choices,
                               const json::value& value, const std::string& at,
                               Complaints& wrong) const {
  std::size_t fitting = 0;
  Complaints all;
  for (const json::value& choice : choices) {
    Complaints one;
    check(choice, value, at, one);
    if (one.empty()) ++fitting;
    all.insert(all.end(), one.begin(), one.end());
  }
  if (fitting == 1 || (fitting > 1 && word == "anyOf")) return;
  wrong.push_back(fmt::format("{} fits {} of the {} choices", at, fitting, choices.size()));
  if (fitting == 0) wrong.insert(wrong.end(), all.begin(), all.end());
}

void JsonSchemas::check_object(const json::object& schema, const json::object& value,
                               const std::string& at, Complaints& wrong) const {
  const auto* properties = schema.if_contains("properties");
  const auto* others = schema.if_contains("additionalProperties");
  if (const auto* required = schema.if_contains("required")) {
    for (const json::value& name : required->as_array()) {
      if (!value.contains(name.as_string())) {
        wrong.push_back(fmt::format("{} lacks {}", at, shown(name)));
      }
    }
  }
  for (const auto& [key, member] : value) {
    const std::string here = fmt::format("{}.{}", at, std::string_view(key));
    const auto* described =
        properties == nullptr ? nullptr : properties->as_object().if_contains(key);
    if (described != nullptr) {
      check(*described, member, here, wrong);
    } else if (others != nullptr && others->is_object()) {
      check(*others, member, here, wrong);
    } else if (others == nullptr || !others->as_bool()) {
      wrong.push_back(fmt::format("{} is not described", here));
    }
  }
}

}  // namespace millrace::test
