#include <millrace/fields.h>

#include <gtest/gtest.h>
#include <cmath>
#include <limits>

namespace shop {

enum class Size { small, large, extra_ };
MILLRACE_NAMES(Size, small, large, extra_)

struct Address {
  std::string street;
  std::vector<std::string> lines;

  friend bool operator==(const Address&, const Address&) = default;
};
MILLRACE_FIELDS(Address, street, lines)

struct Tree {
  int value = 0;
  std::vector<Tree> below;

  friend bool operator==(const Tree&, const Tree&) = default;
};
MILLRACE_FIELDS(Tree, value, below)

struct Everything {
  bool flag = false;
  std::int8_t i8 = 0;
  std::uint8_t u8 = 0;
  std::int16_t i16 = 0;
  std::uint16_t u16 = 0;
  std::int32_t i32 = 0;
  std::uint32_t u32 = 0;
  std::int64_t i64 = 0;
  std::uint64_t u64 = 0;
  long long longest = 0;
  double real = 0;
  float single = 0;
  std::string text;
  std::optional<int> maybe;
  Size size = Size::small;
  std::vector<int> numbers;
  std::vector<bool> flags;
  std::vector<std::optional<std::string>> gaps;
  std::map<std::string, int> ages;
  std::unordered_map<std::string, Address> places;
  Address address;
  std::optional<Address> other;
  millrace::TimePoint at{};
  millrace::Duration span{};
  millrace::Value anything;
  std::vector<std::uint8_t> bytes;
  millrace::Uuid id;
  millrace::TaskId task;
  std::string template_;
  Tree tree;
  std::vector<std::vector<double>> grid;
  std::map<std::string, std::vector<Size>> sizes;
  std::optional<millrace::TimePoint> later;

  friend bool operator==(const Everything&, const Everything&) = default;
};
MILLRACE_FIELDS(Everything, flag, i8, u8, i16, u16, i32, u32, i64, u64, longest, real, single, text,
                maybe, size, numbers, flags, gaps, ages, places, address, other, at, span, anything,
                bytes, id, task, template_, tree, grid, sizes, later)

struct Nothing {};
MILLRACE_FIELDS(Nothing)

struct OnlyMaybe {
  std::optional<int> a, b;
};
MILLRACE_FIELDS(OnlyMaybe, a, b)

struct Base {
  int id = 0;
};
struct Derived : Base {
  int more = 0;
};
MILLRACE_FIELDS(Derived, id, more)

}  // namespace shop

struct Global {
  int a = 0;
};
MILLRACE_FIELDS(Global, a)

// Of a whole number a field each: as many as there may be.
struct Wide {
  int a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, c0, c1, c2,
      c3, c4, c5, c6, c7, c8, c9, d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, e0, e1, e2, e3, e4, e5,
      e6, e7, e8, e9, f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, g0, g1, g2, g3;

  friend bool operator==(const Wide&, const Wide&) = default;
};
MILLRACE_FIELDS(Wide, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8,
                b9, c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, d0, d1, d2, d3, d4, d5, d6, d7, d8, d9,
                e0, e1, e2, e3, e4, e5, e6, e7, e8, e9, f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, g0,
                g1, g2, g3)

namespace millrace {
namespace {

using namespace std::chrono_literals;

shop::Everything everything() {
  shop::Everything all;
  all.flag = true;
  all.i8 = -128;
  all.u8 = 255;
  all.i16 = -32768;
  all.u16 = 65535;
  all.i32 = -2147483647 - 1;
  all.u32 = 4294967295U;
  all.i64 = std::numeric_limits<std::int64_t>::min();
  all.u64 = std::numeric_limits<std::uint64_t>::max();
  all.longest = 7;
  all.real = 0.1;
  all.single = 1.5F;
  all.text = "a \"quoted\"\n line, m\xc3\xbchle, \xf0\x9f\x98\x80, \x01";
  all.maybe = 3;
  all.size = shop::Size::extra_;
  all.numbers = {1, -2, 3};
  all.flags = {true, false};
  all.gaps = {"a", std::nullopt};
  all.ages = {{"ann", 7}, {"a b\"", 8}};
  all.places = {{"home", {"s", {"1"}}}};
  all.address = {"Main", {"x", "y"}};
  all.other = {.street = "", .lines = {}};
  all.at = TimePoint(1767323045678ms);
  all.span = 90s;
  all.anything.any = Object{{"x", Value{List{Value{1.5}, Value{nullptr}, Value{true}}}}};
  all.bytes = {0, 255, 1};
  all.id.bytes = {1, 2, 3};
  all.task.value.bytes = {9};
  all.template_ = "t";
  all.tree = {1, {{2, {}}, {3, {{4, {}}}}}};
  all.grid = {{1, 2}, {}, {3}};
  all.sizes = {{"s", {shop::Size::large}}};
  all.later = never;
  return all;
}

TEST(Fields, a_struct_is_an_object_in_the_order_of_its_fields) {
  EXPECT_EQ(encode(shop::Address{"Main", {"a", "b"}}), R"({"street":"Main","lines":["a","b"]})");
  EXPECT_EQ(decode<shop::Address>(R"({"street":"Main","lines":["a","b"]})"),
            (shop::Address{"Main", {"a", "b"}}));
  // In any order, and with any space.
  EXPECT_EQ(decode<shop::Address>(" { \"lines\" : [ \"a\" ,\n\"b\" ] , \"street\":\"Main\" } "),
            (shop::Address{"Main", {"a", "b"}}));
}

TEST(Fields, every_type_has_its_text) {
  EXPECT_EQ(encode(everything()),
            R"({"flag":true,"i8":-128,"u8":255,"i16":-32768,"u16":65535,"i32":-2147483648,)"
            R"("u32":4294967295,"i64":-9223372036854775808,"u64":18446744073709551615,"longest":7,)"
            R"("real":0.1,"single":1.5,"text":"a \"quoted\"\n line, mühle, 😀, \u0001","maybe":3,)"
            R"("size":"extra","numbers":[1,-2,3],"flags":[true,false],"gaps":["a",null],)"
            R"("ages":{"a b\"":8,"ann":7},"places":{"home":{"street":"s","lines":["1"]}},)"
            R"("address":{"street":"Main","lines":["x","y"]},"other":{"street":"","lines":[]},)"
            R"("at":"2026-01-02T03:04:05.678Z","span":90000,"anything":{"x":[1.5,null,true]},)"
            R"("bytes":"AP8B","id":"01020300-0000-0000-0000-000000000000",)"
            R"("task":"09000000-0000-0000-0000-000000000000","template":"t",)"
            R"("tree":{"value":1,"below":[{"value":2,"below":[]},)"
            R"({"value":3,"below":[{"value":4,"below":[]}]}]},)"
            R"("grid":[[1,2],[],[3]],"sizes":{"s":["large"]},"later":"never"})");
}

TEST(Fields, what_is_written_is_read_as_it_was) {
  EXPECT_EQ(decode<shop::Everything>(encode(everything())), everything());
  EXPECT_EQ(decode<shop::Everything>(encode(shop::Everything{})), shop::Everything{});
}

TEST(Fields, only_optionals_may_be_left_out_or_null) {
  EXPECT_EQ(encode(shop::OnlyMaybe{}), "{}");
  EXPECT_EQ(encode(shop::OnlyMaybe{.a = std::nullopt, .b = 2}), R"({"b":2})");
  EXPECT_EQ(decode<shop::OnlyMaybe>("{}")->a, std::nullopt);
  EXPECT_EQ(decode<shop::OnlyMaybe>(R"({"a":null,"b":0})")->b, 0);
  EXPECT_FALSE(decode<Global>("{}"));
  EXPECT_FALSE(decode<Global>(R"({"a":null})"));
}

TEST(Fields, a_type_may_have_no_fields_or_very_many) {
  EXPECT_EQ(encode(shop::Nothing{}), "{}");
  EXPECT_TRUE(decode<shop::Nothing>(" {} "));
  Wide wide{};
  wide.a0 = 1;
  wide.f7 = 2;
  wide.g3 = 3;
  EXPECT_EQ(decode<Wide>(encode(wide)), wide);
  std::string without = encode(wide);
  without.erase(without.find(",\"g3\""), 7);
  EXPECT_EQ(decode<Wide>(without).error().message, "payload.g3 is missing");
}

TEST(Fields, types_of_any_namespace_and_with_bases_can_be_described) {
  EXPECT_EQ(encode(Global{4}), R"({"a":4})");
  shop::Derived derived;
  derived.id = 1;
  derived.more = 2;
  EXPECT_EQ(encode(derived), R"({"id":1,"more":2})");
  EXPECT_EQ(decode<shop::Derived>(R"({"id":1,"more":2})")->id, 1);
  // What is said of a type holds for it alone: a base would lose the rest in silence.
  static_assert(json::HasFields<shop::Derived> && !json::HasFields<shop::Base>);
}

TEST(Fields, a_payload_need_not_be_a_struct) {
  EXPECT_EQ(encode(std::string("x")), R"("x")");
  EXPECT_EQ(encode(std::vector<int>{1, 2}), "[1,2]");
  EXPECT_EQ(encode(7), "7");
  EXPECT_EQ(encode(std::optional<int>()), "null");
  EXPECT_EQ(encode(std::map<std::string, std::map<std::string, int>>{{"a", {}}, {"b", {{"c", 1}}}}),
            R"({"a":{},"b":{"c":1}})");
  EXPECT_EQ(decode<std::string>(R"("x")"), "x");
  EXPECT_EQ(decode<int>(" 7\n"), 7);
  EXPECT_EQ(*decode<std::optional<int>>("null"), std::optional<int>());
  EXPECT_EQ(decode<std::vector<std::string>>("[ ]"), std::vector<std::string>{});
}

TEST(Fields, times_and_spans_are_read_in_two_ways) {
  EXPECT_EQ(decode<TimePoint>("1767323045678"), TimePoint(1767323045678ms));
  EXPECT_EQ(decode<TimePoint>("-1"), TimePoint(-1ms));
  EXPECT_EQ(decode<TimePoint>(R"("2026-01-02T03:04:05.678Z")"), TimePoint(1767323045678ms));
  EXPECT_EQ(decode<TimePoint>(R"("2026-01-02T05:04:05.678+02:00")"), TimePoint(1767323045678ms));
  EXPECT_EQ(decode<TimePoint>(R"("never")"), never);
  EXPECT_EQ(decode<Duration>("1500"), 1500ms);
  EXPECT_EQ(decode<Duration>("-5"), -5ms);
  EXPECT_EQ(decode<Duration>(R"("30s")"), 30s);
  EXPECT_EQ(decode<Duration>(R"("1h30m")"), 90min);
}

TEST(Fields, strings_come_back_whatever_they_hold) {
  using namespace std::string_literals;
  for (const std::string& text :
       {""s, "\0"s, "\x7f"s, "\\\\"s, "/"s, "\t\r\b\f"s, "\xef\xbf\xbd"s}) {
    EXPECT_EQ(decode<std::string>(encode(text)), text);
  }
  EXPECT_EQ(decode<std::string>(R"("\u00e9\ud83d\ude00\/")"), "\xc3\xa9\xf0\x9f\x98\x80/");
  // JSON has no bytes; std::vector<std::uint8_t> has.
  EXPECT_EQ(encode("\xff"s), "\"\xef\xbf\xbd\"");
}

TEST(Fields, numbers_come_back_exactly) {
  for (const double number : {0.1, 1e300, -2.5e-8, 123456789.123456789, 5e-324, 1e21, 100000.0}) {
    EXPECT_EQ(decode<double>(encode(number)), number);
  }
  EXPECT_EQ(encode(100000.0), "100000");
  EXPECT_EQ(decode<float>(encode(0.1F)), 0.1F);
  EXPECT_EQ(decode<double>("1E2"), 100);
  // What is not a number has no text; its reader says so.
  EXPECT_EQ(encode(std::nan("")), "null");
}

TEST(Fields, content_types_of_json_are_read) {
  EXPECT_EQ(decode<int>("1", "application/json; charset=utf-8"), 1);
  EXPECT_EQ(decode<int>("1", "application/vnd.shop+json"), 1);
}

}  // namespace
}  // namespace millrace
