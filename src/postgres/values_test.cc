#include <gmock/gmock.h>

#include <array>
#include <limits>

#include "postgres/connection.h"
#include "tests/support/shared_postgres.h"

namespace millrace::postgres {
namespace {

using namespace std::chrono_literals;
using test::shared_postgres;

class Values : public testing::Test {
 protected:
  // What a statement answers to these parameters.
  Rows ask(const Sql& sql, const Params& params) {
    auto rows = connection_->transact(sql, params);
    if (!rows) throw std::runtime_error(rows.error().message);
    return std::move(*rows);
  }
  // The server's view of the value, as text.
  std::string as_text(const Sql& sql, const Params& params) {
    return ask(sql, params).get<std::string>(0, 0);
  }

  std::unique_ptr<Connection> connection_ =
      std::move(Connection::open({.url = shared_postgres().url()}).value());
};

constexpr Sql scalars{"scalars",
                      "select $1::bool, $2::int2, $3::int4, $4::int8, $5::float8, $6::text, "
                      "$7::bytea, $8::uuid, $9::timestamptz"};
constexpr Sql scalars_text{
    "scalars_text",
    "select concat_ws('|', $1::bool, $2::int2, $3::int4, $4::int8, $5::float8, $6::text, "
    "encode($7, 'hex'), $8::uuid, $9::timestamptz at time zone 'UTC')"};
const Uuid some_id{{0x01, 0x90, 0, 1, 2, 3, 0x70, 4, 0x80, 5, 6, 7, 8, 9, 10, 255}};
const TimePoint some_moment = std::chrono::sys_days(std::chrono::year(2026) / 3 / 1) + 1234ms;
const std::string zeros("a\0b\0\xff", 5);

Params some_params() {
  Params params;
  params.add(true);
  params.add(std::int16_t{-2});
  params.add(std::int32_t{-70000});
  params.add(std::numeric_limits<std::int64_t>::min());
  params.add(0.1);
  params.add(std::string_view("h\xC3\xA9llo"));
  params.add_bytes(zeros);
  params.add(some_id);
  params.add(some_moment);
  return params;
}

TEST_F(Values, scalars_come_back_as_they_went) {
  const Rows rows = ask(scalars, some_params());
  ASSERT_EQ(rows.size(), 1u);
  ASSERT_EQ(rows.columns(), 9u);
  EXPECT_EQ(rows.get<bool>(0, 0), true);
  EXPECT_EQ(rows.get<std::int16_t>(0, 1), -2);
  EXPECT_EQ(rows.get<std::int32_t>(0, 2), -70000);
  EXPECT_EQ(rows.get<std::int64_t>(0, 3), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(rows.get<double>(0, 4), 0.1);
  EXPECT_EQ(rows.get<std::string_view>(0, 5), "h\xC3\xA9llo");
  EXPECT_EQ(rows.get<std::string>(0, 6), zeros);
  EXPECT_EQ(rows.get<Uuid>(0, 7), some_id);
  EXPECT_EQ(rows.get<TimePoint>(0, 8), some_moment);
  EXPECT_EQ(rows.get<std::int64_t>(0, 1), -2) << "an integer may be read as a wider one";
}

TEST_F(Values, the_server_reads_what_was_meant) {
  EXPECT_EQ(as_text(scalars_text, some_params()),
            "t|-2|-70000|-9223372036854775808|0.1|h\xC3\xA9llo|61006200ff|"
            "01900001-0203-7004-8005-060708090aff|2026-03-01 00:00:01.234");
}

TEST_F(Values, nulls_go_both_ways) {
  Params params;
  params.add(std::optional<bool>());
  params.add(std::optional<std::int16_t>());
  params.add(std::optional<std::int32_t>());
  params.add(std::optional<std::int64_t>());
  params.add(std::optional<double>());
  params.add(std::optional<std::string>());
  params.add(std::optional<Bytes>());
  params.add(std::optional<Uuid>());
  params.add_null();
  const Rows rows = ask(scalars, params);
  for (std::size_t column = 0; column < 9; ++column) EXPECT_TRUE(rows.is_null(0, column)) << column;
  EXPECT_EQ(rows.get<std::optional<std::string>>(0, 5), std::nullopt);
  EXPECT_EQ(rows.get<std::optional<TimePoint>>(0, 8), std::nullopt);
}

TEST(Misread, a_field_that_does_not_fit_is_noted) {
  EXPECT_EQ(take_misread(), nullptr);
  EXPECT_EQ(read_field<std::int64_t>(std::nullopt), 0);
  EXPECT_STREQ(take_misread(), "a column that must not be NULL is NULL");
  EXPECT_EQ(take_misread(), nullptr);
  EXPECT_EQ(read_field<std::string>(std::nullopt), "");
  EXPECT_EQ(read_field<std::int16_t>("1234"), 0);
  EXPECT_STREQ(take_misread(), "a column that must not be NULL is NULL") << "the first";
  EXPECT_EQ(read_field<Uuid>("1234"), Uuid());
  EXPECT_STREQ(take_misread(), "a column that is not a uuid is read as one");
}

TEST_F(Values, what_follows_from_a_field_that_does_not_fit_is_not_stored) {
  static constexpr Sql null_sql{"null", "select null::int8"};
  connection_->begin({});
  const auto rows = connection_->send(null_sql);
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(rows->get<std::int64_t>(0, 0), 0);
  const auto committed = connection_->commit();
  ASSERT_FALSE(committed);
  EXPECT_EQ(committed.error().state, unreadable_state);
  EXPECT_FALSE(connection_->in_transaction());
  EXPECT_TRUE(connection_->transact(null_sql)) << "the connection goes on";
}

TEST_F(Values, empty_is_not_null) {
  static constexpr Sql sql{"empty", "select $1::text, $2::bytea, $1 is null, length($2)"};
  Params params;
  params.add("");
  params.add_bytes("");
  const Rows rows = ask(sql, params);
  EXPECT_EQ(rows.get<std::optional<std::string>>(0, 0), "");
  EXPECT_EQ(rows.get<std::optional<std::string>>(0, 1), "");
  EXPECT_FALSE(rows.get<bool>(0, 2));
  EXPECT_EQ(rows.get<std::int32_t>(0, 3), 0);
}

TEST_F(Values, moments_at_the_ends_of_time) {
  static constexpr Sql sql{"moment", "select $1::timestamptz, $1::text"};
  static const std::array<std::pair<TimePoint, TimePoint>, 6> cases{{
      {never, never},
      {TimePoint::min(), TimePoint::min()},
      {never - 1ms, never},  // beyond what PostgreSQL counts
      {TimePoint(Duration(-1)), TimePoint(Duration(-1))},
      {TimePoint(std::chrono::sys_days(std::chrono::year(1) / 1 / 1)),
       TimePoint(std::chrono::sys_days(std::chrono::year(1) / 1 / 1))},
      {TimePoint(std::chrono::sys_days(std::chrono::year(30000) / 1 / 1)),
       TimePoint(std::chrono::sys_days(std::chrono::year(30000) / 1 / 1))},
  }};
  for (const auto& [sent, expected] : cases) {
    Params params;
    params.add(sent);
    const Rows rows = ask(sql, params);
    EXPECT_EQ(rows.get<TimePoint>(0, 0), expected);
    EXPECT_EQ(rows.get<std::string>(0, 1) == "infinity", expected == never);
    EXPECT_EQ(rows.get<std::string>(0, 1) == "-infinity", expected == TimePoint::min());
  }
}

TEST_F(Values, microseconds_are_cut_downwards) {
  static constexpr Sql sql{"micro", "select '1999-12-31 23:59:59.9999Z'::timestamptz"};
  const TimePoint epoch = std::chrono::sys_days(std::chrono::year(2000) / 1 / 1);
  EXPECT_EQ(ask(sql, {}).get<TimePoint>(0, 0), epoch - 1ms);
}

template <class T>
void push_three(Array<T>& array, T first, T last) {
  array.push(first);
  array.push_null();
  array.push(std::optional<T>(last));
}

TEST_F(Values, arrays_go_and_come_with_their_nulls) {
  static constexpr Sql sql{"arrays",
                           "select $1::bool[], $2::int2[], $3::int4[], $4::int8[], $5::uuid[], "
                           "$6::timestamptz[], $7::text[], $8::bytea[], $9::float8[]"};
  Array<bool> bools;
  Array<std::int16_t> shorts;
  Array<std::int32_t> ints;
  Array<std::int64_t> longs;
  Array<Uuid> ids;
  Array<TimePoint> moments;
  Array<std::string_view> texts;
  Array<Bytes> bytes;
  Array<double> doubles;
  push_three<bool>(bools, true, false);
  push_three<std::int16_t>(shorts, 1, -1);
  push_three<std::int32_t>(ints, 1, -1);
  push_three<std::int64_t>(longs, 1, -1);
  push_three<Uuid>(ids, some_id, Uuid{});
  push_three<TimePoint>(moments, some_moment, never);
  push_three<std::string_view>(texts, "", "a,\"b\"");
  push_three<Bytes>(bytes, Bytes{zeros}, Bytes{""});
  push_three<double>(doubles, 0.1, -1e300);
  Params params;
  params.add(bools);
  params.add(shorts);
  params.add(ints);
  params.add(longs);
  params.add(ids);
  params.add(moments);
  params.add(texts);
  params.add(bytes);
  params.add(doubles);
  const Rows rows = ask(sql, params);
  using testing::ElementsAre;
  const auto null = std::nullopt;
  const auto of = [&]<class T>(const T&, std::size_t column) {
    return rows.get<std::vector<std::optional<T>>>(0, column);
  };
  EXPECT_THAT(of(true, 0), ElementsAre(true, null, false));
  EXPECT_THAT(of(std::int16_t{}, 1), ElementsAre(1, null, -1));
  EXPECT_THAT(of(std::int32_t{}, 2), ElementsAre(1, null, -1));
  EXPECT_THAT(of(std::int64_t{}, 3), ElementsAre(1, null, -1));
  EXPECT_TRUE(of(Uuid{}, 4) == (std::vector<std::optional<Uuid>>{some_id, null, Uuid{}}));
  EXPECT_TRUE(of(TimePoint{}, 5) ==
              (std::vector<std::optional<TimePoint>>{some_moment, null, never}));
  EXPECT_THAT(of(std::string{}, 6), ElementsAre("", null, "a,\"b\""));
  EXPECT_THAT(of(std::string{}, 7), ElementsAre(zeros, null, ""));
  EXPECT_THAT(of(double{}, 8), ElementsAre(0.1, null, -1e300));
}

TEST_F(Values, arrays_without_a_value_are_null_unless_they_are_to_be_whole) {
  static constexpr Sql sql{"no_values", "select $1::text[], $2::int8[], $3::text[], $4::int8[]"};
  Array<std::string_view> nothing;
  Array<std::int64_t> nulls;
  nulls.push_null();
  nulls.push(std::optional<std::int64_t>());
  EXPECT_TRUE(nothing.all_null());
  EXPECT_TRUE(nulls.all_null());
  EXPECT_EQ(nulls.size(), 2u);
  Params params;
  params.add(nothing);
  params.add(nulls);
  params.add_whole(nothing);
  params.add_whole(nulls);
  const Rows rows = ask(sql, params);
  EXPECT_TRUE(rows.is_null(0, 0));
  EXPECT_TRUE(rows.is_null(0, 1));
  EXPECT_THAT(rows.get<std::vector<std::string>>(0, 2), testing::IsEmpty());
  EXPECT_FALSE(rows.is_null(0, 2));
  EXPECT_EQ(rows.get<std::vector<std::optional<std::int64_t>>>(0, 3).size(), 2u);
}

TEST_F(Values, values_that_convert_to_text_are_pushed_as_text) {
  static constexpr Sql sql{"converted", "select array_to_string($1::text[], ',')"};
  Array<std::string_view> texts;
  texts.push(std::string("a"));
  texts.push("b");
  Params params;
  params.add(texts);
  EXPECT_EQ(as_text(sql, params), "a,b");
}

TEST_F(Values, arrays_and_params_are_used_again) {
  static constexpr Sql sql{"again", "select array_to_string($1::int8[], ',', 'null')"};
  Array<std::int64_t> numbers;
  Params params;
  for (const std::string_view expected : {"1,null", "2,null", "3,null"}) {
    numbers.clear();
    params.clear();
    numbers.push(expected[0] - '0');
    numbers.push_null();
    params.add(numbers);
    EXPECT_EQ(as_text(sql, params), expected);
  }
}

TEST_F(Values, the_same_statement_takes_other_types) {
  static constexpr Sql sql{"other_types", "select $1::text"};
  Params params;
  params.add(std::int64_t{258});
  EXPECT_EQ(as_text(sql, params), "258");
  params.clear();
  params.add(true);
  EXPECT_EQ(as_text(sql, params), "true");
  params.clear();
  params.add(std::int16_t{7});
  EXPECT_EQ(as_text(sql, params), "7");
  params.clear();
  params.add("text");
  EXPECT_EQ(as_text(sql, params), "text");
}

TEST_F(Values, text_is_cast_to_types_that_have_no_binary_form_here) {
  static constexpr Sql sql{"casts", "select ($1::jsonb ->> 'a') || ' ' || ($2::interval)::text"};
  Params params;
  params.add(R"({"a": "b"})");
  params.add("5 seconds");
  EXPECT_EQ(as_text(sql, params), "b 00:00:05");
}

TEST_F(Values, text_with_a_zero_byte_is_refused_and_the_connection_goes_on) {
  static constexpr Sql sql{"zero_byte", "select $1::text"};
  Params params;
  params.add(std::string_view(zeros));
  const auto refused = connection_->transact(sql, params);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().state, "22021");
  EXPECT_FALSE(refused.error().lost);
  params.clear();
  params.add("good");
  EXPECT_EQ(as_text(sql, params), "good");
}

}  // namespace
}  // namespace millrace::postgres
