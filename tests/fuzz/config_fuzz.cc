// Any text as a settings file, a size, an address, a value: what is accepted comes back as it went
// in, and every problem can be printed.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "config/config.h"
#include "tests/fuzz/require.h"

using namespace millrace;
using namespace millrace::config;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto bytes = parse_size(text)) require(parse_size(to_text(*bytes)) == *bytes);
  if (const auto address = parse_address(text)) {
    require(parse_address(to_text(*address)) == *address);
  }
  for (const Setting& each : all_settings()) {
    Settings settings;
    Settings again;
    if (!assign(settings, each, text)) continue;
    require(assign(again, each, text_of(settings, each)).has_value());
    require(again == settings);
  }
  const Config config = read_config({.file = File{"f", std::string(text)}});
  for (const std::string& problem : config.problems) {
    require(std::ranges::none_of(problem, [](char c) { return c >= 0 && c < ' '; }));
  }
  if (config.problems.empty()) {
    const Config printed = read_config({.file = File{"f", as_toml(config)}});
    require(printed.problems.empty());
    Settings expected = config.settings;
    expected.admin_key.clear();  // a secret is not printed
    require(printed.settings == expected);
    require(!as_table(config).empty());
  }
  return 0;
}
