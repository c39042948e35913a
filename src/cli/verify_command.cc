#include <fmt/format.h>

#include "cli/commands.h"

namespace millrace::cli {

Exit verify_command(const std::string& directory, Surroundings& with, Console& console) {
  const auto url = parse_store_url(directory);
  if (!url || url->kind != StoreKind::journal) {
    console.fail(url ? Error{ErrorCode::invalid, "verify takes the directory of a journal"}
                     : url.error());
    return Exit::usage;
  }
  const auto found = with.verify(url->path, [&](std::uint64_t done, std::uint64_t total) {
    console.progress("verifying", done, total);
  });
  if (!found) return console.fail(found.error());
  for (const auto& [what, number] : found->figures) {
    with.out << fmt::format("{:<12}{:>16}\n", what, grouped(number));
  }
  for (const std::string& remark : found->remarks) console.say(remark);
  for (const std::string& each : found->damage) console.fail({ErrorCode::corrupt, each});
  if (!found->damage.empty()) return Exit::corrupt;
  console.say("no damage found");
  return Exit::ok;
}

}  // namespace millrace::cli
