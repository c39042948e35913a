#include <fmt/format.h>
#include <utility>

#include "api/server/handlers.h"
#include "api/server/put_marks.h"
#include "api/wire/beat.h"
#include "api/wire/text_writer.h"
#include "api/wire/work.h"
#include "broker/local_parts.h"

namespace millrace::api {
namespace {

// If an answer that brings tasks does not arrive, the tasks are given back.
void answer_with_tasks(Call& call, std::string body, WorkResult result) {
  HttpResponse response{.body = std::move(body)};
  bool any = false;
  for (auto& taken : result.taken) {
    if (!taken) continue;
    for (Lease& lease : *taken) lease.payload = {};
    any = any || !taken->empty();
  }
  if (any) {
    response.undelivered = [broker = call.broker, result = std::move(result)] {
      broker->give_back(result);
    };
  }
  call.answer(std::move(response));
}

std::vector<QueueRef> taken_from(const WorkOrder& order) {
  std::vector<QueueRef> queues;
  for (const TakeRequest& take : order.takes) {
    for (const Want& want : take.queues) queues.push_back(want.queue);
  }
  return queues;
}

std::vector<QueueRef> followed_in(const WorkOrder& order) {
  std::vector<QueueRef> queues;
  for (const Report& report : order.reports) {
    for (const NewTask& task : report.follow_ups) queues.push_back(task.queue);
  }
  return queues;
}

// A report is refused if the key may not touch the queue of a follow-up; the error's field is
// `follow_ups`.
template <class Go>
void with_follow_ups(CallPtr call, WorkOrder order, Go go) {
  auto queues = followed_in(order);
  with_queues(
      std::move(call), std::move(queues),
      [go, order = std::move(order)](CallPtr back) mutable {
        go(std::move(back), std::move(order));
      },
      "follow_ups");
}

// The parts of an order that are about tasks which the key may not see: they are answered as if
// there were no such tasks. By place; empty: none is.
struct LeftOut {
  std::vector<std::optional<Error>> reports = {};
  std::vector<std::optional<Error>> extensions = {};
};

template <class T>
std::vector<std::optional<Error>> leave_out(std::vector<T>& parts, const std::set<TaskId>& hidden) {
  std::vector<std::optional<Error>> refused;
  for (const T& part : parts) {
    refused.push_back(hidden.contains(part.id) ? std::optional(no_such_task(part.id))
                                               : std::nullopt);
  }
  drop_refused(parts, refused);
  return refused;
}

LeftOut leave_out(WorkOrder& order, const std::set<TaskId>& hidden) {
  if (hidden.empty()) return {};
  return {.reports = leave_out(order.reports, hidden),
          .extensions = leave_out(order.extensions, hidden)};
}

template <class Then>
void work_now(CallPtr call, WorkOrder order, LeftOut left_out, Then then) {
  Broker& broker = *call->broker;
  call->waits = order.wait > Duration::zero() && order.reports.empty();
  const Ask ask = call->ask();
  auto all = [then, left_out = std::move(left_out)](CallPtr back, WorkResult result) mutable {
    result.settled = with_refused(std::move(result.settled), std::move(left_out.reports));
    result.extended = with_refused(std::move(result.extended), std::move(left_out.extensions));
    then(std::move(back), std::move(result));
  };
  broker.work(ask, std::move(order), answered<WorkResult>(std::move(call), std::move(all)));
}

// A token may have been seen by a key for other queues, so a restricted key must also be allowed to
// touch the tasks. The broker remembers the queues of most leases: only the others are read, since
// reads may have to wait for long lists, and heartbeats must not.
template <class Then>
void order_work(CallPtr call, WorkOrder order, Then then) {
  if (!call->restricted()) return work_now(std::move(call), std::move(order), {}, then);
  auto leases = call->broker->queues_of_leases(order);
  std::set<TaskId> known;
  for (const auto& [id, queue] : leases.known) {
    if (!call->may_touch(queue)) known.insert(id);
  }
  auto queues = taken_from(order);
  auto go = [then, known = std::move(known), order = std::move(order)](
                CallPtr back, std::set<TaskId> hidden) mutable {
    hidden.merge(known);
    LeftOut left_out = leave_out(order, hidden);
    with_follow_ups(std::move(back), std::move(order),
                    [then, left_out = std::move(left_out)](CallPtr again, WorkOrder ordered) {
                      work_now(std::move(again), std::move(ordered), left_out, then);
                    });
  };
  with_queues(std::move(call), std::move(queues),
              [tasks = std::move(leases.unknown), go = std::move(go)](CallPtr back) mutable {
                with_hidden(std::move(back), std::move(tasks), std::move(go));
              });
}

template <class T>
void answer_first(Call& call, const std::vector<Result<T>>& results) {
  if (!results.front()) return call.refuse(results.front().error());
  std::string out;
  wire::append(out, *results.front());
  call.answer(std::move(out));
}

// Finds the task of the path. order_work() checks what the key may do, so unlike with_task() this
// does not ask the broker, unless the path has the task's number.
void with_leased_task(CallPtr call, WithTask next) {
  const auto task = task_from_text(call->path[0]);
  const auto* id = task ? std::get_if<TaskId>(&*task) : nullptr;
  if (id != nullptr) return next(std::move(call), *id);
  with_task(std::move(call), std::move(next));
}

template <class Body>
void extend(CallPtr call) {
  if (!call->query_is_good()) return;
  with_leased_task(std::move(call), [](CallPtr back, TaskId id) {
    auto body = back->good(wire::read_text<Body>(back->request.body));
    if (!body) return;
    WorkOrder order;
    order.extensions.push_back(std::move(body->extension));
    order.extensions.front().id = id;
    order_work(std::move(back), std::move(order), [](CallPtr again, const WorkResult& result) {
      answer_first(*again, result.extended);
    });
  });
}

}  // namespace

void do_work(CallPtr call) {
  if (!call->query_is_good()) return;
  auto order = call->good(wire::read_work(call->request.body, call->broker->now()));
  if (!order) return;
  order_work(std::move(call), std::move(*order), [](CallPtr back, WorkResult result) {
    std::string out;
    wire::append(out, result);
    answer_with_tasks(*back, std::move(out), std::move(result));
  });
}

void take_tasks(CallPtr call) {
  if (!call->query_is_good()) return;
  auto order = call->good(wire::read_take(call->request.body));
  if (!order) return;
  order_work(std::move(call), std::move(*order), [](CallPtr back, WorkResult result) {
    if (!result.taken.front()) return back->refuse(result.taken.front().error());
    std::string out;
    wire::append_leases(out, result);
    answer_with_tasks(*back, std::move(out), std::move(result));
  });
}

void settle_task(CallPtr call) {
  if (!call->query_is_good()) return;
  with_leased_task(std::move(call), [](CallPtr back, TaskId id) {
    auto report = back->good(wire::read_settlement(back->request.body, id, back->broker->now()));
    if (!report) return;
    WorkOrder order;
    order.reports.push_back(std::move(*report));
    order_work(std::move(back), std::move(order), [](CallPtr again, const WorkResult& result) {
      answer_first(*again, result.settled);
    });
  });
}

void extend_task(CallPtr call) {
  extend<wire::ExtendBody>(std::move(call));
}

void report_progress(CallPtr call) {
  extend<wire::ProgressBody>(std::move(call));
}

void add_log_lines(CallPtr call) {
  extend<wire::LogBody>(std::move(call));
}

void beat(CallPtr call) {
  if (!call->query_is_good()) return;
  auto report = call->good(wire::read_report(call->request.body, call->path[0]));
  if (!report) return;
  std::vector<QueueRef> queues;
  for (const QueueReport& queue : report->queues) queues.emplace_back(queue.queue);
  with_queues(
      std::move(call), std::move(queues), [report = std::move(*report)](CallPtr back) mutable {
        Broker& broker = *back->broker;
        const Ask ask = back->ask();
        broker.beat(ask, std::move(report),
                    answered<Instructions>(std::move(back),
                                           [](CallPtr again, const Instructions& instructions) {
                                             std::string out;
                                             wire::append(out, instructions);
                                             again->answer(std::move(out));
                                           }));
      });
}

}  // namespace millrace::api
