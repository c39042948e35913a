// One action on several named tasks, each with its own result.
#include <utility>

#include "api/server/handlers.h"
#include "api/wire/put.h"
#include "api/wire/tasks.h"
#include "api/wire/text_writer.h"

namespace millrace::api {
namespace {

void answer_states(Call& call, const std::vector<TaskId>& ids, const Broker::States& states) {
  std::uint64_t done = 0;
  for (const auto& state : states) done += state ? 1U : 0U;
  std::string out;
  wire::TextWriter writer(out);
  wire::append(writer.key("done"), done);
  wire::append(writer.key("refused"), states.size() - done);
  writer.key("results") += '[';
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (i != 0) out += ',';
    wire::TextWriter one(out);
    wire::append(one.key("id"), ids[i]);
    if (states[i]) {
      wire::append(one.key("state"), *states[i]);
    } else {
      Error error = states[i].error();
      error.field.clear();  // the id beside it says where
      wire::append_error(one.key("error"), error);
    }
    one.close();
  }
  out += ']';
  writer.close();
  call.answer(std::move(out));
}

std::vector<TaskUpdate> updates_of(const std::vector<TaskId>& ids,
                                   const wire::TaskActions& actions) {
  std::vector<TaskUpdate> updates;
  for (const TaskId& id : ids) {
    updates.push_back({.id = id, .priority = actions.priority, .queue = actions.to});
  }
  return updates;
}

// A key that may put may also cancel tasks and change their priority, as it may one by one.
bool needs_admin(BulkAction action) {
  return action != BulkAction::cancel && action != BulkAction::priority;
}

void act_now(CallPtr call, wire::TaskActions actions) {
  Broker& broker = *call->broker;
  const Ask ask = call->ask();
  auto ids = actions.ids;
  auto then = answered<Broker::States>(
      std::move(call), [ids = actions.ids](CallPtr back, const Broker::States& states) {
        answer_states(*back, ids, states);
      });
  switch (actions.action) {
    case BulkAction::cancel:
      return broker.cancel(ask, std::move(ids), std::move(actions.reason), std::move(then));
    case BulkAction::retry:
      return broker.retry(ask, std::move(ids), std::move(then));
    case BulkAction::remove:
      return broker.remove(ask, std::move(ids), std::move(then));
    case BulkAction::priority:
    case BulkAction::move:
      return broker.update(ask, updates_of(ids, actions), std::move(then));
  }
}

}  // namespace

void act_on_tasks(CallPtr call) {
  if (!call->query_is_good()) return;
  auto actions = call->good(wire::read_actions(call->request.body));
  if (!actions) return;
  if (needs_admin(actions->action) && !call->may(Scope::admin)) return;
  std::vector<QueueRef> queues;
  if (actions->to) queues.push_back(*actions->to);
  with_queues(
      std::move(call), std::move(queues),
      [actions = std::move(*actions)](CallPtr back) mutable {
        act_now(std::move(back), std::move(actions));
      },
      "to");
}

}  // namespace millrace::api
