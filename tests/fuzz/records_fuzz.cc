// Records of the embedded store, damaged: they are refused or make a state, and a state that came
// from records writes records that make it again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "store/embedded/records.h"
#include "store/embedded/replay.h"
#include "store/embedded/state_machine.h"
#include "tests/fuzz/require.h"

using namespace millrace;
using namespace std::chrono_literals;

namespace {

// One of everything that records can hold.
std::string sound_records() {
  embedded::StateMachine machine({.record = true});
  const TimePoint now(1000s);
  require(
      machine
          .put_queue({.name = "q", .number = QueueNumber{1}, .id = {{1}}, .put_rate = Rate{9, 1s}},
                     PutQueue::create, now)
          .has_value());
  require(machine.put_queue({.name = "r", .id = {{2}}}, PutQueue::create, now).has_value());
  const NewTask plain{.id = {{{3}}}, .queue = "q", .type = "t", .payload = "p"};
  const NewTask rich{.id = {{{4}}},
                     .queue = "q",
                     .payload = "p",
                     .start_by = now + 1h,
                     .unique = UniqueKey{"k", UniqueScope::window, 1h},
                     .keep_for = 1h,
                     .tags = {"a", "b"}};
  require(machine.put({&plain, 1}, now).has_value());
  require(machine.put({&rich, 1}, now).has_value());
  const TakeRequest take{.worker = "w", .queues = {{"q", 1}}};
  require(machine.work({}, {}, {&take, 1}, now).has_value());
  require(machine
              .put_schedule({.name = "s", .rule = {.every = 1s}, .task = {.queue = "q"}},
                            PutSchedule::replace, now)
              .has_value());
  require(machine.remember({.key = "m", .value = "v", .lifetime = 1h}, now).has_value());
  require(machine.remove_queue("r", false, now).has_value());
  embedded::Records records;
  embedded::take_records(machine.state(), records);
  return records.bytes;
}

void replay(std::string_view records) {
  embedded::State state({});
  embedded::Replay first(state);
  if (!first.apply(records) || !first.finish()) return;
  std::string written;
  embedded::write_state(state, written);
  embedded::State again({});
  embedded::Replay second(again);
  require(second.apply(written).has_value() && second.finish().has_value());
  std::string rewritten;
  embedded::write_state(again, rewritten);
  require(written == rewritten);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string sound = sound_records();
  replay({reinterpret_cast<const char*>(data), size});
  // Each three bytes of input change one byte of sound records.
  std::string damaged = sound;
  for (std::size_t i = 0; i + 2 < size; i += 3) {
    const std::size_t at = (data[i] * 256U + data[i + 1]) % damaged.size();
    damaged[at] = static_cast<char>(data[i + 2]);
  }
  replay(damaged);
  return 0;
}
