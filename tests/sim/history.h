// One run of the simulator as plain data: calls, flushes and faults in order. A fault carries its
// own seed, so that it stays the same when the steps before it are dropped.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tests/random/operation.h"
#include "tests/sim/sim_disk.h"
#include "tests/sim/subject.h"

namespace millrace::test {

// The end of a process, and how the next one begins.
struct Ending {
  enum class How : std::uint8_t {
    close,  // the store is closed
    kill,   // the process dies
    power,  // the machine dies
  };
  How how = How::power;
  std::uint64_t seed = 1;  // of what a power cut keeps
  // The power goes again after that many changing calls of each opening.
  std::vector<std::uint32_t> while_opening = {};
  // Callers repeat the lost calls; otherwise they go on as if they had not been made.
  bool repeat = false;
};

// The next operations are made while the store flushes, as the applier's thread would.
struct FlushEvent {
  std::uint32_t meanwhile = 0;
};

// In the n-th changing disk call from now; 0: now.
struct EndEvent {
  std::uint32_t after = 0;
  Ending ending;
};

// A disk call, of this kind or of any, fails once; a store that fails through it then ends like
// this.
struct FailEvent {
  std::optional<DiskCall> call = DiskCall::sync;
  std::uint32_t nth = 1;
  ErrorCode code = ErrorCode::unavailable;
  Ending ending;
};

// The process ends, and copies of the disk are opened before the next one: with one flipped bit, or
// with a last segment that is cut off, blank or gone.
struct FlipEvent {
  Ending ending;
  std::uint32_t copies = 4;
};

// Bits are flipped while the store runs.
struct DamageEvent {
  std::uint32_t bits = 4;
  std::uint64_t seed = 1;
};

// The disk has only this much more room, until there is room again.
struct FullEvent {
  std::uint64_t room = 0;
};
struct RoomEvent {};

using SimEvent = std::variant<Operation, FlushEvent, EndEvent, FailEvent, FlipEvent, DamageEvent,
                              FullEvent, RoomEvent>;

struct History {
  SubjectOptions options;
  bool short_reads = false;
  std::vector<SimEvent> events;
};

// The same seed, the same history.
History make_history(std::uint64_t seed);

// Without faults: calls, and a flush after about `flush_percent` of them. `payload_percent` of the
// tasks carry up to `payload_most` bytes.
struct Workload {
  std::size_t length = 100;
  std::uint32_t flush_percent = 40;
  std::uint32_t payload_percent = 30;
  std::uint32_t payload_most = 4000;
};
std::vector<SimEvent> make_workload(std::uint64_t seed, const Workload& workload);

std::string describe(const Ending& ending);
std::string describe(const SimEvent& event);
std::string describe(const SubjectOptions& options);
// Numbered, one per line.
std::string describe(const History& history);

}  // namespace millrace::test
