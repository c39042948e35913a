#include "core/uuid.h"

#include <gtest/gtest.h>
#include <algorithm>
#include <cctype>
#include <random>
#include <set>
#include <string>
#include <unordered_set>

namespace millrace {
namespace {

const TimePoint some_time{Duration(0x0123456789AB)};

std::uint64_t time_of(const Uuid& id) {
  std::uint64_t ms = 0;
  for (std::size_t i = 0; i < 6; ++i) ms = ms << 8 | id.bytes[i];
  return ms;
}

std::string refusal(const Result<Uuid>& result) {
  if (result) return "accepted";
  EXPECT_EQ(result.error().code, ErrorCode::invalid);
  return result.error().message;
}

TEST(Uuid, ids_carry_time_version_and_variant) {
  const Uuid id = UuidSource(1).next(some_time);
  EXPECT_EQ(time_of(id), 0x0123456789ABU);
  EXPECT_EQ(id.bytes[6] >> 4, 7);
  EXPECT_EQ(id.bytes[8] >> 6, 2);
}

TEST(Uuid, ids_increase_while_the_clock_stands_still) {
  UuidSource source(2);
  Uuid last = source.next(some_time);
  for (int i = 0; i < 200'000; ++i) {
    const Uuid id = source.next(some_time);
    ASSERT_LT(last, id);
    last = id;
  }
  EXPECT_EQ(time_of(last), 0x0123456789ABU);
}

TEST(Uuid, a_counter_that_is_full_borrows_the_next_millisecond) {
  UuidSource source(2);
  Uuid last = source.next(some_time);
  for (int i = 0; i < 3'000'000; ++i) {
    const Uuid id = source.next(some_time);
    ASSERT_LT(last, id);
    ASSERT_EQ(id.bytes[6] >> 4, 7);
    last = id;
  }
  // Each millisecond has room for half a million to a million.
  EXPECT_GE(time_of(last), 0x0123456789ABU + 2);
  EXPECT_LE(time_of(last), 0x0123456789ABU + 5);
}

TEST(Uuid, ids_increase_when_the_clock_jumps_anywhere) {
  std::mt19937_64 random(5);
  UuidSource source(3);
  Uuid last = source.next(TimePoint{});
  for (int i = 0; i < 100'000; ++i) {
    const auto jump = static_cast<std::int64_t>(random() % 2000) - 1000;
    const Uuid id = source.next(some_time + Duration(jump));
    ASSERT_LT(last, id);
    last = id;
  }
}

TEST(Uuid, the_counter_starts_anew_and_in_its_lower_half_each_millisecond) {
  UuidSource source(12);
  std::set<int> starts;
  for (int i = 0; i < 1000; ++i) {
    const Uuid id = source.next(some_time + Duration(i));
    EXPECT_EQ(id.bytes[6] & 8, 0);
    starts.insert((id.bytes[6] & 7) << 8 | id.bytes[7]);
  }
  EXPECT_GT(starts.size(), 700U) << "of 2048 values, drawn 1000 times";
}

TEST(Uuid, moments_outside_the_48_bits_are_drawn_in) {
  EXPECT_EQ(time_of(UuidSource(4).next(TimePoint::min())), 0U);
  EXPECT_EQ(time_of(UuidSource(4).next(never)), 0xFFFFFFFFFFFFU);
  UuidSource source(4);
  const Uuid before_1970 = source.next(TimePoint(Duration(-1)));
  EXPECT_LT(before_1970, source.next(TimePoint(Duration(-5))));
}

TEST(Uuid, the_same_seed_makes_the_same_ids_and_another_seed_others) {
  UuidSource a(6);
  UuidSource b(6);
  UuidSource c(7);
  for (int i = 0; i < 100; ++i) {
    const Uuid id = a.next(some_time);
    EXPECT_EQ(id, b.next(some_time));
    EXPECT_NE(id, c.next(some_time));
  }
}

TEST(Uuid, many_sources_at_the_same_moment_do_not_collide) {
  std::set<Uuid> ids;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    UuidSource source(seed);
    for (int i = 0; i < 10; ++i) ids.insert(source.next(some_time));
  }
  EXPECT_EQ(ids.size(), 20'000U);
}

// S0-034
TEST(Uuid, text_is_lower_case_in_five_groups) {
  Uuid id;
  for (std::size_t i = 0; i < 16; ++i) id.bytes[i] = static_cast<std::uint8_t>(0x11 * i);
  EXPECT_EQ(to_text(id), "00112233-4455-6677-8899-aabbccddeeff");
  EXPECT_EQ(to_text(Uuid{}), "00000000-0000-0000-0000-000000000000");
}

TEST(Uuid, text_reads_back_in_any_case) {
  UuidSource source(8);
  for (int i = 0; i < 1000; ++i) {
    const Uuid id = source.next(some_time + Duration(i));
    std::string text = to_text(id);
    EXPECT_EQ(uuid_from_text(text), id);
    std::ranges::transform(text, text.begin(), [](char c) { return char(std::toupper(c)); });
    EXPECT_EQ(uuid_from_text(text), id);
  }
}

TEST(Uuid, bad_text_is_refused_with_the_position) {
  const std::string good = "00112233-4455-6677-8899-aabbccddeeff";
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = 'g';
    const std::string message = refusal(uuid_from_text(bad));
    EXPECT_NE(message.find(" at position " + std::to_string(at + 1) + ","), std::string::npos)
        << message;
  }
  std::string digit_for_dash = good;
  digit_for_dash[8] = '0';
  EXPECT_NE(refusal(uuid_from_text(digit_for_dash)).find("position 9, where '-' should be"),
            std::string::npos);
  std::string dash_for_digit = good;
  dash_for_digit[9] = '-';
  EXPECT_NE(refusal(uuid_from_text(dash_for_digit)).find("position 10, where a digit should be"),
            std::string::npos);
}

TEST(Uuid, text_of_another_length_is_refused_with_its_length) {
  const std::string good = "00112233-4455-6677-8899-aabbccddeeff";
  EXPECT_NE(refusal(uuid_from_text("")).find("has 0 characters instead of 36"), std::string::npos);
  EXPECT_NE(refusal(uuid_from_text(good.substr(1))).find("at position 8"), std::string::npos);
  EXPECT_NE(refusal(uuid_from_text(good.substr(0, 35))).find("has 35 characters"),
            std::string::npos);
  EXPECT_NE(refusal(uuid_from_text(good + "0")).find("has 37 characters"), std::string::npos);
  EXPECT_NE(refusal(uuid_from_text("{" + good + "}")).find("at position 1,"), std::string::npos);
}

// S0-034 C-18
TEST(Uuid, a_task_id_may_have_its_prefix) {
  const std::string text = "123e4567-e89b-12d3-a456-426614174000";
  const auto plain = task_id_from_text(text);
  ASSERT_TRUE(plain.has_value());
  EXPECT_EQ(to_text(plain->value), text);
  EXPECT_EQ(task_id_from_text("task-" + text), plain);
  EXPECT_FALSE(task_id_from_text("Task-" + text).has_value());
  EXPECT_FALSE(task_id_from_text("task-task-" + text).has_value());
  EXPECT_FALSE(task_id_from_text("task-").has_value());
}

TEST(Uuid, nil_is_no_task_id) {
  const auto nil = task_id_from_text("00000000-0000-0000-0000-000000000000");
  ASSERT_FALSE(nil.has_value());
  EXPECT_EQ(nil.error().code, ErrorCode::invalid);
}

TEST(Uuid, tokens_are_sixteen_digits_both_ways) {
  EXPECT_EQ(to_text(Token{0}), "0000000000000000");
  EXPECT_EQ(to_text(Token{0xFEDCBA9876543210U}), "fedcba9876543210");
  std::mt19937_64 random(9);
  for (int i = 0; i < 1000; ++i) {
    const Token token{random()};
    EXPECT_EQ(token_from_text(to_text(token)), token);
  }
  EXPECT_EQ(token_from_text("FEDCBA9876543210"), Token{0xFEDCBA9876543210U});
}

TEST(Uuid, what_is_no_token_is_refused) {
  for (const char* text : {"", "0", "00000000000000000", "000000000000000g", "-000000000000001",
                           "0x00000000000001", " 000000000000001", "+000000000000001"}) {
    const auto token = token_from_text(text);
    ASSERT_FALSE(token.has_value()) << text;
    EXPECT_EQ(token.error().code, ErrorCode::invalid);
    EXPECT_NE(token.error().message.find("16 hexadecimal digits"), std::string::npos);
  }
}

TEST(Uuid, hashes_of_ids_made_together_spread_in_every_part) {
  UuidSource source(10);
  std::unordered_set<std::size_t> whole;
  std::set<std::size_t> low;
  std::set<std::size_t> high;
  constexpr int made = 4096;
  for (int i = 0; i < made; ++i) {
    const Uuid id = source.next(some_time);
    const std::size_t hash = UuidHash{}(id);
    EXPECT_EQ(hash, UuidHash{}(TaskId{id}));
    whole.insert(hash);
    low.insert(hash & 4095U);
    high.insert(hash >> 52);
  }
  EXPECT_EQ(whole.size(), std::size_t{made});
  // Random values leave about 1/e of the places empty.
  EXPECT_GT(low.size(), 2400U);
  EXPECT_GT(high.size(), 2400U);
}

TEST(Uuid, every_bit_of_an_id_changes_its_hash) {
  const Uuid id = UuidSource(11).next(some_time);
  std::set<std::size_t> hashes = {UuidHash{}(id)};
  for (std::size_t bit = 0; bit < 128; ++bit) {
    Uuid other = id;
    other.bytes[bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
    hashes.insert(UuidHash{}(other));
  }
  EXPECT_EQ(hashes.size(), 129U);
}

}  // namespace
}  // namespace millrace
