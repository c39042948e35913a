// Every way in which a payload can be no T, with the very words that its sender reads.
#include <millrace/fields.h>

#include <gtest/gtest.h>

namespace {

enum class Kind { order, reminder, verification };
MILLRACE_NAMES(Kind, order, reminder, verification)
enum class One { only };
MILLRACE_NAMES(One, only)

struct Address {
  std::vector<std::string> lines;
};
MILLRACE_FIELDS(Address, lines)

struct Letter {
  std::string to, subject;
  std::optional<Address> address;
  std::optional<std::map<std::string, int>> data;
  std::optional<std::vector<Address>> others;
};
MILLRACE_FIELDS(Letter, to, subject, address, data, others)

struct Empty {};
MILLRACE_FIELDS(Empty)

struct Chain {
  std::vector<Chain> c;
};
MILLRACE_FIELDS(Chain, c)

using millrace::decode;

template <class T>
std::string refusal(std::string_view payload, std::string_view type = {}) {
  auto read = decode<T>(payload, type);
  if (read) return "nothing was wrong";
  EXPECT_EQ(read.error().code, millrace::ErrorCode::invalid);
  return read.error().message;
}

// S2-020
TEST(Refusals, name_what_is_missing) {
  EXPECT_EQ(refusal<Letter>(R"({"subject":"Hi"})"), "payload.to is missing");
  EXPECT_EQ(refusal<Letter>(R"({"to":"a"})"), "payload.subject is missing");
  EXPECT_EQ(refusal<Letter>(R"({"to":"a","subject":"b","address":{}})"),
            "payload.address.lines is missing");
  EXPECT_EQ(refusal<Letter>(R"({"to":"a","subject":"b","others":[{"lines":[]},{}]})"),
            "payload.others[1].lines is missing");
}

TEST(Refusals, name_what_is_not_known) {
  EXPECT_EQ(refusal<Letter>(R"({"to":"a","sbuject":"b"})"),
            "payload.sbuject is not known; did you mean subject?");
  EXPECT_EQ(refusal<Letter>(R"({"too":"a"})"), "payload.too is not known; did you mean to?");
  EXPECT_EQ(refusal<Letter>(R"({"from":"a"})"),
            "payload.from is not known; known here are to, subject, address, data, others");
  EXPECT_EQ(
      refusal<Letter>(R"({"a b\n":1})"),
      R"(payload["a b\x0a"] is not known; known here are to, subject, address, data, others)");
  EXPECT_EQ(refusal<Letter>(R"({"":1})"),
            R"(payload[""] is not known; known here are to, subject, address, data, others)");
  EXPECT_EQ(refusal<Empty>(R"({"a":1})"), "payload.a is not known; no field is allowed here");
  EXPECT_EQ(refusal<Empty>("{\"" + std::string(100'000, 'x') + "\":1}"),
            "payload[\"" + std::string(80, 'x') + "\"...] is not known; no field is allowed here");
}

TEST(Refusals, name_what_is_there_twice) {
  EXPECT_EQ(refusal<Letter>(R"({"to":"a","to":"a"})"), "payload.to is given twice");
  EXPECT_EQ(refusal<Letter>(R"({"to":"a","address":null,"address":null})"),
            "payload.address is given twice");
  EXPECT_EQ((refusal<std::map<std::string, int>>(R"({"a":1,"\u0061":2})")),
            "payload.a is given twice");
  EXPECT_EQ(refusal<millrace::Value>(R"([{"x":{"a":1,"a":2}}])"), "payload[0].x.a is given twice");
}

// S2-059
TEST(Refusals, name_what_has_the_wrong_type) {
  EXPECT_EQ(refusal<Letter>(R"({"to":"a","subject":"b","address":{"lines":["x","y",7]}})"),
            "payload.address.lines[2] must be text, but is 7");
  EXPECT_EQ(refusal<Letter>(R"({"to":null,"subject":"b"})"),
            "payload.to must be text, but is null");
  EXPECT_EQ(refusal<Letter>(R"({"to":{"a":1},"subject":"b"})"),
            "payload.to must be text, but is an object");
  EXPECT_EQ(refusal<Letter>(R"({"to":"a","subject":"b","address":[]})"),
            "payload.address must be an object, but is a list");
  EXPECT_EQ(refusal<Letter>(R"({"to":"a","subject":"b","address":{"lines":{}}})"),
            "payload.address.lines must be a list, but is an object");
  EXPECT_EQ(refusal<Letter>(R"({"to":"a","subject":"b","data":{"first name":"x"}})"),
            R"(payload.data["first name"] must be a whole number from -2147483648 to 2147483647, )"
            R"(but is "x")");
  EXPECT_EQ(refusal<Letter>("[]"), "payload must be an object, but is a list");
  EXPECT_EQ(refusal<Letter>("\"\\u00e9\""), R"(payload must be an object, but is "\xc3\xa9")");
  EXPECT_EQ(refusal<bool>("1"), "payload must be true or false, but is 1");
  EXPECT_EQ(refusal<bool>("\"true\""), R"(payload must be true or false, but is "true")");
  EXPECT_EQ(refusal<std::string>("false"), "payload must be text, but is false");
  EXPECT_EQ(refusal<double>("\"1\""), R"(payload must be a number, but is "1")");
  EXPECT_EQ(refusal<std::vector<bool>>("[true,0]"), "payload[1] must be true or false, but is 0");
  EXPECT_EQ((refusal<std::map<std::string, int>>("[]")),
            "payload must be an object, but is a list");
}

TEST(Refusals, whole_numbers_are_whole_and_fit) {
  EXPECT_EQ(refusal<std::uint8_t>("256"),
            "payload must be a whole number from 0 to 255, but is 256");
  EXPECT_EQ(refusal<std::uint8_t>("-1"), "payload must be a whole number from 0 to 255, but is -1");
  EXPECT_EQ(refusal<std::int8_t>("128"),
            "payload must be a whole number from -128 to 127, but is 128");
  EXPECT_EQ(refusal<std::int8_t>("-129"),
            "payload must be a whole number from -128 to 127, but is -129");
  EXPECT_EQ(refusal<std::int16_t>("5.0"),
            "payload must be a whole number from -32768 to 32767, but is 5.0");
  EXPECT_EQ(refusal<std::int16_t>("1e2"),
            "payload must be a whole number from -32768 to 32767, but is 1e2");
  EXPECT_EQ(refusal<std::uint64_t>("18446744073709551616"),
            "payload must be a whole number from 0 to 18446744073709551615, but is "
            "18446744073709551616");
  EXPECT_EQ(refusal<std::int64_t>("9223372036854775808"),
            "payload must be a whole number from -9223372036854775808 to 9223372036854775807, but "
            "is 9223372036854775808");
  EXPECT_EQ(refusal<double>("1e999"),
            "payload must be a number that a double can hold, but is 1e999");
  EXPECT_EQ(refusal<float>("1e39"), "payload must be a number that a float can hold, but is 1e39");
  EXPECT_EQ(refusal<millrace::Value>("[1e999]"),
            "payload[0] must be a number that a double can hold, but is 1e999");
  EXPECT_EQ(refusal<int>(std::string(1000, '9')),
            "payload must be a whole number from -2147483648 to 2147483647, but is " +
                std::string(40, '9') + "...");
}

TEST(Refusals, names_of_enums_are_listed) {
  EXPECT_EQ(refusal<Kind>(R"("ordre")"),
            R"(payload must be order, reminder or verification, but is "ordre")");
  EXPECT_EQ(refusal<Kind>("0"), "payload must be order, reminder or verification, but is 0");
  EXPECT_EQ(refusal<One>(R"("Only")"), R"(payload must be only, but is "Only")");
  EXPECT_EQ(millrace::encode(static_cast<Kind>(9)), "9");
}

TEST(Refusals, text_with_a_meaning_must_have_one) {
  using millrace::Duration;
  using millrace::TimePoint;
  EXPECT_EQ(
      refusal<TimePoint>(R"("yesterday")"),
      "payload must be a time such as 2026-01-02T03:04:05Z or milliseconds since 1970, but is "
      "\"yesterday\"");
  EXPECT_EQ(
      refusal<TimePoint>("true"),
      "payload must be a time such as 2026-01-02T03:04:05Z or milliseconds since 1970, but is "
      "true");
  EXPECT_EQ(
      refusal<TimePoint>("1.5"),
      "payload must be whole milliseconds since 1970, within the years 0 to 9999, but is 1.5");
  EXPECT_EQ(refusal<TimePoint>("253402300800000"),
            "payload must be whole milliseconds since 1970, within the years 0 to 9999, but is "
            "253402300800000");
  EXPECT_EQ(refusal<Duration>("0.5"), "payload must be whole milliseconds, but is 0.5");
  EXPECT_EQ(refusal<Duration>(R"("5")"),
            R"(payload must be milliseconds or a time span such as 1h30m, but is "5")");
  EXPECT_EQ(refusal<millrace::Uuid>(R"("12")"), R"(payload must be a UUID, but is "12")");
  EXPECT_EQ(refusal<std::vector<std::uint8_t>>(R"("a")"),
            R"(payload must be base64 text, but is "a")");
  EXPECT_EQ(refusal<std::vector<std::uint8_t>>("[1]"),
            "payload must be base64 text, but is a list");
}

TEST(Refusals, what_is_no_json_is_told_to_be_none) {
  EXPECT_EQ(refusal<Letter>(""), "payload is empty; JSON was expected");
  EXPECT_EQ(refusal<Letter>(" "), "payload ends in the middle of the JSON");
  EXPECT_EQ(refusal<Letter>("{\"to\":\"a\""), "payload ends in the middle of the JSON");
  EXPECT_EQ(refusal<Letter>("{\"to\":\"a"), "payload ends in the middle of the JSON");
  EXPECT_EQ(refusal<Letter>("{to:1}"), "payload is not JSON from position 2 on");
  EXPECT_EQ(refusal<Letter>("hello"), "payload is not JSON from position 1 on");
  EXPECT_EQ(refusal<Letter>("{\"to\":\"a\",}"), "payload is not JSON from position 11 on");
  EXPECT_EQ(refusal<std::vector<int>>("[1,]"), "payload is not JSON from position 4 on");
  EXPECT_EQ(refusal<std::vector<int>>("[1 2]"), "payload is not JSON from position 4 on");
  EXPECT_EQ(refusal<std::vector<int>>("[,1]"), "payload is not JSON from position 2 on");
  EXPECT_EQ(refusal<std::vector<int>>("[01]"), "payload is not JSON from position 3 on");
  EXPECT_EQ(refusal<std::vector<int>>("[1}"), "payload is not JSON from position 3 on");
  EXPECT_EQ(refusal<std::string>("\"\xff\""), "payload is not JSON from position 2 on");
  EXPECT_EQ(refusal<int>("1 1"), "payload continues after the end of its JSON, at position 3");
  EXPECT_EQ(refusal<int>(std::string_view("1\0", 2)),
            "payload continues after the end of its JSON, at position 2");
  // That comes before what is wrong with a value, wherever it stands.
  EXPECT_EQ(refusal<Letter>(R"({"to":1,"x")"), "payload ends in the middle of the JSON");
  EXPECT_EQ(refusal<Letter>(R"({"x":1}})"),
            "payload continues after the end of its JSON, at position 8");
}

TEST(Refusals, depth_is_bounded) {
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "{\"c\":[";
  const std::string message = refusal<Chain>(deep);
  EXPECT_TRUE(message.starts_with("payload.c[0].c[0]")) << message;
  EXPECT_TRUE(message.ends_with("is nested too deeply: more than 512 levels of lists and objects"));
  EXPECT_LT(message.size(), 600U);
  EXPECT_TRUE(refusal<millrace::Value>(std::string(100'000, '[')).contains("nested too deeply"));
  // Side by side is not deep.
  std::string broad = "[[]";
  for (int i = 0; i < 1000; ++i) broad += ",[],{},{\"a\":[]}";
  EXPECT_TRUE(decode<millrace::Value>(broad + "]"));
  const std::string deepest = std::string(512, '[') + std::string(512, ']');
  EXPECT_TRUE(decode<millrace::Value>(deepest));
}

TEST(Refusals, other_content_types_are_named) {
  EXPECT_EQ(refusal<Letter>("{}", "application/msgpack"),
            "payload is \"application/msgpack\"; only application/json can be read here");
}

}  // namespace
