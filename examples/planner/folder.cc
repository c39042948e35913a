#include "folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <system_error>

namespace planner {
namespace {

namespace fs = std::filesystem;
using millrace::ErrorCode;
using millrace::fail;
using millrace::Result;

std::error_code last_error() {
  return {errno, std::generic_category()};
}

class File {
 public:
  explicit File(int number) : number_(number) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (number_ >= 0) close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

std::error_code write_all(const File& file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file.number(), text.data(), text.size());
    if (written < 0 && errno != EINTR) return last_error();
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  if (fchmod(file.number(), 0644) != 0 || fsync(file.number()) != 0) return last_error();
  return {};
}

// So that the names in it stay, too.
std::error_code sync_directory(const fs::path& path) {
  const File directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.number() < 0 || fsync(directory.number()) != 0) return last_error();
  return {};
}

// With every directory above it that had to be made.
std::error_code make_directory(const fs::path& path) {
  if (path.empty() || fs::is_directory(path)) return {};
  const fs::path above = path.parent_path();
  if (const auto error = make_directory(above)) return error;
  std::error_code error;
  fs::create_directory(path, error);
  return error ? error : sync_directory(above.empty() ? fs::path(".") : above);
}

// Beside its place, under a unique name, then moved there.
std::error_code write_beside(const fs::path& directory, const fs::path& path,
                             std::string_view text) {
  std::string beside = directory / ".part-XXXXXX";
  const File file(mkostemp(beside.data(), O_CLOEXEC));
  if (file.number() < 0) return last_error();
  std::error_code error = write_all(file, text);
  if (!error) fs::rename(beside, path, error);
  if (error) {
    std::error_code ignored;
    fs::remove(beside, ignored);
  }
  return error;
}

}  // namespace

Result<void> Folder::write(std::string_view name, std::string_view text) const {
  if (name.empty() || name.front() == '.' || name.find('/') != name.npos) {
    return fail(ErrorCode::invalid, fmt::format("\"{}\" cannot be the name of a file here", name));
  }
  const fs::path path = directory_ / name;
  std::error_code error = make_directory(directory_);
  if (!error) error = write_beside(directory_, path, text);
  if (!error) error = sync_directory(directory_);
  if (!error) return {};
  return fail(ErrorCode::unavailable,
              fmt::format("{} cannot be written: {}", path.string(), error.message()));
}

Result<std::optional<std::string>> Folder::read(std::string_view name) const {
  if (!has(name)) return std::nullopt;
  std::ifstream file(directory_ / name, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.is_open() && !file.bad()) return text;
  return fail(ErrorCode::unavailable,
              fmt::format("{} cannot be read", (directory_ / name).string()));
}

bool Folder::has(std::string_view name) const {
  std::error_code none;
  return fs::is_regular_file(directory_ / name, none);
}

std::vector<std::string> Folder::names() const {
  std::vector<std::string> found;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(directory_, none)) {
    if (entry.is_regular_file(none)) found.push_back(entry.path().filename());
  }
  std::ranges::sort(found);
  return found;
}

void Folder::sweep() const {
  std::error_code ignored;
  for (const std::string& name : names()) {
    if (name.starts_with(".part-")) fs::remove(directory_ / name, ignored);
  }
}

}  // namespace planner
