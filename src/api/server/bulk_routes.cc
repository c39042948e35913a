// Operations on many tasks. Each is a task of the internal queue $bulk; a memo says how far it
// came.
#include <fmt/format.h>
#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

#include "api/server/handlers.h"
#include "api/wire/bulk.h"
#include "api/wire/tasks.h"
#include "api/wire/work.h"
#include "core/bulk.h"
#include "core/limits.h"
#include "core/quote.h"
#include "core/transition.h"
#include "core/uuid.h"
#include "core/validate.h"

namespace millrace::api {
namespace {

// Longer than an operation takes to notice that it was cancelled.
constexpr Duration reason_kept_for = std::chrono::hours(1);

// ---- Showing -----------------------------------------------------------------------------------

Error no_operation(std::string_view id) {
  return {ErrorCode::not_found,
          fmt::format("there is no operation {}; it may have ended and been removed", id)};
}

// A restricted key sees only the operations on its own queues.
bool may_see(const Call& call, const BulkRequest& request) {
  if (!call.restricted()) return true;
  const auto touches = [&](const std::optional<QueueRef>& queue) {
    const auto* name = queue ? std::get_if<std::string>(&*queue) : nullptr;
    return name != nullptr && call.may_touch(*name);
  };
  return touches(request.filter.queue) && (!request.to || touches(request.to));
}

// The operation that a task stands for; nullopt: the call was refused.
std::optional<BulkOperation> operation_of(Call& call, const Task& task, std::string_view memo) {
  if (task.queue != bulk_queue) {
    call.refuse(no_operation(to_text(task.id.value)));
    return std::nullopt;
  }
  auto operation = wire::operation_of(task, memo);
  if (!operation) {
    call.refuse(operation.error());
    return std::nullopt;
  }
  if (!may_see(call, operation->request)) {
    call.refuse(no_operation(to_text(task.id.value)));
    return std::nullopt;
  }
  return std::move(*operation);
}

void answer_operation(CallPtr call, const Task& task, unsigned status) {
  LocalBroker& broker = *call->broker;
  const Ask ask = call->ask();
  Recall recall{.prefix = std::string(bulk_memos) + to_text(task.id.value), .limit = 1};
  broker.recall(ask, std::move(recall),
                answered<std::vector<Memo>>(
                    std::move(call), [task, status](CallPtr back, const std::vector<Memo>& memos) {
                      const auto shown = operation_of(
                          *back, task, memos.empty() ? std::string_view() : memos.front().value);
                      if (!shown) return;
                      HttpResponse response{.status = status, .body = wire::view_of(*shown)};
                      if (status == 202) {
                        response.headers.emplace_back(
                            "Location", fmt::format("/v1/bulk/{}", to_text(shown->id.value)));
                      }
                      back->answer(std::move(response));
                    }));
}

void show(CallPtr call, const TaskId& id, unsigned status) {
  LocalBroker& broker = *call->broker;
  const Ask ask = call->ask();
  broker.find(ask, id, answered<Task>(std::move(call), [status](CallPtr back, const Task& task) {
                const bool begun = status == 202;
                if (begun && task.queue != bulk_queue) {
                  return back->refuse(Error{
                      .code = ErrorCode::conflict,
                      .message = "a task has this id already; give the operation another id"});
                }
                answer_operation(std::move(back), task, status);
              }));
}

// Finds the task of the path, if it is an operation and this key may see it.
using WithOperation = std::move_only_function<void(CallPtr, Task)>;
void with_operation(CallPtr call, WithOperation next) {
  const auto id = task_id_from_text(call->path[0]);
  if (!id) {
    return call->refuse(wire::Refusal{.error = inside("id", id.error()), .malformed = true});
  }
  LocalBroker& broker = *call->broker;
  Ask ask = call->ask();
  ask.internal = true;
  auto then = [next = std::move(next)](CallPtr back, Task task) mutable {
    if (!operation_of(*back, task, {})) return;
    next(std::move(back), std::move(task));
  };
  auto found = [id = *id, done = answered<Task>(std::move(call), std::move(then))](
                   Result<Task> task) mutable {
    const bool none = !task && task.error().code == ErrorCode::not_found;
    if (none) task = std::unexpected(no_operation(to_text(id.value)));
    done(std::move(task));
  };
  broker.find(ask, *id, std::move(found));
}

// REQUIRES: the key may see the operation.
void await_operation(CallPtr call, const TaskId& id, Duration wait) {
  LocalBroker& broker = *call->broker;
  Ask ask = call->ask();
  ask.internal = true;
  broker.await(ask, id, wait, answered<Task>(std::move(call), [](CallPtr back, const Task& task) {
                 answer_operation(std::move(back), task, 200);
               }));
}

// ---- Starting ----------------------------------------------------------------------------------

void put_operation(CallPtr call, BulkRequest request) {
  NewTask task;
  task.id = std::exchange(request.id, {});
  task.queue = std::string(bulk_queue);
  task.type = name_of(request.action);
  task.payload = wire::bulk_text(request);
  task.content_type = "application/json";
  task.client_id = call->key();
  LocalBroker& broker = *call->broker;
  Ask ask = call->ask();
  ask.internal = true;
  std::vector<NewTask> tasks;
  tasks.push_back(std::move(task));
  broker.put(ask, std::move(tasks),
             answered<std::vector<Result<Put>>>(std::move(call), [](CallPtr back, const auto& put) {
               if (!put.front()) return back->refuse(put.front().error());
               show(std::move(back), put.front()->id, 202);
             }));
}

// Why no task can be moved to this queue; nullopt: it accepts tasks.
std::optional<Error> why_closed(const Queue& queue) {
  const QueueSettings& settings = queue.settings;
  const std::string_view why = queue.removing      ? "is being removed"
                               : !settings.active  ? "is not active"
                               : settings.draining ? "is draining"
                                                   : "";
  if (why.empty()) return std::nullopt;
  return Error{ErrorCode::conflict, fmt::format("queue {} {}", in_quotes(settings.name), why)};
}

Error about(std::string_view field, Error error) {
  error.field = field;
  return error;
}
Error about(std::string_view field, std::string message) {
  return about(field, Error{ErrorCode::invalid, std::move(message)});
}

// Finds the queue to move to, which may not exist yet.
void with_target(CallPtr call, BulkRequest request) {
  if (!request.to) return put_operation(std::move(call), std::move(request));
  LocalBroker& broker = *call->broker;
  const Ask ask = call->ask();
  const QueueRef to = *request.to;
  broker.queues(
      ask, to,
      [call = std::move(call),
       request = std::move(request)](Result<std::vector<QueueView>> found) mutable {
        const auto* name = std::get_if<std::string>(&*request.to);
        const bool unknown = !found && found.error().code == ErrorCode::not_found;
        if (!found && !(unknown && name != nullptr))
          return call->refuse(about("to", found.error()));
        if (unknown) {
          constexpr What what{"queue name", "to"};
          auto good = validate_name(what, *name, false);
          if (good) good = check_new_queue_name(what, *name);
          if (!good) return call->refuse(good.error());
          return put_operation(std::move(call), std::move(request));
        }
        const Queue& queue = found->front().queue;
        if (const auto closed = why_closed(queue)) return call->refuse(about("to", *closed));
        request.to = queue.settings.name;
        if (queue.settings.name.starts_with('$')) {
          return call->refuse(about("to", "this queue is internal; allowed is any other"));
        }
        if (request.to == request.filter.queue) {
          return call->refuse(about("to", "to is the queue that the filter names"));
        }
        put_operation(std::move(call), std::move(request));
      });
}

// Finds the queue of the filter; from here on the request refers to it by its name.
void with_source(CallPtr call, BulkRequest request) {
  if (!request.filter.queue) return with_target(std::move(call), std::move(request));
  LocalBroker& broker = *call->broker;
  const Ask ask = call->ask();
  const QueueRef from = *request.filter.queue;
  broker.queues(ask, from,
                [call = std::move(call),
                 request = std::move(request)](Result<std::vector<QueueView>> found) mutable {
                  if (!found) return call->refuse(about("filter.queue", found.error()));
                  const std::string& name = found->front().queue.settings.name;
                  if (!may_touch(request.action, name)) {
                    return call->refuse(
                        about("filter.queue", "this queue is internal; allowed is any other"));
                  }
                  request.filter.queue = name;
                  with_target(std::move(call), std::move(request));
                });
}

// ---- Listing -----------------------------------------------------------------------------------

// Operations that are being found, and what is remembered of them.
struct Listing {
  TaskPage tasks = {};
  std::vector<std::string> memos = {};  // one per task; shorter while memos are being read
};

// A completed operation says in its result how far it came; one that never began has no progress to
// tell.
bool has_memo(const Task& task) {
  return task.state != TaskState::completed && task.started_at.has_value();
}

// An operation that cannot be read must not hide the others.
void answer_page(Call& call, const Listing& listing) {
  wire::BulkPage page{.next = listing.tasks.next};
  for (std::size_t i = 0; i < listing.tasks.tasks.size(); ++i) {
    const Task& task = listing.tasks.tasks[i];
    auto operation = wire::operation_of(task, listing.memos[i]);
    if (!operation) {
      call.options.log(
          LogLevel::error, "an operation on many tasks is left out of the list",
          {{"operation", to_text(task.id.value)}, {"error", operation.error().message}});
    } else if (may_see(call, operation->request)) {
      page.operations.push_back(std::move(*operation));
    }
  }
  call.answer(wire::page_of(page));
}

// Asks for one memo after the other; only operations that run or ended badly have one, and these
// are few.
void with_memos(CallPtr call, std::unique_ptr<Listing> listing) {
  const auto& tasks = listing->tasks.tasks;
  while (listing->memos.size() < tasks.size() && !has_memo(tasks[listing->memos.size()])) {
    listing->memos.emplace_back();
  }
  if (listing->memos.size() == tasks.size()) return answer_page(*call, *listing);
  const TaskId& id = tasks[listing->memos.size()].id;
  LocalBroker& broker = *call->broker;
  const Ask ask = call->ask();
  Recall recall{.prefix = std::string(bulk_memos) + to_text(id.value), .limit = 1};
  auto then = [listing = std::move(listing)](CallPtr back, std::vector<Memo> found) mutable {
    listing->memos.push_back(found.empty() ? std::string() : std::move(found.front().value));
    with_memos(std::move(back), std::move(listing));
  };
  broker.recall(ask, std::move(recall),
                answered<std::vector<Memo>>(std::move(call), std::move(then)));
}

// ---- Cancelling --------------------------------------------------------------------------------

void cancel_now(CallPtr call, const TaskId& id, std::string reason) {
  LocalBroker& broker = *call->broker;
  Ask ask = call->ask();
  ask.internal = true;  // the one route that may cancel a task of $bulk
  broker.cancel(ask, {id}, std::move(reason),
                answered<Broker::States>(std::move(call), [id](CallPtr back, auto states) {
                  if (!states.front()) return back->refuse(states.front().error());
                  show(std::move(back), id, 200);
                }));
}

// A running task does not keep the reason, so a memo keeps it until the operation reads it.
void remember_reason(CallPtr call, const TaskId& id, std::string reason) {
  LocalBroker& broker = *call->broker;
  Ask ask = call->ask();
  ask.internal = true;
  Remember request{.key = std::string(bulk_reasons) + to_text(id.value),
                   .value = reason,
                   .lifetime = reason_kept_for};
  broker.remember(ask, std::move(request),
                  answered<Memo>(std::move(call), [id, reason = std::move(reason)](
                                                      CallPtr back, const Memo&) mutable {
                    cancel_now(std::move(back), id, std::move(reason));
                  }));
}

}  // namespace

void start_bulk(CallPtr call) {
  if (!call->query_is_good()) return;
  auto request = call->good(wire::read_bulk(call->request.body));
  if (!request) return;
  call->dry = request->dry_run;
  if (call->restricted() && !request->filter.queue) {
    return call->refuse(Problem{.status = 403,
                                .code = "forbidden",
                                .detail = "this key is for some queues only: name one",
                                .field = "filter.queue"});
  }
  std::vector<QueueRef> queues;
  if (request->filter.queue) queues.push_back(*request->filter.queue);
  if (request->to) queues.push_back(*request->to);
  with_queues(std::move(call), std::move(queues),
              [request = std::move(*request)](CallPtr back) mutable {
                with_source(std::move(back), std::move(request));
              });
}

void list_bulk(CallPtr call) {
  ListRequest request{.queue = std::string(bulk_queue), .detail = Detail::full};
  const auto limit = call->query.number("limit", 1, limits::max_page);
  if (limit) request.limit = static_cast<std::uint32_t>(*limit);
  const auto before = call->query.number("cursor", 0, std::numeric_limits<std::uint64_t>::max());
  if (before) request.before = TaskNumber{*before};
  if (!call->query_is_good()) return;
  LocalBroker& broker = *call->broker;
  const Ask ask = call->ask();
  broker.list(ask, std::move(request),
              answered_in_place<TaskPage>(std::move(call), [](CallPtr back, TaskPage page) {
                auto listing = std::make_unique<Listing>();
                listing->tasks = std::move(page);
                with_memos(std::move(back), std::move(listing));
              }));
}

void get_bulk(CallPtr call) {
  const auto wait = call->query.duration("wait", wire::max_wait);
  if (!call->query_is_good()) return;
  call->waits = wait.has_value();
  with_operation(std::move(call), [wait](CallPtr back, const Task& task) {
    if (wait) return await_operation(std::move(back), task.id, *wait);
    answer_operation(std::move(back), task, 200);
  });
}

void cancel_bulk(CallPtr call) {
  if (!call->query_is_good()) return;
  std::string reason;
  if (!call->request.body.empty()) {
    auto body = call->good(wire::read_cancel(call->request.body));
    if (!body) return;
    reason = std::move(*body);
  }
  with_operation(
      std::move(call), [reason = std::move(reason)](CallPtr back, const Task& task) mutable {
        const bool kept =
            reason.empty() || task.state != TaskState::processing || task.cancel_requested;
        if (kept) return cancel_now(std::move(back), task.id, std::move(reason));
        remember_reason(std::move(back), task.id, std::move(reason));
      });
}

}  // namespace millrace::api
