#include "core/crc32c.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace millrace {
namespace {

// RFC 3720, B.4.
TEST(Crc32cTest, agrees_with_the_published_values) {
  EXPECT_EQ(crc32c(0, ""), 0U);
  EXPECT_EQ(crc32c(0, "123456789"), 0xE306'9283U);
  EXPECT_EQ(crc32c(0, std::string(32, '\0')), 0x8A91'36AAU);
  EXPECT_EQ(crc32c(0, std::string(32, '\xFF')), 0x62A8'AB43U);
  EXPECT_EQ(crc32c_portable(0, "123456789"), 0xE306'9283U);
}

TEST(Crc32cTest, both_ways_agree_at_every_length_and_in_pieces) {
  std::mt19937 dice(1);  // NOLINT(cert-msc51-cpp): the same bytes every time
  std::string bytes;
  for (int length = 0; length < 200; ++length) {
    EXPECT_EQ(crc32c(7, bytes), crc32c_portable(7, bytes)) << length;
    const auto cut = bytes.empty() ? 0 : dice() % bytes.size();
    const std::string_view all = bytes;
    EXPECT_EQ(crc32c(crc32c(7, all.substr(0, cut)), all.substr(cut)), crc32c(7, all));
    bytes.push_back(static_cast<char>(dice()));
  }
}

TEST(Crc32cTest, long_bytes_go_in_lanes_and_agree) {
  std::mt19937 dice(2);  // NOLINT(cert-msc51-cpp): the same bytes every time
  std::string bytes;
  while (bytes.size() < 10'000) bytes.push_back(static_cast<char>(dice()));
  const std::string_view all = bytes;
  for (std::size_t length = 1500; length < all.size(); length += 37) {
    EXPECT_EQ(crc32c(9, all.substr(0, length)), crc32c_portable(9, all.substr(0, length)));
  }
}

}  // namespace
}  // namespace millrace
