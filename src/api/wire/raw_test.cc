#include "api/wire/raw.h"

#include <gtest/gtest.h>
#include <boost/json/error.hpp>
#include <boost/json/parse.hpp>

#include <random>
#include <string>
#include <vector>

namespace millrace::wire {
namespace {

// What Boost.JSON, our client's reader, says about the same text.
bool boost_says(std::string_view text) {
  boost::json::parse_options options;
  options.max_depth = max_depth;
  boost::system::error_code error;
  boost::json::parse(boost::json::string_view(text.data(), text.size()), error, {}, options);
  return !error;
}

TEST(Raw, knows_json_when_it_sees_it) {
  for (const std::string_view text :
       {"0", "-0", "1.5", "1e5", "-1.25E-7", "true", "false", "null", "\"\"", "\"a\"", "[]", "{}",
        " [1, 2 ,3 ] ", "{\"a\":{\"b\":[{}]}}", R"("\u00e9\ud83d\ude00\n\/\\")", "\"m\xc3\xbchle\"",
        "\t\r\n1\n", "\"exactly eight characters, then more\""}) {
    EXPECT_TRUE(is_json(text)) << text;
    EXPECT_TRUE(boost_says(text)) << text;
  }
}

TEST(Raw, refuses_what_is_not_json) {
  using namespace std::string_view_literals;
  for (const std::string_view text :
       {""sv,         " "sv,         "01"sv,          "1."sv,          ".5"sv,
        "+1"sv,       "-"sv,         "1e"sv,          "1e+"sv,         "tru"sv,
        "nul"sv,      "nan"sv,       "'a'"sv,         "\"a"sv,         "\"\\\""sv,
        "\"\\x\""sv,  "\"\\u12\""sv, "\"\\ud800\""sv, "\"\\udc00\""sv, "\"\\ud800\\u0041\""sv,
        "\"\x01\""sv, "\"\n\""sv,    "\"\xff\""sv,    "\"\xc3\""sv,    "\"\xed\xa0\x80\""sv,
        "["sv,        "]"sv,         "[1"sv,          "[1,"sv,         "[1,]"sv,
        "[,1]"sv,     "{"sv,         "{\"a\"}"sv,     "{\"a\":}"sv,    "{\"a\":1,}"sv,
        "{a:1}"sv,    "{\"a\":1"sv,  "{]"sv,          "[}"sv,          "1 2"sv,
        "[1] x"sv,    "\"a\0b\""sv,  "1\0"sv,         "// c\n1"sv}) {
    EXPECT_FALSE(is_json(text)) << text;
    EXPECT_FALSE(boost_says(text)) << text;
  }
}

TEST(Raw, depth_is_bounded_and_costs_no_stack) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(is_json(nested(max_depth)));
  EXPECT_FALSE(is_json(nested(max_depth + 1)));
  EXPECT_FALSE(is_json(std::string(1'000'000, '[')));
}

// Texts made of pieces of JSON, mostly broken: both must say the same of each.
TEST(Raw, agrees_with_boost_on_random_texts) {
  const std::vector<std::string> pieces = {
      "{",    "}",        "[",     "]",          ",",
      ":",    "\"a\"",    "\"",    "\\",         "u",
      "d83d", "\\ude00",  "1",     "-",          ".",
      "e",    "0",        "true",  "null",       " ",
      "\n",   "\xc3\xa9", "\xe2",  "abcdefghij", std::string(1, '\0'),
      "\x1f", "\\n",      "\"k\":"};
  std::mt19937 random(7);
  int good = 0;
  for (int i = 0; i < 200'000; ++i) {
    std::string text;
    const auto parts = 1 + random() % 9;
    for (unsigned part = 0; part < parts; ++part) text += pieces[random() % pieces.size()];
    ASSERT_EQ(is_json(text), boost_says(text)) << text;
    good += is_json(text) ? 1 : 0;
  }
  EXPECT_GT(good, 1000);
}

TEST(Raw, objects_and_types) {
  EXPECT_TRUE(is_json_object(" {\"a\":1}"));
  EXPECT_FALSE(is_json_object("[1]"));
  EXPECT_FALSE(is_json_object("{"));
  EXPECT_FALSE(is_json_object(""));
  for (const auto* type : {"", "application/json", "Application/JSON; charset=utf-8",
                           "application/cloudevents+json"}) {
    EXPECT_TRUE(is_json_type(type)) << type;
  }
  for (const auto* type : {"text/plain", "application/jsonx", "+json", "json"}) {
    EXPECT_FALSE(is_json_type(type)) << type;
  }
}

}  // namespace
}  // namespace millrace::wire
