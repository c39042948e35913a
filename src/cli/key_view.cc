#include "cli/key_view.h"

#include <fmt/format.h>

#include "cli/ages.h"
#include "cli/look.h"
#include "cli/table.h"
#include "core/time_text.h"

namespace millrace::cli {
namespace {

Cell expiry_of(const access::Key& key, TimePoint now) {
  if (!key.about.expires) return "-";
  if (key.expired(now)) return {"expired", Paint::bad};
  return moment_and_age(*key.about.expires, now);
}

}  // namespace

void print_new_key(const access::MadeKey& made, Surroundings& with, Console& console) {
  const access::KeyRequest& about = made.key.about;
  with.out << made.text << '\n' << std::flush;
  console.say(fmt::format("created the key {} ({}) with {}{}; it is shown only once", made.key.id,
                          about.name, access::to_text(about.scopes),
                          about.expires ? " until " + format_time(*about.expires) : ""));
}

void print_keys(const std::vector<access::Key>& keys, Surroundings& with, Console& console) {
  Table table({{"ID"},
               {"SCOPES"},
               {"QUEUES", false, 8},
               {"RATE"},
               {"EXPIRES", false, 8},
               {"NAME", false, 8}});
  const TimePoint now = with.clock.now();
  for (const access::Key& key : keys) {
    const access::KeyRequest& about = key.about;
    table.add({key.id, access::to_text(about.scopes),
               about.queues.empty() ? "*" : fmt::format("{}", fmt::join(about.queues, " ")),
               about.rate ? access::to_text(*about.rate) : "-", expiry_of(key, now), about.name});
  }
  if (!keys.empty()) with.out << table.text(look_of(with));
  console.say(counted(keys.size(), "key", "keys"));
}

}  // namespace millrace::cli
