// Whatever arrives as JSON is refused with an error or read into a value, and a value that was read
// is written and read again as the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "api/wire/archive.h"
#include "tests/fuzz/require.h"

namespace millrace {
namespace {

template <class T>
void try_reading(std::string_view text, bool newer) {
  const auto value = wire::from_archive<T>(text, "value", newer);
  if (!value) {
    require(!value.error().message.empty());
    return;
  }
  const auto again = wire::from_archive<T>(wire::archived(*value), "value");
  require(again.has_value());
  // NaN cannot come out of JSON, so equal values compare equal.
  require(*again == *value);
}

}  // namespace
}  // namespace millrace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const bool newer = (data[0] & 8U) != 0;
  switch (data[0] & 7U) {
    case 0:
      try_reading<NewTask>(text, newer);
      break;
    case 1:
      try_reading<Queue>(text, newer);
      break;
    case 2:
      try_reading<Schedule>(text, newer);
      break;
    case 3:
      try_reading<Memo>(text, newer);
      break;
    default:
      try_reading<Task>(text, newer);
      break;
  }
  return 0;
}
