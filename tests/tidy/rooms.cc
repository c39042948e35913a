#include "tests/tidy/rooms.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace millrace::tidy {

namespace {

constexpr auto npos = std::string_view::npos;
constexpr std::size_t readme_lines_max = 15;

// The texts between backticks.
std::vector<std::string> quoted_names(std::string_view cell) {
  std::vector<std::string> names;
  const std::vector<std::string_view> parts = split(cell, '`');
  for (std::size_t i = 1; i < parts.size(); i += 2) names.emplace_back(parts[i]);
  return names;
}

// "`fmt`, `date` (only in `core/zone.cc`)" -> fmt, and date with its file.
std::vector<Permit> permits(std::string_view cell) {
  std::vector<Permit> result;
  bool inside = false;  // the parentheses
  const std::vector<std::string_view> parts = split(cell, '`');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i % 2 == 0) {
      if (parts[i].find('(') != npos) inside = true;
      if (parts[i].find(')') != npos) inside = false;
    } else if (inside && !result.empty()) {
      result.back().only_in.emplace_back(parts[i]);
    } else {
      result.push_back({.name = std::string(parts[i]), .only_in = {}});
    }
  }
  return result;
}

// The cells of a row that begins with a name in backticks; nothing for headings and rulers.
std::vector<std::string_view> cells_of(std::string_view line) {
  if (!line.starts_with("| `")) return {};
  std::vector<std::string_view> cells = split(line, '|');
  cells.erase(cells.begin());
  if (!cells.empty() && trim(cells.back()).empty()) cells.pop_back();
  for (std::string_view& cell : cells) cell = trim(cell);
  return cells;
}

Room room_from(const std::vector<std::string_view>& cells) {
  return {.folder = quoted_names(cells[0]).front(),
          .everything = cells[1] == "everything",
          .may_include = quoted_names(cells[1]),
          .libraries = permits(cells[2])};
}

struct Include {
  std::string_view header;
  bool angled = false;
  std::size_t line = 0;
};

std::vector<Include> includes_of(const File& file) {
  std::vector<Include> includes;
  const std::vector<std::string_view> lines = lines_of(file.text);
  const std::vector<std::string_view> code = lines_of(file.cpp.code);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!trim(code[i]).starts_with("#include")) continue;
    const std::size_t open = lines[i].find_first_of("<\"");
    if (open == npos) continue;
    const bool angled = lines[i][open] == '<';
    const std::size_t close = lines[i].find(angled ? '>' : '"', open + 1);
    if (close == npos) continue;
    includes.push_back({lines[i].substr(open + 1, close - open - 1), angled, i + 1});
  }
  return includes;
}

// The file of the tree that an include means, if it means one.
const File* resolve(const Tree& tree, const File& from, std::string_view header) {
  for (const std::string_view base : {std::string_view("src"), std::string_view("include"),
                                      std::string_view(""), folder_of(from.path)}) {
    const std::string path =
        base.empty() ? std::string(header) : fmt::format("{}/{}", base, header);
    if (const File* file = tree.find(path)) return file;
  }
  return nullptr;
}

// A header that millrace_sql() makes for its own folder, named as HEADER in the CMakeLists.txt
// there.
bool is_made_here(const Tree& tree, const File& from, std::string_view header) {
  const std::string_view folder = folder_of(from.path);
  if (folder != fmt::format("src/{}", folder_of(header))) return false;
  const File* lists = tree.find(fmt::format("{}/CMakeLists.txt", folder));
  return lists != nullptr && lists->text.find(fmt::format("HEADER {}\n", header)) != npos;
}

std::string_view from_src(std::string_view path) {
  return path.starts_with("src/") ? path.substr(4) : path;
}

// What the tests of any room may use, whatever the room itself may.
bool is_for_tests(const Library& library) {
  return library.name == "GoogleTest" || library.name == "files" || library.name == "threads";
}

// What is wrong with one include of a file, if anything.
class Judge {
 public:
  Judge(const Tree& tree, const Map& map, const File& file, const Room& room)
      : tree_(tree), map_(map), file_(file), room_(room) {}

  std::optional<std::string> objection(const Include& include) const {
    if (const File* target = resolve(tree_, file_, include.header)) return about_room(*target);
    if (!include.angled) {
      if (is_made_here(tree_, file_, include.header)) return std::nullopt;
      return fmt::format(
          "no file \"{}\"; quoted includes start from src/ (\"core/cron.h\") or from the root "
          "(\"tests/...\")",
          include.header);
    }
    if (const Library* library = map_.library_of(include.header)) return about_library(*library);
    // What is left of the standard library is open to all.
    if (room_.everything || include.header.find_first_of("./") == npos) return std::nullopt;
    return fmt::format("<{}> belongs to no library of the table in {}; add it there first",
                       include.header, map_path);
  }

 private:
  std::optional<std::string> about_room(const File& target) const {
    const Room* other = map_.room_of(target.path);
    if (other == nullptr || other == &room_ || room_.everything) return std::nullopt;
    if (other->folder == "include/millrace") return std::nullopt;
    if (file_.is_test() && target.path.starts_with("tests/support/")) return std::nullopt;
    for (const std::string& allowed : room_.may_include) {
      if (allowed == other->folder || allowed == from_src(target.path)) return std::nullopt;
    }
    return fmt::format(
        "{} may not include {} (table in {}); move the code down, or pass what is needed in as a "
        "value",
        room_.folder, other->folder, map_path);
  }

  std::optional<std::string> about_library(const Library& library) const {
    if (room_.everything || (file_.is_test() && is_for_tests(library))) return std::nullopt;
    const auto permit = std::ranges::find(room_.libraries, library.name, &Permit::name);
    if (permit == room_.libraries.end()) {
      return fmt::format(
          "{} may not use {} (table in {}); wrap it in a room that may, and call that",
          room_.folder, library.name, map_path);
    }
    const std::vector<std::string>& files = permit->only_in;
    if (files.empty() || std::ranges::find(files, from_src(file_.path)) != files.end()) {
      return std::nullopt;
    }
    return fmt::format("{} may be used only in {} (table in {}); call what that file offers",
                       library.name, fmt::join(files, ", "), map_path);
  }

  const Tree& tree_;
  const Map& map_;
  const File& file_;
  const Room& room_;
};

}  // namespace

const Room* Map::room_of(std::string_view path) const {
  const Room* best = nullptr;
  for (const Room& room : rooms) {
    const std::string inside = room.folder + "/";
    const bool fits = path.starts_with(inside) ||
                      (path.starts_with("src/") && path.substr(4).starts_with(inside));
    if (fits && (best == nullptr || best->folder.size() < room.folder.size())) best = &room;
  }
  return best;
}

const Library* Map::library_of(std::string_view header) const {
  for (const Library& library : libraries) {
    for (const std::string& own : library.headers) {
      if (header == own || (own.ends_with('/') && header.starts_with(own))) return &library;
    }
  }
  return nullptr;
}

Map read_map(const Tree& tree, Complaints& complaints) {
  Map map;
  const File* file = tree.find(map_path);
  if (file == nullptr) {
    complaints.push_back({std::string(map_path), 1, "missing; the rules for includes are in it"});
    return map;
  }
  bool inside = false;
  std::size_t number = 0;
  for (const std::string_view line : lines_of(file->text)) {
    ++number;
    if (line.starts_with("## ")) inside = line == "## The rooms";
    const std::vector<std::string_view> cells =
        inside ? cells_of(line) : decltype(cells_of(line)){};
    if (cells.size() == 3) {
      map.rooms.push_back(room_from(cells));
    } else if (cells.size() == 2) {
      map.libraries.push_back(
          {.name = quoted_names(cells[0]).front(), .headers = quoted_names(cells[1])});
    } else if (!cells.empty()) {
      complaints.push_back({file->path, number,
                            "a row of rooms has three cells, a row of libraries two; this one has "
                            "neither"});
    }
  }
  if (map.rooms.empty()) {
    complaints.push_back({file->path, 1, "no section \"## The rooms\" with a table; restore it"});
  }
  return map;
}

void check_includes(const Tree& tree, const Map& map, Complaints& complaints) {
  if (map.rooms.empty()) return;
  for (const File& file : tree.files) {
    if (!file.is_cpp()) continue;
    const Room* room = map.room_of(file.path);
    if (room == nullptr) {
      complaints.push_back(
          {file.path, 1,
           fmt::format("its folder has no row in the table of {}; add one, or move "
                       "the file to the room it belongs to",
                       map_path)});
      continue;
    }
    const Judge judge(tree, map, file, *room);
    for (const Include& include : includes_of(file)) {
      if (auto objection = judge.objection(include)) {
        complaints.push_back({file.path, include.line, std::move(*objection)});
      }
    }
  }
}

void check_readmes(const Tree& tree, const Map& map, Complaints& complaints) {
  for (const Room& room : map.rooms) {
    const std::string folder = "src/" + room.folder;
    if (!tree.has_folder(folder)) continue;
    const std::string path = folder + "/README.md";
    const File* readme = tree.find(path);
    if (readme == nullptr) {
      complaints.push_back({path, 1,
                            fmt::format("missing; say in at most {} lines what the room does, what "
                                        "it may use and which file to read first",
                                        readme_lines_max)});
    } else if (lines_of(readme->text).size() > readme_lines_max) {
      complaints.push_back(
          {path, readme_lines_max + 1,
           fmt::format("longer than {} lines; move the rest into comments or docs/",
                       readme_lines_max)});
    }
  }
}

}  // namespace millrace::tidy
