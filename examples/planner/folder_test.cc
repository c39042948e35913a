#include "folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace planner {
namespace {

using millrace::ErrorCode;
using millrace::test::FailsWith;
using millrace::test::IsOk;
using millrace::test::IsOkAndHolds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class FolderTest : public ::testing::Test {
 protected:
  millrace::test::TemporaryDirectory directory_;
  Folder folder_{directory_ / "a/b"};
};

TEST_F(FolderTest, what_was_written_is_read) {
  EXPECT_THAT(folder_.names(), IsEmpty());
  EXPECT_FALSE(folder_.has("x.md"));
  EXPECT_THAT(folder_.read("x.md"), IsOkAndHolds(std::optional<std::string>()));
  for (const std::string text : {"one", "two", ""}) {
    ASSERT_THAT(folder_.write("x.md", text), IsOk());
    EXPECT_EQ(folder_.read("x.md").value(), text);
  }
  ASSERT_THAT(folder_.write("w.md", std::string(1 << 20, 'w')), IsOk());
  EXPECT_EQ(folder_.read("w.md").value()->size(), 1U << 20);
  EXPECT_THAT(folder_.names(), ElementsAre("w.md", "x.md"));
}

TEST_F(FolderTest, names_are_plain) {
  for (const char* name : {"", "..", ".hidden", "a/b", "/x"}) {
    EXPECT_THAT(folder_.write(name, "text"), FailsWith(ErrorCode::invalid)) << name;
  }
}

TEST_F(FolderTest, what_cannot_be_written_leaves_nothing_behind) {
  std::filesystem::create_directories(folder_.path() / "x.md" / "y");
  EXPECT_THAT(folder_.write("x.md", "text"), FailsWith(ErrorCode::unavailable));
  EXPECT_THAT(folder_.names(), IsEmpty());
  std::ofstream(directory_ / "file") << "in the way";
  EXPECT_THAT(Folder(directory_ / "file/sub").write("x.md", "text"),
              FailsWith(ErrorCode::unavailable));
}

TEST_F(FolderTest, a_sweep_takes_halves_and_leaves_files) {
  ASSERT_THAT(folder_.write("x.md", "text"), IsOk());
  std::ofstream(folder_.path() / ".part-abcdef") << "half";
  folder_.sweep();
  EXPECT_THAT(folder_.names(), ElementsAre("x.md"));
}

}  // namespace
}  // namespace planner
