// A schedule: a cron or interval rule that puts a task at each tick.
#pragma once

#include <millrace/task.h>
#include <millrace/time.h>
#include <cstdint>
#include <optional>
#include <string>

namespace millrace {

enum class Overlap : std::uint8_t {
  skip = 0,   // no new task while the last one is unfinished
  queue = 1,  // at most one waiting behind a running one
  allow = 2,
};

// What to do about ticks that were missed while no server ran.
enum class Missed : std::uint8_t { skip = 0, one = 1, all = 2 };

// Local times that a daylight-saving change makes impossible or double; core/tick.h has the table.
enum class DstPolicy : std::uint8_t { skip = 0, once = 1, both = 2 };

// Either a cron expression in a zone, or an interval from an anchor.
struct TickRule {
  std::string cron = {};
  std::string zone = "UTC";
  DstPolicy dst = DstPolicy::once;
  Duration every{};    // with an empty cron
  TimePoint anchor{};  // ticks at anchor + k · every

  friend bool operator==(const TickRule&, const TickRule&) = default;
};

struct Schedule {
  std::string name = {};
  TickRule rule = {};
  NewTask task = {};  // what each tick puts; the id is made at the tick
  Overlap overlap = Overlap::skip;
  Missed missed = Missed::one;
  std::uint32_t missed_most = 10;  // with Missed::all
  Duration jitter{};
  bool paused = false;
  // Kept by the store.
  TimePoint next = never;                        // nominal moment of the coming tick
  std::optional<TimePoint> last = std::nullopt;  // nominal moment of the last one
  TaskId last_task = {};                         // nil: none yet
  std::uint64_t fired = 0;
  std::uint64_t skipped = 0;
  TimePoint created_at{};
  TimePoint updated_at{};

  friend bool operator==(const Schedule&, const Schedule&) = default;
};

}  // namespace millrace
