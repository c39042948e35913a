#include "store/embedded/journal/verify.h"

#include "store/embedded/journal/blob_reader.h"
#include "store/embedded/journal/opening.h"
#include "store/embedded/journal/segments.h"
#include "store/embedded/recount.h"

namespace millrace {

Result<VerifyReport> verify_journal(
    Disk& disk, const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
  if (auto locked = disk.lock(true); !locked) return std::unexpected(locked.error());
  embedded::Segments segments(disk);
  embedded::BlobReader blobs(segments);
  embedded::State state({.read_log = [&](embedded::Blob blob, std::uint64_t number) {
    return blobs.read(blob, number);
  }});
  const auto opened = embedded::read_journal(segments, blobs, state, progress);
  if (!opened) return std::unexpected(opened.error());
  if (opened->segments.empty()) {
    return fail(ErrorCode::not_found, disk.path() + " holds no journal");
  }
  return VerifyReport{.segments = opened->segments.size(),
                      .groups = opened->groups,
                      .bytes = opened->bytes,
                      .tasks = state.task_count(),
                      .queues = state.queue_names().size(),
                      .schedules = state.schedules.size(),
                      .memos = state.memos.all().size(),
                      .torn = opened->cut,
                      .differences = embedded::recount(state)};
}

}  // namespace millrace
