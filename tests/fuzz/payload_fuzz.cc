// Typed payloads: whatever is read from any text is written as text that reads the same, and what
// a struct reads is JSON.
#include <millrace/fields.h>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "payload/raw.h"
#include "tests/fuzz/require.h"

namespace {

enum class Kind { first, second_ };
MILLRACE_NAMES(Kind, first, second_)

struct Part {
  std::string name;
  std::vector<Part> parts;

  friend bool operator==(const Part&, const Part&) = default;
};
MILLRACE_FIELDS(Part, name, parts)

struct All {
  std::optional<bool> flag;
  std::optional<std::int8_t> small;
  std::optional<std::uint64_t> large;
  std::optional<double> real;
  std::optional<float> single;
  std::optional<std::string> text;
  std::optional<Kind> kind;
  std::optional<std::vector<std::optional<int>>> list;
  std::optional<std::map<std::string, Part>> map;
  std::optional<std::unordered_map<std::string, int>> hashed;
  std::optional<Part> part;
  std::optional<millrace::TimePoint> at;
  std::optional<millrace::Duration> span;
  std::optional<millrace::Value> value;
  std::optional<std::vector<std::uint8_t>> bytes;
  std::optional<millrace::Uuid> id;

  friend bool operator==(const All&, const All&) = default;
};
MILLRACE_FIELDS(All, flag, small, large, real, single, text, kind, list, map, hashed, part, at,
                span, value, bytes, id)

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto all = decode<All>(text);
  if (all) {
    require(json::is_json(text));
    require(decode<All>(encode(*all)) == *all);
  } else {
    require(!all.error().message.empty() && all.error().message.size() < 2'000);
  }
  const auto value = parse_json(text);
  require(!value || json::is_json(text));
  require(!value || parse_json(to_json(*value)) == *value);
  return 0;
}
