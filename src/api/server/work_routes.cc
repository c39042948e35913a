#include <fmt/format.h>
#include <set>
#include <utility>

#include "api/server/handlers.h"
#include "api/wire/beat.h"
#include "api/wire/text_writer.h"
#include "api/wire/work.h"

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
  std::set<QueueRef> queues;
  for (const Report& report : order.reports) {
    for (const NewTask& task : report.follow_ups) queues.insert(task.queue);
  }
  return {queues.begin(), queues.end()};
}

template <class Then>
void work_now(CallPtr call, WorkOrder order, Then then) {
  Broker& broker = *call->broker;
  call->waits = order.wait > Duration::zero() && order.reports.empty();
  const Ask ask = call->ask();
  broker.work(ask, std::move(order), answered<WorkResult>(std::move(call), std::move(then)));
}

// The broker knows the queues of the leases, or finds them out: a token may have been seen by a key
// for other queues. If a key may not touch the queue of a follow-up, the error's field is
// `follow_ups`.
template <class Then>
void order_work(CallPtr call, WorkOrder order, Then then) {
  if (!call->restricted()) return work_now(std::move(call), std::move(order), then);
  auto taken = taken_from(order);
  auto followed = followed_in(order);
  auto go = [then, order = std::move(order)](CallPtr back) mutable {
    work_now(std::move(back), std::move(order), then);
  };
  with_queues(std::move(call), std::move(taken),
              [followed = std::move(followed), go = std::move(go)](CallPtr back) mutable {
                with_queues(std::move(back), std::move(followed), std::move(go), "follow_ups");
              });
}

template <class T>
void answer_first(Call& call, const std::vector<Result<T>>& results) {
  if (!results.front()) return call.refuse(results.front().error());
  std::string out;
  wire::append(out, *results.front());
  call.answer(std::move(out));
}

template <class Body>
void extend(CallPtr call) {
  if (!call->query_is_good()) return;
  with_task(std::move(call), [](CallPtr back, TaskId id) {
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
  with_task(std::move(call), [](CallPtr back, TaskId id) {
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
