// A directory with the files of one run of a plan.
#pragma once

#include <millrace/result.h>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace planner {

// A file is there whole or not at all, and stays once write() has returned: a task that was settled
// never says more than the disk does. Names are plain: no / in them, no dot before them.
class Folder {
 public:
  explicit Folder(std::filesystem::path directory) : directory_(std::move(directory)) {}

  // Again with the same text: nothing changes. Several processes may write the same file.
  millrace::Result<void> write(std::string_view name, std::string_view text) const;
  // Nullopt: there is none.
  millrace::Result<std::optional<std::string>> read(std::string_view name) const;
  bool has(std::string_view name) const;
  // Every file, in order.
  std::vector<std::string> names() const;
  // Removes what writers that were killed have left behind.
  void sweep() const;

  const std::filesystem::path& path() const { return directory_; }

 private:
  std::filesystem::path directory_;
};

}  // namespace planner
