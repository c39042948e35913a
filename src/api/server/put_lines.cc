#include "api/server/put_lines.h"

#include <fmt/format.h>
#include <utility>

#include "api/server/handlers.h"
#include "api/server/put_marks.h"
#include "api/wire/put.h"
#include "api/wire/text_writer.h"
#include "core/limits.h"
#include "core/quote.h"

namespace millrace::api {
namespace {

constexpr std::size_t put_batch_bytes = std::size_t{2} << 20U;

std::string refusal_of(std::uint64_t line, std::string_view code, std::string_view message,
                       std::string_view field) {
  std::string out;
  wire::TextWriter writer(out);
  writer("line", line);
  wire::TextWriter error(writer.key("error"));
  error("code", code), error("message", message), error("field", field);
  error.close();
  writer.close();
  return out;
}

}  // namespace

PutLines::PutLines(CallPtr call, std::optional<QueueRef> queue)
    : call_(std::move(call)), queue_(std::move(queue)), lines_(call_->options.max_line) {}

void PutLines::feed(std::string piece, bool last, Done done) {
  lines_.feed(std::move(piece), last);
  last_ = last;
  done_ = std::move(done);
  out_.clear();
  go_on();
}

void PutLines::go_on() {
  if (gather()) return put_batch();
  if (last_) {
    call_->note_stream();
    out_ += R"({"done":)";
    wire::TextWriter writer(out_);
    wire::append(writer.key("put"), put_), wire::append(writer.key("existing"), existing_);
    wire::append(writer.key("failed"), failed_);
    if (replaced_ != 0) wire::append(writer.key("replaced"), replaced_);
    writer.close();
    out_ += "}\n";
  }
  std::exchange(done_, {})(std::exchange(out_, {}), false);
}

bool PutLines::gather() {
  while (slots_.size() < limits::max_batch && bytes_ < put_batch_bytes) {
    const auto line = lines_.next();
    if (!line) break;
    if (line->too_long) {
      refuse_line("too_large",
                  fmt::format("the line is longer than {} bytes, the most allowed; put the task by "
                              "a request of its own",
                              lines_.longest()));
    } else if (line->text.find_first_not_of(" \t\r") != std::string_view::npos) {
      add(line->text);
    }
  }
  return !slots_.empty();
}

void PutLines::add(std::string_view line) {
  auto task = wire::read_task(line, queue_ ? &*queue_ : nullptr);
  if (!task) {
    const wire::Refusal& why = task.error();
    return refuse_line(why.malformed ? "malformed" : name_of(why.error.code), why.error.message,
                       why.error.field);
  }
  if (call_->restricted()) {
    const auto* name = std::get_if<std::string>(&task->queue);
    if (name == nullptr || !call_->may_touch(*name)) {
      return refuse_line("forbidden",
                         name == nullptr
                             ? "this key is for some queues only: name the queue by its name"
                             : fmt::format("this key may not touch the queue {}", in_quotes(*name)),
                         "queue");
    }
  }
  mark_request(*call_, *task);
  slots_.push_back({.line = lines_.number()});
  bytes_ += task->payload.size() + task->metadata.size();
  tasks_.push_back(std::move(*task));
}

void PutLines::refuse_line(std::string_view code, std::string_view message,
                           std::string_view field) {
  slots_.push_back(
      {.line = lines_.number(), .refused = refusal_of(lines_.number(), code, message, field)});
}

void PutLines::refuse_batch(const Problem& problem) {
  tasks_.clear();
  bytes_ = 0;
  for (Slot& slot : slots_) {
    if (slot.refused.empty()) {
      slot.refused = refusal_of(slot.line, problem.code, problem.detail, {});
    }
  }
  answer_batch(std::vector<Result<Put>>{});
}

void PutLines::put_batch() {
  if (tasks_.empty()) return answer_batch(std::vector<Result<Put>>{});
  if (const auto problem = call_->ended()) return refuse_batch(*problem);
  bytes_ = 0;
  Broker& broker = *call_->broker;
  const Ask ask = call_->ask();
  broker.put(ask, std::exchange(tasks_, {}),
             [self = shared_from_this()](const Result<std::vector<Result<Put>>>& puts) {
               self->answer_batch(puts);
             });
}

void PutLines::answer_batch(const Result<std::vector<Result<Put>>>& puts) {
  std::size_t next = 0;
  for (const Slot& slot : slots_) {
    if (!slot.refused.empty()) {
      ++failed_;
      out_ += slot.refused;
    } else if (puts && (*puts)[next]) {
      const Put& put = *(*puts)[next++];
      ++(put.existing ? existing_ : put_);
      if (put.replaced) ++replaced_;
      wire::append(out_, put);
    } else {
      ++failed_;
      wire::TextWriter writer(out_);
      writer("line", slot.line);
      wire::append_error(writer.key("error"), puts ? (*puts)[next++].error() : puts.error());
      writer.close();
    }
    out_ += '\n';
  }
  slots_.clear();
  go_on();
}

BodyPlan plan_lines(CallPtr call) {
  if (!call->request.idempotency_key.empty()) {
    return response_of({.status = 422,
                        .code = "invalid",
                        .detail = "an Idempotency-Key is for one task or a list; in a stream of "
                                  "lines give each task its own id or unique key",
                        .field = "Idempotency-Key"},
                       call->request_id);
  }
  if (const auto wrong = call->query.finish()) {
    return response_of(problem_of(*wrong), call->request_id);
  }
  std::optional<QueueRef> queue;
  if (!call->path[0].empty()) queue = queue_from_text(call->path[0]);
  const std::string request_id = call->request_id;
  auto lines = std::make_shared<PutLines>(std::move(call), std::move(queue));
  return BodyStream{.content_type = "application/x-ndjson",
                    .headers = {{"X-Request-Id", request_id}},
                    .feed = [lines](std::string piece, bool last, PutLines::Done done) {
                      lines->feed(std::move(piece), last, std::move(done));
                    }};
}

}  // namespace millrace::api
