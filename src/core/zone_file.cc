#include "core/zone_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>
#include "core/ascii.h"
#include "core/limits.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t file_bytes_most = 256 * 1024;  // the largest real one has 4 KiB

// Zone names begin with a capital; the other files of the database (`localtime`, `posixrules`,
// `right/…`) do not. There is no dot in the alphabet, and so no way up and out.
bool looks_like_a_name(std::string_view name) {
  if (name.empty() || name.size() > limits::max_zone) return false;
  if (!ascii::is_upper(name[0]) || name.back() == '/') return false;
  return name.find("//") == name.npos && std::ranges::all_of(name, [](char c) {
           return ascii::is_letter_or_digit(c) || c == '/' || c == '_' || c == '-' || c == '+';
         });
}

}  // namespace

Result<std::string> zone_database(std::span<const std::string_view> directories) {
  for (const std::string_view directory : directories) {
    std::error_code ignored;
    if (fs::is_directory(directory, ignored)) return std::string{directory};
  }
  return fail(ErrorCode::unavailable,
              fmt::format("the time zone database is missing, so only UTC is known; install tzdata "
                          "(looked in {})",
                          fmt::join(directories, ", ")));
}

Result<std::optional<std::vector<std::byte>>> read_zone_file(std::string_view database,
                                                             std::string_view name) {
  if (!looks_like_a_name(name)) return std::nullopt;
  const fs::path path = fs::path{database} / name;
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return std::nullopt;

  std::ifstream in{path, std::ios::binary};
  std::vector<char> text(file_bytes_most + 1);
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad() || !in.eof()) {
    const bool too_long = in.good();
    return fail(too_long ? ErrorCode::corrupt : ErrorCode::unavailable,
                fmt::format("time zone {}: {} {}", name, path.string(),
                            too_long ? "is too long for a zone file" : "cannot be read"));
  }
  text.resize(static_cast<std::size_t>(in.gcount()));
  const auto bytes = std::as_bytes(std::span{text});
  return std::vector<std::byte>{bytes.begin(), bytes.end()};
}

std::vector<std::string> zone_names(std::string_view database) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::recursive_directory_iterator at{database, error}, end; !error && at != end;
       at.increment(error)) {
    std::string name = at->path().lexically_relative(database).generic_string();
    if (!looks_like_a_name(name)) {
      at.disable_recursion_pending();
    } else if (std::error_code ignored; !name.starts_with("Etc/") && at->is_regular_file(ignored)) {
      names.push_back(std::move(name));
    }
  }
  return names;
}

}  // namespace millrace
