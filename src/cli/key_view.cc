#include "cli/key_view.h"

#include <fmt/format.h>

#include "cli/ages.h"
#include "cli/look.h"
#include "cli/table.h"
#include "core/time_text.h"

namespace millrace::cli {
namespace {

Cell expiry_of(const wire::KeyInfo& key, TimePoint now) {
  if (!key.expires) return "-";
  if (*key.expires <= now) return {"expired", Paint::bad};
  return moment_and_age(*key.expires, now);
}

}  // namespace

wire::KeyInfo info_of(const access::Key& key) {
  wire::KeyInfo info{.id = key.id,
                     .name = key.about.name,
                     .queues = key.about.queues,
                     .created_at = key.created_at,
                     .expires = key.about.expires,
                     .rate = key.about.rate};
  for (const access::Scope each : key.about.scopes.list()) {
    info.scopes.emplace_back(access::name_of(each));
  }
  return info;
}

void print_new_key(const wire::KeyInfo& key, Surroundings& with, Console& console) {
  with.out << key.secret << '\n' << std::flush;
  console.say(fmt::format("created the key {} ({}) with {}{}; it is shown only once", key.id,
                          key.name, fmt::join(key.scopes, ", "),
                          key.expires ? " until " + format_time(*key.expires) : ""));
}

void print_keys(const std::vector<wire::KeyInfo>& keys, Surroundings& with, Console& console) {
  Table table({{"ID"},
               {"SCOPES"},
               {"QUEUES", false, 8},
               {"RATE"},
               {"EXPIRES", false, 8},
               {"NAME", false, 8}});
  const TimePoint now = with.clock.now();
  for (const wire::KeyInfo& key : keys) {
    table.add({key.id, fmt::format("{}", fmt::join(key.scopes, ", ")),
               key.queues.empty() ? "*" : fmt::format("{}", fmt::join(key.queues, " ")),
               key.rate ? access::to_text(*key.rate) : "-", expiry_of(key, now), key.name});
  }
  if (!keys.empty()) with.out << table.text(look_of(with));
  console.say(counted(keys.size(), "key", "keys"));
}

}  // namespace millrace::cli
