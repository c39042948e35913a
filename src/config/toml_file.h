// A TOML text as a list of keys and values, each with its line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::config {

enum class TomlKind : std::uint8_t { text, integer, real, boolean, list, other };

struct TomlValue {
  std::string key = {};                // with the tables it is in: http.max_body
  std::vector<std::string> path = {};  // the same, name by name
  TomlKind kind = TomlKind::other;
  std::string text = {};               // for `list` and `other`: the name of the kind
  std::vector<std::string> list = {};  // of texts; a list with anything else in it is `other`
  std::size_t line = 0;
};

struct TomlText {
  std::vector<TomlValue> values = {};  // in the order of the text
  std::string problem = {};            // empty: it is TOML
  std::size_t line = 0;                // of the problem
};

TomlText parse_toml(std::string_view text);

}  // namespace millrace::config
