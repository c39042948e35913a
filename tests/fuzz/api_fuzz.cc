// Whatever comes as the body of a request is refused with an error that says why, or read; what is
// read is written as JSON again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "api/wire/put.h"
#include "api/wire/raw.h"
#include "api/wire/tasks.h"
#include "api/wire/text_writer.h"
#include "api/wire/views.h"
#include "api/wire/work.h"
#include "tests/fuzz/require.h"

namespace millrace {
namespace {

const QueueRef queue = std::string("q");

// Refused: for a reason, and as malformed if and only if it is not JSON.
template <class T>
bool well(const wire::Read<T>& read, std::string_view text) {
  if (read) {
    require(wire::is_json(text) || text.empty());
    return true;
  }
  require(!read.error().error.message.empty());
  require(read.error().malformed == !wire::is_json(text));
  return false;
}

void try_put(std::string_view text) {
  const auto body = wire::read_put(text, &queue);
  if (!well(body, text)) return;
  for (const NewTask& task : body->tasks) {
    const std::string out = wire::text_of(task);
    require(wire::is_json(out));
    const auto again = wire::read_task(out, nullptr);
    require(again.has_value() || task.start.has_value() == task.delay.has_value() ||
            !task.metadata.empty());
    if (again && wire::is_json_type(task.content_type)) require(again->payload == task.payload);
  }
}

void try_settings(std::string_view text) {
  if (const auto settings = wire::read_queue(text, {}); well(settings, text)) {
    const auto again = wire::read_queue(wire::text_of(*settings), settings->name);
    require(again.has_value() && *again == *settings);
  }
  const QueueSettings old{.name = "q", .max_depth = 5, .types = {{.type = "t"}}};
  well(wire::patched(old, text), text);
}

void try_schedules(std::string_view text) {
  if (const auto schedule = wire::read_schedule(text, {}); well(schedule, text)) {
    const auto again = wire::read_schedule(wire::view_of(*schedule), schedule->name);
    require(again.has_value());
    require(again->rule == schedule->rule && again->task.payload == schedule->task.payload);
  }
  Schedule old{.name = "q"};
  old.rule.cron = "0 3 * * *";
  old.task.queue = "q";
  old.task.payload = "{\"a\":1}";
  well(wire::patched(old, text), text);
}

}  // namespace
}  // namespace millrace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const TimePoint now{};
  switch (data[0] % 5U) {
    case 0:
      try_put(text);
      break;
    case 1:
      well(wire::read_work(text, now), text);
      break;
    case 2:
      well(wire::read_take(text), text);
      well(wire::read_settlement(text, TaskId{{{1}}}, now), text);
      well(wire::read_text<wire::ExtendBody>(text), text);
      well(wire::read_update(text, now), text);
      well(wire::read_dead_letters(text), text);
      if (!text.empty()) well(wire::read_pause(text, now), text);
      break;
    case 3:
      try_settings(text);
      break;
    default:
      try_schedules(text);
      break;
  }
  return 0;
}
