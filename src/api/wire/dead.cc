#include "api/wire/dead.h"

#include <algorithm>

#include "api/wire/text_reader.h"
#include "api/wire/text_writer.h"

namespace millrace {

void fields(wire::A<DeadSample> auto& of, auto& visit) {
  visit("id", wire::required(of.id)), visit("number", wire::required(of.number));
  visit("message", wire::always(of.message)), visit("failed_at", wire::required(of.failed_at));
}

void fields(wire::A<DeadGroup> auto& of, auto& visit) {
  visit("key", wire::required(of.key)), visit("queue", wire::required(of.queue));
  visit("type", of.type), visit("code", of.code), visit("message", wire::always(of.message));
  visit("count", wire::always(of.count)), visit("first_at", wire::required(of.first_at));
  visit("last_at", wire::required(of.last_at)), visit("samples", wire::always(of.samples));
}

void fields(wire::A<FoundGroups> auto& of, auto& visit) {
  visit("groups", wire::always(of.groups)), visit("more", wire::always(of.more));
  visit("looked_at", wire::always(of.looked_at)), visit("total", wire::always(of.total));
  visit("complete", wire::always(of.complete)), visit("as_of", wire::required(of.as_of));
}

namespace wire {

std::string text_of(FoundGroups found, std::size_t most) {
  const std::size_t shown = std::min(most, found.groups.size());
  found.more += found.groups.size() - shown;
  found.groups.resize(shown);
  std::string out;
  append(out, found);
  return out;
}

Result<FoundGroups> groups_from(std::string_view text) {
  return read_answer<FoundGroups>(text);
}

}  // namespace wire
}  // namespace millrace
