// `millrace verify DIR`: is every byte of a journal sound?
#include <fmt/format.h>

#include "cli/commands.h"

namespace millrace::cli {
namespace {

Exit verify(const std::string& directory, Surroundings& with, Console& console) {
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

}  // namespace

void add_verify(Command& millrace) {
  auto directory = std::make_shared<std::string>();
  millrace.add("verify", "Check a journal for damage")
      .word("DIR", *directory, "The directory of the journal")
      .explain(
          "Reads the journal from beginning to end, checks every checksum, builds the state again "
          "and\n"
          "recounts it. Changes nothing. The journal must not be in use by another process.")
      .example("millrace verify ./data || echo \"damaged, in use or not there: $?\"")
      .does([directory](Surroundings& with, Console& console) {
        return verify(*directory, with, console);
      });
}

}  // namespace millrace::cli
