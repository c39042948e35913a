#include <boost/json/error.hpp>
#include <boost/json/parser.hpp>
#include <boost/json/serialize.hpp>

#include <fmt/format.h>
#include <cmath>

#include "api/wire/tree.h"

namespace millrace::wire {
namespace {

void append_json(std::string& out, const boost::json::value& json);

void append_json(std::string& out, std::string_view text) {
  out += boost::json::serialize(boost::json::string_view(text));
}

void append_json(std::string& out, const boost::json::object& object) {
  out += '{';
  bool first = true;
  for (const auto& [key, value] : object) {
    if (!first) out += ',';
    first = false;
    append_json(out, std::string_view(key));
    out += ':';
    append_json(out, value);
  }
  out += '}';
}

void append_json(std::string& out, const boost::json::array& array) {
  out += '[';
  for (std::size_t i = 0; i < array.size(); ++i) {
    if (i != 0) out += ',';
    append_json(out, array[i]);
  }
  out += ']';
}

// Boost writes 0.7 as 7E-1, which is correct but hard to read.
void append_json(std::string& out, double number) {
  out += std::isfinite(number) ? fmt::format("{}", number) : "null";
}

void append_json(std::string& out, const boost::json::value& json) {
  switch (json.kind()) {
    case boost::json::kind::object:
      return append_json(out, json.get_object());
    case boost::json::kind::array:
      return append_json(out, json.get_array());
    case boost::json::kind::string:
      return append_json(out, std::string_view(json.get_string()));
    case boost::json::kind::double_:
      return append_json(out, json.get_double());
    case boost::json::kind::int64:
      out += fmt::format("{}", json.get_int64());
      return;
    case boost::json::kind::uint64:
      out += fmt::format("{}", json.get_uint64());
      return;
    case boost::json::kind::bool_:
      out += json.get_bool() ? "true" : "false";
      return;
    case boost::json::kind::null:
      out += "null";
      return;
  }
}

}  // namespace

std::string to_text(const boost::json::value& json) {
  std::string out;
  append_json(out, json);
  return out;
}

Result<boost::json::value> parse(std::string_view text) {
  boost::json::parser parser;
  boost::system::error_code error;  // newer Boosts have no name of their own for it
  const std::size_t used = parser.write_some(text.data(), text.size(), error);
  if (error == boost::json::error::incomplete) {
    return fail(ErrorCode::invalid, "the JSON ends in the middle");
  }
  if (error) {
    return fail(ErrorCode::invalid,
                fmt::format("not JSON from position {} on: {}", used + 1, error.message()));
  }
  const std::size_t rest = text.find_first_not_of(" \t\r\n", used);
  if (rest != std::string_view::npos) {
    return fail(ErrorCode::invalid,
                fmt::format("unexpected text after the JSON, at position {}", rest + 1));
  }
  return parser.release();
}

}  // namespace millrace::wire
