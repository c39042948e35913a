#include "tests/api/json_schema.h"

#include <gtest/gtest.h>
#include <boost/json/parse.hpp>

namespace millrace::test {
namespace {

class JsonSchema : public ::testing::Test {
 protected:
  bool fits(std::string_view schema, std::string_view value) {
    return schemas_.check(boost::json::parse(schema), boost::json::parse(value)).empty();
  }

  boost::json::value document_ = boost::json::parse(
      R"({"components":{"schemas":{"Name":{"type":"string","pattern":"^[a-z]+$"},
          "Alias":{"$ref":"#/components/schemas/Name"}}}})");
  JsonSchemas schemas_{document_};
};

TEST_F(JsonSchema, types) {
  EXPECT_TRUE(fits(R"({"type":"integer"})", "1"));
  EXPECT_TRUE(fits(R"({"type":"integer"})", "1.0"));
  EXPECT_FALSE(fits(R"({"type":"integer"})", "1.5"));
  EXPECT_FALSE(fits(R"({"type":"integer"})", "\"1\""));
  EXPECT_TRUE(fits(R"({"type":"number"})", "1.5"));
  EXPECT_FALSE(fits(R"({"type":"string"})", "null"));
  EXPECT_TRUE(fits(R"({"type":"boolean"})", "false"));
  EXPECT_TRUE(fits("{}", "[1]"));
}

TEST_F(JsonSchema, objects_are_closed) {
  const auto* schema = R"({"type":"object","required":["a"],"properties":{"a":{"type":"integer"},
                           "b":{"type":"string"}}})";
  EXPECT_TRUE(fits(schema, R"({"a":1})"));
  EXPECT_FALSE(fits(schema, R"({"b":"x"})"));
  EXPECT_FALSE(fits(schema, R"({"a":"x"})"));
  EXPECT_FALSE(fits(schema, R"({"a":1,"c":1})"));
  EXPECT_FALSE(fits(R"({"type":"object"})", R"({"c":1})"));
  EXPECT_TRUE(fits(R"({"type":"object","additionalProperties":true})", R"({"c":1})"));
  EXPECT_FALSE(fits(R"({"type":"object","additionalProperties":{"type":"string"}})", R"({"c":1})"));
}

TEST_F(JsonSchema, values_and_sizes) {
  EXPECT_TRUE(fits(R"({"enum":["a",1]})", "1"));
  EXPECT_FALSE(fits(R"({"enum":["a"]})", "\"b\""));
  EXPECT_FALSE(fits(R"({"const":true})", "false"));
  EXPECT_FALSE(fits(R"({"minimum":1})", "0"));
  EXPECT_TRUE(fits(R"({"maximum":1})", "1"));
  EXPECT_FALSE(fits(R"({"maxLength":1})", "\"ab\""));
  EXPECT_FALSE(fits(R"({"x-max-bytes":1})", "\"\u00e4\""));
  EXPECT_TRUE(fits(R"({"x-max-bytes":2})", "\"\u00e4\""));
  EXPECT_FALSE(fits(R"({"type":"array","minItems":1})", "[]"));
  EXPECT_FALSE(fits(R"({"type":"array","items":{"type":"integer"}})", "[1,\"a\"]"));
}

TEST_F(JsonSchema, choices_and_references) {
  EXPECT_TRUE(fits(R"({"oneOf":[{"type":"string"},{"type":"integer"}]})", "1"));
  EXPECT_FALSE(fits(R"({"oneOf":[{"type":"number"},{"type":"integer"}]})", "1"));
  EXPECT_TRUE(fits(R"({"anyOf":[{"type":"number"},{"type":"integer"}]})", "1"));
  EXPECT_FALSE(fits(R"({"anyOf":[{"type":"string"}]})", "1"));
  EXPECT_TRUE(fits(R"({"$ref":"#/components/schemas/Alias"})", "\"abc\""));
  EXPECT_FALSE(fits(R"({"$ref":"#/components/schemas/Alias"})", "\"ABC\""));
}

TEST_F(JsonSchema, members_exclude_each_other) {
  const auto* schema = R"({"type":"object","additionalProperties":true,
                           "not":{"anyOf":[{"required":["a","b"]},{"required":["a","c"]}]}})";
  EXPECT_TRUE(fits(schema, R"({"a":1})"));
  EXPECT_TRUE(fits(schema, R"({"b":1,"c":1})"));
  EXPECT_FALSE(fits(schema, R"({"a":1,"c":1})"));
}

TEST_F(JsonSchema, words_it_does_not_know_are_no_excuse) {
  EXPECT_FALSE(fits(R"({"exclusiveMinimum":0})", "1"));
}

}  // namespace
}  // namespace millrace::test
