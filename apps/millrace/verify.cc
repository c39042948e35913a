#include "apps/millrace/verify.h"

#include <fmt/format.h>

#include "disk/real_disk.h"
#include "store/embedded/journal/verify.h"

namespace millrace {

Result<cli::Verified> verify_store(const std::string& directory, const cli::Progress& progress) {
  auto disk = open_directory(directory, DirectoryMode::existing);
  if (!disk) return std::unexpected(std::move(disk.error()));
  const auto report = verify_journal(**disk, progress);
  if (!report) return std::unexpected(report.error());
  cli::Verified verified{.figures = {{"segments", report->segments},
                                     {"groups", report->groups},
                                     {"bytes", report->bytes},
                                     {"tasks", report->tasks},
                                     {"queues", report->queues},
                                     {"schedules", report->schedules},
                                     {"memos", report->memos}},
                         .damage = report->differences};
  if (report->torn != 0) {
    verified.remarks.push_back(
        fmt::format("the last {} bytes are unfinished, as a crash leaves "
                    "them; the next opening cuts them",
                    report->torn));
  }
  return verified;
}

}  // namespace millrace
