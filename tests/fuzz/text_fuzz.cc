// Any text as a moment, a duration, an id, a token: what is accepted comes back as it went in.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/time_text.h"
#include "core/uuid.h"
#include "tests/fuzz/require.h"

using namespace millrace;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto time = parse_time(text)) {
    require(*time >= first_time && *time <= last_time);
    require(parse_time(format_time(*time)) == *time);
  }
  if (const auto duration = parse_duration(text)) {
    require(*duration >= Duration::zero());
    require(parse_duration(format_duration(*duration)) == *duration);
  }
  if (const auto uuid = uuid_from_text(text)) require(uuid_from_text(to_text(*uuid)) == *uuid);
  if (const auto id = task_id_from_text(text)) require(!id->value.is_nil());
  if (const auto token = token_from_text(text)) require(token_from_text(to_text(*token)) == *token);
  return 0;
}
