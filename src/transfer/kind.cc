#include "transfer/kind.h"

#include <algorithm>

#include "transfer/format.h"

namespace millrace::transfer {
namespace {

// The first key of the JSON object that begins here; empty: none begins here.
std::string_view first_key(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  const auto expect = [&](char wanted) {
    text.remove_prefix(std::min(text.find_first_not_of(space), text.size()));
    if (!text.starts_with(wanted)) return false;
    text.remove_prefix(1);
    return true;
  };
  if (!expect('{') || !expect('"')) return {};
  return text.substr(0, std::min(text.find('"'), text.size()));
}

}  // namespace

Result<Kind> kind_of(std::string_view beginning) {
  const std::string_view key = first_key(beginning);
  if (key == header_key) return Kind::lines;
  if (key == "queues" || key == "tasks") return Kind::document;
  if (beginning.empty()) return fail(ErrorCode::invalid, "the input is empty");
  return fail(ErrorCode::invalid,
              "this is neither an export, which begins with {\"millrace_export\": ..., nor a "
              "queue-state.json, which begins with {\"queues\": ...");
}

}  // namespace millrace::transfer
