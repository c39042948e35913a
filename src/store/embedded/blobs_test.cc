#include "store/embedded/blobs.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>
#include <string>

namespace millrace::embedded {
namespace {

Blob add(Blobs& blobs, const std::string& bytes) {
  const Blob blob = blobs.add(bytes.size());
  std::memcpy(Blobs::data(blob), bytes.data(), bytes.size());
  return blob;
}

TEST(Blobs, no_bytes_are_empty_and_may_be_removed) {
  Blobs blobs;
  EXPECT_FALSE(Blob{});
  EXPECT_EQ(Blobs::view({}), "");
  blobs.remove({});
  EXPECT_EQ(blobs.used(), 0U);
}

TEST(Blobs, gives_back_what_was_put_in_whatever_the_size) {
  Blobs blobs;
  std::mt19937 random(1);
  std::map<int, std::pair<Blob, std::string>> kept;
  std::size_t used = 0;
  for (int step = 0; step < 5000; ++step) {
    if (kept.size() < 100 || random() % 2 == 0) {
      const std::size_t size = random() % (random() % 20 == 0 ? 20'000 : 600);
      std::string bytes(size, static_cast<char>('a' + random() % 26));
      kept.emplace(step, std::pair(add(blobs, bytes), bytes));
      used += size;
    } else {
      const auto victim = std::next(kept.begin(), static_cast<std::ptrdiff_t>(random() % 50));
      ASSERT_EQ(Blobs::view(victim->second.first), victim->second.second);
      used -= victim->second.second.size();
      blobs.remove(victim->second.first);
      kept.erase(victim);
    }
    ASSERT_EQ(blobs.used(), used);
  }
  for (const auto& [step, blob] : kept) EXPECT_EQ(Blobs::view(blob.first), blob.second);
}

TEST(Place, is_packed_with_its_size_rounded_up) {
  const auto packed = [](std::uint32_t size) {
    const Place place{
        .segment = Place::max_segments - 1, .offset = Place::max_offset - 1, .size = size};
    const Place back = Blob::in_log(place).place();
    EXPECT_EQ(back.segment, place.segment) << size;
    EXPECT_EQ(back.offset, place.offset) << size;
    return back.size;
  };
  EXPECT_EQ(packed(0), 0U);
  EXPECT_EQ(packed(1), 32U);
  EXPECT_EQ(packed(32), 32U);
  EXPECT_EQ(packed(32 * 32767), 32U * 32767);
  EXPECT_EQ(packed(32 * 32767 + 1), 1024U * 1024);
  EXPECT_EQ(packed(2U << 20U), 2U << 20U);
  EXPECT_EQ(packed((17U << 20U) + 1), (17U << 20U) + 1024);
  EXPECT_EQ(packed(Place::max_size), Place::max_size);
}

TEST(Blobs, uses_freed_blocks_again) {
  Blobs blobs;
  for (int i = 0; i < 10'000; ++i) blobs.remove(add(blobs, std::string(300, 'x')));
  EXPECT_LT(blobs.overhead(), 40'000U);
  for (int i = 0; i < 100; ++i) blobs.remove(add(blobs, std::string(100'000, 'x')));
  EXPECT_LT(blobs.overhead(), 40'000U);
}

}  // namespace
}  // namespace millrace::embedded
