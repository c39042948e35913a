// Any bytes as an export or a queue-state.json: they are refused with a reason or come in, and what
// came in can be exported and comes in again.
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>

#include "store/embedded/state_machine.h"
#include "tests/fuzz/require.h"
#include "transfer/export.h"
#include "transfer/import.h"

using namespace millrace;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const TimePoint now{std::chrono::hours(500'000)};
  embedded::StateMachine first;
  std::istringstream in(std::string(reinterpret_cast<const char*>(data), size));
  const auto report = transfer::import_store(in, first, now);
  require(!report.error || !report.error->message.empty());
  std::stringstream text;
  const auto exported = transfer::export_store(first, text, now);
  require(exported.has_value());
  require(exported->written.tasks == report.added.tasks);
  embedded::StateMachine second;
  const auto again = transfer::import_store(text, second, now);
  require(!again.error);
  require(again.added == report.added);
  return 0;
}
