// Whether a text is JSON: the scanner against Boost.JSON.
#include <boost/json/error.hpp>
#include <boost/json/parse.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "api/wire/raw.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  boost::json::parse_options options;
  options.max_depth = wire::max_depth;
  boost::system::error_code error;
  boost::json::parse(boost::json::string_view(text.data(), text.size()), error, {}, options);
  // Boost cannot hold some numbers that are written as they should be.
  if (error == boost::json::error::exponent_overflow) return 0;
  require(wire::is_json(text) == !error);
  return 0;
}
