// tidy ROOT               checks the source tree; one line a complaint, exit status 1 if any
// tidy ROOT requirements  prints which test names which requirement
#include <fmt/format.h>

#include <filesystem>
#include <string_view>

#include "tests/tidy/requirements.h"
#include "tests/tidy/rooms.h"
#include "tests/tidy/rules.h"
#include "tests/tidy/tree.h"

namespace {

using namespace millrace::tidy;

int check(const Tree& tree) {
  Complaints complaints;
  const Map map = read_map(tree, complaints);
  check_includes(tree, map, complaints);
  check_readmes(tree, map, complaints);
  check_bans(tree, complaints);
  check_limits(tree, complaints);
  check_listing(tree, complaints);
  check_requirements(tree, complaints);
  for (const auto& [path, line, message] : complaints) {
    fmt::print("{}:{}: {}\n", path, line, message);
  }
  fmt::print("{} files, {} complaints\n", tree.files.size(), complaints.size());
  return complaints.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc == 3 ? argv[2] : "";
  if (argc < 2 || argc > 3 || (argc == 3 && what != "requirements")) {
    fmt::print(stderr, "usage: tidy ROOT [requirements]\n");
    return 2;
  }
  if (!std::filesystem::is_directory(std::filesystem::path(argv[1]) / "src")) {
    fmt::print(stderr, "tidy: {} has no folder src; give the root of the source tree\n", argv[1]);
    return 2;
  }
  const Tree tree = read_tree(argv[1]);
  if (what == "requirements") {
    fmt::print("{}", requirements_report(tree));
    return 0;
  }
  return check(tree);
}
