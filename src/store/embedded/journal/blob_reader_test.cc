#include "store/embedded/journal/blob_reader.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

#include "disk/real_disk.h"
#include "tests/support/temporary_directory.h"

namespace millrace::embedded {
namespace {

class BlobReaderTest : public ::testing::Test {
 protected:
  // Whether the log's bytes in this segment are written, where the log is written up to the middle
  // of segment `newest`.
  bool is_written(std::uint64_t newest, std::uint64_t segment, std::uint32_t offset = 100) {
    BlobReader reader(segments);
    reader.set_written({newest, 5000});
    const Place place{.segment = static_cast<std::uint32_t>(segment % Place::max_segments),
                      .offset = offset,
                      .size = 64};
    return reader.is_written(Blob::in_log(place).place());
  }

  test::TemporaryDirectory directory;
  std::unique_ptr<Disk> disk =
      std::move(open_directory(directory.path(), DirectoryMode::existing).value());
  Segments segments{*disk};
};

TEST_F(BlobReaderTest, bytes_before_the_end_are_written) {
  for (const std::uint64_t newest : {5ULL, 0x1'0000ULL, 0x10'0005ULL, 0x30'0001ULL}) {
    EXPECT_TRUE(is_written(newest, newest)) << newest;
    EXPECT_TRUE(is_written(newest, newest - 1, 1'000'000)) << newest;
    EXPECT_FALSE(is_written(newest, newest, 4950)) << newest;
    EXPECT_FALSE(is_written(newest, newest, 5000)) << newest;
  }
}

// After 2^20 segments the same holds: the number of the segment in a place begins anew.
TEST_F(BlobReaderTest, newer_segments_are_not_written) {
  for (const std::uint64_t newest :
       {5ULL, 0xF'FFFFULL, 0x10'0000ULL, 0x10'0005ULL, 0x1F'FFFEULL, 0x30'0001ULL}) {
    for (const std::uint64_t ahead : {1ULL, 2ULL, 1000ULL}) {
      EXPECT_FALSE(is_written(newest, newest + ahead)) << newest << " + " << ahead;
    }
  }
}

TEST_F(BlobReaderTest, segments_of_long_ago_are_written) {
  EXPECT_TRUE(is_written(0x10'0005, 6 + (1U << 15U)));
  EXPECT_TRUE(is_written(0x30'0001, 0x30'0001 - 1'000'000));
}

}  // namespace
}  // namespace millrace::embedded
