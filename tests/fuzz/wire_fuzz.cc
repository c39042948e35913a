// Whatever arrives as JSON is refused with an error or read into a value, and a value that was read
// is written and read again as the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "api/wire/wire.h"
#include "tests/fuzz/require.h"

namespace millrace {
namespace {

template <class T>
void try_reading(const boost::json::value& json, wire::UnknownKeys unknown) {
  const auto value = wire::from_json<T>(json, "value", unknown);
  if (!value) {
    require(!value.error().message.empty());
    return;
  }
  const auto again = wire::parse(wire::to_text(wire::to_json(*value)));
  require(again.has_value());
  const auto second = wire::from_json<T>(*again, "value");
  require(second.has_value());
  // NaN cannot come out of JSON, so equal values compare equal.
  require(*second == *value);
}

// Boost 1.81 reads numbers of many digits to within one unit in the last place only, so that what
// was written of them need not be read as the same.
bool has_long_number(std::string_view text) {
  std::size_t digits = 0;
  for (const char c : text) {
    digits = c >= '0' && c <= '9' ? digits + 1 : (c == '.' ? digits : 0);
    if (digits > 15) return true;
  }
  return false;
}

}  // namespace
}  // namespace millrace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (has_long_number(text)) return 0;
  const auto json = wire::parse(text);
  if (!json) return 0;
  const auto unknown = (data[0] & 8U) != 0 ? wire::UnknownKeys::ignore : wire::UnknownKeys::refuse;
  switch (data[0] & 7U) {
    case 0:
      try_reading<NewTask>(*json, unknown);
      break;
    case 1:
      try_reading<Queue>(*json, unknown);
      break;
    case 2:
      try_reading<Schedule>(*json, unknown);
      break;
    case 3:
      try_reading<Memo>(*json, unknown);
      break;
    default:
      try_reading<Task>(*json, unknown);
      break;
  }
  return 0;
}
