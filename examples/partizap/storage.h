// Where pictures and reports lie: a directory that stands for a bucket of S3.
#pragma once

#include <millrace/result.h>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "images.h"

namespace partizap {

// Keys look like `products/large/7/42.webp`. One that points out of the directory is `invalid`. May
// be used from any thread.
class Storage {
 public:
  explicit Storage(std::filesystem::path directory) : directory_(std::move(directory)) {}

  millrace::Result<Bytes> download(std::string_view key) const;
  // A download meanwhile gets the old file or the new one, never a part.
  millrace::Result<void> upload(std::string_view key, std::span<const std::uint8_t> data) const;
  // False: there was none.
  millrace::Result<bool> remove(std::string_view key) const;
  // Every key under a folder, in order; none where there is no such folder.
  std::vector<std::string> keys(std::string_view folder) const;

 private:
  millrace::Result<std::filesystem::path> path_of(std::string_view key) const;

  std::filesystem::path directory_;
};

}  // namespace partizap
