// `millrace verify STORE`: checks every byte of a journal, and the counters of a database.
#include <fmt/format.h>

#include "cli/commands.h"

namespace millrace::cli {
namespace {

Exit verify(const std::string& store, Surroundings& with, Console& console) {
  const auto url = parse_store_url(store);
  if (!url || url->kind == StoreKind::memory) {
    console.fail(
        url ? Error{ErrorCode::invalid,
                    "verify takes the directory of a journal, or a database: postgres://..."}
            : url.error());
    return Exit::usage;
  }
  const auto found = with.host.verify(*url, [&](std::uint64_t done, std::uint64_t total) {
    console.progress("verifying", done, total);
  });
  if (!found) return console.fail(found.error());
  for (const auto& [what, number] : found->counts) {
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
  auto store = std::make_shared<std::string>();
  millrace.add("verify", "Check a journal or a database for damage")
      .word("STORE", *store, "The directory of the journal, or postgres://...")
      .explain(
          "Reads the journal from beginning to end, checks every checksum, builds the state again "
          "and\n"
          "recounts it. Changes nothing. The journal must not be in use by another process.\n"
          "\n"
          "In a database it compares the version of the tables with the program's, and all "
          "counters\n"
          "with the rows that are there, at one moment and while others work. Damaged bytes\n"
          "are found by PostgreSQL's own tools: pg_amcheck and data checksums.")
      .example("millrace verify ./data || echo \"damaged, in use or not there: $?\"")
      .example("millrace verify postgres://millrace@db.example.org/app")
      .does(
          [store](Surroundings& with, Console& console) { return verify(*store, with, console); });
}

}  // namespace millrace::cli
