#include "store/embedded/journal/format.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace millrace::embedded {
namespace {

std::string sealed(std::string_view records, const Position& at, std::uint64_t sequence,
                   std::uint64_t durable) {
  std::string bytes;
  begin_group(bytes);
  bytes += records;
  const Group head{.sequence = sequence,
                   .durable = durable,
                   .salt = 77,
                   .more = true,
                   .records = std::string_view(bytes).substr(group_head_size)};
  seal_group(bytes.data(), head, at);
  return bytes;
}

TEST(JournalFormat, names_of_files_have_ten_digits_or_more) {
  EXPECT_EQ(segment_name(42), "0000000042.journal");
  EXPECT_EQ(segment_number("0000000042.journal"), 42U);
  EXPECT_EQ(segment_number(segment_name(123'456'789'012)), 123'456'789'012U);
  EXPECT_EQ(spare_name(7), "spare-0000000007");
  EXPECT_EQ(spare_number("spare-0000000007"), 7U);
  for (const char* name : {"", "42.journal", "0000000042", "000000004x.journal", "lock"}) {
    EXPECT_EQ(segment_number(name), std::nullopt) << name;
    EXPECT_EQ(spare_number(name), std::nullopt) << name;
  }
}

TEST(JournalFormat, a_group_is_read_as_it_was_written) {
  const Position at{3, 1000};
  const std::string bytes = sealed("records", at, 9, 8) + "what follows";
  const auto group = read_group(bytes, at);
  ASSERT_TRUE(group);
  EXPECT_EQ(group->sequence, 9U);
  EXPECT_EQ(group->durable, 8U);
  EXPECT_EQ(group->salt, 77U);
  EXPECT_TRUE(group->more);
  EXPECT_EQ(group->records, "records");
  EXPECT_EQ(group_size(bytes), group->size());
}

TEST(JournalFormat, a_group_elsewhere_is_none) {
  const std::string bytes = sealed("records", {3, 1000}, 9, 8);
  EXPECT_FALSE(read_group(bytes, {4, 1000}));
  EXPECT_FALSE(read_group(bytes, {3, 1001}));
}

TEST(JournalFormat, every_flipped_bit_and_every_missing_byte_is_noticed) {
  const Position at{3, 1000};
  std::string bytes = sealed("records", at, 9, 8);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_FALSE(read_group(std::string_view(bytes).substr(0, i), at)) << i;
    for (unsigned bit = 0; bit < 8; ++bit) {
      bytes[i] = static_cast<char>(bytes[i] ^ (1U << bit));
      EXPECT_FALSE(read_group(bytes, at)) << i << " " << bit;
      bytes[i] = static_cast<char>(bytes[i] ^ (1U << bit));
    }
  }
  EXPECT_TRUE(read_group(bytes, at));
}

TEST(JournalFormat, a_later_group_tells_damage_from_a_torn_end) {
  const std::string lost(50, '\x01');
  const auto with = [&](std::uint64_t durable) {
    return lost + sealed("later", {3, 1000 + lost.size()}, 10, durable);
  };
  EXPECT_TRUE(was_durable(with(9), {3, 1000}, {.sequence = 9, .salt = 77}));
  EXPECT_FALSE(was_durable(with(8), {3, 1000}, {.sequence = 9, .salt = 77}));
  EXPECT_FALSE(was_durable(lost, {3, 1000}, {.sequence = 9, .salt = 77}));
  EXPECT_TRUE(was_durable(with(9), {3, 1000}, {.sequence = 9}));
  EXPECT_FALSE(was_durable(with(9), {3, 1000}, {.sequence = 7})) << "8 and 9 had no room";
  EXPECT_TRUE(was_durable(with(9), {3, 1000}, {.sequence = 1, .exact = false}));
  EXPECT_FALSE(was_durable(with(9), {3, 1000}, {.sequence = 9, .salt = 78}))
      << "of an earlier use of the file";
}

// What a producer may have put into tasks: bytes that look like heads of groups, as many as there
// is room for, each as long as the rest of the segment. Summing all of them up takes half an hour.
std::string hostile_bytes(std::size_t size, std::uint64_t sequence, std::uint32_t salt) {
  std::string bytes(size, '\0');
  for (std::size_t at = 0; at + group_head_size <= size; at += group_head_size) {
    // Sealed without records, which is quick; afterwards the length is set to a wrong value.
    seal_group(&bytes[at], {.sequence = sequence, .durable = sequence - 1, .salt = salt}, {});
    const auto length = static_cast<std::uint32_t>(size - at - group_head_size);
    std::memcpy(&bytes[at + 4], &length, sizeof(length));
  }
  return bytes;
}

TEST(JournalFormat, bytes_that_look_like_many_groups_are_looked_through_quickly) {
  constexpr std::size_t segment = 32U << 20U;
  const Position at{3, 1000};
  // The producer does not know the salt; where the reader does not know it either, the producer
  // does not know the number of the group.
  const std::string wrong_salt = hostile_bytes(segment, 10, 78);
  EXPECT_FALSE(was_durable(wrong_salt, at, {.sequence = 9, .salt = 77}));
  const std::string wrong_number = hostile_bytes(segment, 5'000'000, 77);
  EXPECT_FALSE(was_durable(wrong_number, at, {.sequence = 9}));
  // The group behind them is found.
  const std::string later = sealed("later", {3, 1000 + segment}, 10, 9);
  EXPECT_TRUE(was_durable(wrong_salt + later, at, {.sequence = 9, .salt = 77}));
}

TEST(JournalFormat, the_head_of_a_segment_says_its_format) {
  EXPECT_EQ(segment_head().size(), segment_head_size);
  EXPECT_EQ(format_of(segment_head()), journal_format);
  std::string head = segment_head();
  head[9] = 'x';
  EXPECT_FALSE(format_of(head));
  EXPECT_FALSE(format_of("MILL"));
}

TEST(JournalFormat, the_records_of_the_log_itself_come_back) {
  std::string records;
  write_begin(records, {.epoch = 5, .after = {6, 7}, .first = 8});
  const auto begin = read_begin(records);
  ASSERT_TRUE(begin);
  EXPECT_EQ(begin->epoch, 5U);
  EXPECT_EQ(begin->after, (Position{6, 7}));
  EXPECT_EQ(begin->first, 8U);
  EXPECT_FALSE(read_begin(records.substr(1)));
  EXPECT_FALSE(read_begin({}));
  EXPECT_FALSE(read_cleaned("short"));
}

}  // namespace
}  // namespace millrace::embedded
