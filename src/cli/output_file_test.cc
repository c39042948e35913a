#include "cli/output_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <fstream>

#include "tests/support/temporary_directory.h"

namespace millrace::cli {
namespace {

unsigned mode_of(const std::string& path) {
  struct stat status{};
  EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 0777U;
}

TEST(OutputFile, is_for_its_owner_only_unless_it_is_for_all) {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "export";
  std::ofstream(path + ".part") << "left by another run";
  chmod((path + ".part").c_str(), 0644);
  OutputFile file(path);
  ASSERT_TRUE(file.open(false));
  file.stream() << "tasks";
  EXPECT_EQ(mode_of(path + ".part"), 0600U);
  ASSERT_TRUE(file.finish());
  EXPECT_EQ(mode_of(path), 0600U);
  OutputFile open(directory / "address");
  ASSERT_TRUE(open.open(true, OutputFile::Readers::all));
  ASSERT_TRUE(open.finish());
  EXPECT_EQ(mode_of(directory / "address") & 0600U, 0600U);
}

TEST(OutputFile, that_cannot_be_written_is_told) {
  const test::TemporaryDirectory directory;
  OutputFile file(directory / "none/export");
  const auto opened = file.open(false);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("No such file"), std::string::npos);
}

}  // namespace
}  // namespace millrace::cli
