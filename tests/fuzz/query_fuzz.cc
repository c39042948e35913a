// Whatever stands in a request's target is understood or refused with a reason.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "api/server/query.h"
#include "api/wire/events.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace;
  using namespace millrace::api;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  Query query(text);
  if ((data[0] & 1U) != 0) {
    const ListRequest request = list_from(query);
    require(request.limit >= 1 && request.limit <= 1000);
  } else {
    dead_from(query);
    query.duration("wait", std::chrono::seconds(60));
  }
  if (const auto wrong = query.finish()) require(!wrong->error.message.empty());
  if (const auto id = wire::event_id_from(text)) {
    const auto again = wire::event_id_from(wire::event_id(id->boot, id->number));
    require(again && again->boot == id->boot && again->number == id->number);
  }
  const Segments segments = segments_of(text);
  require(segments.count <= segments.parts.size());
  for (std::size_t i = 0; i < segments.count; ++i) {
    if (const auto part = percent_decoded(segments.parts[i], false)) {
      queue_from_text(*part);
      if (const auto task = task_from_text(*part); !task) require(!task.error().message.empty());
    }
  }
  return 0;
}
