#include "api/server/call.h"

#include <fmt/format.h>
#include <functional>

#include "api/server/action_log.h"
#include "api/server/api_state.h"
#include "api/server/stored_sessions.h"
#include "core/check.h"
#include "core/quote.h"

namespace millrace::api {
namespace {

Problem forbidden(std::string_view queue, std::string_view field = {}) {
  return {.status = 403,
          .code = "forbidden",
          .detail = fmt::format("this key may not touch the queue {}", in_quotes(queue)),
          .field = std::string(field)};
}

// Checks one queue after another, since each may have to be looked up.
void check_next(CallPtr call, std::vector<QueueRef> left, std::string_view field,
                std::optional<Error> instead, Next next) {
  while (!left.empty()) {
    const auto* name = std::get_if<std::string>(&left.back());
    if (name == nullptr) break;
    if (!call->may_touch(*name)) {
      return instead ? call->refuse(*instead) : call->refuse(forbidden(*name, field));
    }
    left.pop_back();
  }
  if (left.empty()) return next(std::move(call));
  const QueueRef queue = std::move(left.back());
  left.pop_back();
  Broker& broker = *call->broker;
  const Ask ask = call->ask();
  auto then = [queue, left = std::move(left), field, instead = std::move(instead),
               next = std::move(next)](CallPtr back, const std::vector<QueueView>& found) mutable {
    for (const QueueView& view : found) {
      if (back->may_touch(view.queue.settings.name)) continue;
      return back->refuse(instead ? *instead : no_such_queue(queue));
    }
    check_next(std::move(back), std::move(left), field, std::move(instead), std::move(next));
  };
  broker.queues(ask, queue, answered<std::vector<QueueView>>(std::move(call), std::move(then)));
}

std::uint64_t number_of(const Principal& principal) {
  return std::hash<std::string_view>()(principal.id()) | 1U;
}

// Restricted keys must not use the names of each other's workers; others may see all of them.
std::uint64_t owner_of(const Principal& principal) {
  return principal.restricted() ? number_of(principal) : 0;
}

// Keys that may not manage queues create them by puts only, and not without end.
std::uint64_t bounded_key(const Principal& principal) {
  const bool manages = !principal.key || principal.key->about.scopes.allow(access::Scope::admin);
  return manages ? 0 : number_of(principal);
}

MaySee may_see(const Principal& principal) {
  if (!principal.restricted()) return {};
  return [principal](std::string_view queue) { return principal.may_touch(queue); };
}

}  // namespace

Error no_such_queue(const QueueRef& queue) {
  return {ErrorCode::not_found, fmt::format("there is no queue {}", text_of(queue))};
}

Error no_such_schedule(std::string_view name) {
  return {ErrorCode::not_found, fmt::format("there is no schedule \"{}\"", name)};
}

Ask Call::ask() const {
  return {.caller = caller,
          .deadline = later(broker->now(), options.deadline),
          .owner = owner_of(principal),
          .key = bounded_key(principal),
          .may_see = may_see(principal)};
}

void Call::note(unsigned status) const {
  if (status < 300) note_action();
  if (waits && status < 300) return state->http.waited(route);
  state->http.answered(route, status, options.clock->steady() - began);
}

// Puts and work of programs are not logged. All other changes are, and so is every change that a
// person makes: with the cookie of a session or, where the server has no keys, with the header that
// the dashboard sends.
void Call::note_action() const {
  if (options.actions == nullptr || route->method == Method::get || dry) return;
  const bool for_admins = route->scope == Scope::admin;
  // Signing in and out is told of by its own route, which knows the key.
  const bool by_page = route->scope && principal.key == nullptr && !request.requested_by.empty();
  const bool by_person = principal.session || by_page;
  if (!for_admins && !as_admin && !by_person) return;
  options.actions->note(*broker,
                        {.at = broker->now(),
                         .operation = std::string(route->operation),
                         .subject = path[1].empty() ? path[0] : path[0] + "/" + path[1],
                         .request = for_admins || route->logs_body ? request.body : std::string(),
                         .key = std::string(principal.id()),
                         .name = std::string(principal.name()),
                         .session = by_person,
                         .request_id = request_id});
}

void Call::answer(std::string json, unsigned status) {
  answer(HttpResponse{.status = status, .body = std::move(json)});
}

void Call::answer(HttpResponse response) {
  if (waits) {
    if (auto problem = ended()) {
      if (response.undelivered) response.undelivered();
      return refuse(std::move(*problem));
    }
  }
  note(response.status);
  response.headers.emplace_back("X-Request-Id", request_id);
  respond(std::move(response));
}

void Call::refuse(Problem problem) {
  if (problem.status == 500) {
    options.log(LogLevel::error, fmt::format("{} failed: {}", route->operation, problem.detail),
                {{"request_id", request_id}, {"code", problem.code}});
  }
  note(problem.status);
  respond(response_of(problem, request_id));
}

void Call::refuse(const Error& error) {
  refuse(problem_of(error));
}

void Call::refuse(const wire::Refusal& refusal) {
  refuse(problem_of(refusal));
}

bool Call::may(Scope scope) {
  if (auto access = check_access_again(options, request, scope); !access) {
    refuse(std::move(access.error()));
    return false;
  }
  as_admin = as_admin || scope == Scope::admin;
  return true;
}

std::optional<Problem> Call::ended() const {
  if (principal.key == nullptr || !route->scope) return std::nullopt;
  auto access = check_access_again(options, request, *route->scope);
  return access ? std::nullopt : std::optional(std::move(access.error()));
}

bool Call::query_is_good() {
  const auto wrong = query.finish();
  if (wrong) refuse(*wrong);
  return !wrong;
}

Access check_access(const ApiOptions& options, const HttpRequest& head, Scope scope) {
  return options.sessions != nullptr ? options.sessions->check(head, scope)
                                     : options.keys->check(head, scope);
}

Access check_access_again(const ApiOptions& options, const HttpRequest& head, Scope scope) {
  return options.sessions != nullptr ? options.sessions->check_again(head, scope)
                                     : options.keys->check_again(head, scope);
}

void with_queues(CallPtr call, std::vector<QueueRef> queues, Next next, std::string_view field,
                 std::optional<Error> instead) {
  if (!call->restricted()) return next(std::move(call));
  check_next(std::move(call), std::move(queues), field, std::move(instead), std::move(next));
}

void with_queue(CallPtr call, WithQueue next) {
  if (!call->query_is_good()) return;
  QueueRef queue = queue_from_text(call->path[0]);
  std::vector<QueueRef> queues{queue};
  with_queues(std::move(call), std::move(queues),
              [queue = std::move(queue), next = std::move(next)](CallPtr back) mutable {
                next(std::move(back), std::move(queue));
              });
}

void with_task(CallPtr call, WithTask next) {
  const auto task = task_from_text(call->path[0]);
  if (!task) {
    return call->refuse(wire::Refusal{.error = inside("id", task.error()), .malformed = true});
  }
  const auto* id = std::get_if<TaskId>(&*task);
  if (id != nullptr) return next(std::move(call), *id);
  Broker& broker = *call->broker;
  const Ask ask = call->ask();
  auto then = [next = std::move(next)](CallPtr back, const Task& found) mutable {
    next(std::move(back), found.id);
  };
  broker.find(ask, *task, answered<Task>(std::move(call), std::move(then)));
}

}  // namespace millrace::api
