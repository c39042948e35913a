// Makes a C++ file with openapi.yaml as JSON in it. Run when Millrace is built:
// openapi_tool openapi.yaml openapi.cc
//
// Unquoted numbers, true, false and null keep their type; everything else is a string. `<<` merges
// other maps in, and keys written beside it win; keys x-... at the top are left out.
//
// In the objects of requests, which are closed, null means the same as left out. So each of their
// members may be null: all but those that are required and those that `x-not-null` names. Members
// that exclude each other (`not`) do so where neither is null.
#include <yaml-cpp/yaml.h>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {

void append_text(std::string& out, const std::string& text) {
  static constexpr std::string_view hex = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20) {
      out += "\\u00";
      out += hex[byte >> 4U];
      out += hex[byte & 15U];
    } else {
      out += c;
    }
  }
  out += '"';
}

// A number as JSON writes it.
bool is_number(const std::string& text) {
  const std::size_t digits = text.find_first_not_of("0123456789", text.starts_with('-') ? 1 : 0);
  const std::size_t first = text.starts_with('-') ? 1 : 0;
  if (first == text.size() ||
      (text[first] == '0' && digits == std::string::npos && text.size() > first + 1)) {
    return false;
  }
  if (digits == std::string::npos) return true;
  if (text[digits] != '.' || digits == first) return false;
  return digits + 1 < text.size() &&
         text.find_first_not_of("0123456789", digits + 1) == std::string::npos;
}

using Members = std::vector<std::pair<std::string, YAML::Node>>;

void add_members(Members& to, const YAML::Node& map) {
  const auto set = [&](const std::string& key, const YAML::Node& value) {
    for (auto& [name, old] : to) {
      if (name == key) {
        old.reset(value);
        return;
      }
    }
    to.emplace_back(key, value);
  };
  if (const YAML::Node base = map["<<"]) {
    if (base.IsSequence()) {
      for (const auto& one : base) add_members(to, one);
    } else {
      add_members(to, base);
    }
  }
  for (const auto& member : map) {
    const auto key = member.first.as<std::string>();
    if (key != "<<") set(key, member.second);
  }
}

void append(std::string& out, const YAML::Node& node, bool top);

using Names = std::set<std::string>;

Names never_null(const YAML::Node& object) {
  Names names;
  for (const char* list : {"required", "x-not-null"}) {
    for (const auto& name : object[list]) names.insert(name.as<std::string>());
  }
  return names;
}

void append_properties(std::string& out, const YAML::Node& node, const Names& never_null) {
  Members properties;
  add_members(properties, node);
  out += '{';
  bool first = true;
  for (const auto& [name, schema] : properties) {
    if (!std::exchange(first, false)) out += ',';
    append_text(out, name);
    const bool may_be_null = !never_null.contains(name);
    out += may_be_null ? R"(:{"anyOf":[)" : ":";
    append(out, schema, false);
    if (may_be_null) out += R"(,{"type":"null"}]})";
  }
  out += '}';
}

// {"anyOf":[{"required":["a","b"],"properties":{"a":{"not":{"type":"null"}},…}},…]}
void append_exclusions(std::string& out, const YAML::Node& node) {
  out += R"({"anyOf":[)";
  bool first = true;
  for (const auto& together : node["anyOf"]) {
    if (!std::exchange(first, false)) out += ',';
    out += R"({"required":)";
    append(out, together["required"], false);
    out += R"(,"properties":{)";
    bool first_name = true;
    for (const auto& name : together["required"]) {
      if (!std::exchange(first_name, false)) out += ',';
      append_text(out, name.as<std::string>());
      out += R"(:{"not":{"type":"null"}})";
    }
    out += "}}";
  }
  out += "]}";
}

void append_object(std::string& out, const YAML::Node& node, bool top) {
  Members members;
  add_members(members, node);
  const YAML::Node others = node["additionalProperties"];
  const bool closed = others && others.IsScalar() && others.as<std::string>() == "false";
  out += '{';
  bool first = true;
  for (const auto& [key, value] : members) {
    if ((top && key.starts_with("x-")) || key == "x-not-null") continue;
    if (!std::exchange(first, false)) out += ',';
    append_text(out, key);
    out += ':';
    if (closed && key == "properties") {
      append_properties(out, value, never_null(node));
    } else if (closed && key == "not") {
      append_exclusions(out, value);
    } else {
      append(out, value, false);
    }
  }
  out += '}';
}

void append(std::string& out, const YAML::Node& node, bool top) {
  if (node.IsMap()) {
    append_object(out, node, top);
  } else if (node.IsSequence()) {
    out += '[';
    for (std::size_t i = 0; i < node.size(); ++i) {
      if (i != 0) out += ',';
      append(out, node[i], false);
    }
    out += ']';
  } else if (node.IsNull()) {
    out += "null";
  } else {
    const auto text = node.as<std::string>();
    const bool quoted = node.Tag() == "!";
    if (!quoted && (text == "true" || text == "false" || is_number(text))) {
      out += text;
    } else {
      append_text(out, text);
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) {
    std::cerr << "usage: openapi_tool openapi.yaml openapi.cc\n";
    return EXIT_FAILURE;
  }
  try {
    std::string json;
    append(json, YAML::LoadFile(arguments[1]), true);
    std::ofstream file(arguments[2], std::ios::binary);
    file << "#include \"api/server/openapi.h\"\n\nnamespace millrace::api {\n\n"
            "std::string_view openapi_json() {\n  return";
    for (std::size_t at = 0; at < json.size(); at += 4000) {
      file << "\n      R\"openapi(" << json.substr(at, 4000) << ")openapi\"";
    }
    file << ";\n}\n\n}  // namespace millrace::api\n";
    file.close();
    if (file) return EXIT_SUCCESS;
    std::cerr << "cannot write " << arguments[2] << '\n';
  } catch (const std::exception& error) {
    std::cerr << arguments[1] << ": " << error.what() << '\n';
  }
  return EXIT_FAILURE;
}
