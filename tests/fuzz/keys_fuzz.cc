// Any text as a stored key, a header, a rate, and in a line of the log.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "access/key_book.h"
#include "log/format.h"
#include "tests/fuzz/require.h"

using namespace millrace;
using namespace millrace::access;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (const auto key = from_memo({.key = "key/a", .value = text})) {
    const auto again = from_memo({.key = "key/a", .value = *to_memo(*key).value});
    require(again.has_value());
    require(again->about.scopes == key->about.scopes && again->about.queues == key->about.queues);
    require(again->about.rate == key->about.rate && again->hash == key->hash);
  }
  if (const auto rate = parse_rate(text)) require(parse_rate(to_text(*rate)) == *rate);
  KeyBook book({.admin_key = std::string(32, 'k')});
  book.replace({{.key = "key/a", .value = text}});
  const Verdict verdict = book.check(text, Scope::admin, TimePoint{});
  require((verdict.outcome == access::Outcome::allowed) == (verdict.key != nullptr));
  for (const LogFormat format : {LogFormat::text, LogFormat::json}) {
    const std::string line = format_line({.message = text, .facts = {{"k", text}}}, {}, format);
    require(std::ranges::count(line, '\n') == 1 && line.ends_with('\n'));
    require(std::ranges::none_of(line, [](char c) { return c >= 0 && c < ' ' && c != '\n'; }));
  }
  return 0;
}
