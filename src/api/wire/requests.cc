#include "api/wire/requests.h"

#include <variant>

#include "api/wire/beat.h"
#include "api/wire/raw.h"
#include "api/wire/text_writer.h"
#include "api/wire/work.h"
#include "core/base64.h"
#include "core/utf8.h"

namespace millrace::wire {
namespace {

// Whether a JSON text is stored unchanged: null means left out, and space around a value is lost.
bool stands_for_itself(std::string_view json) {
  return json != "null" && !is_space(json.front()) && !is_space(json.back());
}

// Like TextWriter, but embedded values arrive byte for byte.
class RequestWriter : public TextWriter {
 public:
  explicit RequestWriter(std::string& out) : TextWriter(out) {}

  using TextWriter::operator();
  template <class T>
  void operator()(std::string_view name, const Embedded<T>& field) {
    const std::string& bytes = field.bytes;
    if (bytes.empty()) return;
    const bool may_be_json = field.type == nullptr || is_json_type(*field.type);
    if (field.object || (may_be_json && is_json(bytes) && stands_for_itself(bytes))) {
      return raw(name, bytes);
    }
    if (is_utf8(bytes)) {
      append(key(std::string(name) + "_text"), bytes);
    } else {
      append(key(std::string(name) + "_base64"), base64_encode(bytes));
    }
    // The server would fill in a content type that is left out.
    if (field.type != nullptr && field.type->empty()) key("content_type") += "\"\"";
  }
  template <class T>
  void operator()(std::string_view name, const EmbeddedIfGiven<T>& field) {
    if (!field.bytes) return;
    if (field.bytes->empty()) return empty(name);
    (*this)(name, Embedded<const std::string>{*field.bytes});
  }
  void operator()(std::string_view name, const Required<const NewTask>& task);
};

void append_task(std::string& out, const NewTask& task) {
  RequestWriter writer(out);
  fields(task, writer);
  writer.close();
}

void RequestWriter::operator()(std::string_view name, const Required<const NewTask>& task) {
  append_task(key(name), task.field);
}

void append_tasks(std::string& out, std::span<const NewTask> tasks) {
  out += '[';
  for (const NewTask& task : tasks) {
    if (&task != tasks.data()) out += ',';
    append_task(out, task);
  }
  out += ']';
}

// The server sets the moment of the failure.
void append_words(std::string& out, const TaskError& error) {
  TextWriter writer(out);
  append(writer.key("code"), error.code), append(writer.key("message"), error.message);
  writer("details", error.details), writer("stack", error.stack);
  writer.close();
}

// The fields of an outcome beside its name.
struct OutcomeWriter {
  RequestWriter& writer;

  void name(OutcomeName outcome) const { append(writer.key("outcome"), outcome); }

  void operator()(const Done& done) const {
    name(OutcomeName::done);
    writer("result", Embedded<const std::string>{done.result});
  }
  void operator()(const Failed& failed) const {
    name(OutcomeName::failed);
    append_words(writer.key("error"), failed.error);
    if (failed.retryable) append(writer.key("retryable"), *failed.retryable);
  }
  void operator()(const RetryAt& retry) const {
    name(OutcomeName::retry);
    append_words(writer.key("error"), retry.error);
    append(writer.key("at"), retry.at);
  }
  void operator()(const Snooze& snooze) const {
    name(OutcomeName::snooze);
    append(writer.key("at"), snooze.until);
  }
  void operator()(const Park& park) const {
    name(OutcomeName::park);
    if (park.until != never) append(writer.key("at"), park.until);
  }
  void operator()(const Cancel& cancel) const {
    name(OutcomeName::cancel);
    writer("reason", cancel.reason);
  }
  void operator()(const GiveBack&) const { name(OutcomeName::give_back); }
};

void append_report(std::string& out, const Report& report) {
  RequestWriter writer(out);
  append(writer.key("id"), report.id), append(writer.key("token"), report.token);
  std::visit(OutcomeWriter{writer}, report.outcome);
  if (!report.follow_ups.empty()) append_tasks(writer.key("follow_ups"), report.follow_ups);
  writer("checkpoint", embedded_if_given(report.checkpoint));
  if (report.cost) append(writer.key("cost"), *report.cost);
  writer.close();
}

void append_extension(std::string& out, const Extension& extension) {
  RequestWriter writer(out);
  fields(extension, writer);
  writer.close();
}

}  // namespace

std::string put_text(std::span<const NewTask> tasks) {
  std::string out;
  std::size_t bytes = 0;
  for (const NewTask& task : tasks) bytes += 160 + task.payload.size() + task.metadata.size();
  out.reserve(bytes);
  append_tasks(out, tasks);
  return out;
}

std::string put_all_text(std::span<const NewTask> tasks) {
  return R"({"atomic":true,"tasks":)" + put_text(tasks) + '}';
}

std::string work_text(std::span<const Report> reports, std::span<const Extension> extensions,
                      const TakeRequest* take, Duration wait) {
  std::string out;
  out.reserve(128 * (2 + reports.size() + extensions.size()));
  TextWriter writer(out);
  if (take != nullptr) writer("worker", take->worker);
  if (!reports.empty()) {
    writer.key("settle") += '[';
    for (const Report& report : reports) {
      if (&report != reports.data()) out += ',';
      append_report(out, report);
    }
    out += ']';
  }
  if (!extensions.empty()) {
    writer.key("extend") += '[';
    for (const Extension& extension : extensions) {
      if (&extension != extensions.data()) out += ',';
      append_extension(out, extension);
    }
    out += ']';
  }
  if (take != nullptr) {
    TextWriter words(writer.key("take"));
    append(words.key("queues"), take->queues);
    words("lease_ms", take->lease), words("wait_ms", wait);
    words.close();
  }
  writer.close();
  return out;
}

std::string cancel_text(std::string_view reason) {
  std::string out;
  TextWriter writer(out);
  writer("reason", reason);
  writer.close();
  return out;
}

std::string update_text(const TaskUpdate& update) {
  std::string out;
  TextWriter writer(out);
  writer("priority", update.priority), writer("start", update.start);
  writer("queue", update.queue);
  writer.close();
  return out;
}

std::string release_text(const TaskUpdate& update) {
  if (!update.answer && !update.expect_version) return {};
  std::string out;
  RequestWriter writer(out);
  writer("data", embedded_if_given(update.answer));
  writer("expect_version", update.expect_version);
  writer.close();
  return out;
}

std::string dead_letters_text(const DeadLetters& which) {
  std::string out;
  TextWriter writer(out);
  writer("ids", which.ids), writer("queue", which.queue), writer("type", which.type);
  if (which.ids.empty()) append(writer.key("all"), true);
  writer.close();
  return out;
}

std::string queue_text(const QueueSettings& settings) {
  return text_of(settings);
}

std::string schedule_text(const Schedule& schedule) {
  std::string out;
  RequestWriter writer(out);
  fields(schedule, writer);
  writer.close();
  return out;
}

std::string beat_text(const WorkerReport& report) {
  std::string out;
  append(out, report);
  return out;
}

}  // namespace millrace::wire
