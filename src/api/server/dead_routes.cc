// Dead letters by what they died of.
#include <utility>

#include "api/server/api_state.h"
#include "api/server/dead_groups.h"
#include "api/server/handlers.h"
#include "api/wire/text_writer.h"

namespace millrace::api {

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

namespace {

std::string text_of(const FoundGroups& found, std::size_t most) {
  const std::size_t shown = std::min(most, found.groups.size());
  std::string out;
  wire::TextWriter writer(out);
  std::string& groups = writer.key("groups");
  groups += '[';
  for (std::size_t i = 0; i < shown; ++i) {
    if (i != 0) groups += ',';
    wire::append(groups, found.groups[i]);
  }
  groups += ']';
  wire::append(writer.key("more"), found.more + (found.groups.size() - shown));
  wire::append(writer.key("looked_at"), found.looked_at);
  wire::append(writer.key("total"), found.total);
  wire::append(writer.key("complete"), found.complete);
  wire::append(writer.key("as_of"), found.as_of);
  writer.close();
  return out;
}

}  // namespace

void group_dead(CallPtr call) {
  DeadGroups::Wanted wanted;
  if (const auto queue = call->query.text("queue")) wanted.queue = queue_from_text(*queue);
  wanted.type = call->query.text("type");
  const auto most = call->query.number("limit", 1, DeadGroups::most_groups);
  if (!call->query_is_good()) return;
  if (call->restricted() && !wanted.queue) {
    return call->refuse(Problem{.status = 403,
                                .code = "forbidden",
                                .detail = "this key is for some queues only: name one with ?queue=",
                                .field = "queue"});
  }
  std::vector<QueueRef> queues;
  if (wanted.queue) queues.push_back(*wanted.queue);
  auto go = [wanted = std::move(wanted),
             most = most.value_or(DeadGroups::most_groups)](CallPtr back) mutable {
    DeadGroups& groups = back->state->dead_groups;
    Broker& broker = *back->broker;
    const Ask ask = back->ask();
    groups.find(broker, ask, std::move(wanted),
                answered<DeadGroups::Found>(std::move(back),
                                            [most](CallPtr again, const DeadGroups::Found& found) {
                                              again->answer(text_of(*found, most));
                                            }));
  };
  with_queues(std::move(call), std::move(queues), std::move(go));
}

}  // namespace millrace::api
