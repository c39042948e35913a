#include "config/find_file.h"

#include <fmt/format.h>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace millrace::config {
namespace {

constexpr std::size_t most_bytes = 1U << 20U;

Result<File> read(const std::string& name, const std::string& named_by) {
  const auto refuse = [&](ErrorCode code, const std::string& why) {
    return fail(code, fmt::format("cannot read the settings file {}{}: {}", name, named_by, why));
  };
  std::error_code error;
  const auto status = std::filesystem::status(name, error);
  if (std::filesystem::is_directory(status)) return refuse(ErrorCode::invalid, "it is a directory");
  errno = 0;
  std::ifstream in(name, std::ios::binary);
  if (!in) {
    return refuse(ErrorCode::not_found, std::generic_category().message(errno != 0 ? errno : EIO));
  }
  File file{.name = name, .text = std::string(most_bytes + 1, '\0')};
  in.read(file.text.data(), static_cast<std::streamsize>(file.text.size()));
  if (in.bad()) return refuse(ErrorCode::unavailable, "reading failed");
  file.text.resize(static_cast<std::size_t>(in.gcount()));
  if (file.text.size() > most_bytes) return refuse(ErrorCode::too_large, "it is over 1 MiB");
  return file;
}

}  // namespace

std::span<const std::string> usual_places() {
  static const std::array<std::string, 2> places = {"millrace.toml", "/etc/millrace/millrace.toml"};
  return places;
}

Result<std::optional<File>> find_file(const std::string& flag, const std::string& variable,
                                      std::span<const std::string> places) {
  if (!flag.empty()) return read(flag, " (named by --config)");
  if (!variable.empty()) return read(variable, " (named by MILLRACE_CONFIG)");
  for (const std::string& place : places) {
    std::error_code error;
    // Anything with that name counts: a file that cannot be read must not be skipped.
    const auto type = std::filesystem::status(place, error).type();
    if (type != std::filesystem::file_type::not_found) return read(place, "");
  }
  return std::nullopt;
}

}  // namespace millrace::config
