#include "config/find_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <filesystem>
#include <fstream>

#include "tests/support/temporary_directory.h"

namespace millrace::config {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class FindFile : public ::testing::Test {
 protected:
  std::string make(const std::string& name, const std::string& text) {
    std::ofstream(directory_ / name, std::ios::binary) << text;
    return directory_ / name;
  }

  test::TemporaryDirectory directory_;
};

TEST_F(FindFile, the_flag_then_the_variable_then_the_usual_places) {
  const std::string a = make("a", "A");
  const std::string b = make("b", "B");
  const std::vector<std::string> places = {directory_ / "none", make("c", "C"), make("d", "D")};
  EXPECT_EQ((*find_file(a, b, places))->text, "A");
  EXPECT_EQ((*find_file("", b, places))->text, "B");
  EXPECT_EQ((*find_file("", "", places))->text, "C");
  EXPECT_EQ((*find_file("", "", places))->name, places[1]);
  EXPECT_EQ(*find_file("", "", std::vector<std::string>{directory_ / "none"}), std::nullopt);
}

TEST_F(FindFile, a_named_file_must_be_there) {
  const std::string none = directory_ / "none";
  const auto flag = find_file(none, "", {});
  ASSERT_FALSE(flag);
  EXPECT_THAT(flag.error().message,
              AllOf(HasSubstr(none), HasSubstr("--config"), HasSubstr("No such file")));
  const auto variable = find_file("", none, {});
  ASSERT_FALSE(variable);
  EXPECT_THAT(variable.error().message, HasSubstr("MILLRACE_CONFIG"));
}

TEST_F(FindFile, what_is_no_file_or_too_long_is_refused_and_not_passed_over) {
  const auto folder = find_file(directory_.path(), "", {});
  ASSERT_FALSE(folder);
  EXPECT_THAT(folder.error().message, HasSubstr("it is a directory"));
  EXPECT_FALSE(find_file("", "", std::vector<std::string>{directory_.path(), make("x", "")}));
  const auto large = find_file(make("large", std::string((1U << 20U) + 1, '#')), "", {});
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, ErrorCode::too_large);
}

TEST(UsualPlaces, are_here_and_in_etc) {
  EXPECT_THAT(usual_places(),
              ::testing::ElementsAre("millrace.toml", "/etc/millrace/millrace.toml"));
}

}  // namespace

}  // namespace millrace::config
