// One file with a whole state in it.
//
// "MILLSNAP", the format (4 bytes), the epoch of the boot that wrote it (4), the number of bytes
// that follow (8), the CRC-32C of everything else (4), and the records of the state (records.h). A
// new snapshot is written beside the old one, synced, and takes its name: at any moment one of the
// two is whole.
#pragma once

#include <millrace/result.h>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "disk/disk.h"

namespace millrace::embedded {

struct Snapshot {
  std::uint32_t epoch = 0;
  std::string records = {};
};

// The contents of a file. `corrupt` if they are not a whole snapshot, with a message that follows a
// name: "has been cut off: ...".
std::string snapshot_bytes(std::uint32_t epoch, std::string_view records);
Result<Snapshot> snapshot_from(std::string_view bytes);

// nullopt: there is no such file. Errors name the file and say what to do.
Result<std::optional<Snapshot>> read_snapshot(Disk& disk, std::string_view name);

// Replaces the file. After an error either the old file or the new one is there, and the caller may
// try again.
Result<void> write_snapshot(Disk& disk, std::string_view name, std::string_view bytes);

}  // namespace millrace::embedded
