// Which room may include which, as docs/architecture.md says it, and whether the code obeys.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/tidy/tree.h"

namespace millrace::tidy {

// A library a room may use; if `only_in` names files (from src/), only there.
struct Permit {
  std::string name;
  std::vector<std::string> only_in;
};

// A row of the table of rooms.
struct Room {
  std::string folder;                    // from src/, or from the root: `core`, `include/millrace`
  bool everything = false;               // may include anything
  std::vector<std::string> may_include;  // rooms, or single headers of a room
  std::vector<Permit> libraries;
};

// A row of the table of libraries.
struct Library {
  std::string name;
  std::vector<std::string> headers;  // whole names, or beginnings that end in '/'
};

struct Map {
  std::vector<Room> rooms;
  std::vector<Library> libraries;

  // The room a file of the tree belongs to, nullptr if none.
  const Room* room_of(std::string_view path) const;
  // The library a header belongs to, nullptr if none.
  const Library* library_of(std::string_view header) const;
};

inline constexpr std::string_view map_path = "docs/architecture.md";

// Reads the two tables of the section "## The rooms".
Map read_map(const Tree& tree, Complaints& complaints);

// Every include points where the table allows, and every folder with code has a row.
void check_includes(const Tree& tree, const Map& map, Complaints& complaints);

// Every room under src/ has a README.md of at most 15 lines.
void check_readmes(const Tree& tree, const Map& map, Complaints& complaints);

}  // namespace millrace::tidy
