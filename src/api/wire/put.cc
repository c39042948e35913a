#include "api/wire/put.h"

#include <fmt/format.h>

#include "api/wire/put_all.h"
#include "api/wire/text_writer.h"
#include "core/limits.h"
#include "core/quote.h"
#include "core/uuid.h"

namespace millrace::wire {
namespace {

// Three fields for the same number; more than one of them is ambiguous.
void set_retries(PutWords& words, Input& in, const Path& at) {
  const bool in_rules = words.task.retry && words.task.retry->max_retries;
  const int given = (words.max_retries ? 1 : 0) + (words.attempts ? 1 : 0) + (in_rules ? 1 : 0);
  const std::string_view word = words.attempts ? "attempts" : "max_retries";
  if (given > 1) {
    return in.refuse(Path{.above = &at, .key = word},
                     "the number of retries is given more than once; give one of max_retries, "
                     "attempts and retry.max_retries");
  }
  if (!words.max_retries && !words.attempts) return;
  if (!words.task.retry) words.task.retry.emplace();
  if (words.max_retries) {
    words.task.retry->max_retries = words.max_retries;
  } else if (*words.attempts == unlimited) {
    words.task.retry->max_retries = unlimited;
  } else if (*words.attempts == 0) {
    in.refuse(Path{.above = &at, .key = word},
              "attempts is 0; allowed is a whole number from 1: the first run counts");
  } else {
    words.task.retry->max_retries = *words.attempts - 1;
  }
}

void set_priority(PutWords& words, Input& in, const Path& at) {
  if (!words.priority) return;
  const auto priority = priority_of(*words.priority, words.scale);
  if (!priority) return in.refuse(Path{.above = &at, .key = "priority"}, priority.error());
  words.task.priority = *priority;
}

// Outside of a put that is all or none only ids name tasks.
void set_after(PutWords& words, Input& in, const Path& at) {
  if (words.ref) {
    return in.refuse(
        Path{.above = &at, .key = "ref"},
        "ref is given, but this is no atomic put; send {\"atomic\":true,\"tasks\":[…]}, "
        "or leave it out");
  }
  if (!words.after) return;
  After& after = words.task.after.emplace();
  after.when = words.after->when;
  after.otherwise = words.after->otherwise;
  const Path above{.above = &at, .key = "after"};
  const Path list{.above = &above, .key = "tasks"};
  for (std::size_t i = 0; i < words.after->tasks.size(); ++i) {
    const std::string& text = words.after->tasks[i].text;
    const auto id = task_id_from_text(text);
    if (!id) {
      return in.refuse(Path{.above = &list, .index = i},
                       fmt::format("{} is no id of a task; allowed are ids, and in an atomic put "
                                   "the refs of its tasks",
                                   in_quotes(text)));
    }
    after.tasks.push_back(*id);
  }
}

// Finds the end of a refused item of a list, so that the next can be read.
void skip_item(Input& in, const char* from) {
  in.back_to(from);
  in.raw();
}

}  // namespace

void read(Input& in, GivenPriority& to, const Path& at) {
  const char c = in.peek();
  if (c == '"') return read(in, to.name, at);
  if (c != '-' && (c < '0' || c > '9')) {
    return in.refuse_next(at, "0 to 9, or high, medium, low");
  }
  read(in, to.number.emplace(), at);
}

Result<std::uint8_t> priority_of(const GivenPriority& given, std::optional<PriorityScale> scale) {
  if (given.number) {
    return priority_from(*given.number, scale.value_or(PriorityScale::zero_to_nine));
  }
  return priority_from(given.name, scale.value_or(PriorityScale::named));
}

void take_priority(const std::optional<GivenPriority>& given, std::optional<PriorityScale> scale,
                   std::optional<std::uint8_t>& to, const Path& at, Input& in) {
  if (!given) return;
  const auto priority = priority_of(*given, scale);
  if (!priority) return in.refuse(at, priority.error());
  to = *priority;
}

NewTask meant(PutWords&& words, const QueueRef* queue, Input& in, const Path& at) {
  if (!in.good()) return {};
  if (words.queue) {
    words.task.queue = std::move(*words.queue);
  } else if (queue != nullptr) {
    words.task.queue = *queue;
  } else {
    in.miss(Path{.above = &at, .key = "queue"});
  }
  if (words.task.start && words.task.delay) {
    in.refuse(Path{.above = &at, .key = "delay_ms"},
              "both start and delay_ms are given; give one of them");
  }
  if (words.task.unique && words.task.unique->key.starts_with('$')) {
    const Path unique{.above = &at, .key = "unique"};
    in.refuse(Path{.above = &unique, .key = "key"},
              "unique.key begins with $; such keys are reserved for Millrace");
  }
  set_priority(words, in, at);
  set_retries(words, in, at);
  if (in.good()) set_after(words, in, at);
  return std::move(words.task);
}

NewTask read_task(Input& in, const QueueRef* queue, const Path& at) {
  PutWords words;
  read(in, words, at);
  return meant(std::move(words), queue, in, at);
}

Read<NewTask> read_task(std::string_view text, const QueueRef* queue) {
  Input in(text);
  NewTask task = read_task(in, queue, Path{});
  in.finish();
  if (!in.good()) return std::unexpected(std::move(in.refusal()));
  return task;
}

void read(Input& in, TaskName& to, const Path& at) {
  read(in, to.text, at);
}

void read(Input& in, AfterWords& to, const Path& at) {
  const char c = in.peek();
  if (c == '[') return read(in, to.tasks, at);
  if (c != '{') return in.refuse_next(at, "a list of tasks, or an object");
  read<AfterWords>(in, to, at);
}

Read<PutBody> read_put(std::string_view text, const QueueRef* queue,
                       const std::function<TaskId()>& new_id) {
  if (is_atomic(text)) return read_put_all(text, queue, new_id);
  Input in(text);
  PutBody body;
  body.list = in.peek() == '[';
  if (!body.list) {
    body.tasks.push_back(read_task(in, queue, Path{}));
  } else {
    const Path root{.key = "tasks"};
    in.open('[', root);
    bool first = true;
    for (std::size_t i = 0; in.item(first); ++i) {
      if (i == limits::max_batch) {
        in.too_long(root, limits::max_batch);
        break;
      }
      const char* const from = in.place();
      NewTask task = read_task(in, queue, Path{.above = &root, .index = i});
      if (in.good()) {
        body.tasks.push_back(std::move(task));
      } else if (!in.refusal().malformed) {
        body.refused.emplace_back(i, std::move(in.refusal()));
        skip_item(in, from);
      }
    }
  }
  in.finish();
  if (!in.good()) return std::unexpected(std::move(in.refusal()));
  return body;
}

void append(std::string& out, const Put& put) {
  TextWriter writer(out);
  writer("id", put.id), writer("number", put.number), writer("state", put.state);
  append(writer.key("existing"), put.existing);
  writer("replaced", put.replaced);
  writer.close();
}

std::string put_all_answer(const std::vector<Put>& puts, const std::vector<std::string>& refs) {
  std::string out;
  out.reserve(128 * puts.size());
  TextWriter all(out);
  all.key("tasks") += '[';
  for (std::size_t i = 0; i < puts.size(); ++i) {
    if (i != 0) out += ',';
    append(out, puts[i]);
    if (refs[i].empty()) continue;
    out.pop_back();
    out += ",\"ref\":";
    append(out, refs[i]);
    out += '}';
  }
  out += ']';
  all.close();
  return out;
}

std::string_view code_of(const Error& error) {
  if (error.no_space) return "no_space";
  return error.lasting ? "limit_reached" : name_of(error.code);
}

void append_error(std::string& out, const Error& error) {
  TextWriter writer(out);
  append(writer.key("code"), code_of(error));
  append(writer.key("message"), error.message);
  writer("field", error.field), writer("retry_after_ms", error.retry_after);
  writer.close();
}

}  // namespace millrace::wire
