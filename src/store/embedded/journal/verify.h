// Checks a journal without changing it: every checksum, a rebuilt state, every counter.
#pragma once

#include <millrace/result.h>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "disk/disk.h"

namespace millrace {

struct VerifyReport {
  std::uint64_t segments = 0;
  std::uint64_t groups = 0;
  std::uint64_t bytes = 0;  // of groups
  std::uint64_t tasks = 0;
  std::uint64_t queues = 0;
  std::uint64_t schedules = 0;
  std::uint64_t memos = 0;
  std::uint64_t torn = 0;  // bytes of an unfinished end, which the next opening will cut
  std::vector<std::string> differences;  // between counters or indexes and a recount
};

// `corrupt` names the file and the offset. A journal that is in use is refused (`conflict`).
Result<VerifyReport> verify_journal(
    Disk& disk, const std::function<void(std::uint64_t done, std::uint64_t total)>& progress);

}  // namespace millrace
