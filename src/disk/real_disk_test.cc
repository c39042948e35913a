#include "disk/real_disk.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/support/temporary_directory.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

class RealDiskTest : public ::testing::Test {
 protected:
  std::unique_ptr<Disk> open() {
    auto disk = open_directory(path_, DirectoryMode::existing);
    EXPECT_TRUE(disk) << disk.error().message;
    return std::move(*disk);
  }
  std::string contents(Disk& disk, const std::string& name) {
    const auto file = disk.open(name, Disk::Access::read);
    if (!file) return "cannot open: " + file.error().message;
    std::string bytes(1000, '\0');
    bytes.resize(read_all(disk, *file, 0, bytes).value());
    disk.close(*file);
    return bytes;
  }

  test::TemporaryDirectory directory_;
  const std::string& path_ = directory_.path();
};

TEST_F(RealDiskTest, bytes_are_written_where_told_and_read_back) {
  const auto disk = open();
  const auto file = disk->open("a", Disk::Access::create).value();
  ASSERT_TRUE(disk->write(file, 0, "hello, mill"));
  ASSERT_TRUE(disk->write(file, 7, "race"));
  ASSERT_TRUE(disk->sync(file));
  ASSERT_TRUE(disk->sync_directory());
  EXPECT_EQ(contents(*disk, "a"), "hello, race");
  std::string part(4, '\0');
  EXPECT_EQ(read_all(*disk, file, 7, part).value(), 4U);
  EXPECT_EQ(part, "race");
  EXPECT_EQ(read_all(*disk, file, 11, part).value(), 0U);
  disk->close(file);
}

TEST_F(RealDiskTest, files_are_listed_renamed_and_removed) {
  const auto disk = open();
  disk->close(disk->open("a", Disk::Access::create).value());
  const auto file = disk->open("b", Disk::Access::create).value();
  ASSERT_TRUE(disk->allocate(file, 5000));
  std::filesystem::create_directory(path_ + "/not-a-file");
  ASSERT_TRUE(disk->rename("b", "c"));
  ASSERT_TRUE(disk->remove("a"));
  const auto entries = disk->list().value();
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].name, "c");
  EXPECT_EQ(entries[0].size, 5000U);
  disk->close(file);
}

TEST_F(RealDiskTest, errors_name_the_path_and_the_reason) {
  const auto disk = open();
  const auto missing = disk->open("x", Disk::Access::read);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_THAT(missing.error().message, HasSubstr(path_ + "/x: cannot open: No such file"));
  disk->close(disk->open("x", Disk::Access::create).value());
  EXPECT_EQ(disk->open("x", Disk::Access::create).error().code, ErrorCode::conflict);
  EXPECT_EQ(disk->remove("y").error().code, ErrorCode::not_found);
  EXPECT_EQ(disk->rename("y", "z").error().code, ErrorCode::not_found);
}

TEST_F(RealDiskTest, a_full_device_is_distinguished_from_a_broken_one) {
  const auto devices = open_directory("/dev", DirectoryMode::existing).value();
  const auto full = devices->open("full", Disk::Access::write);
  if (!full) GTEST_SKIP() << full.error().message;
  EXPECT_EQ(devices->write(*full, 0, "x").error().code, ErrorCode::limited);
  devices->close(*full);
}

TEST_F(RealDiskTest, one_owner_or_many_readers) {
  const auto owner = open();
  ASSERT_TRUE(owner->lock(false));
  const auto refused = open()->lock(false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::conflict);
  EXPECT_THAT(refused.error().message,
              HasSubstr("in use by another process (process " + std::to_string(getpid()) + ")"));
  EXPECT_EQ(open()->lock(true).error().code, ErrorCode::conflict);
}

TEST_F(RealDiskTest, a_lock_ends_with_its_disk_and_readers_share) {
  {
    ASSERT_TRUE(open()->lock(false));
  }
  const auto reader = open();
  ASSERT_TRUE(reader->lock(true));
  EXPECT_TRUE(open()->lock(true));
  EXPECT_EQ(open()->lock(false).error().code, ErrorCode::conflict);
}

TEST_F(RealDiskTest, a_directory_is_made_only_if_asked) {
  const std::string deep = path_ + "/new/deeper";
  EXPECT_EQ(open_directory(deep, DirectoryMode::existing).error().code, ErrorCode::not_found);
  EXPECT_TRUE(open_directory(deep, DirectoryMode::make));
  EXPECT_TRUE(std::filesystem::is_directory(deep));
  std::ofstream(path_ + "/file") << "x";
  EXPECT_FALSE(open_directory(path_ + "/file/below", DirectoryMode::make));
}

unsigned mode_of(const std::string& path) {
  struct stat status{};
  EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 0777U;
}

uid_t owner_of(const std::string& path) {
  struct stat status{};
  EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
  return status.st_uid;
}

TEST_F(RealDiskTest, new_files_are_for_their_owner_only) {
  const std::string made = path_ + "/new/store/";
  const auto disk = open_directory(made, DirectoryMode::make);
  ASSERT_TRUE(disk) << disk.error().message;
  ASSERT_TRUE((*disk)->lock(false));
  (*disk)->close((*disk)->open("a", Disk::Access::create).value());
  EXPECT_EQ(mode_of(made), 0700U);
  EXPECT_EQ(mode_of(made + "a"), 0600U);
  EXPECT_EQ(mode_of(made + "lock"), 0600U);
  // Existing permissions are not changed.
  std::filesystem::permissions(made, std::filesystem::perms(0750));
  ASSERT_TRUE(open_directory(made, DirectoryMode::make));
  EXPECT_EQ(mode_of(made), 0750U);
}

// An administrator makes the first key before the service was ever started.
TEST_F(RealDiskTest, files_that_root_makes_belong_to_the_owner_of_the_directory) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  constexpr uid_t other_user = 12345;
  ASSERT_EQ(chown(path_.c_str(), other_user, other_user), 0);
  const auto disk = open_directory(path_ + "/data", DirectoryMode::make);
  ASSERT_TRUE(disk) << disk.error().message;
  ASSERT_TRUE((*disk)->lock(false));
  (*disk)->close((*disk)->open("a", Disk::Access::create).value());
  for (const auto* name : {"/data", "/data/a", "/data/lock"}) {
    EXPECT_EQ(owner_of(path_ + name), other_user) << name;
  }
}

TEST_F(RealDiskTest, the_error_about_a_file_of_another_user_names_the_owner) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  const auto disk = open();
  disk->close(disk->open("a", Disk::Access::create).value());
  ASSERT_EQ(chmod(path_.c_str(), 0755), 0);
  ASSERT_EQ(seteuid(12345), 0);
  const auto file = disk->open("a", Disk::Access::write);
  const auto made = open_directory(path_ + "/b", DirectoryMode::make);
  ASSERT_EQ(seteuid(0), 0);
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message,
              HasSubstr("/a: cannot open: Permission denied (it belongs to the user 0; this "
                        "process runs as 12345)"));
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("belongs to the user 0"));
}

}  // namespace
}  // namespace millrace
