#include "tests/tidy/rooms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::tidy {

namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* document = R"(
# Architecture

| `not` | `this` | `one` |

## The rooms

| room | may include | libraries |
|---|---|---|
| `include/millrace` | | |
| `core` | | `fmt`, `date` (only in `core/zone.cc`) |
| `store` | `core` | |
| `store/embedded` | `core`, `store` | `threads` |
| `worker` | `core`, `store/store.h` | |
| `tests` | everything | everything |

| library | headers |
|---|---|
| `fmt` | `fmt/` |
| `date` | `date/` |
| `threads` | `thread`, `mutex` |
| `GoogleTest` | `gtest/`, `gmock/` |

## Something else

| `nor` | `this` | `one` |
)";

Tree small_tree() {
  Tree tree;
  tree.add(std::string(map_path), document);
  tree.add("include/millrace/ids.h", "#include <string>\n");
  tree.add("src/core/cron.h", "");
  tree.add("src/store/store.h", "");
  tree.add("src/store/metered.h", "");
  tree.add("src/store/embedded/machine.h", "");
  tree.add("tests/support/matchers.h", "");
  return tree;
}

// What is said about one file with this text, added to the small tree.
Complaints check(std::string path, std::string text) {
  Tree tree = small_tree();
  tree.add(std::move(path), std::move(text));
  Complaints complaints;
  const Map map = read_map(tree, complaints);
  check_includes(tree, map, complaints);
  return complaints;
}

auto complains(std::size_t line, const char* part) {
  return ElementsAre(
      AllOf(Field(&Complaint::line, line), Field(&Complaint::message, HasSubstr(part))));
}

}  // namespace

TEST(Rooms, reads_the_tables_of_its_section_only) {
  Complaints complaints;
  const Map map = read_map(small_tree(), complaints);
  EXPECT_THAT(complaints, IsEmpty());
  ASSERT_EQ(map.rooms.size(), 6U);
  EXPECT_EQ(map.libraries.size(), 4U);
  EXPECT_THAT(map.rooms[3].may_include, ElementsAre("core", "store"));
  EXPECT_THAT(map.rooms[1].libraries[1].only_in, ElementsAre("core/zone.cc"));
  EXPECT_TRUE(map.rooms[5].everything);
}

TEST(Rooms, a_missing_or_broken_table_is_a_complaint) {
  Complaints complaints;
  read_map(Tree{}, complaints);
  EXPECT_THAT(complaints, complains(1, "missing"));

  Tree empty;
  empty.add(std::string(map_path), "# Architecture\n");
  complaints.clear();
  read_map(empty, complaints);
  EXPECT_THAT(complaints, complains(1, "restore it"));

  Tree broken;
  broken.add(std::string(map_path), "## The rooms\n| `core` | | |\n| `store` | a | b | c |\n");
  complaints.clear();
  read_map(broken, complaints);
  EXPECT_THAT(complaints, complains(3, "three cells"));
}

TEST(Rooms, includes_that_point_the_right_way_pass) {
  EXPECT_THAT(check("src/store/embedded/machine.cc",
                    "#include \"store/embedded/machine.h\"\n#include \"core/cron.h\"\n"
                    "#include <millrace/ids.h>\n#include <vector>\n#include <mutex>\n"),
              IsEmpty());
}

TEST(Rooms, includes_that_point_the_wrong_way_fail) {
  EXPECT_THAT(check("src/core/cron.cc", "\n#include \"store/store.h\"\n"),
              complains(2, "core may not include store"));
  EXPECT_THAT(check("src/store/a.cc", "#include \"store/embedded/machine.h\"\n"),
              complains(1, "store may not include store/embedded"));
  EXPECT_THAT(check("include/millrace/a.h", "#include \"core/cron.h\"\n"),
              complains(1, "include/millrace may not include core"));
}

TEST(Rooms, a_single_header_of_a_room_can_be_allowed) {
  EXPECT_THAT(check("src/worker/a.cc", "#include \"store/store.h\"\n"), IsEmpty());
  EXPECT_THAT(check("src/worker/a.cc", "#include \"store/metered.h\"\n"),
              complains(1, "worker may not include store"));
}

TEST(Rooms, libraries_are_for_the_rooms_that_name_them) {
  EXPECT_THAT(check("src/core/a.cc", "#include <fmt/format.h>\n"), IsEmpty());
  EXPECT_THAT(check("src/store/a.cc", "#include <fmt/format.h>\n"),
              complains(1, "store may not use fmt"));
  EXPECT_THAT(check("src/core/a.cc", "#include <thread>\n"), complains(1, "may not use threads"));
  EXPECT_THAT(check("src/core/a.cc", "#include <curl/curl.h>\n"), complains(1, "add it there"));
}

TEST(Rooms, a_library_can_be_confined_to_files) {
  EXPECT_THAT(check("src/core/zone.cc", "#include <date/tz.h>\n"), IsEmpty());
  EXPECT_THAT(check("src/core/cron.cc", "#include <date/tz.h>\n"),
              complains(1, "only in core/zone.cc"));
}

TEST(Rooms, tests_of_a_room_may_use_the_test_library_and_support) {
  const std::string text =
      "#include <gtest/gtest.h>\n#include <thread>\n#include \"tests/support/matchers.h\"\n";
  EXPECT_THAT(check("src/core/cron_test.cc", text), IsEmpty());
  EXPECT_EQ(check("src/core/cron.cc", text).size(), 3U);
  EXPECT_THAT(check("src/core/cron_test.cc", "#include \"store/store.h\"\n"),
              complains(1, "core may not include store"));
}

TEST(Rooms, tests_that_cross_rooms_may_include_everything) {
  EXPECT_THAT(
      check(
          "tests/conformance/a.cc",
          "#include \"store/embedded/machine.h\"\n#include <date/tz.h>\n#include <curl/curl.h>\n"),
      IsEmpty());
}

TEST(Rooms, a_quoted_include_must_exist) {
  EXPECT_THAT(check("src/core/a.cc", "#include \"cron.h\"\n"), IsEmpty());
  EXPECT_THAT(check("src/core/a.cc", "#include \"crron.h\"\n"), complains(1, "no file"));
}

TEST(Rooms, a_header_may_be_made_for_its_own_folder) {
  Tree tree = small_tree();
  tree.add("src/store/CMakeLists.txt", "millrace_sql(x\n  HEADER store/sql.h\n  FILES a.sql)\n");
  tree.add("src/store/a.cc", "#include \"store/sql.h\"\n");
  tree.add("src/store/b.cc", "#include \"store/sqll.h\"\n");
  tree.add("src/store/embedded/c.cc", "#include \"store/sql.h\"\n");
  Complaints complaints;
  check_includes(tree, read_map(tree, complaints), complaints);
  EXPECT_THAT(complaints, ElementsAre(Field(&Complaint::path, "src/store/b.cc"),
                                      Field(&Complaint::path, "src/store/embedded/c.cc")));
}

TEST(Rooms, a_commented_include_is_none) {
  EXPECT_THAT(check("src/core/a.cc", "// #include \"store/store.h\"\n"), IsEmpty());
}

TEST(Rooms, a_folder_without_a_row_fails) {
  EXPECT_THAT(check("src/attic/a.cc", ""), complains(1, "no row"));
}

TEST(Rooms, every_room_has_a_short_readme) {
  Tree tree = small_tree();
  Complaints complaints;
  const Map map = read_map(tree, complaints);
  check_readmes(tree, map, complaints);
  EXPECT_EQ(complaints.size(), 3U);  // core, store, store/embedded; worker is not there yet

  tree.add("src/core/README.md", "# core\n");
  tree.add("src/store/README.md", "# store\n");
  tree.add("src/store/embedded/README.md", std::string(16, '\n'));
  complaints.clear();
  check_readmes(tree, map, complaints);
  EXPECT_THAT(complaints, complains(16, "longer than 15 lines"));
}

}  // namespace millrace::tidy
