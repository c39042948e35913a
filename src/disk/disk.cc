#include "disk/disk.h"

namespace millrace {

Result<std::size_t> read_all(Disk& disk, Disk::File file, std::uint64_t offset,
                             std::span<char> into) {
  std::size_t done = 0;
  while (done < into.size()) {
    const auto got = disk.read(file, offset + done, into.subspan(done));
    if (!got) return got;
    if (*got == 0) break;
    done += *got;
  }
  return done;
}

}  // namespace millrace
