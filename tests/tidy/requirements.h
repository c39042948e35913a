// Which test names which requirement. A test names one with a comment beside it or inside it:
// the id, several with commas, or a range (see ids_in).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/tidy/tree.h"

namespace millrace::tidy {

struct Requirement {
  std::string id;
  std::string statement;
};

struct Mention {
  std::string id;
  std::string path;
  std::size_t line = 0;
  std::string test;  // "Suite.name", or "" where the comment belongs to the whole file
};

// A requirement that waits for something that is not built yet.
struct Plan {
  std::string id;
  std::string waits_for;  // "Redis store"
  std::size_t line = 0;
};

inline constexpr std::string_view requirements_path = "docs/requirements.tsv";
inline constexpr std::string_view plans_path = "docs/requirements-planned.tsv";

// The rows `id<TAB>statement`; lines that begin with '#' are headings.
std::vector<Requirement> requirements_of(const Tree& tree);

// The rows `ids<TAB>what they wait for`; ids as in a comment.
std::vector<Plan> plans_of(const Tree& tree);

// The ids in a comment: "S1-026", "S1-026, S1-030", "S1-026, 030", "S1-026..030", "S1-026...030"
// and "S1-026…030", in any combination.
std::vector<std::string> ids_in(std::string_view comment);

// A comment right above a test belongs to that test, one inside a test to the test around it, any
// other to the file.
std::vector<Mention> mentions_in(const File& file);

// Tests name only ids that exist, and none that is planned.
void check_requirements(const Tree& tree, Complaints& complaints);

// Id by id the tests that name it, then those that are planned, then those without either, then how
// many of each.
std::string requirements_report(const Tree& tree);

}  // namespace millrace::tidy
