// Where a task came from and what came of it.
#include <utility>

#include "api/server/handlers.h"
#include "api/wire/text_writer.h"
#include "api/wire/views.h"
#include "broker/family.h"
#include "broker/task_graph.h"
#include "core/limits.h"
#include "core/transition.h"

namespace millrace::api {
namespace {

void append_relative(std::string& out, const Task& task) {
  wire::TextWriter writer(out);
  writer("id", task.id), writer("queue", task.queue), writer("type", task.type);
  wire::append(writer.key("state"), task.state);
  writer.close();
}

void append_delivery(std::string& out, const Task& task, const std::string& status) {
  wire::TextWriter writer(out);
  writer("id", task.id);
  wire::append(writer.key("state"), task.state);
  wire::append(writer.key("attempts"), task.counters.deliveries);
  if (is_waiting(task.state)) wire::append(writer.key("next"), task.start);
  writer("last_status", status);
  wire::append(writer.key("history"), task.history);
  writer.close();
}

void answer(Call& call, const Family& family) {
  std::string out;
  wire::TextWriter writer(out);
  if (family.parent) append_relative(writer.key("parent"), *family.parent);
  writer.key("children") += '[';
  for (std::size_t i = 0; i < family.children.size(); ++i) {
    if (i != 0) out += ',';
    append_relative(out, family.children[i]);
  }
  out += ']';
  writer.key("deliveries") += '[';
  for (std::size_t i = 0; i < family.deliveries.size(); ++i) {
    if (i != 0) out += ',';
    const Task& one = family.deliveries[i];
    // The task keeps the status of its newest delivery; older deliveries have theirs as an error.
    const bool last = i == 0 && family.task.delivery;
    const std::string status = last        ? family.task.delivery->last_status
                               : one.error ? one.error->message
                                           : std::string();
    append_delivery(out, one, status);
  }
  out += ']';
  wire::append(writer.key("looked_at"), family.looked_at);
  wire::append(writer.key("complete"), family.complete);
  writer.close();
  call.answer(std::move(out));
}

void append_node(std::string& out, const GraphTask& task) {
  wire::TextWriter writer(out);
  writer("id", task.id);
  if (task.state) {
    writer("queue", task.queue), writer("type", task.type);
    wire::append(writer.key("state"), *task.state);
  }
  if (task.parked) wire::append(writer.key("parked"), true);
  if (task.waits_for != 0) wire::append(writer.key("waits_for"), task.waits_for);
  if (task.more_parents != 0) wire::append(writer.key("more_parents"), task.more_parents);
  if (task.more_children != 0) wire::append(writer.key("more_children"), task.more_children);
  writer.close();
}

void append_edge(std::string& out, const GraphEdge& edge) {
  wire::TextWriter writer(out);
  writer("from", edge.from), writer("to", edge.to);
  wire::append(writer.key("waits"), edge.waits);
  writer.close();
}

void answer(Call& call, const TaskGraph& graph) {
  std::string out;
  wire::TextWriter writer(out);
  writer.key("tasks") += '[';
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    if (i != 0) out += ',';
    append_node(out, graph.tasks[i]);
  }
  out += ']';
  writer.key("edges") += '[';
  for (std::size_t i = 0; i < graph.edges.size(); ++i) {
    if (i != 0) out += ',';
    append_edge(out, graph.edges[i]);
  }
  out += ']';
  writer.close();
  call.answer(std::move(out));
}

}  // namespace

void get_family(CallPtr call) {
  if (!call->query_is_good()) return;
  with_task(std::move(call), [](CallPtr back, TaskId id) {
    LocalBroker& broker = *back->broker;
    const Ask ask = back->ask();
    broker.family(
        ask, id,
        answered_in_place<Family>(
            std::move(back), [](CallPtr again, const Family& family) { answer(*again, family); }));
  });
}

void get_graph(CallPtr call) {
  const auto limit = call->query.number("limit", 1, limits::max_drawn);
  if (!call->query_is_good()) return;
  constexpr std::uint32_t usual = 60;
  const auto most = static_cast<std::uint32_t>(limit.value_or(usual));
  with_task(std::move(call), [most](CallPtr back, TaskId id) {
    LocalBroker& broker = *back->broker;
    const Ask ask = back->ask();
    auto then = [](CallPtr again, const TaskGraph& graph) { answer(*again, graph); };
    broker.graph(ask, id, most, answered_in_place<TaskGraph>(std::move(back), std::move(then)));
  });
}

void get_parents(CallPtr call) {
  ParentsRequest request;
  const auto from = call->query.number("from", 0, limits::max_parents);
  const auto limit = call->query.number("limit", 1, limits::max_parents);
  if (from) request.from = static_cast<std::uint32_t>(*from);
  if (limit) request.limit = static_cast<std::uint32_t>(*limit);
  if (!call->query_is_good()) return;
  with_task(std::move(call), [request](CallPtr back, TaskId id) {
    Broker& broker = *back->broker;
    const Ask ask = back->ask();
    broker.parents(ask, id, request,
                   answered<Parents>(std::move(back), [](CallPtr again, const Parents& parents) {
                     again->answer(wire::view_of(parents));
                   }));
  });
}

}  // namespace millrace::api
