#include <fmt/format.h>
#include <algorithm>
#include <utility>

#include "api/server/handlers.h"
#include "api/server/put_lines.h"
#include "api/server/put_marks.h"
#include "api/wire/put.h"
#include "api/wire/text_writer.h"
#include "core/check.h"
#include "core/uuid.h"

namespace millrace::api {
namespace {

void answer_one(Call& call, const Result<Put>& put) {
  if (!put) return call.refuse(put.error());
  HttpResponse response{.status = put->existing ? 200U : 201U};
  wire::append(response.body, *put);
  response.headers.emplace_back("Location", fmt::format("/v1/tasks/{}", to_text(put->id.value)));
  call.answer(std::move(response));
}

// Results in the order of the items: those refused here stand among those that the broker answered.
std::string list_of(const wire::PutBody& body, const std::vector<Result<Put>>& puts) {
  std::string out = R"({"tasks":[)";
  out.reserve(128 * body.size());
  auto refused = body.refused.begin();
  auto put = puts.begin();
  for (std::size_t i = 0; i < body.refused.size() + puts.size(); ++i) {
    if (i != 0) out += ',';
    if (refused != body.refused.end() && refused->first == i) {
      out += "{\"error\":";
      wire::append_error(out, refused->second.error);
      out += '}';
      ++refused;
    } else {
      append_put(out, *put++, i);
    }
  }
  return out += "]}";
}

void answer_puts(Call& call, const wire::PutBody& body, const std::vector<Result<Put>>& puts) {
  if (!body.list) return answer_one(call, puts.front());
  call.answer(list_of(body, puts));
}

void put_all(CallPtr call, wire::PutBody body) {
  Broker& broker = *call->broker;
  const Ask ask = call->ask();
  auto then = [refs = std::move(body.refs)](CallPtr back, const std::vector<Put>& puts) {
    const bool known = std::ranges::all_of(puts, &Put::existing);
    back->answer(wire::put_all_answer(puts, refs), known ? 200U : 201U);
  };
  broker.put_all(ask, std::move(body.tasks),
                 answered<std::vector<Put>>(std::move(call), std::move(then)));
}

void put_body(CallPtr call, wire::PutBody body) {
  if (body.atomic) return put_all(std::move(call), std::move(body));
  if (body.tasks.empty()) return call->answer(list_of(body, {}));
  Broker& broker = *call->broker;
  const Ask ask = call->ask();
  std::vector<NewTask> tasks = std::move(body.tasks);
  auto then = [body = std::move(body)](CallPtr back, const std::vector<Result<Put>>& puts) {
    answer_puts(*back, body, puts);
  };
  broker.put(ask, std::move(tasks),
             answered<std::vector<Result<Put>>>(std::move(call), std::move(then)));
}

void put_with(CallPtr call, const QueueRef* queue) {
  if (!call->query_is_good()) return;
  const auto new_id = [broker = call->broker] { return broker->new_task_id(); };
  auto body = call->good(wire::read_put(call->request.body, queue, new_id));
  if (!body) return;
  if (auto problem = mark(*call, *body)) return call->refuse(*problem);
  if (!call->restricted()) return put_body(std::move(call), std::move(*body));
  auto queues = queues_of(body->tasks);
  with_queues(std::move(call), std::move(queues), [body = std::move(*body)](CallPtr back) mutable {
    put_body(std::move(back), std::move(body));
  });
}

}  // namespace

std::vector<QueueRef> queues_of(const std::vector<NewTask>& tasks) {
  std::vector<QueueRef> queues;
  for (const NewTask& task : tasks) {
    if (std::ranges::find(queues, task.queue) == queues.end()) queues.push_back(task.queue);
  }
  return queues;
}

void mark_request(const Call& call, NewTask& task) {
  // An id that the server had to make says nothing about the caller.
  const bool given = call.request.request_id == call.request_id;
  if (given && task.request_id.empty()) task.request_id = call.request_id;
}

std::optional<Problem> mark(const Call& call, wire::PutBody& body) {
  for (NewTask& task : body.tasks) mark_request(call, task);
  const std::string& key = call.request.idempotency_key;
  if (key.empty()) return std::nullopt;
  const bool usable =
      key.size() <= 128 && std::ranges::all_of(key, [](char c) { return c >= ' ' && c <= '~'; });
  if (!usable) {
    return Problem{.status = 400,
                   .code = "malformed",
                   .detail =
                       "the Idempotency-Key is too long or not printable; allowed are 1 to "
                       "128 printable ASCII characters"};
  }
  const std::string front =
      fmt::format("$idempotency:{}:{}", call.key().empty() ? "-" : call.key(), key);
  // Places are those of the list as it was sent, so that it may be sent again with one item
  // corrected.
  std::size_t place = 0;
  auto refused = body.refused.begin();
  for (NewTask& task : body.tasks) {
    while (refused != body.refused.end() && refused->first == place) ++refused, ++place;
    if (task.unique) {
      return Problem{.status = 422,
                     .code = "invalid",
                     .detail =
                         "an Idempotency-Key and a unique key of the task's own exclude each "
                         "other; leave out the header",
                     .field = body.list ? fmt::format("tasks[{}].unique", place) : "unique"};
    }
    task.unique = UniqueKey{.key = body.list ? fmt::format("{}#{}", front, place) : front,
                            .scope = UniqueScope::window,
                            .window = std::chrono::hours(24)};
    ++place;
  }
  return std::nullopt;
}

void append_put(std::string& out, const Result<Put>& put, std::size_t place) {
  if (put) return wire::append(out, *put);
  out += "{\"error\":";
  wire::append_error(out, inside(fmt::format("tasks[{}]", place), put.error()));
  out += '}';
}

void put_tasks(CallPtr call) {
  put_with(std::move(call), nullptr);
}

void put_queue_tasks(CallPtr call) {
  const QueueRef queue = queue_from_text(call->path[0]);
  put_with(std::move(call), &queue);
}

}  // namespace millrace::api
