// A directory of the machine's file system.
#pragma once

#include <memory>
#include <string>

#include "disk/disk.h"

namespace millrace {

enum class DirectoryMode : bool {
  existing,  // `not_found` if there is none
  make,      // made, with the directories above it, if there is none
};

Result<std::unique_ptr<Disk>> open_directory(const std::string& path, DirectoryMode mode);

}  // namespace millrace
