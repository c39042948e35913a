#include <fmt/format.h>
#include <algorithm>
#include <iterator>
#include <utility>

#include "api/server/handlers.h"
#include "api/server/search_query.h"
#include "api/wire/put.h"
#include "api/wire/raw.h"
#include "api/wire/tasks.h"
#include "api/wire/text_writer.h"
#include "api/wire/views.h"
#include "api/wire/work.h"
#include "core/transition.h"
#include "core/uuid.h"
#include "store/store.h"

namespace millrace::api {
namespace {

// Finds the task of the path, or waits with ?wait until it is final.
template <class Then>
void find_task(CallPtr call, bool may_wait, Then then) {
  std::optional<Duration> wait;
  if (may_wait) wait = call->query.duration("wait", wire::max_wait);
  if (!call->query_is_good()) return;
  with_task(std::move(call), [wait, then](CallPtr back, TaskId id) {
    Broker& broker = *back->broker;
    const Ask ask = back->ask();
    back->waits = wait.has_value();
    broker.await(ask, id, wait.value_or(Duration::zero()), answered<Task>(std::move(back), then));
  });
}

// The one state that a verb for many answers with.
auto one_state(TaskId id) {
  return [id](CallPtr back, const Broker::States& states) {
    if (!states.front()) return back->refuse(states.front().error());
    back->answer(wire::state_of(id, *states.front()));
  };
}

void answer_page(Call& call, TaskPage page, bool preview, bool full) {
  call.answer(preview ? wire::page_with_previews(std::move(page), full) : wire::page_of(page));
}

void list_with(CallPtr call, ListRequest request, bool preview, TaskSearch search = {}) {
  const bool full = request.detail == Detail::full;
  if (preview) request.detail = Detail::full;
  if (call->restricted() && !request.queue) {
    return call->refuse(Problem{.status = 403,
                                .code = "forbidden",
                                .detail = "this key is for some queues only: name one with ?queue=",
                                .field = "queue"});
  }
  std::vector<QueueRef> queues;
  if (request.queue) queues.push_back(*request.queue);
  auto then = [preview, full](CallPtr back, TaskPage page) {
    answer_page(*back, std::move(page), preview, full);
  };
  with_queues(
      std::move(call), std::move(queues),
      [request = std::move(request), search = std::move(search), then](CallPtr back) mutable {
        LocalBroker& broker = *back->broker;
        const Ask ask = back->ask();
        broker.search(ask, std::move(request), std::move(search),
                      answered_in_place<TaskPage>(std::move(back), then));
      });
}

template <class T>
void answer_list(Call& call, std::string_view name, const std::vector<T>& values) {
  std::string out;
  wire::TextWriter writer(out);
  wire::append(writer.key(name), values);
  writer.close();
  call.answer(std::move(out));
}

void answer_result(Call& call, const Task& task) {
  if (task.state != TaskState::completed) {
    return call.refuse(
        Problem{.status = 409,
                .code = "not_completed",
                .detail = fmt::format("the task is {} and has no result", name_of(task.state)),
                .state = std::string(name_of(task.state))});
  }
  const bool json = !task.result.empty() && wire::is_json(task.result);
  call.answer(HttpResponse{.status = task.result.empty() ? 204U : 200U,
                           .content_type = json ? "application/json" : "application/octet-stream",
                           .body = task.result});
}

void handle_dead(CallPtr call, DeadAction action) {
  if (!call->query_is_good()) return;
  auto which = call->good(wire::read_dead_letters(call->request.body));
  if (!which) return;
  if (call->restricted() && which->ids.empty() && !which->queue) {
    return call->refuse(Problem{.status = 403,
                                .code = "forbidden",
                                .detail = "this key is for some queues only: name one",
                                .field = "queue"});
  }
  std::vector<QueueRef> queues;
  if (which->queue) queues.push_back(*which->queue);
  with_queues(std::move(call), std::move(queues),
              [action, which = std::move(*which)](CallPtr back) mutable {
                Broker& broker = *back->broker;
                const Ask ask = back->ask();
                auto then = [](CallPtr again, const Handled& handled) {
                  again->answer(wire::text_of(handled));
                };
                broker.handle_dead(ask, std::move(which), action,
                                   answered<Handled>(std::move(back), then));
              });
}

}  // namespace

void list_tasks(CallPtr call) {
  auto request = list_from(call->query);
  auto search = search_from(call->query);
  const bool preview = call->query.flag("preview");
  if (!call->query_is_good()) return;
  // No other tasks need to be looked at.
  if (search.parked && request.states.empty()) request.states = {TaskState::created};
  list_with(std::move(call), std::move(request), preview, std::move(search));
}

void list_dead(CallPtr call) {
  auto request = dead_from(call->query);
  const bool preview = call->query.flag("preview");
  if (!call->query_is_good()) return;
  list_with(std::move(call), std::move(request), preview);
}

void get_task(CallPtr call) {
  find_task(std::move(call), true,
            [](CallPtr back, const Task& task) { back->answer(wire::view_of(task)); });
}

void get_result(CallPtr call) {
  find_task(std::move(call), true,
            [](CallPtr back, const Task& task) { answer_result(*back, task); });
}

void get_history(CallPtr call) {
  find_task(std::move(call), false,
            [](CallPtr back, const Task& task) { answer_list(*back, "history", task.history); });
}

void get_log(CallPtr call) {
  // Includes lines of that very moment: a line that came later in it must not get lost.
  const auto after = call->query.moment("after");
  find_task(std::move(call), false, [after](CallPtr back, const Task& task) {
    std::vector<LogLine> lines;
    std::ranges::copy_if(task.log, std::back_inserter(lines),
                         [&](const LogLine& line) { return !after || line.at >= *after; });
    answer_list(*back, "log", lines);
  });
}

void explain_task(CallPtr call) {
  if (!call->query_is_good()) return;
  with_task(std::move(call), [](CallPtr back, TaskId id) {
    Broker& broker = *back->broker;
    const Ask ask = back->ask();
    broker.explain(ask, id,
                   answered<Explanation>(std::move(back), [](CallPtr again, const auto& why) {
                     again->answer(wire::text_of(why));
                   }));
  });
}

void cancel_task(CallPtr call) {
  if (!call->query_is_good()) return;
  std::string reason;
  if (!call->request.body.empty()) {
    auto body = call->good(wire::read_cancel(call->request.body));
    if (!body) return;
    reason = std::move(*body);
  }
  with_task(std::move(call), [reason = std::move(reason)](CallPtr back, TaskId id) mutable {
    Broker& broker = *back->broker;
    const Ask ask = back->ask();
    broker.cancel(ask, {id}, std::move(reason),
                  answered<Broker::States>(std::move(back), one_state(id)));
  });
}

void retry_task(CallPtr call) {
  if (!call->query_is_good()) return;
  with_task(std::move(call), [](CallPtr back, TaskId id) {
    Broker& broker = *back->broker;
    const Ask ask = back->ask();
    broker.retry(ask, {id}, answered<Broker::States>(std::move(back), one_state(id)));
  });
}

void redeliver_webhook(CallPtr call) {
  if (!call->query_is_good()) return;
  with_task(std::move(call), [](CallPtr back, TaskId id) {
    Broker& broker = *back->broker;
    const Ask ask = back->ask();
    broker.redeliver(ask, id, answered<Put>(std::move(back), [](CallPtr again, const Put& put) {
                       std::string out;
                       wire::append(out, put);
                       again->answer(std::move(out), 201);
                     }));
  });
}

void release_task(CallPtr call) {
  if (!call->query_is_good()) return;
  auto update = call->good(wire::read_release(call->request.body));
  if (!update) return;
  with_task(std::move(call), [update = std::move(*update)](CallPtr back, TaskId id) mutable {
    Broker& broker = *back->broker;
    const Ask ask = back->ask();
    update.id = id;
    broker.update(ask, {std::move(update)},
                  answered<Broker::States>(std::move(back), one_state(id)));
  });
}

void change_task(CallPtr call) {
  if (!call->query_is_good()) return;
  auto update = call->good(wire::read_update(call->request.body, call->broker->now()));
  if (!update) return;
  if (update->queue && !call->may(Scope::admin)) return;
  std::vector<QueueRef> queues;
  if (update->queue) queues.push_back(*update->queue);
  auto go = [update = *update](CallPtr back, TaskId id) {
    Broker& broker = *back->broker;
    const Ask ask = back->ask();
    std::vector<TaskUpdate> updates{update};
    updates.front().id = id;
    broker.update(ask, std::move(updates),
                  answered<Broker::States>(std::move(back), one_state(id)));
  };
  with_queues(
      std::move(call), std::move(queues),
      [go = std::move(go)](CallPtr back) mutable { with_task(std::move(back), std::move(go)); },
      "queue");
}

void remove_task(CallPtr call) {
  if (!call->query_is_good()) return;
  with_task(std::move(call), [](CallPtr back, TaskId id) {
    Broker& broker = *back->broker;
    const Ask ask = back->ask();
    broker.remove(ask, {id},
                  answered<Broker::States>(std::move(back), [](CallPtr again, const auto& states) {
                    if (!states.front()) return again->refuse(states.front().error());
                    HttpResponse response{.status = 204};
                    response.headers.emplace_back("X-Task-State", name_of(*states.front()));
                    again->answer(std::move(response));
                  }));
  });
}

void retry_dead(CallPtr call) {
  handle_dead(std::move(call), DeadAction::retry);
}

void remove_dead(CallPtr call) {
  handle_dead(std::move(call), DeadAction::remove);
}

}  // namespace millrace::api
