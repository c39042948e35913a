#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tidy/rules.h"

namespace millrace::tidy {

namespace {

using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;

Complaints check(const Tree& tree) {
  Complaints complaints;
  check_listing(tree, complaints);
  return complaints;
}

auto complains_about(const char* path) {
  return ElementsAre(Field(&Complaint::path, path));
}

}  // namespace

TEST(Listing, every_source_is_named_in_a_cmake_list) {
  Tree tree;
  tree.add("src/core/CMakeLists.txt", "millrace_room(core\n  SOURCES cron.cc\n  HEADERS cron.h)\n");
  tree.add("src/core/cron.cc", "");
  tree.add("src/core/cron.h", "");
  EXPECT_THAT(check(tree), IsEmpty());
  tree.add("src/core/retry.cc", "");
  EXPECT_THAT(check(tree), complains_about("src/core/retry.cc"));
}

TEST(Listing, headers_of_rooms_are_named_too) {
  Tree tree;
  tree.add("include/CMakeLists.txt", "FILES millrace/ids.h)");
  tree.add("include/millrace/ids.h", "");
  tree.add("tests/support/matchers.h", "");
  EXPECT_THAT(check(tree), IsEmpty());
  tree.add("include/millrace/task.h", "");
  EXPECT_THAT(check(tree), complains_about("include/millrace/task.h"));
}

TEST(Listing, a_list_may_name_files_of_folders_below_and_beside) {
  Tree tree;
  tree.add("tests/CMakeLists.txt", "add(sim/a.cc ../bench/b.cc)");
  tree.add("tests/sim/a.cc", "");
  tree.add("bench/b.cc", "");
  EXPECT_THAT(check(tree), IsEmpty());
}

TEST(Listing, a_commented_out_name_does_not_count) {
  Tree tree;
  tree.add("src/core/CMakeLists.txt", "millrace_room(core SOURCES\n  # cron.cc\n)");
  tree.add("src/core/cron.cc", "");
  EXPECT_THAT(check(tree), complains_about("src/core/cron.cc"));
}

TEST(Listing, the_same_name_in_another_folder_does_not_count) {
  Tree tree;
  tree.add("src/core/CMakeLists.txt", "millrace_room(core SOURCES clock.cc)");
  tree.add("src/core/clock.cc", "");
  tree.add("src/store/clock.cc", "");
  EXPECT_THAT(check(tree), complains_about("src/store/clock.cc"));
}

TEST(Listing, nothing_compiled_or_generated_is_kept) {
  Tree objects;
  objects.add("src/core/a.o", "");
  EXPECT_THAT(check(objects), complains_about("src/core/a.o"));
  Tree binary;
  binary.add("tests/data", std::string("a\0b", 3));
  EXPECT_THAT(check(binary), complains_about("tests/data"));
  Tree generated;
  generated.add("src/core/CMakeLists.txt", "a.cc");
  generated.add("src/core/a.cc", "// Made by a program. DO NOT EDIT.\n");
  EXPECT_THAT(check(generated), complains_about("src/core/a.cc"));
}

TEST(Listing, golden_files_and_corpora_are_data) {
  Tree tree;
  tree.add("tests/golden/mail/expected.cc", "// DO NOT EDIT\n");
  tree.add("tests/fuzz/corpus/cron/1", std::string("\0", 1));
  EXPECT_THAT(check(tree), IsEmpty());
}

}  // namespace millrace::tidy
