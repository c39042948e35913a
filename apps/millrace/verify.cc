#include "apps/millrace/verify.h"

#include <fmt/format.h>

#include <utility>

#include "app/stores.h"
#include "disk/real_disk.h"
#include "store/embedded/journal/verify.h"
#include "store/postgres/tables.h"

namespace millrace {
namespace {

Result<cli::Verified> verify_tables(const StoreUrl& url) {
  auto report = verify_postgres(postgres_options(url));
  if (!report) return std::unexpected(std::move(report.error()));
  return cli::Verified{.counts = std::move(report->counts),
                       .remarks = std::move(report->remarks),
                       .damage = std::move(report->damage)};
}

}  // namespace

Result<cli::Verified> verify_store(const StoreUrl& url, const cli::Progress& progress) {
  if (url.kind == StoreKind::postgres) return verify_tables(url);
  auto disk = open_directory(url.path, DirectoryMode::existing);
  if (!disk) return std::unexpected(std::move(disk.error()));
  const auto report = verify_journal(**disk, progress);
  if (!report) return std::unexpected(report.error());
  cli::Verified verified{.counts = {{"segments", report->segments},
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
