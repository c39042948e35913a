#include <millrace/value.h>

#include <gtest/gtest.h>
#include <limits>

namespace millrace {
namespace {

TEST(Value, holds_whatever_json_can_say) {
  const std::string text =
      R"({"null":null,"yes":true,"int":-5,"big":18446744073709551615,"real":1.5,)"
      R"("text":"a\nb","list":[1,[],{}],"object":{"a":{"b":1}}})";
  const auto value = parse_json(text);
  ASSERT_TRUE(value) << value.error().message;
  EXPECT_EQ(to_json(*value), text);
  EXPECT_EQ(value->find("null")->any, Value::Any(nullptr));
  EXPECT_EQ(value->find("yes")->any, Value::Any(true));
  EXPECT_EQ(value->find("int")->any, Value::Any(std::int64_t{-5}));
  EXPECT_EQ(value->find("big")->any, Value::Any(std::numeric_limits<std::uint64_t>::max()));
  EXPECT_EQ(value->find("real")->any, Value::Any(1.5));
  EXPECT_EQ(value->find("text")->any, Value::Any(std::string("a\nb")));
  EXPECT_EQ(std::get<List>(value->find("list")->any).size(), 3U);
  EXPECT_EQ(value->find("object")->find("a")->find("b")->any, Value::Any(std::int64_t{1}));
}

TEST(Value, finds_nothing_where_there_is_nothing) {
  EXPECT_EQ(Value{}.find("a"), nullptr);
  EXPECT_EQ(parse_json("{}")->find("a"), nullptr);
  EXPECT_EQ(parse_json("[1]")->find("a"), nullptr);
}

TEST(Value, numbers_keep_their_value) {
  for (const char* text : {"0", "-1", "9223372036854775807", "-9223372036854775808",
                           "9223372036854775808", "0.1", "1e+300", "-2.5e-08"}) {
    EXPECT_EQ(to_json(*parse_json(text)), text);
  }
  EXPECT_EQ(to_json(Value{1000.0}), "1000.0");
  EXPECT_EQ(parse_json(to_json(Value{-0.0})), Value{-0.0});
  // Larger whole numbers are the nearest double.
  EXPECT_EQ(parse_json("18446744073709551616")->any, Value::Any(18446744073709551616.0));
}

TEST(Value, a_name_stands_once_however_many_there_are) {
  std::string many = "{";
  for (int i = 0; i < 1000; ++i)
    many += "\"k" + std::to_string(i) + "\":" + std::to_string(i) + ",";
  EXPECT_EQ(std::get<Object>(parse_json(many + "\"x\":1}")->any).size(), 1001U);
  for (const char* again : {"k0", "k15", "k16", "k999"}) {
    EXPECT_EQ(parse_json(many + "\"" + again + "\":1}").error().message,
              std::string("value.") + again + " is given twice");
  }
  EXPECT_EQ(parse_json(R"({"a":1,"b":2,"a":1})").error().message, "value.a is given twice");
}

TEST(Value, what_is_no_json_is_refused_with_its_position) {
  EXPECT_EQ(parse_json("").error().message, "the text is empty; JSON was expected");
  EXPECT_EQ(parse_json("[1,").error().message, "the text ends in the middle of the JSON");
  EXPECT_EQ(parse_json("[nul]").error().message, "the text is not JSON from position 2 on");
  EXPECT_EQ(parse_json("{} {}").error().message,
            "the text continues after the end of its JSON, at position 4");
  EXPECT_TRUE(parse_json("1"));
}

}  // namespace
}  // namespace millrace
