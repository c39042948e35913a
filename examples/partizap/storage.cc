#include "storage.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

namespace partizap {
namespace {

using millrace::ErrorCode;
using millrace::fail;
using millrace::Result;

bool is_key(const std::filesystem::path& key) {
  if (key.empty() || key.is_absolute() || !key.has_filename()) return false;
  return std::ranges::none_of(key, [](const auto& part) { return part == ".." || part == "."; });
}

}  // namespace

Result<std::filesystem::path> Storage::path_of(std::string_view key) const {
  const std::filesystem::path relative(key);
  if (!is_key(relative) || key.find('\0') != key.npos) {
    return fail(ErrorCode::invalid,
                fmt::format("\"{}\" is not a key: names, with / between them, are allowed", key));
  }
  return directory_ / relative;
}

Result<Bytes> Storage::download(std::string_view key) const {
  const auto path = path_of(key);
  if (!path) return std::unexpected(path.error());
  std::ifstream file(*path, std::ios::binary);
  if (!file) return fail(ErrorCode::not_found, fmt::format("there is no {}", key));
  Bytes data{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad()) return fail(ErrorCode::unavailable, fmt::format("{} cannot be read", key));
  return data;
}

Result<void> Storage::upload(std::string_view key, std::span<const std::uint8_t> data) const {
  static std::atomic<std::uint64_t> uploads = 0;
  const auto path = path_of(key);
  if (!path) return std::unexpected(path.error());
  std::error_code error;
  std::filesystem::create_directories(path->parent_path(), error);
  // Beside its place, then moved there: a rename is seen at once or not at all.
  auto beside = *path;
  beside += fmt::format(".{}.part", ++uploads);
  {
    std::ofstream file(beside, std::ios::binary);
    file.write(reinterpret_cast<const char*>(data.data()),
               static_cast<std::streamsize>(data.size()));
    file.close();
    if (!file) error = std::make_error_code(std::errc::io_error);
  }
  if (!error) std::filesystem::rename(beside, *path, error);
  if (!error) return {};
  std::error_code ignored;
  std::filesystem::remove(beside, ignored);
  return fail(ErrorCode::unavailable,
              fmt::format("{} cannot be written: {}", key, error.message()));
}

Result<bool> Storage::remove(std::string_view key) const {
  const auto path = path_of(key);
  if (!path) return std::unexpected(path.error());
  std::error_code error;
  const bool removed = std::filesystem::remove(*path, error);
  if (!error) return removed;
  return fail(ErrorCode::unavailable,
              fmt::format("{} cannot be removed: {}", key, error.message()));
}

std::vector<std::string> Storage::keys(std::string_view folder) const {
  std::vector<std::string> found;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator at(directory_ / folder, error), end;
       !error && at != end; at.increment(error)) {
    if (at->is_regular_file() && at->path().extension() != ".part") {
      found.push_back(at->path().lexically_relative(directory_).generic_string());
    }
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace partizap
